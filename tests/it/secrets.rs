//! Keys are stored only as hashes and appear nowhere else.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;

use orbweaver_tests::postgres::Postgres;
use serde_json::json;

use crate::process::{Served, command, run};
use crate::support::{Client, database};

/// The first key; long, so that nothing matches it by chance.
const KEY: &str = "orb_q7Xb2Jd9LmN4pR8sT1vW6yZ0aC3eF5gH";

/// Everything is logged, except the plugin compiler: it never sees a key, and it would log
/// hundreds of megabytes.
const TRACES: &str = "trace,cranelift_codegen=off,cranelift_frontend=off,regalloc2=off,\
                      wasmtime=off,wasmtime_cranelift=off,wasmtime_environ=off,\
                      wasmtime_internal_cranelift=off,wasmtime_internal_environ=off";

/// Every form in which a key could be stored.
fn forms(key: &str) -> Vec<Vec<u8>> {
    let mut hex = String::new();
    for byte in key.bytes() {
        let _ = write!(hex, "{byte:02x}");
    }
    // Without the prefix that all keys share, and without the part that listings show.
    let secret = &key[12..];
    vec![secret.as_bytes().to_vec(), hex.as_bytes()[24..].to_vec()]
}

fn search(what: &str, place: &str, bytes: &[u8], keys: &[String]) {
    for key in keys {
        for form in forms(key) {
            let found = bytes.windows(form.len()).any(|window| window == form);
            assert!(!found, "{place} holds the key {what}");
        }
    }
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut open = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files
}

/// Every way in which a key is created or used; returns the keys.
async fn use_keys(address: std::net::SocketAddr) -> Vec<String> {
    let client = Client::new(address, Some(KEY));
    let text = |value: &serde_json::Value| value.as_str().expect("a key").to_owned();
    let mut keys = vec![KEY.to_owned()];
    client.get("/v1/usage").await.ok();
    let rotated = client
        .post("/v1/keys/rotate", &json!({"label": "second"}))
        .await
        .ok();
    keys.push(text(&rotated["api_key"]));
    // Its mail is never delivered: no server listens at the configured address.
    let stranger = Client::new(address, None);
    let free = json!({"project_name": "shop", "email": "owner@shop.example"});
    let idempotent = [("idempotency-key", "7b0f5a0e-6b1e-4a55-9d7c-1d5a8f3c2b10")];
    let made = stranger
        .post_with("/v1/signup", &idempotent, &free)
        .await
        .ok();
    keys.push(text(&made["api_key"]));
    for key in keys.clone() {
        let client = client.with_key(&key);
        client.get("/v1/keys").await.ok();
        client
            .post("/v1/scan", &json!({"url": "nonsense"}))
            .await
            .error(422, "INVALID_INPUT");
    }
    // A key that was never issued, and the right key in the wrong place.
    let unknown = "orb_m2Nc8Vb4Xz6Lk1Jh3Gf5Dq7Sw9Pa0RtY";
    client
        .with_key(unknown)
        .get("/v1/usage")
        .await
        .error(401, "UNAUTHORIZED");
    keys.push(unknown.to_owned());
    client
        .send("DELETE", &format!("/v1/keys/{}", &keys[1][..12]), &[], b"")
        .await;
    keys
}

#[tokio::test]
async fn no_key_appears_in_database_files_or_log() {
    let data = tempfile::tempdir().unwrap();
    let logs = tempfile::tempdir().unwrap();
    let postgres = database::postgres();
    for url in [None, Some(postgres)] {
        let log = logs.path().join("log.txt");
        let err = std::fs::File::create(&log).unwrap();
        let mut serve = command(&data);
        serve
            .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
            .env("ORBWEAVER_LOG__FILTER", TRACES)
            .env("ORBWEAVER_MAIL__SMTP_URL", "smtp://127.0.0.1:9")
            .stderr(Stdio::from(err));
        if let Some(url) = &url {
            serve.env("ORBWEAVER_DATABASE_URL", url);
        }
        let served = Served::start_logged(&mut serve);
        let mut keys = use_keys(served.address).await;
        served.signal("TERM");
        served.ended();

        let mut issue = command(&data);
        if let Some(url) = &url {
            issue.env("ORBWEAVER_DATABASE_URL", url);
        }
        let issued = issue
            .env("ORBWEAVER_LOG__FILTER", TRACES)
            .args(["key", "issue", "shop"])
            .output()
            .unwrap();
        assert!(issued.status.success());
        search("issued", "stderr", &issued.stderr, &keys);
        keys.push(String::from_utf8(issued.stdout).unwrap().trim().to_owned());

        let text = std::fs::read(&log).unwrap();
        assert!(text.len() > 1_000, "the log is not empty");
        search("of a request", "the log", &text, &keys);
        for file in files(data.path()) {
            let bytes = std::fs::read(&file).unwrap();
            search("stored", &file.display().to_string(), &bytes, &keys);
        }
        if let Some(url) = &url {
            let dump = Postgres::shared().dump(url).unwrap();
            assert!(dump.contains("mail_outbox") && dump.contains(&KEY[..12]));
            search("dumped", "the database", dump.as_bytes(), &keys);
        }
    }
}

#[test]
fn keys_and_projects_are_managed_from_the_command_line() {
    let data = tempfile::tempdir().unwrap();
    let ok = |arguments: &[&str]| {
        let output = run(&data, arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = |arguments: &[&str], code: i32, says: &str| {
        let output = run(&data, arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?}: {text}");
    };
    let first = ok(&["project", "create", "shop", "--tier", "free"]);
    let first = first.trim();
    let second = ok(&["key", "issue", "shop", "--label", "ci"]);
    let second = second.trim();
    let listed = ok(&["key", "list", "shop"]);
    for part in [&first[..12], &second[..12], "ci", "active"] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    assert!(!listed.contains(first) && !listed.contains(second));
    refused(
        &["key", "revoke", "shop", "orb_nobodys0"],
        1,
        "key list shop",
    );
    ok(&["key", "revoke", "shop", &first[..12]]);
    refused(
        &["key", "revoke", "shop", &second[..12]],
        1,
        "last active key",
    );
    let history = ok(&["key", "list", "shop", "--history"]);
    assert!(
        history.contains("revoked") && history.contains("cli"),
        "{history}"
    );
    refused(&["key", "issue", "nobody"], 1, "project list");

    ok(&["project", "set-tier", "shop", "agency"]);
    refused(&["project", "set-tier", "shop", "gold"], 2, "agency");
    ok(&["project", "suspend", "shop"]);
    let projects = ok(&["project", "list"]);
    assert!(
        projects.contains("suspended") && projects.contains("agency"),
        "{projects}"
    );
    ok(&["project", "resume", "shop"]);
    assert!(!ok(&["project", "list"]).contains("suspended"));

    let usage = ok(&["usage"]);
    assert!(
        usage.contains("shop") && usage.contains("0/10000"),
        "{usage}"
    );
    let usage = ok(&["usage", "shop", "--days", "7"]);
    assert!(usage.contains("CLOUD USD"), "{usage}");
    refused(&["usage", "nobody"], 1, "project list");
    refused(&["usage", "shop", "--days", "0"], 2, "days");
}
