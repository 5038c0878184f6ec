//! The kit of plugin authors, on components that are built already.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Served, command};
use crate::documents::pdf;
use crate::support::{Client, KEY, Site, fixture, plugin_dir};

const ACTOR: &str = "actor-two-pages-rs";

/// `orbweaver plugin …` in a folder.
fn plugin(folder: &TempDir, arguments: &[&str]) -> Output {
    command(folder)
        .arg("plugin")
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The answer on standard output.
fn answer(output: &Output) -> Value {
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn component(name: &str) -> String {
    fixture(name).to_string_lossy().into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_answers_take_the_place_of_the_web() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    let input = json!({ "urls": [site.url("/article"), site.url("/nothing-here")] }).to_string();
    let (file, net) = (component(ACTOR), ["--allow-net", "127.0.0.0/8"]);
    let call = ["run", &file, "--input", &input];

    let before = plugin(&folder, &[&call[..], &["--offline"]].concat());
    assert_eq!(before.status.code(), Some(1));
    let said = text(&before.stderr);
    assert!(
        said.contains("is kept in") && said.contains("--record"),
        "{said}"
    );

    let recorded = plugin(&folder, &[&call[..], &net, &["--record"]].concat());
    let live = answer(&recorded);
    assert_eq!(live["items"][0]["status"], 200, "{live}");
    assert_eq!(live["items"][1]["status"], 404, "{live}");
    let said = text(&recorded.stderr);
    assert!(said.contains("host: GET") && said.contains("CPU"), "{said}");

    let hits = site.hits("/article");
    let replayed = plugin(&folder, &[&call[..], &["--offline"]].concat());
    assert_eq!(answer(&replayed), live);
    assert_eq!(site.hits("/article"), hits, "nothing was fetched");

    // What is kept may be edited by hand.
    let web = folder.path().join("fixtures/web");
    let kept = fs::read_dir(&web)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let article = kept
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .find(|path| path.to_string_lossy().contains("article"))
        .unwrap();
    let exchange = fs::read_to_string(&article).unwrap();
    fs::write(&article, exchange.replace("status = 200", "status = 503")).unwrap();
    let edited = answer(&plugin(&folder, &[&call[..], &["--offline"]].concat()));
    assert_eq!(edited["items"][0]["status"], 503, "{edited}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guard_holds_for_runs_of_the_kit() {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    let input = json!({ "urls": [site.url("/article")] }).to_string();
    let refused = plugin(&folder, &["run", &component(ACTOR), "--input", &input]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(said.contains("--allow-net"), "{said}");
    assert_eq!(site.hits("/article"), 0);
    // It is named only where it helps.
    let input = json!({ "urls": ["http://127.0.0.1:1/"] }).to_string();
    let refused = plugin(&folder, &["run", &component(ACTOR), "--input", &input]);
    let said = text(&refused.stderr);
    assert!(
        said.contains("port 1 is reserved") && !said.contains("--allow-net"),
        "{said}"
    );

    let wrong = plugin(
        &folder,
        &["run", &component(ACTOR), "--input", r#"{"urls": 1}"#],
    );
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        text(&wrong.stderr).contains("urls"),
        "{}",
        text(&wrong.stderr)
    );
}

#[test]
fn cases_are_compared_with_the_answers_that_were_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let fixtures = folder.path().join("fixtures");
    fs::create_dir(&fixtures).unwrap();
    let case = |name: &str, html: &str| {
        let page = format!("{name}.html");
        fs::write(fixtures.join(&page), html).unwrap();
        let call = json!({"html": page, "url": "https://example.com/"});
        fs::write(fixtures.join(format!("{name}.case.json")), call.to_string()).unwrap();
    };
    case("a", "<title>First</title>");
    case("b", "<title>Second</title>");
    let file = plugin_dir().join("extract-metadata.wasm");
    let file = file.to_string_lossy();

    let new = plugin(&folder, &["test", &file]);
    assert_eq!(new.status.code(), Some(1));
    assert!(
        text(&new.stdout).contains("a: new"),
        "{}",
        text(&new.stdout)
    );
    let accepted = plugin(&folder, &["test", &file, "--accept"]);
    assert!(accepted.status.success(), "{}", text(&accepted.stderr));
    let same = plugin(&folder, &["test", &file]);
    assert!(same.status.success());
    assert!(text(&same.stdout).contains("2 as expected, 0 not"));

    case("b", "<title>Third</title>");
    let changed = plugin(&folder, &["test", &file]);
    assert_eq!(changed.status.code(), Some(1));
    let said = text(&changed.stdout);
    assert!(
        said.contains("a: ok") && said.contains("b: different"),
        "{said}"
    );
    assert!(said.contains("-") && said.contains("Third"), "{said}");
}

#[test]
fn an_option_that_a_case_leaves_without_effect_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = plugin_dir().join("extract-metadata.wasm");
    let file = file.to_string_lossy();
    for option in [
        "--input",
        "--url",
        "--html",
        "--role",
        "--domain",
        "--path",
        "--hook-config",
        "--event",
        "--payload",
    ] {
        let tested = plugin(&folder, &["test", &file, option, "{}"]);
        assert_ne!(tested.status.code(), Some(0));
        let said = text(&tested.stderr);
        assert!(
            said.contains(&format!("{option} is for `orbweaver plugin run`")),
            "{said}"
        );
        let run = plugin(&folder, &["run", &file, "--case", "a", option, "{}"]);
        assert_eq!(run.status.code(), Some(2), "{option}");
    }
}

#[test]
fn a_hook_is_called_with_the_links_of_its_page() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("page.html"),
        "<a href=/news/1>One</a> <a href=/search?q=1>Search</a>",
    )
    .unwrap();
    let hook = plugin_dir().join("hook-section-priority.wasm");
    let config = json!({"sections": [{"prefix": "/news/", "priority": 10}], "skip": ["/search"]});
    let run = [
        "run",
        &hook.to_string_lossy(),
        "--html",
        "page.html",
        "--url",
        "https://example.com/",
        "--hook-config",
        &config.to_string(),
    ];
    let verdict = answer(&plugin(&folder, &run));
    assert_eq!(verdict["page"], "kept", "{verdict}");
    assert_eq!(verdict["links"][0]["priority"], 10, "{verdict}");
    assert!(verdict["links"][1]["skipped"].is_string(), "{verdict}");

    // As in a crawl, where a visit without a status is of no page.
    let tool = component("hook-tool");
    let config = json!({"record": {}, "only": "example.com"}).to_string();
    let page = ["--html", "page.html", "--hook-config", &config];
    let run = [&["run", &tool][..], &page].concat();
    let verdict = answer(&plugin(&folder, &run));
    assert_eq!(verdict["records"][0]["status"], 200, "{verdict}");
}

