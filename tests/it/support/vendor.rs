//! A test server in place of an upstream provider, with its documented HTTP API: a bearer key,
//! JSON bodies, pages as `[{url, status, content, error, costs: {total_cost}}]`. The end of a
//! page's URL decides how it is answered.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_server::config::Config;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// The only valid key.
pub const KEY: &str = "sk-provider";
/// The provider's price of a page, in dollars.
pub const PAGE_USD: f64 = 0.0025;
/// The same in millionths of a dollar.
pub const PAGE_MICROS: u64 = 2_500;

/// What it asks for a page whose URL ends in `/absurd`.
const ABSURD_USD: f64 = 1e30;

/// A running test server.
#[derive(Clone, Debug)]
pub struct Vendor {
    address: SocketAddr,
    asked: Asked,
}

type Asked = Arc<Mutex<Vec<(String, Value)>>>;

impl Vendor {
    /// Starts the server; it runs as long as the test's runtime.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Asked::default();
        let router = Router::new()
            .route("/scrape", post(page))
            .route("/unblocker", post(page))
            .route("/search", post(search))
            .route("/data/credits", get(credits))
            .with_state(Arc::clone(&asked));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, asked }
    }

    /// Makes it the provider of a service.
    pub fn configure(&self, config: &mut Config) {
        config.cloud.vendor_url = Some(SafeUrl::new(self.url()));
        config.cloud.vendor_key = Some(Secret::new(KEY));
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Paths and bodies of all requests so far.
    pub fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }
}

/// Path and body of a request, which must have the right key.
async fn read(asked: &Asked, request: Request) -> Result<(String, Value), Response> {
    let bearer = request
        .headers()
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    if bearer != Some(&format!("Bearer {KEY}")) {
        return Err((StatusCode::UNAUTHORIZED, "who are you").into_response());
    }
    let path = request.uri().path().to_owned();
    let body = axum::body::to_bytes(request.into_body(), 1 << 20)
        .await
        .unwrap_or_default();
    let body: Value = serde_json::from_slice(&body)
        .map_err(|_| (StatusCode::BAD_REQUEST, "no JSON").into_response())?;
    if let Ok(mut asked) = asked.lock() {
        asked.push((path.clone(), body.clone()));
    }
    Ok((path, body))
}

/// The provider's failure for this last word of the request.
async fn failure(word: &str) -> Option<Response> {
    match word {
        "402" => Some(StatusCode::PAYMENT_REQUIRED.into_response()),
        "429" => Some(StatusCode::TOO_MANY_REQUESTS.into_response()),
        "malformed" => Some("[{\"url\": ".into_response()),
        "html" => Some("<h1>Maintenance</h1>".into_response()),
        "empty" => Some(Json(json!([])).into_response()),
        "slow" => {
            tokio::time::sleep(Duration::from_secs(60)).await;
            None
        }
        _ => None,
    }
}

async fn page(State(asked): State<Asked>, request: Request) -> Response {
    let (path, body) = match read(&asked, request).await {
        Ok(read) => read,
        Err(answer) => return answer,
    };
    let url = body["url"].as_str().unwrap_or_default().to_owned();
    let item = |status: u16, content: Value, error: Value| {
        Json(json!([{
            "url": url, "status": status, "content": content, "error": error,
            "costs": {"total_cost": if url.ends_with("/absurd") { ABSURD_USD } else { PAGE_USD }},
        }]))
        .into_response()
    };
    if let Some(failure) = failure(url.rsplit('/').next().unwrap_or_default()).await {
        return failure;
    }
    if url.ends_with("/null") {
        return item(200, Value::Null, Value::Null);
    }
    if url.ends_with("/failed") {
        return item(500, json!(""), json!("could not be crawled"));
    }
    let html = format!(
        "<title>By the provider</title><h1>From {path}</h1><p>{}</p>",
        "Text that the provider brought. ".repeat(10)
    );
    item(200, json!(html), Value::Null)
}

async fn search(State(asked): State<Asked>, request: Request) -> Response {
    match read(&asked, request).await {
        Ok((_, body)) => {
            if let Some(failure) = failure(body["search"].as_str().unwrap_or_default()).await {
                return failure;
            }
            Json(json!({"content": [
                {"url": "https://one.example/", "title": "One", "content": "# One",
                 "costs": {"total_cost": 0.001}},
                {"url": "https://two.example/", "title": "Two", "description": body["search"]},
            ]}))
            .into_response()
        }
        Err(answer) => answer,
    }
}

async fn credits() -> Json<Value> {
    Json(json!({"data": {"credits": 25_000}}))
}
