//! The command line, without a running service.

use std::process::Stdio;

use tempfile::TempDir;

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
    // What no scan could use is refused here.
    let path = [
        "project",
        "set",
        "shop",
        "--proxy-url",
        "http://p.example:1/x",
    ];
    let refused = run(&data, &path);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--proxy-url: "));
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
fn the_configuration_is_printed_with_explanations() {
    let data = tempfile::tempdir().unwrap();
    let mut config = command(&data);
    let output = config
        .arg("config")
        .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
        .env("ORBWEAVER_BILLING__WEBHOOK_SECRET", "whsec_hidden")
        .env("ORBWEAVER_DATABASE_URL", "postgres://user:hidden@db/x")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for secret in [KEY, "hidden"] {
        assert!(!text.contains(secret), "secrets are redacted");
    }
    assert!(text.contains("from: ORBWEAVER_DATA_DIR"), "{text}");
    // The printed configuration can be read back; no secret becomes its mask.
    let file = data.path().join("orbweaver.toml");
    std::fs::write(&file, &text).unwrap();
    let again = run(&data, &["config", "--config", &file.to_string_lossy()]);
    assert!(
        again.status.success(),
        "{}",
        String::from_utf8_lossy(&again.stderr)
    );

    std::fs::write(&file, "[billing]\nwebhook_secret = \"***\"").unwrap();
    let masked = run(&data, &["config", "--config", &file.to_string_lossy()]);
    assert_eq!(masked.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&masked.stderr).contains("not shown"));

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

    let file = data.path().join("web.pdf");
    std::fs::write(
        &file,
        crate::documents::pdf("Webs", "Silk holds.", "/radii"),
    )
    .unwrap();
    let output = run(&data, &["scan", &file.to_string_lossy()]);
    let markdown = String::from_utf8_lossy(&output.stdout);
    assert!(markdown.contains("Silk holds."), "{output:?}");
    std::fs::write(&file, b"%PDF-1.7 torn").unwrap();
    let output = run(&data, &["scan", &file.to_string_lossy()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("has no markdown: the body is application/pdf"),
        "{said}"
    );

    std::fs::write(&file, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    let output = run(&data, &["scan", &file.to_string_lossy()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        said.contains("has no markdown: the body is image/png"),
        "{said}"
    );

    let file = file.to_string_lossy();
    for (url, rule) in [
        ("nonsense", "must start with http:// or https://"),
        ("ftp://example.com/", "must start with http:// or https://"),
        ("http://", "not an absolute URL"),
        ("http:/example.com/", "must start with http:// or https://"),
    ] {
        let refused = run(&data, &["scan", &file, "--url", url]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{url}: {said}");
        assert!(
            said.contains("--url") && said.contains(rule),
            "{url}: {said}"
        );
    }

    let missing = run(&data, &["scan", "nothing.html"]);
    assert_eq!(missing.status.code(), Some(1));
    let private = run(&data, &["scan", "http://10.0.0.1/"]);
    assert_eq!(private.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&private.stderr).contains("--allow-net"));
    let port = run(&data, &["scan", "http://127.0.0.1:1/"]);
    let said = String::from_utf8_lossy(&port.stderr);
    assert!(
        said.contains("port 1 is reserved") && !said.contains("--allow-net"),
        "{said}"
    );
}

#[test]
fn a_scan_reads_standard_input_and_writes_files() {
    let data = tempfile::tempdir().unwrap();
    let mut child = command(&data)
        .args(["scan", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, crate::support::site::ARTICLE.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["metadata"]["title"], "How orb weavers build");

    let page = data.path().join("page.html");
    std::fs::write(&page, crate::support::site::ARTICLE).unwrap();
    let page = page.to_string_lossy();
    for (name, part) in [
        ("out.md", "\n# How orb weavers build\n"),
        ("out.json", "\"metadata\":{"),
        ("out.html", "<p>"),
    ] {
        let file = data.path().join(name);
        let output = run(&data, &["scan", &page, "--out", &file.to_string_lossy()]);
        assert!(output.status.success(), "{output:?}");
        assert_eq!(output.stdout, b"", "{name}");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(part), "{name}: {text}");
    }
    let output = run(
        &data,
        &["scan", &page, "--out", "-", "--format", "markdown"],
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("# How orb weavers build"), "{text}");
    let output = run(&data, &["scan", &page, "--out", "/nowhere/x.md"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write /nowhere/x.md"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_may_fail_on_an_error_status() {
    let (data, site) = (
        tempfile::tempdir().unwrap(),
        crate::support::Site::start().await,
    );
    let scan = |path: &str, options: &[&str]| {
        let url = site.url(path);
        let mut arguments = vec!["scan", &url, "--allow-net", "127.0.0.0/8"];
        arguments.extend(options);
        run(&data, &arguments)
    };
    let missing = scan("/status/404", &[]);
    assert_eq!(
        missing.status.code(),
        Some(0),
        "a page, whatever its status"
    );
    let missing = scan("/status/404", &["--fail"]);
    assert_eq!((missing.status.code(), missing.stdout.len()), (Some(1), 0));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("status 404"));
    assert!(scan("/article", &["--fail"]).status.success());
}

/// Compiled plugins in the user's cache.
fn compiled(cache: &TempDir) -> usize {
    let folder = std::fs::read_dir(cache.path().join("orbweaver/compiled"));
    let files = folder.into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".cwasm")).count()
}

#[test]
fn a_first_scan_compiles_only_the_plugins_that_it_needs() {
    let (data, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let file = data.path().join("page.html");
    std::fs::write(&file, crate::support::site::ARTICLE).unwrap();
    let fresh = data.path().join("data");
    let scan = |format: &str| {
        let output = command(&data)
            .env_remove("ORBWEAVER_PLUGINS__CACHE_DIR")
            .env("XDG_CACHE_HOME", cache.path())
            .env("ORBWEAVER_DATA_DIR", &fresh)
            .args(["scan", &file.to_string_lossy(), "--format", format])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    scan("markdown");
    assert_eq!(compiled(&cache), 1, "the one that was asked for");
    assert!(!fresh.exists(), "nothing lies in the folder");
    assert_eq!(scan("markdown"), "", "the second time nothing is compiled");
    let roles = "the roles of a page are the same code";
    assert_eq!(scan("links"), "", "{roles}");
    assert_eq!(compiled(&cache), 1, "{roles}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_serves_before_all_plugins_are_compiled() {
    let (data, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let served = super::Served::start(
        command(&data)
            .env_remove("ORBWEAVER_PLUGINS__CACHE_DIR")
            .env("XDG_CACHE_HOME", cache.path())
            .env("ORBWEAVER_BOOTSTRAP_KEY", crate::support::KEY),
    );
    assert!(compiled(&cache) < 10, "{}", compiled(&cache));
    // The requested plugin is waited for, and loaded first.
    let client = crate::support::Client::new(served.address, Some(crate::support::KEY));
    let body = serde_json::json!({"urls": ["mailto:a@example.org"]});
    let answer = client.post("/v1/actors/check-links", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(compiled(&cache) < 22, "the others are still to come");
    let missing = client.post("/v1/actors/nobody", &body).await;
    missing.error(404, "NOT_FOUND");
    let actors = client.get("/v1/actors").await.ok();
    assert_eq!(actors["items"].as_array().unwrap().len(), 7);
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
fn a_component_that_the_host_would_refuse_is_told_before_it_is_installed() {
    let data = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str]| {
        let output = run(&data, arguments);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        (output.status.code(), text)
    };
    let path = |name: &str| crate::support::fixture(name).to_string_lossy().into_owned();
    let (good, clocks) = (path("good"), path("clock-random"));
    let (code, text) = said(&["plugin", "inspect", &good]);
    assert!(
        code == Some(0) && text.contains("verdict      may be loaded"),
        "{text}"
    );
    let (code, text) = said(&["plugin", "inspect", &clocks]);
    let refusal = "verdict      refused: imports wasi:clocks";
    assert!(code == Some(1) && text.contains(refusal), "{text}");
    let (code, text) = said(&["plugin", "check", &good]);
    assert!(
        code == Some(0) && text.contains("passes its self-test"),
        "{text}"
    );
    let (code, text) = said(&["plugin", "check", &clocks]);
    assert!(
        code == Some(1) && text.contains("would be refused: imports"),
        "{text}"
    );
    // An extractor packed as an actor.
    let manifest = data.path().join("plugin.toml");
    let actor = "name = \"good\"\nkind = \"actor\"\nversion = \"1\"\napi = \"1.0.0\"\n";
    std::fs::write(&manifest, actor).unwrap();
    let (manifest, packed) = (manifest.to_string_lossy(), data.path().join("packed.wasm"));
    let packed = packed.to_string_lossy();
    let (code, text) = said(&[
        "plugin",
        "pack",
        &good,
        "--manifest",
        &manifest,
        "-o",
        &packed,
    ]);
    let refusal = "which a plugin of kind actor needs";
    assert!(code == Some(1) && text.contains(refusal), "{text}");
    assert!(!std::path::Path::new(&*packed).exists());
}

#[test]
fn a_closed_pipe_is_no_failure() {
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
        // Before anything is written.
        drop(process.stdout.take());
        let output = process.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}