#[test]
fn answers_are_checked_as_in_the_service() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.html"), "<p>Text").unwrap();
    let hook = component("hook-tool");
    let config = json!({"request": {"headers": {"Host": "evil.example"}}}).to_string();
    // Of a host that the hook may change requests to.
    let page = ["--html", "page.html", "--url", "http://127.0.0.1/"];
    let run = ["run", &hook, "--hook-config", &config];
    let failed = plugin(&folder, &[&run[..], &page].concat());
    assert_eq!(failed.status.code(), Some(1));
    let said = text(&failed.stderr) + &text(&failed.stdout);
    assert!(
        said.contains("request: bad-output: header `Host` frames the message"),
        "{said}"
    );

    let whole = fs::read(component("bad-output")).unwrap();
    let manifest = "name = \"links\"\nkind = \"extractor\"\nversion = \"1\"\napi = \"1.0.0\"\n";
    let links = orbweaver_engine::manifest::embed(&whole, manifest).unwrap();
    let file = folder.path().join("extract-links.wasm");
    fs::write(&file, links).unwrap();
    let run = ["run", &file.to_string_lossy()];
    let failed = plugin(&folder, &[&run[..], &page].concat());
    assert_eq!(failed.status.code(), Some(1));
    let said = text(&failed.stderr) + &text(&failed.stdout);
    let why = "bad-output: links[0] must be an object, not a number";
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_file_that_is_not_there_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    for command in [&["run", "nofile.wasm"][..], &["publish", "nofile.wasm"]] {
        let failed = plugin(&folder, command);
        assert_ne!(failed.status.code(), Some(0));
        let said = text(&failed.stderr);
        assert!(
            said.contains("there is no file or folder nofile.wasm"),
            "{said}"
        );
    }
}

#[test]
fn a_page_may_be_a_file_that_is_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = pdf("On Ostriches", "They run fast.", "https://example.org/more");
    fs::write(folder.path().join("a.pdf"), file).unwrap();
    let plugin_file = plugin_dir().join("extract-document-html.wasm");
    let run = ["run", &plugin_file.to_string_lossy(), "--html", "a.pdf"];
    let converted = answer(&plugin(&folder, &run));
    assert_eq!(converted["format"], "pdf", "{converted}");
    let html = converted["html"].as_str().unwrap();
    assert!(html.contains("On Ostriches</h1>"), "{html}");
}

#[test]
fn plugins_read_the_html_of_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let file = pdf("On Ostriches", "They run fast.", "https://example.org/more");
    fs::write(folder.path().join("a.pdf"), file).unwrap();
    let run = |name: &str| {
        let file = plugin_dir().join(name);
        plugin(
            &folder,
            &["run", &file.to_string_lossy(), "--html", "a.pdf"],
        )
    };
    let markdown = answer(&run("extract-markdown.wasm")).to_string();
    assert!(markdown.contains("On Ostriches"), "{markdown}");
    let verdict = answer(&run("hook-section-priority.wasm"));
    let link = &verdict["links"][0]["url"];
    assert_eq!(link, "https://example.org/more", "{verdict}");
}

