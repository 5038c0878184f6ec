//! Secrets that no plugin reads: where they go, and the ways to get at one that are closed.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orbweaver_accounts::secret::Secret;
use orbweaver_origin::{Origin, Reply};
use orbweaver_server::service;
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Service, fixture};

const WASM: [(&str, &str); 1] = [("content-type", "application/wasm")];
const SECRET: &str = "s3cret+Value/0451==";

async fn put(client: &Client, name: &str, body: &Value) -> Answer {
    let path = format!("/v1/secrets/{name}");
    let json = [("content-type", "application/json")];
    client
        .send("PUT", &path, &json, body.to_string().as_bytes())
        .await
}

async fn install(client: &Client, query: &str) {
    let component = std::fs::read(fixture("keeper-actor")).expect("a fixture");
    let path = format!("/v1/plugins/keeper{query}");
    let answer = client.send("PUT", &path, &WASM, &component).await;
    assert!(matches!(answer.status, 200 | 201), "{}", answer.text());
}

/// A service with the plugin, a site that may receive the secret and one that may not.
async fn begin() -> (Service, Origin, Origin) {
    let service = Service::start().await;
    install(&service.client(), "?grant=all").await;
    let (granted, other) = (site().await, site().await);
    let hosts = json!([granted.url("").trim_end_matches('/')]);
    let body = json!({"value": SECRET, "hosts": hosts});
    let answer = put(&service.client(), "token", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    (service, granted, other)
}

async fn site() -> Origin {
    let origin = Origin::start().await.expect("a site");
    origin.set("/", Reply::html("<title>Home</title>"));
    origin
}

async fn run(client: &Client, ops: Value) -> Answer {
    client
        .post("/v1/actors/keeper", &json!({ "ops": ops }))
        .await
}

fn received(origin: &Origin) -> Vec<String> {
    let header =
        |request: &orbweaver_origin::Recorded| request.header("authorization").map(str::to_owned);
    origin.requests().iter().filter_map(header).collect()
}

/// Everything that a project can read, and the data folder, must not have the secret.
async fn is_nowhere(service: &Service, data: Option<&Path>) {
    let client = service.client();
    for path in [
        "/v1/secrets",
        "/v1/plugins",
        "/v1/logs?limit=100",
        "/v1/actors",
    ] {
        let text = client.get(path).await.text();
        assert!(!text.contains(SECRET), "{path}: {text}");
    }
    let Some(data) = data else { return };
    for file in std::fs::read_dir(data).expect("a folder") {
        let file = file.expect("a file").path();
        if let Ok(bytes) = std::fs::read(&file) {
            let found = bytes
                .windows(SECRET.len())
                .any(|part| part == SECRET.as_bytes());
            assert!(!found, "{}", file.display());
        }
    }
}

#[tokio::test]
async fn a_secret_is_stored_listed_without_its_value_and_deleted() {
    let service = Service::start().await;
    let (client, other) = (service.client(), service.other_project("other").await);
    let body = json!({"value": SECRET, "hosts": ["https://api.example.com"]});
    assert_eq!(put(&client, "token", &body).await.status, 201);
    assert_eq!(put(&client, "token", &body).await.status, 204);
    let list = client.get("/v1/secrets").await.ok();
    assert_eq!(list["items"][0]["name"], "token");
    assert_eq!(
        list["items"][0]["hosts"],
        json!(["https://api.example.com"])
    );
    assert_eq!(list["items"][0].get("value"), None);
    assert_eq!(other.get("/v1/secrets").await.ok()["items"], json!([]));
    let path = "/v1/secrets/token";
    other
        .send("DELETE", path, &[], b"")
        .await
        .error(404, "NOT_FOUND");
    is_nowhere(&service, Some(service.data())).await;
    assert_eq!(client.send("DELETE", path, &[], b"").await.status, 204);
    client
        .send("DELETE", path, &[], b"")
        .await
        .error(404, "NOT_FOUND");
    service
        .stranger()
        .get("/v1/secrets")
        .await
        .error(401, "UNAUTHORIZED");

    let hosts = json!(["https://api.example.com"]);
    for (name, body, field) in [
        ("Token", json!({"value": SECRET, "hosts": hosts}), "name"),
        ("token", json!({"value": "short", "hosts": hosts}), "value"),
        (
            "token",
            json!({"value": "line\nline line", "hosts": hosts}),
            "value",
        ),
        ("token", json!({"value": SECRET, "hosts": []}), "hosts"),
        (
            "token",
            json!({"value": SECRET, "hosts": ["https://*.example.com"]}),
            "hosts[0]",
        ),
        (
            "token",
            json!({"value": SECRET, "hosts": ["api.example.com"]}),
            "hosts[0]",
        ),
        (
            "token",
            json!({"value": SECRET, "hosts": ["https://a.example/x"]}),
            "hosts[0]",
        ),
    ] {
        let answer = put(&client, name, &body).await;
        assert!(!answer.text().contains(SECRET));
        let said = answer.error(422, "INVALID_INPUT");
        assert!(said.starts_with(&format!("{field}: ")), "{said}");
    }
}

#[tokio::test]
async fn a_secret_goes_to_its_hosts_and_comes_back_masked() {
    let (service, granted, _) = begin().await;
    let encoded = STANDARD.encode(format!("token:{SECRET}"));
    granted.set(
        "/echo",
        Reply::html(format!("<title>You sent {SECRET} as {encoded}</title>"))
            .header("x-echo", &format!("Bearer {SECRET}")),
    );
    let answer = run(
        &service.client(),
        json!([
            {"op": "send", "url": granted.url("/echo")},
            {"op": "log"},
        ]),
    )
    .await;
    let text = answer.text();
    assert_eq!(answer.ok()["data"]["results"][0]["status"], 200);
    assert!(
        text.contains("You sent ****") && !text.contains(SECRET) && !text.contains(&encoded[8..]),
        "{text}"
    );
    assert_eq!(received(&granted), [format!("Bearer {SECRET}")]);
    is_nowhere(&service, None).await;
}

#[tokio::test]
async fn a_host_that_the_secret_does_not_name_gets_nothing() {
    let (service, _, other) = begin().await;
    let client = service.client();
    let ops = json!([
        {"op": "send", "url": other.url("/")},
        {"op": "send", "url": other.url("/").replace("127.0.0.1", "localhost")},
        {"op": "send", "url": "https://example.com/"},
    ]);
    let results = run(&client, ops).await.ok()["data"]["results"].clone();
    let results = results.as_array().expect("a list");
    assert_eq!(results.len(), 3);
    for result in results {
        let said = result["error"].as_str().expect("an error");
        assert!(said.contains("not-granted"), "{said}");
        assert!(!said.contains(SECRET));
    }
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn a_redirect_elsewhere_is_not_followed() {
    let (service, granted, other) = begin().await;
    let target = other.url("/stolen");
    granted.set("/go", Reply::redirect(302, &format!("{target}?k={SECRET}")));
    granted.set("/near", Reply::redirect(302, &granted.url("/")));
    let ops = json!([
        {"op": "send", "url": granted.url("/go")},
        {"op": "send", "url": granted.url("/near")},
    ]);
    let answer = run(&service.client(), ops).await;
    assert!(!answer.text().contains(SECRET), "{}", answer.text());
    let results = answer.ok()["data"]["results"].clone();
    assert_eq!(
        (&results[0]["status"], &results[1]["status"]),
        (&json!(302), &json!(200))
    );
    assert_eq!(other.requests().len(), 0);
    assert_eq!(received(&granted).len(), 3);
}

#[tokio::test]
async fn neither_errors_nor_state_nor_logs_have_a_secret() {
    let (service, granted, other) = begin().await;
    granted.set("/echo", Reply::html(SECRET));
    let client = service.client();
    // Everything that the plugin has seen, as the text of its error.
    let seen = json!([
        {"op": "send", "url": granted.url("/"), "secret": "other"},
        {"op": "send", "url": granted.url("/echo")},
        {"op": "send", "url": other.url("/")},
        {"op": "send", "url": granted.url("/"), "header": "host"},
        {"op": "send", "url": granted.url("/"), "header": "x\r\ny"},
        {"op": "send", "url": granted.url("/"), "prefix": "a\nb"},
        {"op": "log"},
        {"op": "fail"},
    ]);
    let failed = run(&client, seen).await;
    assert!(!failed.text().contains(SECRET), "{}", failed.text());
    let said = failed.error(500, "PLUGIN_FAILED");
    assert!(said.contains("no secret `other`"), "{said}");
    // A host that is gone: the error of the connection.
    let gone = granted.url("/");
    drop(granted);
    let answer = run(&client, json!([{"op": "send", "url": gone}])).await;
    assert!(!answer.text().contains(SECRET), "{}", answer.text());
    // What is kept is what the plugin saw.
    let keys = run(&client, json!([{"op": "keys", "prefix": ""}]))
        .await
        .text();
    assert!(!keys.contains(SECRET));
    is_nowhere(&service, Some(service.data())).await;
}

#[tokio::test]
async fn a_secret_needs_a_permission_for_its_name_and_is_the_projects_own() {
    let (service, granted, _) = begin().await;
    let client = service.client();
    install(&client, "?grant=http&grant=secret%3Dother").await;
    let send = json!([{"op": "send", "url": granted.url("/")}]);
    let denied = run(&client, send.clone()).await.ok()["data"]["results"][0]["error"].clone();
    assert!(
        denied
            .as_str()
            .unwrap()
            .contains("permission secret=token: "),
        "{denied}"
    );
    install(&client, "?grant=http&grant=secret%3Dtoken").await;
    let results = run(&client, send.clone()).await.ok()["data"]["results"].clone();
    assert_eq!(results[0]["status"], 200, "{results}");
    // Another project calls the same plugin without that project's secret.
    let other = service.other_project("other").await;
    let answer = run(&other, send).await.ok();
    let said = answer["data"]["results"][0]["error"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(said.contains("no secret `token`"), "{said}");
    assert_eq!(received(&granted).len(), 1);
}

#[tokio::test]
async fn a_node_with_another_secret_key_than_the_others_does_not_start() {
    const OF_ALL: &str = "the secret of all nodes, 0123456789";
    let first =
        Service::on_postgres_with(|config| config.secret_key = Some(Secret::new(OF_ALL))).await;
    // Why a node with this secret does not start.
    let refused = async |secret: Option<&str>| {
        let data = tempfile::tempdir().unwrap();
        let mut config = first.app.config().clone();
        config.data_dir = data.path().to_owned();
        config.secret_key = secret.map(Secret::new);
        let built = service::build(config, first.app.clock.clone(), None).await;
        built.err().map(|error| error.to_string())
    };
    assert_eq!(refused(Some(OF_ALL)).await, None);
    let other = "another secret, of no other node, 01";
    let why = refused(Some(other)).await.expect("a refusal");
    assert!(why.contains("secret_key: the other nodes"), "{why}");
    // One that is not configured is refused once it cannot read something.
    assert_eq!(refused(None).await, None);
    let body = json!({"value": SECRET, "hosts": ["https://a.example"]});
    let answer = put(&first.client(), "token", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let why = refused(None).await.expect("a refusal");
    assert!(why.contains("were stored with another one"), "{why}");
    assert_eq!(refused(Some(OF_ALL)).await, None);
}
