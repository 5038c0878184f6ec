//! `orbweaver crawl` to a pipe, and stopped while it writes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use orbweaver_origin::{Origin, Reply};
use serde_json::json;
use tempfile::TempDir;

use super::command;

/// What has not ended by then does not end.
const LONG: Duration = Duration::from_secs(60);

fn pipe(data: &TempDir) -> PathBuf {
    let path = data.path().join("pages.ndjson");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    path
}

fn crawl(data: &TempDir, arguments: &[&str], out: &Path) -> Child {
    command(data)
        .arg("crawl")
        .args(arguments)
        .arg("--out")
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interrupt(process: &Child) {
    let pid = process.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &pid]).status();
    assert!(sent.unwrap().success());
}

/// Its exit code and what it said; one that does not end is killed.
async fn ended(process: Child) -> (Option<i32>, String) {
    let pid = process.id().to_string();
    let waiting = tokio::task::spawn_blocking(move || process.wait_with_output().unwrap());
    let Ok(done) = tokio::time::timeout(LONG, waiting).await else {
        let _ = Command::new("kill").args(["-s", "KILL", &pid]).status();
        panic!("the process does not end");
    };
    let done = done.unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    (done.status.code(), said)
}

/// Opens the pipe, which waits for its writer.
async fn opened(pipe: &Path) -> std::fs::File {
    let pipe = pipe.to_owned();
    let opening = tokio::task::spawn_blocking(move || std::fs::File::open(pipe).unwrap());
    let opened = tokio::time::timeout(LONG, opening).await;
    opened.expect("somebody writes").unwrap()
}

/// A site of one page that is longer than a pipe holds.
async fn site() -> Origin {
    let origin = Origin::start().await.unwrap();
    let text = "A long page. ".repeat(40_000);
    origin.set(
        "/",
        Reply::html(format!("<title>Long</title><p>{text}</p>")),
    );
    origin
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_writes_into_a_pipe() {
    let (data, origin) = (tempfile::tempdir().unwrap(), site().await);
    let pipe = pipe(&data);
    let url = origin.url("/");
    let process = crawl(&data, &[&url, "--allow-net", "127.0.0.0/8"], &pipe);
    // The pipe is opened after the crawl, and once: its reader ends with the pages.
    tokio::time::timeout(LONG, origin.asked("/", 1))
        .await
        .expect("the crawl begins without a reader");
    let mut reader = opened(&pipe).await;
    let reading = tokio::task::spawn_blocking(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        text
    });
    let text = reading.await.unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains("A long page."));
    let (code, said) = ended(process).await;
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_ends_although_nobody_reads_its_pipe() {
    let (data, origin) = (tempfile::tempdir().unwrap(), site().await);
    let pipe = pipe(&data);
    let url = origin.url("/");
    let process = crawl(&data, &[&url, "--allow-net", "127.0.0.0/8"], &pipe);
    let mut reader = opened(&pipe).await;
    let mut first = [0];
    reader.read_exact(&mut first).unwrap();
    interrupt(&process);
    let (code, said) = ended(process).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--resume 1 --out PATH"), "{said}");
}

/// A service with one run that is done, whose export stops after its first bytes. Tells when it
/// does.
fn stalling_service(told: tokio::sync::mpsc::UnboundedSender<TcpStream>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut asked = String::new();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            let _ = lines.read_line(&mut asked);
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok() && line.trim() != "" {
                line.clear();
            }
            if asked.contains("/export") {
                let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{";
                let _ = stream.write_all(head.as_bytes());
                let _ = told.send(stream);
                continue;
            }
            let run = json!({"id": 7, "url": "http://a.example/", "status": "done",
                "page_count": 1, "error_count": 0})
            .to_string();
            let length = run.len();
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
            let answer = format!("{head}\r\ncontent-length: {length}\r\n\r\n{run}");
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_download_leaves_the_old_file() {
    let data = tempfile::tempdir().unwrap();
    let out = data.path().join("pages.ndjson");
    std::fs::write(&out, "the crawl before\n").unwrap();
    let (told, mut stalled) = tokio::sync::mpsc::unbounded_channel();
    let server = stalling_service(told);
    let arguments = ["--server", &server, "--resume", "7", "--force"];
    let process = crawl(&data, &arguments, &out);
    let stream = tokio::time::timeout(LONG, stalled.recv()).await;
    let _stream = stream.expect("the pages are asked for");
    interrupt(&process);
    let (code, said) = ended(process).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("--resume 7 --out PATH"), "{said}");
    let before = std::fs::read_to_string(&out).unwrap();
    assert_eq!(before, "the crawl before\n");
    let part = data.path().join(".pages.ndjson.part");
    assert!(!part.exists(), "no partial file is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crawl_ends_although_its_service_does_not_answer() {
    let data = tempfile::tempdir().unwrap();
    let out = data.path().join("pages.ndjson");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let process = crawl(&data, &["--server", &server, "--resume", "7"], &out);
    let asked = tokio::task::spawn_blocking(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut first = [0];
        stream.read_exact(&mut first).unwrap();
        stream
    });
    let asked = tokio::time::timeout(LONG, asked).await;
    let _stream = asked.expect("it asks for the run").unwrap();
    interrupt(&process);
    let (code, said) = ended(process).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("run 7 goes on at"), "{said}");
}