#[test]
fn a_hook_of_deliveries_is_called_with_a_payload() {
    let folder = tempfile::tempdir().unwrap();
    let hook = component("hook-delivery");
    let payload = ["--payload", r#"{"id": 7}"#];
    let done = plugin(&folder, &[&["run", &hook][..], &payload].concat());
    let expected = json!({
        "event": "crawl.done", "run": 1, "url": "https://example.com/", "calls": 1,
        "payload": {"id": 7},
    });
    assert_eq!(answer(&done), expected);

    let config = [
        "--event",
        "crawl.diff_detected",
        "--hook-config",
        r#"{"do": "panic"}"#,
    ];
    let failed = plugin(&folder, &[&["run", &hook][..], &payload, &config].concat());
    assert_eq!(failed.status.code(), Some(1));
    let said = text(&failed.stderr) + &text(&failed.stdout);
    assert!(said.contains("deliver: trap"), "{said}");

    let nothing = plugin(&folder, &["run", &hook]);
    assert_eq!(nothing.status.code(), Some(1));
    assert!(text(&nothing.stderr).contains("payload: "));
    let page = plugin(
        &folder,
        &[&["run", &hook, "--html"][..], &[&hook], &payload].concat(),
    );
    assert!(text(&page.stderr).contains("html: not supported"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_published_and_rolled_back_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let served = Served::start(command(&folder).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
    let server = format!("http://{}", served.address);
    let there = ["--server", &server, "--key", KEY];
    let file = component(ACTOR);
    let publish = ["publish", &file, "--grant", "http", "--grant", "extract"];

    let stranger = plugin(
        &folder,
        &[&publish[..], &there[..2], &["--key", "ow_wrong"]].concat(),
    );
    assert_eq!(stranger.status.code(), Some(1));
    assert!(
        text(&stranger.stderr).contains("401"),
        "{}",
        text(&stranger.stderr)
    );

    let first = plugin(&folder, &[&publish[..], &there].concat());
    assert!(
        text(&first.stdout).contains("version 1"),
        "{}",
        text(&first.stderr)
    );
    // Another content, so that it is another version: a custom section without meaning.
    let other = folder.path().join("again.wasm");
    let mut bytes = fs::read(&file).unwrap();
    bytes.extend([0, 2, 1, b'x']);
    fs::write(&other, bytes).unwrap();
    let other = other.to_string_lossy();
    let publish = ["publish", &other, "--grant", "http"];
    let second = plugin(&folder, &[&publish[..], &there].concat());
    assert!(
        text(&second.stdout).contains("version 2"),
        "{}",
        text(&second.stderr)
    );

    let name = "two-pages-rs";
    let back = plugin(&folder, &[&["rollback", name][..], &there].concat());
    assert!(
        text(&back.stdout).contains("version 1"),
        "{}",
        text(&back.stderr)
    );
    let versions = plugin(&folder, &[&["versions", name][..], &there].concat());
    let said = text(&versions.stdout);
    let serving = said.lines().find(|line| line.ends_with("serves")).unwrap();
    assert!(serving.trim_start().starts_with('1'), "{said}");

    let client = Client::new(served.address, Some(KEY));
    let listed = client.get("/v1/plugins").await.ok();
    let items = listed["items"].as_array().unwrap();
    assert!(items.iter().any(|item| item["name"] == name), "{listed}");
}

#[test]
fn a_project_is_created_once_and_only_with_a_name_that_loads() {
    let folder = tempfile::tempdir().unwrap();
    let created = plugin(&folder, &["new", "image-alts"]);
    assert!(created.status.success(), "{}", text(&created.stderr));
    let project = folder.path().join("image-alts");
    for file in [
        "Cargo.toml",
        "plugin.toml",
        "src/lib.rs",
        "vendor/orbweaver/plugins/sdk/src/lib.rs",
    ] {
        assert!(project.join(file).is_file(), "{file}");
    }
    let again = plugin(&folder, &["new", "image-alts"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("already exists"));
    let refused = plugin(&folder, &["new", "Image"]);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(said.contains("lower-case"), "{said}");
    for language in ["rust", "javascript", "python"] {
        for kind in ["extractor", "actor", "fetcher", "hook"] {
            let name = format!("{kind}-{language}");
            let arguments = ["new", &name, "--kind", kind, "--language", language];
            let created = plugin(&folder, &arguments);
            assert!(created.status.success(), "{}", text(&created.stderr));
            let manifest = folder.path().join(&name).join("plugin.toml");
            let manifest = std::fs::read_to_string(manifest).unwrap();
            assert!(
                manifest.contains(&format!("kind = \"{kind}\"")),
                "{manifest}"
            );
        }
    }
    let elsewhere = plugin(&folder, &["build", "."]);
    assert!(text(&elsewhere.stderr).contains("plugin.toml"));
    assert!(!Path::new(&project).join("build").exists());
}
