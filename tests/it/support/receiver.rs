//! A webhook receiver that answers as the test says and records its requests.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// How the receiver answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// With this status.
    Status(u16),
    /// With this status and this header.
    With(u16, &'static str, String),
    /// With this status, and a body that never ends.
    Endless(u16),
    /// It never answers.
    Hang,
}

/// A request that it received.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {:?}", self.headers))
            .to_str()
            .expect("text")
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
}

/// A running receiver.
pub struct Receiver {
    pub address: SocketAddr,
    got: mpsc::UnboundedReceiver<ReceivedRequest>,
}

#[derive(Clone)]
struct Shared {
    got: mpsc::UnboundedSender<ReceivedRequest>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
}

impl Receiver {
    /// Answers with `replies`, one for each request in order, and then with 200.
    pub async fn start(replies: &[Reply]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (sender, got) = mpsc::unbounded_channel();
        let shared = Shared {
            got: sender,
            replies: Arc::new(Mutex::new(VecDeque::from(replies.to_vec()))),
        };
        let router = Router::new().fallback(receive).with_state(shared);
        tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a receiver");
        });
        Self { address, got }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The next request; fails the test if there is none within two minutes.
    pub async fn next(&mut self) -> ReceivedRequest {
        tokio::time::timeout(Duration::from_secs(120), self.got.recv())
            .await
            .expect("a delivery")
            .expect("the receiver runs")
    }

    /// Whether there is no request that [`next`](Self::next) has not returned. One that comes later is
    /// missed: where another delivery can be made, assert that it comes next.
    pub fn is_quiet(&mut self) -> bool {
        self.got.try_recv().is_err()
    }
}

async fn receive(State(shared): State<Shared>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let headers = request.headers().clone();
    let body = axum::body::to_bytes(request.into_body(), 1 << 20)
        .await
        .expect("a body");
    let reply = shared.replies.lock().expect("no panic").pop_front();
    let _ = shared.got.send(ReceivedRequest {
        path,
        headers,
        body,
    });
    let status = |status| StatusCode::from_u16(status).expect("a status");
    match reply {
        None => StatusCode::OK.into_response(),
        Some(Reply::Status(code)) => status(code).into_response(),
        Some(Reply::With(code, name, value)) => (status(code), [(name, value)]).into_response(),
        Some(Reply::Endless(code)) => {
            let body = Body::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>());
            (status(code), body).into_response()
        }
        Some(Reply::Hang) => std::future::pending().await,
    }
}
