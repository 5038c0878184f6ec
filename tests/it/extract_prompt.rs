//! `extract.prompt`: a language model reads the fields. The test server speaks the documented API
//! of chat completions.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::Service;
use crate::support::wait::until;

/// The only valid key.
const KEY: &str = "sk-model";

/// In place of an answer that does not come.
const NEVER: &str = "(never)";

/// A language model with prepared answers.
#[derive(Clone, Default)]
struct Model(Arc<Mutex<ModelState>>);

#[derive(Default)]
struct ModelState {
    asked: Vec<Value>,
    answers: Vec<String>,
}

impl Model {
    async fn start(answers: &[&str]) -> (Self, SocketAddr) {
        let model = Self::default();
        model.0.lock().unwrap().answers = answers.iter().rev().map(|a| (*a).to_owned()).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let router = Router::new()
            .route("/v1/chat/completions", post(complete))
            .with_state(model.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (model, address)
    }

    fn asked(&self) -> Vec<Value> {
        self.0.lock().unwrap().asked.clone()
    }
}

async fn complete(State(model): State<Model>, request: Request) -> Response {
    let bearer = request.headers().get("authorization").cloned();
    if bearer.is_none_or(|value| value != format!("Bearer {KEY}")) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await;
    let body: Value = serde_json::from_slice(&body.expect("a body")).expect("JSON");
    let answer = {
        let mut state = model.0.lock().unwrap();
        state.asked.push(body.clone());
        state.answers.pop()
    };
    match answer {
        Some(answer) if answer == NEVER => std::future::pending().await,
        Some(answer) => Json(json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": answer}}],
            "usage": {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100},
        }))
        .into_response(),
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn service(address: SocketAddr, key: &str) -> Service {
    let config = json!({"url": format!("http://{address}/v1"), "model": "small", "key": key,
        "input_price": 2.0, "output_price": 10.0, "max_text_bytes": 2_000});
    Service::with(|settings| {
        settings.cloud.llm = serde_json::from_value(config).expect("settings");
    })
    .await
}

async fn page() -> Origin {
    let origin = Origin::start().await.expect("a site");
    let html = format!(
        "<title>Chair</title><main><h1>Chair</h1><p>It costs 19 euros.</p><p>{}</p><p>LAST</p></main>",
        "many words ".repeat(400)
    );
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/", Reply::html(html));
    origin
}

fn body(origin: &Origin) -> Value {
    json!({"url": origin.url("/"), "metadata_only": true, "extract": {
        "prompt": "The price of the product",
        "schema": {"type": "object", "required": ["price"],
            "properties": {"price": {"type": "number"}}},
    }})
}

#[tokio::test]
async fn a_model_is_asked_with_prompt_schema_and_text_and_its_cost_is_told() {
    let (model, address) = Model::start(&[r#"{"price": 19}"#]).await;
    let service = service(address, KEY).await;
    let origin = page().await;
    let answer = service.client().post("/v1/scan", &body(&origin)).await.ok();
    assert_eq!(answer["extracted"], json!({"price": 19}), "{answer}");
    assert_eq!(answer["extract_errors"], json!([]));
    let usage = json!({"model": "small", "calls": 1, "input_tokens": 1_000, "output_tokens": 100,
        "cost_usd": 0.003, "truncated": true});
    assert_eq!(answer["extract_usage"], usage);
    let asked = model.asked();
    assert_eq!(asked[0]["model"], "small");
    assert_eq!(asked[0]["response_format"], json!({"type": "json_object"}));
    assert_eq!(asked[0]["messages"][0]["role"], "system");
    let question = asked[0]["messages"][1]["content"]
        .as_str()
        .expect("a question");
    for part in [
        "The price of the product",
        "\"required\":[\"price\"]",
        "It costs 19 euros",
    ] {
        assert!(question.contains(part), "{part} is not in {question}");
    }
    assert!(
        !question.contains("LAST") && question.len() < 3_000,
        "{}",
        question.len()
    );
    let history = service.client().get("/v1/usage").await.ok();
    assert_eq!(history["today"]["cloud_cost_usd"], 0.003, "{history}");
}

#[tokio::test]
async fn a_wrong_answer_is_repaired_once() {
    let origin = page().await;
    let (model, address) =
        Model::start(&[r#"{"price": "19"}"#, "```json\n{\"price\": 19}\n```"]).await;
    let repaired = service(address, KEY).await;
    let answer = repaired
        .client()
        .post("/v1/scan", &body(&origin))
        .await
        .ok();
    assert_eq!(answer["extracted"], json!({"price": 19}), "{answer}");
    assert_eq!(answer["extract_usage"]["calls"], 2);
    assert_eq!(answer["extract_usage"]["input_tokens"], 2_000);
    let asked = model.asked();
    let again = asked[1]["messages"][3]["content"]
        .as_str()
        .expect("a repair");
    assert!(again.contains("price: must be of type number"), "{again}");
    // What is still wrong is told, by field; a third question is not asked.
    let (model, address) = Model::start(&["{}", r#"{"cost": 1}"#, "{}"]).await;
    let wrong = service(address, KEY).await;
    let answer = wrong.client().post("/v1/scan", &body(&origin)).await.ok();
    assert_eq!(answer["extracted"], json!({"cost": 1}));
    assert_eq!(
        answer["extract_errors"],
        json!([{"field": "price", "message": "is required"}])
    );
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn what_a_model_was_asked_is_billed_also_if_the_client_hangs_up() {
    let origin = page().await;
    let (model, address) = Model::start(&["no JSON", NEVER]).await;
    let service = service(address, KEY).await;
    let scan = service.client().begin("/v1/scan", &body(&origin)).await;
    until("the model is asked again", async || {
        model.asked().len() == 2
    })
    .await;
    drop(scan);
    until("the costs are billed", async || {
        service.billed_micros().await > 0
    })
    .await;
    // The first answer as the model counts it, the second question by its length.
    let billed = service.billed_micros().await;
    assert!((3_001..10_000).contains(&billed), "{billed}");
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn a_model_that_fails_leaves_the_scan_and_says_why() {
    let origin = page().await;
    for (answers, key, why) in [
        (
            &["no JSON", "still none"][..],
            KEY,
            "the language model's answer is not a JSON object",
        ),
        (&[], KEY, "the language model answered with status 500"),
        (&[], "wrong", "the language model rejects cloud.llm.key"),
    ] {
        let (_, address) = Model::start(answers).await;
        let service = service(address, key).await;
        let answer = service.client().post("/v1/scan", &body(&origin)).await.ok();
        assert_eq!(answer["extracted"], Value::Null, "{answer}");
        assert_eq!(answer["errors"][0]["role"], "extract.prompt");
        assert_eq!(answer["errors"][0]["message"], why);
        assert_eq!(answer["metadata"]["title"], "Chair");
    }
}

#[tokio::test]
async fn a_prompt_needs_a_configured_model_and_has_rules() {
    let service = Service::start().await;
    let client = service.client();
    let origin = page().await;
    let said = client
        .post("/v1/scan", &body(&origin))
        .await
        .error(501, "NOT_IMPLEMENTED");
    assert!(
        said.contains("set cloud.llm.url and cloud.llm.model"),
        "{said}"
    );
    for (extract, expected) in [
        (
            json!({"prompt": " "}),
            "extract.prompt: must be 1 to 4000 characters",
        ),
        (
            json!({"prompt": "x".repeat(4_001)}),
            "extract.prompt: must be 1 to 4000 characters",
        ),
        (
            json!({"prompt": "a", "selectors": {"a": "b"}}),
            "extract.prompt: cannot be combined with selectors",
        ),
        (
            json!({"prompt": "a", "schema": {"type": "text"}}),
            "extract.schema.type: must be null",
        ),
    ] {
        let scan = json!({"url": origin.url("/"), "extract": extract});
        let said = client
            .post("/v1/scan", &scan)
            .await
            .error(422, "INVALID_INPUT");
        assert!(said.starts_with(expected), "{said}");
    }
    let crawl = json!({"url": origin.url("/"), "extract": {"prompt": "a"}});
    let said = client
        .post("/v1/crawls", &crawl)
        .await
        .error(422, "INVALID_INPUT");
    assert!(said.starts_with("extract.prompt: is for scans"), "{said}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_repaired_is_given_with_its_errors() {
    // The second question gets an error.
    let (model, address) = Model::start(&[r#"{"price": "19"}"#]).await;
    let service = service(address, KEY).await;
    let origin = page().await;
    let answer = service.client().post("/v1/scan", &body(&origin)).await.ok();
    assert_eq!(model.asked().len(), 2);
    assert_eq!(answer["extracted"], json!({"price": "19"}), "{answer}");
    assert_eq!(answer["extract_errors"][0]["field"], "price");
    assert_eq!(answer["extract_usage"]["calls"], 2);
}
