//! What the real program keeps to itself: its files, its connections, its blocklist; and how it
//! tells of what it leaves open.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use orbweaver_origin::{Origin, Reply};
use serde_json::json;
use tokio::net::TcpStream;

use super::{Served, command, program, run};
use crate::support::{Client, KEY};

/// `command`, run by a shell that first does `before`.
fn after(before: &str, command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{before}; exec \"$@\""), "sh"])
        .arg(program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell.stdin(Stdio::null());
    shell
}

/// Every file and folder below one, with its permission bits.
fn modes(folder: &Path) -> Vec<(String, bool, u32)> {
    let (mut all, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // A file that is being replaced may be gone.
            let Ok(meta) = std::fs::symlink_metadata(&path) else {
                continue;
            };
            let mode = meta.permissions().mode() & 0o777;
            all.push((path.display().to_string(), meta.is_dir(), mode));
            if meta.is_dir() {
                open.push(path);
            }
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_this_users_alone_whatever_the_umask() {
    let data = tempfile::tempdir().unwrap();
    let origin = Origin::start().await.unwrap();
    origin.set("/list", Reply::text("bad.example\n"));
    let mut plain = command(&data);
    plain
        .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
        .env("ORBWEAVER_BLOCKLIST__SOURCES", origin.url("/list"))
        .env("ORBWEAVER_PLUGINS__CACHE_DIR", data.path().join("compiled"));
    let served = Served::start(&mut after("umask 000", &plain));
    let client = Client::new(served.address, Some(KEY));
    client
        .post("/v1/scan", &json!({"url": origin.url("/echo")}))
        .await
        .ok();
    let all = modes(data.path());
    for name in ["orbweaver.db", "secret.key", "blocklists", "compiled"] {
        assert!(all.iter().any(|(path, ..)| path.ends_with(name)), "{name}");
    }
    for (path, is_dir, mode) in all {
        let wanted = if is_dir { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{path}: {mode:03o}");
    }
}

#[test]
fn doctor_and_serve_name_every_open_door() {
    let data = tempfile::tempdir().unwrap();
    std::fs::set_permissions(data.path(), Permissions::from_mode(0o755)).unwrap();
    let open = || {
        let mut command = command(&data);
        command
            .env("ORBWEAVER_LISTEN", "0.0.0.0:0")
            .env("ORBWEAVER_BILLING__MOCK", "true")
            .env("ORBWEAVER_SIGNUP__OPEN", "true")
            .env("ORBWEAVER_METRICS__PUBLIC", "true")
            .env("ORBWEAVER_HTTP__RATE__KEY", "{per_second = 0, burst = 1}")
            .env("ORBWEAVER_RENDERING__SANDBOX", "off");
        command
    };
    let doors = [
        "sandbox",
        "tls",
        "mock billing",
        "signup",
        "rate limits",
        "metrics",
        "data folder",
    ];
    let output = open().arg("doctor").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for door in doors {
        let line = format!("OPEN  {door} ");
        assert!(text.contains(&line), "{door}: {text}");
    }
    // A closed one is not named.
    let closed = run(&data, &["doctor"]);
    let text = String::from_utf8(closed.stdout).unwrap();
    assert!(!text.contains("OPEN  tls"), "{text}");
    assert!(text.contains("OPEN  data folder"), "{text}");

    let log = data.path().join("log.txt");
    let mut serve = open();
    serve
        .args(["serve"])
        .stderr(std::fs::File::create(&log).unwrap())
        .stdout(Stdio::piped());
    let mut serve = serve.spawn().unwrap();
    let mut out = std::io::BufReader::new(serve.stdout.take().unwrap());
    let mut greeting = String::new();
    while !greeting.contains("listens on") {
        let read = std::io::BufRead::read_line(&mut out, &mut greeting).unwrap();
        assert!(
            read > 0,
            "{greeting}{}",
            std::fs::read_to_string(&log).unwrap()
        );
    }
    serve.kill().unwrap();
    serve.wait().unwrap();
    let log = std::fs::read_to_string(&log).unwrap();
    let warned = log
        .lines()
        .filter(|line| line.contains("without its sandbox"));
    assert_eq!(warned.count(), 1, "once: {log}");
    assert!(
        log.contains("unencrypted") && log.contains("may sign up"),
        "{log}"
    );
}

#[tokio::test]
async fn the_service_answers_when_it_has_no_more_files_to_open() {
    let data = tempfile::tempdir().unwrap();
    let mut plain = command(&data);
    plain
        .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
        .env("ORBWEAVER_HTTP__MAX_CONNECTIONS", "5000")
        .env("ORBWEAVER_HTTP__MAX_CONNECTIONS_PER_ADDRESS", "5000")
        .env("ORBWEAVER_HTTP__HEADER_TIMEOUT_MS", "600000")
        .env("ORBWEAVER_HTTP__IDLE_TIMEOUT_MS", "600000");
    let served = Served::start(&mut after("ulimit -n 160", &plain));
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(TcpStream::connect(served.address).await.unwrap());
    }
    let client = Client::new(served.address, Some(KEY));
    let health = async {
        for _ in 0..20 {
            assert_eq!(client.get("/v1/health").await.text(), "ok");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), health)
        .await
        .expect("silent connections give way");
    drop(silent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocklist_holds_while_its_server_is_down() {
    let data = tempfile::tempdir().unwrap();
    let origin = Origin::start().await.unwrap();
    origin.set("/list", Reply::new(503, ""));
    let configured = |required: &str| {
        let mut command = command(&data);
        command
            .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
            .env("ORBWEAVER_BLOCKLIST__REQUIRED", required)
            .env("ORBWEAVER_BLOCKLIST__SOURCES", origin.url("/list"));
        command
    };
    // Nothing was ever read: no start without the list, unless that is wanted.
    let mut refused = configured("true");
    refused.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--allow-net",
        "127.0.0.0/8",
    ]);
    let refused = tokio::task::spawn_blocking(move || refused.output()).await;
    let refused = refused.unwrap().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("blocklist.required"), "{said}");
    let without = Served::start(&mut configured("false"));
    let url = json!({"url": "http://bad.example/"});
    let client = Client::new(without.address, Some(KEY));
    assert_eq!(client.post("/v1/crawls", &url).await.status, 202);
    drop(without);

    origin.set("/list", Reply::text("bad.example\n"));
    drop(Served::start(&mut configured("true")));
    // An error page with status 200 is no list, and neither is a failure, nor a list that ends early.
    let others: String = (0..5_000).map(|n| format!("other{n}.example\n")).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(format!("{others}bad.example\n").as_bytes())
        .unwrap();
    let mut half = gzip.finish().unwrap();
    half.truncate(half.len() / 2);
    for broken in [
        Reply::html("<p>Down for maintenance"),
        Reply::new(500, ""),
        Reply::text(half).header("Content-Encoding", "gzip"),
    ] {
        origin.set("/list", broken);
        let again = Served::start(&mut configured("true"));
        let client = Client::new(again.address, Some(KEY));
        let message = client.post("/v1/crawls", &url).await;
        assert!(message.error(422, "INVALID_INPUT").contains("blocklist"));
    }
}
