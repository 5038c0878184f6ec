//! The real program: first start, command line, signals.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use orbweaver_origin::Origin;
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Client, KEY, Receiver, Reply, Site, plugin_dir};

/// The program, which cargo builds with this suite and with the same features: the server's
/// own `tests/it.rs` asks for it, and has this suite's name.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let suite = std::env::current_exe().expect("a path");
        let program = suite
            .ancestors()
            .nth(2)
            .expect("target/debug")
            .join("orbweaver");
        let built = program.is_file();
        assert!(built, "`cargo test --workspace` builds the program, too");
        program
    })
}

pub(crate) fn command(data: &TempDir) -> Command {
    let mut command = Command::new(program());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("ORBWEAVER_") || text.starts_with("OTEL_") {
            command.env_remove(name);
        }
    }
    command
        .env("ORBWEAVER_DATA_DIR", data.path())
        .env("ORBWEAVER_PLUGIN_DIR", plugin_dir())
        .env(
            "ORBWEAVER_PLUGINS__CACHE_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-plugins"),
        )
        .stdin(Stdio::null());
    command
}

pub(crate) fn run(data: &TempDir, arguments: &[&str]) -> Output {
    command(data)
        .args(arguments)
        .output()
        .expect("the program runs")
}

pub(crate) struct Served {
    process: Child,
    pub(crate) address: SocketAddr,
    greeting: String,
}

impl Served {
    /// Starts it and waits for the end of its greeting.
    fn start(command: &mut Command) -> Self {
        Self::start_logged(command.stderr(Stdio::null()))
    }

