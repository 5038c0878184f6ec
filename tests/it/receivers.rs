//! The example receivers accept our deliveries, each once, and nothing else.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use chrono::{DateTime, TimeDelta, Utc};
use orbweaver_core::webhook::{Signatures, sign};

use crate::support::Client;

const SECRET: &[u8] = b"a secret of thirty-two bytes ...";
const BODY: &[u8] =
    br#"{"event":"crawl.done","id":7,"status":"done","url":"https://example.org/"}"#;

/// Events, and what is printed of each.
const EVENTS: [(&str, &str); 6] = [
    (
        r#"{"event":"crawl.diff_detected","id":7,"status":"done","diff":{"changed":1}}"#,
        "crawl.diff_detected of run 7: done",
    ),
    (
        r#"{"event":"crawl.page","id":7,"project_id":1,"pages":[{"id":1},{"id":2}]}"#,
        "crawl.page of run 7: 2 pages",
    ),
    (
        r#"{"event":"actor.run_complete","id":9,"actor":"check-links","status":"failed"}"#,
        "actor.run_complete of run 9: failed",
    ),
    (
        r#"{"event":"plugin.quarantined","plugin":{"kind":"extractor","name":"prices"}}"#,
        "plugin.quarantined: extractor prices",
    ),
    (
        r#"{"event":"plugin.recovered","plugin":{"kind":"hook","name":"unique-text"}}"#,
        "plugin.recovered: hook unique-text",
    ),
    (r#"{"event":"crawl.later"}"#, "crawl.later"),
];

struct Program {
    process: Child,
    lines: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Program {
    fn start(command: &mut Command) -> Self {
        let mut process = command
            .arg("0")
            .env("WEBHOOK_SECRET", hex(SECRET))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut lines = BufReader::new(process.stdout.take().expect("an output"));
        let first = line(&mut lines);
        let address = first
            .strip_prefix("listens on http://")
            .and_then(|address| address.parse().ok());
        Self {
            process,
            lines,
            address: address.unwrap_or_else(|| panic!("no address in {first:?}")),
        }
    }

    async fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> u16 {
        let client = Client::new(self.address, None);
        client.send("POST", "/hook", headers, body).await.status
    }

    /// Sends a delivery signed with `secret`.
    async fn deliver(&self, secret: &[u8], id: &str, at: DateTime<Utc>, body: &[u8]) -> u16 {
        self.send(&sign(secret, id, at, BODY), body).await
    }

    async fn send(&self, signed: &Signatures, body: &[u8]) -> u16 {
        let headers = [
            ("x-crawler-signature", signed.crawler.as_str()),
            ("webhook-id", signed.id.as_str()),
            ("webhook-timestamp", signed.timestamp.as_str()),
            ("webhook-signature", signed.standard.as_str()),
        ];
        self.post(&headers, body).await
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn line(lines: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).expect("text");
    line.trim_end().to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/webhooks")
}

async fn accepts_only_our_deliveries(mut program: Program) {
    #[expect(
        clippy::disallowed_methods,
        reason = "receivers compare with the real clock"
    )]
    let now = Utc::now();
    let ours = |id: &'static str| program.deliver(SECRET, id, now, BODY);
    assert_eq!(ours("msg_1").await, 204);
    // The delivery is repeated: accepted, but not processed twice.
    assert_eq!(ours("msg_1").await, 204);
    assert_eq!(ours("msg_2").await, 204);
    let changed = BODY.to_ascii_uppercase();
    let refused = [
        program.deliver(SECRET, "msg_3", now, &changed).await,
        program.deliver(b"another secret", "msg_3", now, BODY).await,
        program
            .deliver(SECRET, "msg_3", now - TimeDelta::minutes(6), BODY)
            .await,
        program
            .deliver(SECRET, "msg_3", now + TimeDelta::minutes(6), BODY)
            .await,
        program.post(&[], BODY).await,
    ];
    assert_eq!(refused, [401; 5]);
    // One of the two signatures is replayed under another id.
    let (old, new) = (
        sign(SECRET, "msg_2", now, BODY),
        sign(SECRET, "msg_4", now, BODY),
    );
    let mixed = [
        ("x-crawler-signature", old.crawler.as_str()),
        ("webhook-id", new.id.as_str()),
        ("webhook-timestamp", new.timestamp.as_str()),
        ("webhook-signature", old.standard.as_str()),
    ];
    assert_eq!(program.post(&mixed, BODY).await, 401);
    assert_eq!(line(&mut program.lines), "crawl.done of run 7: done");
    assert_eq!(line(&mut program.lines), "crawl.done of run 7: done");
    for _ in 0..6 {
        let line = line(&mut program.lines);
        assert!(line.starts_with("refused: "), "{line}");
    }
    // Every event that is documented, and one that is not known yet.
    for (body, expected) in EVENTS {
        let signed = sign(SECRET, &format!("msg_of {expected}"), now, body.as_bytes());
        assert_eq!(program.send(&signed, body.as_bytes()).await, 204);
        assert_eq!(line(&mut program.lines), expected);
    }
}

#[tokio::test]
async fn the_python_receiver_takes_only_our_deliveries() {
    let mut command = Command::new("python3");
    accepts_only_our_deliveries(Program::start(command.arg(examples().join("receiver.py")))).await;
}

#[tokio::test]
async fn the_node_receiver_takes_only_our_deliveries() {
    let mut command = Command::new("node");
    accepts_only_our_deliveries(Program::start(command.arg(examples().join("receiver.mjs")))).await;
}

#[tokio::test]
async fn the_rust_receiver_takes_only_our_deliveries() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("receiver");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(examples().join("rust/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status()
        .expect("cargo runs");
    assert!(built.success(), "the example builds");
    let program = target.join("debug/orbweaver-webhook-receiver");
    accepts_only_our_deliveries(Program::start(&mut Command::new(program))).await;
}
