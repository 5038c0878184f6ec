//! `orbweaver login`: the commands of a user run at a service.

use std::io::Write as _;
use std::process::{Output, Stdio};

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Served, command, run};
use crate::support::{Client, KEY, Site};

/// A service that is logged in to, and the folders of both machines.
pub(super) struct LoggedIn {
    pub(super) served: Served,
    pub(super) user: TempDir,
    pub(super) service: TempDir,
}

impl LoggedIn {
    pub(super) fn start() -> Self {
        let (service, user) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let served = Served::start(command(&service).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
        Self::with(served, user, service)
    }

    /// As [`start`](Self::start), at a service that works on a folder.
    pub(super) fn with(served: Served, user: TempDir, service: TempDir) -> Self {
        let done = login(&user, &format!("http://{}", served.address), KEY);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        assert!(said.contains("Logged in") && !said.contains(KEY), "{said}");
        Self {
            served,
            user,
            service,
        }
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        told(&run(&self.user, arguments))
    }
}

fn told(done: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = done.status.code().expect("an exit code");
    (code, text(&done.stdout), text(&done.stderr))
}

fn login(user: &TempDir, url: &str, key: &str) -> Output {
    let mut process = command(user)
        .args(["login", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    // A command that refuses its arguments reads nothing.
    let _ = input.write_all(format!("{key}\n").as_bytes());
    drop(input);
    process.wait_with_output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_lets_the_same_commands_run_at_a_service() {
    let site = Site::start().await;
    let page = site.url("/article");
    let at = LoggedIn::start();

    let (code, markdown, said) = at.run(&["scan", &page]);
    assert_eq!(code, 0, "{said}");
    assert!(markdown.contains("# How orb weavers build"), "{markdown}");
    for (format, expected) in [
        ("json", "\"content_hash\""),
        ("article", " "),
        ("article-html", "<"),
        ("metadata", "\"title\""),
        ("signals", "\"word_count\""),
        ("links", "\t"),
        ("structured-data", "\"counts\""),
    ] {
        let (code, text, said) = at.run(&["scan", &page, "--format", format]);
        assert_eq!(code, 0, "{format}: {said}");
        assert!(text.contains(expected), "{format}: {text}");
        let local = ["scan", &page, "--format", format, "--local"];
        let (_, here, _) = at.run(&[&local[..], &["--allow-net", "127.0.0.0/8"]].concat());
        if format != "json" {
            assert_eq!(text, here, "{format}");
        }
    }

    let file = at.user.path().join("p.ndjson");
    let out = file.to_str().unwrap();
    let crawl = ["crawl", &page, "--delay-ms", "0", "--exclude", "ä"];
    let (code, _, said) = at.run(&[&crawl[..], &["--out", out]].concat());
    assert_eq!(code, 0, "{said}");
    assert_eq!(
        said.matches("warning: exclude_paths[0] ").count(),
        1,
        "{said}"
    );
    assert!(said.contains("done: 3 pages"), "{said}");
    let lines = std::fs::read_to_string(&file).unwrap();
    let pages: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(pages.len(), 3, "{lines}");
    assert!(pages[0]["markdown"].is_string() && pages[0]["metadata"].is_object());
    // The run is the service's.
    let client = Client::new(at.served.address, Some(KEY));
    let run = said.split("run ").nth(1).unwrap();
    let id: i64 = run.split(' ').next().unwrap().parse().unwrap();
    let stored = client.get(&format!("/v1/crawls/{id}")).await;
    assert_eq!(stored.json()["page_count"], json!(3));

    let folder = at.user.path().join("site");
    let resumed = id.to_string();
    let out = format!("{}/", folder.display());
    let (code, _, said) = at.run(&["crawl", "--resume", &resumed, "--out", &out]);
    assert_eq!(code, 0, "{said}");
    let written = walk(&folder);
    assert!(!written.is_empty(), "{said}");
    let text = std::fs::read_to_string(&written[0]).unwrap();
    assert!(text.starts_with("---\nurl: \""), "{text}");
    assert!(text.contains("Menu entry"), "{text}");
    let main = at.user.path().join("main.ndjson");
    let only = ["--fields", "markdown", "--main-content", "--out"];
    let arguments = [
        &["crawl", "--resume", &resumed],
        &only[..],
        &[main.to_str().unwrap()],
    ];
    let (code, _, said) = at.run(&arguments.concat());
    assert_eq!(code, 0, "{said}");
    let lines = std::fs::read_to_string(&main).unwrap();
    let written: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    let markdown = written["markdown"].as_str().unwrap();
    assert!(
        markdown.contains("orb weaver") && !markdown.contains("Menu entry"),
        "{markdown}"
    );
    assert!(written.get("metadata").is_none(), "{written}");

    let (code, listed, _) = at.run(&["crawl", "--resume", &resumed]);
    assert_eq!(code, 0);
    assert!(listed.contains(&format!("200\t{page}\n")), "{listed}");
    assert_eq!(listed.lines().count(), 3, "{listed}");

    let (code, printed, said) = at.run(&["crawl", "--resume", &resumed, "--out", "-"]);
    assert_eq!(code, 0, "{said}");
    let first: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    assert!(first["markdown"].is_string(), "{printed}");
    assert_eq!(printed.lines().count(), 3, "{printed}");

    // The caps are of all pages, cloud pages among them.
    let cloud = json!({"url": page, "force_backend": "local"});
    client.post("/v1/cloud/scrape", &cloud).await.ok();
    let told = client.get("/v1/usage").await.ok();
    assert_eq!(told["today"]["cloud_pages"], 1);
    let (code, usage, said) = at.run(&["usage", "--days", "2"]);
    assert_eq!(code, 0, "{said}");
    for (name, used) in [
        ("pages today", &told["daily_pages"]["used"]),
        ("pages a month", &told["monthly_pages"]["used"]),
    ] {
        let line = usage.lines().find_map(|line| line.strip_prefix(name));
        let shown = line.and_then(|line| line.split_whitespace().next());
        assert_eq!(shown, Some(used.to_string().as_str()), "{usage}");
    }
    assert!(usage.contains("DAY"), "{usage}");

    at.served.signal("TERM");
    at.served.ended();
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_at_a_service_is_told_as_it_tells_it() {
    let at = LoggedIn::start();
    let (code, _, said) = at.run(&["scan", "http://127.0.0.1:1/"]);
    assert_eq!(code, 1);
    assert!(
        said.contains("answers 502") || said.contains("answers 422"),
        "{said}"
    );
    let (code, _, said) = at.run(&["crawl", "https://example.com/", "--max-pages", "0"]);
    assert_eq!(code, 1);
    assert!(said.contains("max_pages"), "{said}");
    let (code, _, said) = at.run(&["crawl", "--resume", "4711"]);
    assert_eq!(code, 1);
    assert!(said.contains("no run 4711"), "{said}");
    let (code, _, said) = at.run(&["scan", "https://example.com/", "--allow-net", "10.0.0.0/8"]);
    assert_eq!(code, 1);
    assert!(said.contains("--local"), "{said}");

    let (code, _, said) = at.run(&["logout"]);
    assert_eq!(code, 0);
    assert!(said.contains("Logged out"), "{said}");
    let (_, _, said) = at.run(&["logout"]);
    assert!(said.contains("no login"), "{said}");
    at.served.signal("TERM");
    at.served.ended();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_the_environment_is_for_the_service_that_is_named() {
    let at = LoggedIn::start();
    let address = format!("http://{}", at.served.address);
    let nobody = tempfile::tempdir().unwrap();
    let file = nobody.path().join("page.html");
    std::fs::write(&file, "<title>A</title><h1>Alone</h1>").unwrap();
    let file = file.to_str().unwrap();
    let with_key = |user: &TempDir, key: &str, arguments: &[&str]| {
        let mut command = command(user);
        let done = command.env("ORBWEAVER_KEY", key).args(arguments).output();
        told(&done.unwrap())
    };
    // Without a service it has no effect: these run here.
    let (code, text, said) = with_key(&nobody, "orb_other", &["scan", file]);
    assert_eq!((code, text.contains("# Alone")), (0, true), "{said}");
    for arguments in [&["usage"][..], &["plugin", "list"]] {
        let (code, _, said) = with_key(&nobody, "orb_other", arguments);
        assert_eq!(code, 0, "{arguments:?}: {said}");
    }
    // The login's service gets the login's key, not that of another service.
    let (code, usage, said) = with_key(&at.user, "orb_other", &["usage"]);
    assert_eq!((code, usage.contains("pages today")), (0, true), "{said}");
    // A service that is named gets it.
    let named = ["usage", "--server", &address];
    let (code, _, said) = with_key(&nobody, KEY, &named);
    assert_eq!(code, 0, "{said}");
    let (code, _, said) = with_key(&nobody, "orb_other", &named);
    assert_eq!((code, said.contains("401")), (1, true), "{said}");
    let (code, _, said) = told(&run(&nobody, &["usage", "--key", KEY]));
    assert_eq!((code, said.contains("--server")), (2, true), "{said}");
    at.served.signal("TERM");
    at.served.ended();
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_no_fault_where_the_service_runs() {
    let at = LoggedIn::start();
    let address = at.served.address.to_string();
    let doctor = |address: &str| {
        let mut command = command(&at.service);
        let done = command
            .env("ORBWEAVER_LISTEN", address)
            .arg("doctor")
            .output();
        told(&done.unwrap())
    };
    let (code, text, said) = doctor(&address);
    assert_eq!(code, 0, "{text}{said}");
    assert!(
        text.contains(&format!("the service runs at {address}")),
        "{text}"
    );
    // Another program's address is none.
    let taken = Origin::start().await.unwrap();
    taken.set("/v1/ready", Reply::text("ready"));
    let (code, text, _) = doctor(&taken.address().to_string());
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("cannot listen on"), "{text}");
    at.served.signal("TERM");
    at.served.ended();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_needs_a_key_that_works_and_a_way_that_is_closed() {
    let at = LoggedIn::start();
    let address = format!("http://{}", at.served.address);
    // As a sign-in page in front of a service.
    let elsewhere = Origin::start().await.unwrap();
    elsewhere.set("/v1/usage", Reply::html("<h1>Sign in</h1>"));
    for (url, key, expected) in [
        (address.as_str(), "orb_wrong", "does not know this key"),
        (&address, "", "no key was given"),
        ("http://crawl.example.com", KEY, "--insecure"),
        ("crawl.example.com", KEY, "not a URL"),
        (&elsewhere.url(""), KEY, "not JSON"),
    ] {
        let (code, _, said) = told(&login(&at.user, url, key));
        assert_eq!(code, 1, "{said}");
        assert!(said.contains(expected), "{url}: {said}");
        assert!(!said.contains(KEY), "{said}");
    }
    let other = elsewhere.url("");
    let (code, told, said) = at.run(&["usage", "--server", &other, "--key", KEY]);
    assert_eq!((code, told.as_str()), (1, ""), "{said}");
    assert!(said.contains("not JSON"), "{said}");
    // The first login is still there.
    let (code, _, said) = at.run(&["usage"]);
    assert_eq!(code, 0, "{said}");
    at.served.signal("TERM");
    at.served.ended();
}
