//! Limits on connections: silent, half-open, slow, and too many.

use orbweaver_core::setting::Millis;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use orbweaver_server::config::Config;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::http2::{PREFACE, frame};
use crate::support::{KEY, Service};

/// Longer than any limit of these tests: what has not happened by then will not happen.
const LONG: Duration = Duration::from_secs(20);

fn impatient(config: &mut Config) {
    config.http.header_timeout_ms = Millis(2_000);
    config.http.idle_timeout_ms = Millis(2_000);
    config.http.body_timeout_ms = Millis(2_000);
    config.http.max_connections = Some(64);
    config.http.max_connections_per_address = Some(32);
}

async fn connect(at: SocketAddr) -> TcpStream {
    TcpStream::connect(at).await.expect("the service listens")
}

/// What the service still sends before it closes the connection; it must close it.
async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    let read = tokio::time::timeout(LONG, stream.read_to_end(&mut rest)).await;
    // A reset closes the connection, too.
    let _ = read.expect("the service closes the connection");
    rest
}

async fn health(service: &Service) {
    assert_eq!(service.stranger().get("/v1/health").await.text(), "ok");
}

#[tokio::test]
async fn silent_connections_are_closed_in_time() {
    let service = Service::with(impatient).await;
    let mut silent = connect(service.address).await;
    assert_eq!(rest(&mut silent).await, b"");

    let mut slow = connect(service.address).await;
    slow.write_all(b"GET /v1/health HTTP/1.1\r\nhost:")
        .await
        .unwrap();
    rest(&mut slow).await;

    // The beginning of HTTP/2's preface is not enough to tell the protocol.
    let mut undecided = connect(service.address).await;
    undecided.write_all(b"PRI * HT").await.unwrap();
    rest(&mut undecided).await;

    let mut idle = connect(service.address).await;
    idle.write_all(b"GET /v1/health HTTP/1.1\r\nhost: test\r\n\r\n")
        .await
        .unwrap();
    let answer = rest(&mut idle).await;
    assert!(answer.ends_with(b"ok"), "{answer:?}");
}

#[tokio::test]
async fn half_a_tls_handshake_is_closed_in_time() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/tls");
    let service = Service::with(|config| {
        impatient(config);
        config.tls_cert = Some(folder.join("cert.pem"));
        config.tls_key = Some(folder.join("key.pem"));
    })
    .await;
    let mut silent = connect(service.address).await;
    rest(&mut silent).await;
    // A handshake record that is shorter than it announces.
    let mut half = connect(service.address).await;
    half.write_all(&[0x16, 3, 1, 2, 0, 1]).await.unwrap();
    rest(&mut half).await;
}

#[tokio::test]
async fn a_slow_body_is_answered_408() {
    let service = Service::with(impatient).await;
    let mut slow = connect(service.address).await;
    let head = format!(
        "POST /v1/scan HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {KEY}\r\n\
         content-length: 100\r\n\r\n{{"
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    let answer = String::from_utf8(rest(&mut slow).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

#[tokio::test]
async fn silent_connections_do_not_block_others() {
    let service = Service::with(|config| {
        config.http.max_connections = Some(64);
        config.http.max_connections_per_address = Some(64);
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..300 {
        silent.push(connect(service.address).await);
    }
    for _ in 0..10 {
        health(&service).await;
    }
    // The oldest connection was closed to make room.
    rest(&mut silent[0]).await;
}

#[tokio::test]
async fn busy_connections_are_not_closed_for_new_ones() {
    let service = Service::with(|config| {
        config.http.max_connections = Some(4);
        config.http.max_connections_per_address = Some(4);
    })
    .await;
    let mut busy = Vec::new();
    for _ in 0..3 {
        let mut stream = connect(service.address).await;
        let head = format!(
            "POST /v1/scan HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {KEY}\r\n\
             expect: 100-continue\r\ncontent-length: 100\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // The service asks for the body: the request is in progress.
        let mut told = [0; 25];
        stream.read_exact(&mut told).await.unwrap();
        assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
        busy.push(stream);
    }
    for _ in 0..20 {
        health(&service).await;
    }
    let body = json!({"url": "nonsense"}).to_string();
    for stream in &mut busy {
        stream
            .write_all(format!("{body:100}").as_bytes())
            .await
            .unwrap();
        let mut answer = [0; 400];
        let length = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..length]).into_owned();
        assert!(answer.contains("HTTP/1.1 422"), "{answer}");
    }
}

#[tokio::test]
async fn rapid_resets_close_their_connection_and_nothing_else() {
    let service = Service::start().await;
    let mut stream = connect(service.address).await;
    stream.write_all(PREFACE).await.unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).await.unwrap();
    // :method GET, :scheme http, :path / of HPACK's static table.
    let request = [0x82, 0x86, 0x84];
    let mut flood = Vec::new();
    for number in 0..5_000_u32 {
        let id = 2 * number + 1;
        flood.extend(frame(1, 5, id, &request));
        flood.extend(frame(3, 0, id, &8_u32.to_be_bytes()));
    }
    // The service may close before it has read everything.
    let _ = stream.write_all(&flood).await;
    rest(&mut stream).await;
    health(&service).await;
}

#[tokio::test]
async fn an_idle_http2_connection_is_closed() {
    let service = Service::with(impatient).await;
    let mut stream = connect(service.address).await;
    stream.write_all(PREFACE).await.unwrap();
    stream.write_all(&frame(4, 0, 0, &[])).await.unwrap();
    let said = rest(&mut stream).await;
    assert!(!said.is_empty(), "it sends at least its settings");
}
