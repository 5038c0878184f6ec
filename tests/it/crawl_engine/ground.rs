//! A site whose answers come from a function, with a log of its requests and their times.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// A request as it was received.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Path and query.
    pub path: String,
    pub headers: HashMap<String, String>,
    pub at: Instant,
    /// How often this path was requested before.
    pub before: usize,
}

/// What the site answers.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn page(title: &str, links: &[&str]) -> Self {
        let links: String = links
            .iter()
            .map(|link| format!("<p><a href=\"{link}\">to {link}</a></p>"))
            .collect();
        Self {
            status: 200,
            headers: vec![("content-type", "text/html; charset=utf-8".to_owned())],
            body: format!("<!doctype html><title>{title}</title><h1>{title}</h1>{links}").into(),
        }
    }

    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub fn text(body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: body.into(),
            ..Self::status(200).with("content-type", "text/plain")
        }
    }

    pub fn to(location: &str) -> Self {
        Self::status(302).with("location", location)
    }

    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}

type Answers = Box<dyn Fn(Hit) -> BoxFuture<'static, Answer> + Send + Sync>;

struct Inner {
    answers: Answers,
    log: Mutex<Vec<Hit>>,
    came: Notify,
}

/// A running site.
pub struct Ground {
    pub address: SocketAddr,
    inner: Arc<Inner>,
}

impl Ground {
    /// A site that answers without delay.
    pub async fn of(answers: impl Fn(&Hit) -> Answer + Send + Sync + 'static) -> Self {
        Self::start(move |hit| {
            let answer = answers(&hit);
            Box::pin(async move { answer })
        })
        .await
    }

    pub async fn start(
        answers: impl Fn(Hit) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let inner = Arc::new(Inner {
            answers: Box::new(answers),
            log: Mutex::default(),
            came: Notify::new(),
        });
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, router).await.expect("a site") });
        Self { address, inner }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn log(&self) -> Vec<Hit> {
        self.inner.log.lock().expect("no panic").clone()
    }

    pub fn count(&self, path: &str) -> usize {
        self.log().iter().filter(|hit| hit.path == path).count()
    }

    /// The requested paths in order, without robots.txt and the llms files.
    pub fn paths(&self) -> Vec<String> {
        self.log()
            .into_iter()
            .map(|hit| hit.path)
            .filter(|path| !path.ends_with(".txt"))
            .collect()
    }

    /// Waits until a path was requested.
    pub async fn asked(&self, path: &str) {
        loop {
            let came = self.inner.came.notified();
            if self.count(path) > 0 {
                return;
            }
            came.await;
        }
    }
}

async fn answer(State(inner): State<Arc<Inner>>, request: Request) -> Response<Body> {
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str())
        .to_owned();
    let headers = request.headers().iter();
    let hit = {
        let mut log = inner.log.lock().expect("no panic");
        let hit = Hit {
            headers: headers
                .map(|(name, value)| {
                    let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                    (name.to_string(), value)
                })
                .collect(),
            at: Instant::now(),
            before: log.iter().filter(|hit| hit.path == path).count(),
            path,
        };
        log.push(hit.clone());
        hit
    };
    inner.came.notify_waiters();
    let answer = (inner.answers)(hit).await;
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).expect("a status");
    for (name, value) in answer.headers {
        response
            .headers_mut()
            .append(name, value.parse().expect("a header's value"));
    }
    response
}
