//! `orbweaver mcp`: the tools over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::command;
use crate::support::Site;

/// A client's end of the program.
pub(super) struct Agent {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    ids: u64,
    /// Notifications so far.
    pub(super) told: Vec<Value>,
}

impl Agent {
    fn start(data: &TempDir, arguments: &[&str]) -> Self {
        Self::run(command(data).arg("mcp").args(arguments))
    }

    /// Starts the program as the command says.
    pub(super) fn run(command: &mut Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let input = process.stdin.take();
        Self {
            process,
            input,
            output,
            ids: 0,
            told: Vec::new(),
        }
    }

    pub(super) fn tell(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("its input");
        writeln!(input, "{message}").expect("it reads");
    }

    /// Sends a request; its id.
    pub(super) fn send(&mut self, method: &str, params: Value) -> u64 {
        self.ids += 1;
        let id = self.ids;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The next message.
    pub(super) fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).expect("its output");
        assert!(read > 0, "the program ended");
        serde_json::from_str(&line).expect("nothing but messages")
    }

    /// The answer to a request; notifications before it are kept.
    pub(super) fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
            assert!(message.get("id").is_none(), "of another request: {message}");
            self.told.push(message);
        }
    }

    /// The result of a request.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)["result"].clone()
    }

    /// The structured result of a tool.
    pub(super) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.ask("tools/call", params)["structuredContent"].clone()
    }

    /// Ends its input, and waits for its end.
    pub(super) fn close(&mut self) -> ExitStatus {
        self.input = None;
        self.process.wait().expect("an end")
    }

    pub(super) fn shake_hands(&mut self) -> Value {
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let welcome = self.ask("initialize", hello);
        self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        welcome
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_client_scans_and_crawls_without_a_server_and_the_program_ends_with_its_input() {
    let site = Site::start().await;
    let url = site.url("/article");
    tokio::task::spawn_blocking(move || {
        let data = tempfile::tempdir().unwrap();
        let mut agent = Agent::start(&data, &["--allow-net", "127.0.0.0/8"]);
        let welcome = agent.shake_hands();
        // A session tells its client when the list changes.
        assert_eq!(welcome["capabilities"]["tools"]["listChanged"], true);
        let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
        let scan = agent.ask("tools/call", call("scan", json!({"url": url})));
        let scan = &scan["structuredContent"];
        assert_eq!(scan["metadata"]["title"], "How orb weavers build", "{scan}");
        let crawl = json!({"url": url, "max_pages": 2, "delay_ms": 0, "wait_seconds": 60});
        let run = agent.ask("tools/call", call("crawl", crawl));
        assert_eq!(run["structuredContent"]["status"], "done", "{run}");
        let refused = agent.ask(
            "tools/call",
            call("scan", json!({"url": "http://10.0.0.1/"})),
        );
        assert_eq!(refused["isError"], true);
        let tools = agent.ask("tools/list", json!({}));
        assert!(tools.to_string().contains("actor_audit-onpage"), "{tools}");
        // Of the plugins that a start loads only actors are tools.
        let tools = tools["tools"].as_array().unwrap().iter();
        let actors = tools.filter(|tool| tool["name"].as_str().unwrap().starts_with("actor_"));
        let told = agent.told.iter();
        let told = told.filter(|told| told["method"] == "notifications/tools/list_changed");
        assert!(told.count() <= actors.count());
        assert!(agent.close().success());
        // The data folder keeps what it did.
        let mut agent = Agent::start(&data, &[]);
        agent.shake_hands();
        let list = agent.ask("tools/call", call("crawl_list", json!({})));
        assert_eq!(
            list["structuredContent"]["items"].as_array().unwrap().len(),
            1
        );
    })
    .await
    .unwrap();
}

#[test]
fn a_project_that_does_not_exist_is_named() {
    let data = tempfile::tempdir().unwrap();
    let done = super::run(&data, &["mcp", "--project", "nobody"]);
    assert!(!done.status.success());
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("project nobody does not exist"), "{said}");
    assert!(done.stdout.is_empty(), "standard output is the protocol's");
}