    /// As [`start`](Self::start), with the log where the command has it.
    pub(crate) fn start_logged(command: &mut Command) -> Self {
        let mut process = command
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--allow-net",
                "127.0.0.0/8",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(process.stdout.take().expect("an output")).lines();
        let mut greeting = String::new();
        let mut address = None;
        for line in lines.by_ref() {
            let line = line.expect("text");
            greeting.push_str(&line);
            greeting.push('\n');
            if let Some((_, found)) = line.split_once("listens on http://") {
                address = found.trim().parse().ok();
            }
            if line.contains("API reference") {
                break;
            }
        }
        // The rest comes in the same breath; what stays open is read to its end later.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            process,
            address: address.expect("an address"),
            greeting,
        }
    }

    /// Waits for its end, which was good.
    pub(crate) fn ended(mut self) {
        let status = self.process.wait().expect("an end");
        assert_eq!(status.code(), Some(0));
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        let sent = Command::new("kill")
            .args(["-s", signal, &pid])
            .status()
            .expect("kill runs");
        assert!(sent.success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn the_first_start_prints_a_key_that_works_and_only_then() {
    let data = tempfile::tempdir().unwrap();
    let log = data.path().join("out.txt");
    let mut keys = Vec::new();
    for _ in 0..2 {
        let out = std::fs::File::create(&log).unwrap();
        let mut process = command(&data)
            .args(["serve", "--listen", "127.0.0.1:0"])
            .stdout(out)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let text = wait_for(&log, "API reference", &["curl", "API reference"]).await;
        let address: SocketAddr = text
            .lines()
            .find_map(|line| line.split_once("listens on http://"))
            .and_then(|(_, address)| address.trim().parse().ok())
            .unwrap();
        let key = text
            .lines()
            .map(str::trim)
            .find(|line| line.starts_with("orb_"));
        if let Some(key) = key {
            assert_eq!(
                Client::new(address, Some(key)).get("/v1/logs").await.status,
                200
            );
            assert!(
                text.contains(&format!("curl -s http://{address}/v1/scan")),
                "{text}"
            );
            assert!(text.contains(&format!("Bearer {key}")), "{text}");
        }
        keys.push(key.map(str::to_owned));
        process.kill().unwrap();
        process.wait().unwrap();
    }
    assert!(keys[0].is_some(), "the first start prints a key");
    assert_eq!(keys[1], None, "the second does not");
}

/// The file's text once it holds `first`, and, should the rest follow, that too.
async fn wait_for(file: &Path, first: &str, all: &[&str]) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let complete = all.iter().all(|part| text.contains(part)) && text.ends_with('\n');
        let late = Instant::now() > deadline;
        assert!(
            !late || text.contains(first),
            "the service did not start: {text}"
        );
        if complete || late || (text.contains(first) && !text.contains("created")) {
            return text;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn sigterm_lets_running_requests_finish_and_exits_in_time() {
    let data = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    let mut served = Served::start(command(&data).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
    assert!(
        !served.greeting.contains(KEY),
        "a configured key is not printed"
    );
    let client = Client::new(served.address, Some(KEY));
    let url = site.url("/slow/1000");
    let scan = tokio::spawn(async move { client.post("/v1/scan", &json!({"url": url})).await });
    while site.hits("/slow/1000") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let asked = Instant::now();
    served.signal("TERM");
    let result = scan.await.unwrap().ok();
    assert_eq!(result["metadata"]["title"], "1000 ms late");
    let status = tokio::task::spawn_blocking(move || served.process.wait().unwrap())
        .await
        .unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(asked.elapsed() < Duration::from_secs(10));
}

#[test]
fn projects_are_created_listed_and_changed() {
    let data = tempfile::tempdir().unwrap();
    let created = run(&data, &["project", "create", "shop", "--tier", "pro"]);
    assert!(created.status.success());
    let key = String::from_utf8(created.stdout).unwrap();
    assert!(
        orbweaver_server::accounts::key::is_well_formed(key.trim()),
        "{key}"
    );

    let again = run(&data, &["project", "create", "shop"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"));

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

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_crawled_without_a_server() {
    let site = Site::start().await;
    let data = tempfile::tempdir().unwrap();
    let (lines, folder) = (data.path().join("p.ndjson"), data.path().join("site"));
    let crawl = |more: &[&str]| {
        let url = site.url("/article");
        let mut arguments = vec!["crawl", &url, "--allow-net", "127.0.0.0/8"];
        arguments.extend(["--delay-ms", "0", "--max-pages", "10"]);
        arguments.extend(more);
        let done = run(&data, &arguments);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        assert!(said.contains("done: 3 pages"), "{said}");
        String::from_utf8(done.stdout).unwrap()
    };
    let printed = crawl(&[]);
    assert!(
        printed.contains(&format!("200\t{}\n", site.url("/article"))),
        "{printed}"
    );
    assert!(
        printed.contains(&format!("404\t{}\n", site.url("/menu"))),
        "{printed}"
    );

    crawl(&["--out", lines.to_str().unwrap()]);
    let text = std::fs::read_to_string(&lines).unwrap();
    let pages: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(pages.len(), 3);
    assert_eq!(pages[0]["url"], site.url("/article"));
    let markdown = pages[0]["markdown"].as_str().unwrap();
    assert!(markdown.contains("# How orb weavers build"), "{markdown}");
    assert_eq!(pages[0]["metadata"]["title"], "How orb weavers build");

    crawl(&["--out", folder.to_str().unwrap()]);
    let host = format!("127.0.0.1_{}", site.address.port());
    let page = std::fs::read_to_string(folder.join(&host).join("article.md")).unwrap();
    assert!(
        page.starts_with(&format!("---\nurl: \"{}\"\n", site.url("/article"))),
        "{page}"
    );
    assert!(
        page.contains("title: \"How orb weavers build\"\n"),
        "{page}"
    );
    // What answered 404 is no document.
    assert_eq!(std::fs::read_dir(folder.join(&host)).unwrap().count(), 1);

    for (arguments, expected) in [
        (vec!["crawl", "http://10.0.0.1/"], "--allow-net"),
        (
            vec!["crawl", "https://example.com/", "--depth", "51"],
            "depth: must be between 1 and 50",
        ),
        (vec!["crawl", "--resume", "999"], "there is no run 999"),
    ] {
        let refused = run(&data, &arguments);
        assert_eq!(refused.status.code(), Some(1));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(expected), "{said}");
    }
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
fn a_taken_port_is_explained() {
    let data = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&data, &["serve", "--listen", &address]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        text.contains(&address) && text.contains("--listen"),
        "{text}"
    );
    let mut rest = String::new();
    output.stdout.as_slice().read_to_string(&mut rest).unwrap();
    assert!(!rest.contains("listens on"), "{rest}");
}

#[tokio::test]
async fn a_webhook_outlives_kill_9() {
    let data = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    // The process dies after its run ended and before the receiver answers.
    let mut receiver = Receiver::start(&[Reply::Hang]).await;
    let start = || Served::start(command(&data).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
    let served = start();
    let body = json!({"url": site.url("/article"), "max_pages": 1, "delay_ms": 0,
        "webhook_url": receiver.url()});
    let client = Client::new(served.address, Some(KEY));
    let answer = client.post("/v1/crawls", &body).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let run = answer.json()["id"].clone();
    let first = receiver.next().await;
    served.signal("KILL");
    drop(served);

    let served = start();
    let second = receiver.next().await;
    assert_eq!(second.json()["id"], run);
    assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
    let client = Client::new(served.address, Some(KEY));
    loop {
        let shown = client.get(&format!("/v1/crawls/{run}")).await.ok();
        if shown["webhook_status"] == "delivered" {
            assert_eq!(shown["webhook_attempts"], 1);
            break;
        }
        assert_eq!(shown["webhook_status"], "pending", "{shown}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(receiver.is_quiet());
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

#[tokio::test]
async fn traces_reach_the_collector_that_the_environment_names() {
    let data = tempfile::tempdir().unwrap();
    let collector = Origin::start().await.unwrap();
    collector.set("/v1/traces", orbweaver_origin::Reply::new(200, "{}"));
    let mut served = Served::start(
        command(&data)
            .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
            .env("ORBWEAVER_LOG__FILTER", "error")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url(""))
            .env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret%20word")
            .env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test"),
    );
    let client = Client::new(served.address, Some(KEY));
    assert_eq!(client.get("/v1/logs?limit=7").await.status, 200);
    // What is not sent yet is sent when the service stops.
    served.signal("TERM");
    let stopped = tokio::task::spawn_blocking(move || served.process.wait().unwrap());
    assert_eq!(stopped.await.unwrap().code(), Some(0));
    let request = collector
        .requests()
        .into_iter()
        .find(|request| request.path() == "/v1/traces")
        .expect("a batch of spans");
    let header = |name: &str| {
        let found = request
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone())
    };
    assert_eq!(header("api-key").as_deref(), Some("secret word"));
    let body: serde_json::Value = serde_json::from_slice(&request.body).unwrap();
    let sent = &body["resourceSpans"][0];
    let about = sent["resource"]["attributes"].to_string();
    for part in ["orbweaver", "deployment.environment", "service.version"] {
        assert!(about.contains(part), "{part}: {about}");
    }
    let spans = sent["scopeSpans"][0]["spans"].as_array().unwrap();
    let span = spans
        .iter()
        .find(|span| span["attributes"].to_string().contains("/v1/logs"))
        .unwrap_or_else(|| panic!("the request's span: {body}"));
    assert_eq!(span["name"], "request");
    assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
    assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
    let attributes = span["attributes"].to_string();
    assert!(
        attributes.contains(r#"{"key":"status","value":{"intValue":"200"}}"#),
        "{attributes}"
    );
    assert!(!body.to_string().contains(KEY), "keys are in no trace");
}

#[test]
fn a_collector_that_cannot_be_used_is_explained() {
    let data = tempfile::tempdir().unwrap();
    let output = command(&data)
        .args(["serve", "--listen", "127.0.0.1:0"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("OTEL_EXPORTER_OTLP_PROTOCOL") && said.contains("4318"),
        "{said}"
    );
}

/// Groups of the browsers that a process started.
fn browsers_of(parent: u32) -> Vec<i32> {
    stats()
        .into_iter()
        .filter(|(_, name, ppid, _)| name.contains("chrom") && *ppid == i64::from(parent))
        .map(|(_, _, _, group)| group)
        .collect()
}

fn group_members(group: i32) -> usize {
    let of_group = |(_, _, _, of): &(i32, String, i64, i32)| *of == group;
    // A zombie that nobody collects any more is no process.
    stats().iter().filter(|stat| of_group(stat)).count()
}

/// Id, name, parent and group of every process that is no zombie.
fn stats() -> Vec<(i32, String, i64, i32)> {
    let entries = std::fs::read_dir("/proc").expect("a process table");
    entries
        .filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
            let (front, fields) = stat.rsplit_once(") ")?;
            let (pid, name) = front.split_once(" (")?;
            let mut fields = fields.split(' ');
            if fields.next()? == "Z" {
                return None;
            }
            let ppid = fields.next()?.parse().ok()?;
            Some((
                pid.parse().ok()?,
                name.to_owned(),
                ppid,
                fields.next()?.parse().ok()?,
            ))
        })
        .collect()
}

#[tokio::test]
async fn no_browser_is_left_after_a_stop_or_a_kill() {
    let site = Site::start().await;
    for signal in ["TERM", "KILL"] {
        let data = tempfile::tempdir().expect("a folder");
        let mut served = Served::start(command(&data).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
        let client = Client::new(served.address, Some(KEY));
        let body = json!({"url": site.url("/article")});
        client.post("/v1/cloud/render", &body).await.ok();
        let groups = browsers_of(served.process.id());
        assert_eq!(groups.len(), 1, "one browser runs");
        served.signal(signal);
        served.process.wait().expect("it ends");
        let end = Instant::now() + Duration::from_secs(60);
        while group_members(groups[0]) > 0 {
            assert!(Instant::now() < end, "left behind after {signal}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
