//! Starting and stopping: the greeting, signals, and what survives a kill.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use orbweaver_tests::postgres::Postgres;
use serde_json::json;

use super::{Served, command, run};
use crate::support::{Client, KEY, Receiver, Reply, Site, wait};

#[tokio::test]
async fn only_the_first_start_prints_a_key() {
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

#[tokio::test]
async fn a_project_made_before_the_first_start_is_not_the_administrators() {
    let data = tempfile::tempdir().unwrap();
    let made = run(&data, &["project", "create", "shop", "--tier", "free"]);
    assert!(made.status.success());
    let listed = run(&data, &["project", "list"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    let administrator = listed.lines().find(|line| line.contains("administrator"));
    assert!(administrator.unwrap().starts_with("default "), "{listed}");

    let served = Served::start(command(&data).env("ORBWEAVER_BOOTSTRAP_KEY", KEY));
    let shop = String::from_utf8(made.stdout).unwrap();
    for (key, tier) in [(KEY, "self_hosted"), (shop.trim(), "free")] {
        let client = Client::new(served.address, Some(key));
        assert_eq!(client.get("/v1/usage").await.ok()["tier"], tier);
    }
}

/// The text of the file once it holds `first` and, if the greeting has more, all of it.
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
        if complete || late || (text.contains(first) && !text.contains("Created")) {
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
    wait::until("the scan has begun", async || site.hits("/slow/1000") > 0).await;
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

#[tokio::test]
async fn a_service_without_extractors_says_so_and_how_to_get_them() {
    let data = tempfile::tempdir().unwrap();
    let empty = data.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let logged = data.path().join("log.txt");
    for folder in [empty, data.path().join("missing")] {
        let mut serve = command(&data);
        serve.env("ORBWEAVER_PLUGIN_DIR", &folder);
        let log = std::fs::File::create(&logged).unwrap();
        let served = Served::start_logged(serve.stderr(log));
        let place = folder.display();
        let warning = format!("no plugin in {place} provides markdown, article, metadata");
        wait::until("the warning", async || {
            let text = std::fs::read_to_string(&logged).unwrap();
            text.contains(&warning) && text.contains("--plugin-dir")
        })
        .await;
        drop(served);
    }
    // With the extractors there is nothing to say.
    let log = std::fs::File::create(&logged).unwrap();
    let served = Served::start_logged(command(&data).stderr(log));
    wait::until("the plugins are loaded", async || {
        let text = std::fs::read_to_string(&logged).unwrap();
        text.contains("plugins are loaded")
    })
    .await;
    served.signal("TERM");
    served.ended();
    let text = std::fs::read_to_string(&logged).unwrap();
    assert!(!text.contains("no plugin in"), "{text}");
}

#[test]
fn a_port_in_use_is_explained() {
    let data = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
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
async fn a_start_that_fails_shows_the_key_that_it_made() {
    let data = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let failed = run(&data, &["serve", "--listen", &address]);
    assert_eq!(failed.status.code(), Some(1));
    let text = String::from_utf8(failed.stdout).unwrap();
    let mut lines = text.lines().map(str::trim);
    let key = lines.find(|line| line.starts_with("orb_")).expect("a key");

    let served = Served::start(&mut command(&data));
    assert!(!served.greeting.contains("orb_"), "it is made once");
    let client = Client::new(served.address, Some(key));
    assert_eq!(client.get("/v1/logs").await.status, 200);
}

#[test]
fn a_node_without_an_api_shows_the_first_key() {
    let data = tempfile::tempdir().unwrap();
    let mut process = command(&data)
        .args(["serve", "--roles", "worker,scheduler"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let greeting: Vec<String> = lines
        .map(Result::unwrap)
        .take_while(|line| !line.contains("without an API"))
        .collect();
    process.kill().unwrap();
    process.wait().unwrap();
    let is_key = |line: &String| line.trim().starts_with("orb_");
    assert!(greeting.iter().any(is_key), "{greeting:?}");
}

/// While they wait for a database that takes the connection and says nothing.
#[test]
fn sigterm_ends_a_process_that_still_starts() {
    for arguments in [
        ["serve", "--listen=127.0.0.1:0"].as_slice(),
        &["mcp", "--local"],
    ] {
        let data = tempfile::tempdir().unwrap();
        let database = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = database.local_addr().unwrap();
        let mut process = command(&data)
            .args(arguments)
            .env(
                "ORBWEAVER_DATABASE_URL",
                format!("postgres://u@{address}/d"),
            )
            .env("ORBWEAVER_DATABASE__ACQUIRE_TIMEOUT_MS", "600000")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _connection = database.accept().unwrap();
        let pid = process.id().to_string();
        let sent = Command::new("kill").args(["-s", "TERM", &pid]).status();
        assert!(sent.unwrap().success());
        assert_eq!(process.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
}

/// A lock on the request log holds up the writer, as a database that says nothing would.
#[tokio::test]
async fn sigterm_ends_a_process_whose_database_does_not_answer() {
    let data = tempfile::tempdir().unwrap();
    let server = Arc::new(Postgres::start(&[], drop).unwrap());
    let database = server.database().unwrap();
    let served = Served::start(
        command(&data)
            .env("ORBWEAVER_DATABASE_URL", &database)
            .env("ORBWEAVER_BOOTSTRAP_KEY", KEY),
    );
    let psql = |sql: &'static str| {
        let (server, database) = (Arc::clone(&server), database.clone());
        tokio::task::spawn_blocking(move || server.execute(&database, sql))
    };
    let locked = psql("BEGIN; LOCK TABLE request_log; SELECT pg_sleep(3600)");
    let held = "DO $$ BEGIN PERFORM FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' \
                AND relation = 'request_log'::regclass; IF NOT FOUND THEN RAISE 'no'; END IF; END $$";
    wait::until("the log is locked", async || {
        psql(held).await.unwrap().is_ok()
    })
    .await;
    Client::new(served.address, Some(KEY))
        .get("/v1/usage")
        .await
        .ok();
    let waits = "DO $$ BEGIN PERFORM FROM pg_locks WHERE NOT granted; \
                 IF NOT FOUND THEN RAISE 'no'; END IF; END $$";
    wait::until("the writer waits", async || {
        psql(waits).await.unwrap().is_ok()
    })
    .await;
    served.signal("TERM");
    tokio::task::spawn_blocking(move || served.ended())
        .await
        .unwrap();
    assert!(!locked.is_finished(), "the writer still had to wait");
    let unlock = "SELECT pg_terminate_backend(pid) FROM pg_locks \
                  WHERE granted AND mode = 'AccessExclusiveLock'";
    psql(unlock).await.unwrap().unwrap();
    assert!(locked.await.unwrap().is_err());
}

#[tokio::test]
async fn a_webhook_survives_kill_9() {
    let data = tempfile::tempdir().unwrap();
    let site = Site::start().await;
    // The process dies after its run has ended and before the receiver answers.
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
    let shown = client
        .until(&format!("/v1/crawls/{run}"), |answer| {
            answer.ok()["webhook_status"] != "pending"
        })
        .await
        .ok();
    assert_eq!(
        (&shown["webhook_status"], &shown["webhook_attempts"]),
        (&json!("delivered"), &json!(1))
    );
    // It is not sent again: the next delivery is another run's.
    let last = client.post("/v1/crawls", &body).await;
    assert_eq!(last.status, 202, "{}", last.text());
    assert_eq!(receiver.next().await.json()["id"], last.json()["id"]);
}
