//! The command line, without a service.

use std::process::Stdio;

use super::{command, run};
use crate::support::{KEY, plugin_dir};

#[test]
fn projects_are_created_listed_and_changed() {
    let data = tempfile::tempdir().unwrap();
    let created = run(&data, &["project", "create", "shop", "--tier", "pro"]);
    assert!(created.status.success());
    let key = String::from_utf8(created.stdout).unwrap();
    assert!(orbweaver_accounts::key::is_well_formed(key.trim()), "{key}");

    let again = run(&data, &["project", "create", "shop"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("already exists"));

    let set = run(
        &data,
        &[
            "project",
            "set",
            "shop",
            "--proxy-url",
            "http://u:hidden@p.example:1",
        ],
    );
    assert!(set.status.success());
    let listed = run(&data, &["project", "list"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(
        listed.contains("shop") && listed.contains("pro"),
        "{listed}"
    );
    assert!(
        listed.contains("p.example") && !listed.contains("hidden"),
        "{listed}"
    );

    let wrong = run(&data, &["project", "create", "shop", "--tier", "gold"]);
    assert_eq!(wrong.status.code(), Some(2));
    let missing = run(&data, &["project", "set", "nobody", "--tier", "pro"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("project list"));
}

#[test]
fn the_configuration_explains_itself() {
    let data = tempfile::tempdir().unwrap();
    let mut config = command(&data);
    let output = config
        .arg("config")
        .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(!text.contains(KEY), "secrets redact themselves");
    assert!(text.contains("from: ORBWEAVER_DATA_DIR"), "{text}");
    // What it prints can be read back.
    let file = data.path().join("orbweaver.toml");
    std::fs::write(&file, text.replace("bootstrap_key = \"***\"\n", "")).unwrap();
    let again = run(&data, &["config", "--config", &file.to_string_lossy()]);
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );

    std::fs::write(&file, "lisen = \"x\"").unwrap();
    let wrong = run(&data, &["config", "--config", &file.to_string_lossy()]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("lisen"));
}

#[test]
fn a_file_is_scanned_without_a_server() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("page.html");
    std::fs::write(&file, crate::support::site::ARTICLE).unwrap();
    let file = file.to_string_lossy();
    let output = run(&data, &["scan", &file]);
    let markdown = String::from_utf8(output.stdout).unwrap();
    assert!(markdown.contains("# How orb weavers build"), "{markdown}");
    let output = run(
        &data,
        &[
            "scan",
            &file,
            "--format",
            "links",
            "--url",
            "http://a.example/b/",
        ],
    );
    let links = String::from_utf8(output.stdout).unwrap();
    assert!(
        links.contains("http://a.example/radii?a=1&b=2\tthe radii in detail"),
        "{links}"
    );
    let output = run(&data, &["scan", &file, "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["metadata"]["title"], "How orb weavers build");

    let missing = run(&data, &["scan", "nothing.html"]);
    assert_eq!(missing.status.code(), Some(1));
    let private = run(&data, &["scan", "http://10.0.0.1/"]);
    assert_eq!(private.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&private.stderr).contains("--allow-net"));
}

#[test]
fn plugins_are_listed_and_inspected() {
    let data = tempfile::tempdir().unwrap();
    let output = run(&data, &["plugin", "list"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for name in [
        "markdown",
        "article",
        "metadata",
        "signals",
        "structured-data",
        "links",
    ] {
        assert!(text.contains(name), "{name}: {text}");
    }
    let file = plugin_dir().join("extract-links.wasm");
    let output = run(&data, &["plugin", "inspect", &file.to_string_lossy()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("links ") && text.contains("sha-256"),
        "{text}"
    );

    let nothing = data.path().join("x.wasm");
    std::fs::write(&nothing, b"nothing").unwrap();
    let output = run(&data, &["plugin", "inspect", &nothing.to_string_lossy()]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let data = tempfile::tempdir().unwrap();
    let file = plugin_dir().join("extract-links.wasm");
    let file = file.to_string_lossy();
    for arguments in [
        &["plugin", "inspect", &file][..],
        &["plugin", "list"],
        &["config"],
        &["project", "list"],
    ] {
        let mut process = command(&data)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Before it writes anything.
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}
