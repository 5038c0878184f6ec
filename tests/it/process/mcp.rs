//! `orbweaver mcp`: the tools over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::command;
use crate::support::Site;

/// A client's end of the program.
struct Agent {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Agent {
    fn start(data: &TempDir, arguments: &[&str]) -> Self {
        let mut process = command(data)
            .arg("mcp")
            .args(arguments)
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
        }
    }

    fn tell(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("its input");
        writeln!(input, "{message}").expect("it reads");
    }

    /// The result of a request; notifications before it are left out.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.tell(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("its output");
            assert!(read > 0, "the program ended");
            let message: Value = serde_json::from_str(&line).expect("nothing but messages");
            if message["id"] == 1 {
                return message["result"].clone();
            }
        }
    }

    fn shake_hands(&mut self) -> Value {
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
        agent.input = None;
        assert!(agent.process.wait().unwrap().success());
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
