//! The process of a run is killed or stopped, and the run goes on.

use std::path::Path;
use std::sync::Arc;

use orbweaver_origin::{Origin, Reply};
use orbweaver_tests::program::{Launch, Program};
use serde_json::{Value, json};

use super::folder;
use crate::process::program;
use crate::support::{Client, KEY, database};

/// Pages that a run fetches.
const PAGES: usize = 12;

struct Drill {
    launch: Launch,
    origin: Arc<Origin>,
    data: tempfile::TempDir,
    database: Option<String>,
    _plugins: tempfile::TempDir,
}

impl Drill {
    async fn new(on_postgres: bool, settings: &[(&str, &str)]) -> Self {
        let plugins = folder();
        let mut launch = Launch {
            binary: program().to_owned(),
            plugin_dir: plugins.path().to_owned(),
            cache_dir: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-plugins")),
            settings: Vec::new(),
        };
        for (name, value) in settings {
            launch = launch.with(name, *value);
        }
        let origin = Origin::start().await.unwrap();
        origin.set("/held/page", Reply::html("<p>here"));
        Self {
            launch,
            origin: Arc::new(origin),
            data: tempfile::tempdir().unwrap(),
            database: on_postgres.then(database::postgres),
            _plugins: plugins,
        }
    }

    /// Starts a process of the service.
    async fn start(&self) -> Program {
        let (launch, database) = (self.launch.clone(), self.database.clone());
        // Nodes of a shared database have folders of their own.
        let data = match &database {
            Some(_) => tempfile::tempdir_in(self.data.path()).unwrap().keep(),
            None => self.data.path().to_owned(),
        };
        let start = move || Program::start(&launch, &data, database.as_deref());
        tokio::task::spawn_blocking(start).await.unwrap().unwrap()
    }

    /// Starts a run and lets it fetch some pages; its path.
    async fn begin(&self, program: &Program) -> String {
        let client = Client::new(program.address(), Some(KEY));
        let url = self.origin.url("/held/page");
        let input = json!({"do": "fetch", "n": PAGES, "url": url});
        let path = super::begin(&client, &input).await;
        for page in 1..=4 {
            self.origin.asked("/held/page", page).await;
            self.origin.release();
        }
        // What it emitted is stored while it runs.
        self.origin.asked("/held/page", 5).await;
        client
            .until(&path, |answer| answer.ok()["item_count"] == 4)
            .await;
        path
    }

    /// Lets every page be fetched from now on.
    fn open(&self) -> tokio::task::JoinHandle<()> {
        let origin = Arc::clone(&self.origin);
        tokio::spawn(async move {
            let mut asked = origin.count("/held/page");
            loop {
                origin.release();
                asked += 1;
                origin.asked("/held/page", asked).await;
            }
        })
    }

    /// The run is done: each page once, of this attempt, billed once.
    async fn check(&self, program: &Program, path: &str, attempts: u32) -> Value {
        let client = Client::new(program.address(), Some(KEY));
        let run = super::finished(&client, path).await;
        assert_eq!(run["status"], "done", "{run}");
        assert_eq!(run["attempts"], attempts, "{run}");
        let items = super::items(&client, path).await;
        let expected: Vec<Value> = (0..PAGES)
            .map(|n| json!({"n": n, "attempt": attempts, "status": 200}))
            .collect();
        assert_eq!(items, json!(expected));
        assert_eq!(run["item_count"], PAGES);
        assert_eq!(run["billing"]["pages"], PAGES);
        let usage = client.get("/v1/usage").await.ok();
        assert_eq!(usage["today"]["pages"], PAGES, "{usage}");
        run
    }
}

async fn killed(program: Program) {
    tokio::task::spawn_blocking(|| program.kill())
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_killed_run_begins_again_and_neither_items_nor_pages_are_doubled() {
    // The lease is longer than any test: the next process of a SQLite file ends it.
    let drill = Drill::new(false, &[("JOBS__LEASE_MS", "3600000")]).await;
    let program = drill.start().await;
    let path = drill.begin(&program).await;
    killed(program).await;
    let program = drill.start().await;
    let open = drill.open();
    drill.check(&program, &path, 2).await;
    open.abort();
}

#[tokio::test]
async fn another_node_takes_a_killed_run_over() {
    let drill = Drill::new(true, &[("JOBS__LEASE_MS", "2000")]).await;
    let program = drill.start().await;
    let path = drill.begin(&program).await;
    let other = drill.start().await;
    killed(program).await;
    let open = drill.open();
    drill.check(&other, &path, 2).await;
    open.abort();
}

#[tokio::test]
async fn a_stopped_process_hands_its_run_back_and_the_attempt_does_not_count() {
    let drill = Drill::new(false, &[("JOBS__LEASE_MS", "3600000")]).await;
    let program = drill.start().await;
    let path = drill.begin(&program).await;
    let ended = tokio::task::spawn_blocking(|| program.terminate())
        .await
        .unwrap();
    assert!(ended.unwrap().0.success());
    let program = drill.start().await;
    let open = drill.open();
    drill.check(&program, &path, 1).await;
    open.abort();
}

#[tokio::test]
async fn a_run_that_kills_its_process_again_and_again_is_given_up() {
    let drill = Drill::new(false, &[("JOBS__MAX_ATTEMPTS", "1")]).await;
    let program = drill.start().await;
    let path = drill.begin(&program).await;
    killed(program).await;
    let program = drill.start().await;
    let client = Client::new(program.address(), Some(KEY));
    let run = super::finished(&client, &path).await;
    assert_eq!(run["status"], "failed", "{run}");
    assert_eq!(run["error"]["code"], "INTERNAL");
    let message = run["error"]["message"].as_str().unwrap();
    assert!(message.contains("jobs.max_attempts"), "{message}");
    assert_eq!(run["billing"]["pages"], 0);
    assert_eq!(super::items(&client, &path).await, json!([]));
}
