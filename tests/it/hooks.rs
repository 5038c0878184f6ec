//! Hooks through the interface: uploads, the field `hooks` of crawl requests, and what they made.

use orbweaver_engine::manifest;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::http::Answer;
use crate::support::{Client, Service, fixture, runs};

const WASM: [(&str, &str); 1] = [("content-type", "application/wasm")];

async fn upload(client: &Client) -> Answer {
    let component = std::fs::read(fixture("hook-tool")).expect("a fixture");
    let path = "/v1/plugins/hook-tool?grant=all";
    client.send("PUT", path, &WASM, &component).await
}

async fn site() -> Origin {
    let origin = Origin::start().await.expect("a site");
    let links = "<title>Home</title><a href=/a>A</a> <a href=/b>B</a> <a href=/skip>S</a>";
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/", Reply::html(links))
        .set(
            "/a",
            Reply::html("<title>A</title>Write to jane@example.org"),
        )
        .set("/b", Reply::html("<title>B</title>"));
    origin
}

#[tokio::test]
async fn a_hook_is_uploaded_listed_and_removed_as_other_plugins() {
    let service = Service::start().await;
    let client = service.client();
    let item = upload(&client).await;
    assert_eq!(item.status, 201, "{}", item.text());
    let item = item.json();
    assert_eq!(
        (&item["kind"], &item["name"]),
        (&json!("hook"), &json!("tool"))
    );
    assert_eq!(
        item["hooks"],
        json!(["discover", "record", "request", "response"])
    );
    let list = client.get("/v1/plugins").await.ok();
    let names: Vec<&Value> = list["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter(|item| item["kind"] == "hook")
        .map(|item| &item["name"])
        .collect();
    let expected = [
        "chat-message",
        "language-filter",
        "mask-personal-data",
        "section-priority",
        "tool",
        "unique-text",
    ];
    assert_eq!(json!(names), json!(expected));
    let removed = client
        .send("DELETE", "/v1/plugins/hook-tool", &[], b"")
        .await;
    assert_eq!(removed.status, 204);
    let body = json!({"url": "http://127.0.0.1:8081/", "hooks": [{"name": "tool"}]});
    let said = client
        .post("/v1/crawls", &body)
        .await
        .error(422, "INVALID_INPUT");
    assert!(
        said.starts_with("hooks[0].name: hook `tool` is not loaded"),
        "{said}"
    );
}

#[tokio::test]
async fn invalid_hooks_are_refused_by_field() {
    let service = Service::start().await;
    let client = service.client();
    let section = json!({"name": "section-priority"});
    let filter = |config: Value| json!([{"name": "language-filter", "config": config}]);
    for (hooks, expected) in [
        (
            json!([{"name": "nobody"}]),
            "hooks[0].name: hook `nobody` is not loaded; loaded: ",
        ),
        (
            json!([section, {"name": "markdown"}]),
            "hooks[1].name: hook `markdown` is not loaded",
        ),
        (json!([section, section]), "hooks[1].name: is given twice"),
        (
            json!(vec![section.clone(); 9]),
            "hooks: must be at most 8 hooks",
        ),
        (filter(json!([])), "hooks[0].config: must be an object"),
        (filter(json!({})), "hooks[0].config.languages: is required"),
        (
            filter(json!({"languages": ["en"], "lang": 1})),
            "hooks[0].config.lang: is unknown",
        ),
        (
            filter(json!({"languages": [7]})),
            "hooks[0].config.languages[0]: must be of type string",
        ),
        (
            filter(json!({"languages": ["en"], "x": "y".repeat(70_000)})),
            "hooks[0].config: must be at most 65536 bytes",
        ),
    ] {
        for cron in [Value::Null, json!("0 6 * * *")] {
            let body = json!({"url": "http://127.0.0.1:8081/", "hooks": hooks, "cron": cron});
            let said = client
                .post("/v1/crawls", &body)
                .await
                .error(422, "INVALID_INPUT");
            assert!(said.starts_with(expected), "{said}");
        }
    }
    let body = json!({"url": "http://127.0.0.1:8081/", "hooks": [{"name": "a", "on_error": "x"}]});
    client
        .post("/v1/crawls", &body)
        .await
        .error(422, "INVALID_INPUT");
}

#[tokio::test]
async fn records_and_skipped_links_are_listed() {
    let service = Service::start().await;
    let client = service.client();
    let origin = site().await;
    let body = json!({
        "url": origin.url("/"),
        "delay_ms": 0,
        "hooks": [
            {"name": "section-priority", "config": {"skip": ["/skip"]}},
            {"name": "mask-personal-data"},
        ],
    });
    let run = runs::crawled(&client, &body).await;
    assert_eq!(
        (&run["status"], &run["page_count"]),
        (&json!("done"), &json!(3))
    );
    assert_eq!(
        (&run["skipped"]["hook"], &run["dropped_count"]),
        (&json!(1), &Value::Null)
    );
    let path = |list: &str| format!("/v1/crawls/{}/{list}", run["id"]);

    let skipped = client.get(&path("skipped")).await.ok();
    assert_eq!(skipped["items"].as_array().expect("items").len(), 1);
    assert_eq!(skipped["items"][0]["url"], origin.url("/skip"));
    assert_eq!(skipped["items"][0]["plugin"], "section-priority");
    assert_eq!(
        skipped["items"][0]["reason"],
        "the section /skip is left out"
    );

    let records = client.get(&path("records?limit=2")).await.ok();
    assert_eq!(
        (&records["next_offset"], &records["items"][1]["hook"]),
        (&json!(2), &json!("mask-personal-data"))
    );
    let rest = client.get(&path("records?limit=2&offset=2")).await.ok();
    assert_eq!(
        (
            &rest["next_offset"],
            rest["items"].as_array().expect("items").len()
        ),
        (&Value::Null, 1)
    );
    let lines = client.get(&path("records?format=ndjson")).await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> = lines
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 3);
    let of_a = lines
        .iter()
        .find(|line| line["url"] == origin.url("/a"))
        .expect("a record");
    assert_eq!(of_a["data"]["text"], "Write to [email]");
    let csv = client.get(&path("records?format=csv")).await.text();
    assert!(csv.starts_with("page_id,url,hook,data\n"), "{csv}");

    let page = client
        .get(&format!("/v1/pages/{}", of_a["page_id"]))
        .await
        .ok();
    assert_eq!(
        page["records"],
        json!([{"hook": "mask-personal-data", "data": of_a["data"]}])
    );
    let stranger = service.other_project("other").await;
    for list in ["records", "skipped"] {
        stranger.get(&path(list)).await.error(404, "NOT_FOUND");
    }
}

#[tokio::test]
async fn a_failure_is_listed_with_the_errors_after_urls_without_an_answer() {
    let service = Service::with(|config| config.crawl.retries = 0).await;
    let client = service.client();
    assert_eq!(upload(&client).await.status, 201);
    let origin = site().await;
    origin.set(
        "/",
        Reply::html("<a href=/a>a</a><a href=/fault/closed>c</a>"),
    );
    let body = json!({
        "url": origin.url("/"),
        "delay_ms": 0,
        "hooks": [{"name": "tool", "config": {"record": {"do": "error"}, "only": "/a"}}],
    });
    let run = runs::crawled(&client, &body).await;
    assert_eq!(
        (&run["error_count"], &run["plugin_error_count"]),
        (&json!(1), &json!(1))
    );
    let list = |query: &str| format!("/v1/crawls/{}/errors?{query}", run["id"]);
    let all = client.get(&list("limit=10")).await.ok();
    let kinds: Vec<&Value> = all["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["kind"])
        .collect();
    assert_eq!(kinds, ["reset", "plugin"]);
    let failed = &all["items"][1];
    assert_eq!(
        (&failed["plugin"], &failed["url"]),
        (&json!("tool"), &json!(origin.url("/a")))
    );
    let message = failed["message"].as_str().expect("a message");
    assert!(
        message.starts_with("record: failed: as told, on http://"),
        "{message}"
    );
    assert_eq!(failed["referrers"], json!([origin.url("/")]));
    // Pages of the list go on from the one table to the other.
    for offset in 0..2 {
        let one = client
            .get(&list(&format!("limit=1&offset={offset}")))
            .await
            .ok();
        assert_eq!(one["items"], json!([all["items"][offset]]));
        let next = if offset == 0 { json!(1) } else { Value::Null };
        assert_eq!(one["next_offset"], next);
    }
    let beyond = client.get(&list("limit=1&offset=2")).await.ok();
    assert_eq!(beyond["items"], json!([]));
}

#[tokio::test]
async fn a_strict_hook_ends_the_run_with_its_reason() {
    let service = Service::start().await;
    let client = service.client();
    assert_eq!(upload(&client).await.status, 201);
    let origin = site().await;
    let config = json!({"discover": {"do": "trap"}});
    let hook = json!({"name": "tool", "config": config, "on_error": "fail"});
    let run = runs::crawled(&client, &json!({"url": origin.url("/"), "hooks": [hook]})).await;
    assert_eq!(run["status"], "failed");
    let why = run["error_message"].as_str().expect("a reason");
    assert!(
        why.starts_with(&format!(
            "hook `tool` failed on {}: discover: ",
            origin.url("/")
        )),
        "{why}"
    );
}

#[tokio::test]
async fn a_run_goes_on_with_a_hook_s_newer_version_and_notices_its_removal() {
    let service = Service::start().await;
    let client = service.client();
    assert_eq!(upload(&client).await.status, 201);
    let origin = Origin::start().await.expect("a site");
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/", Reply::html("<title>1</title><a href=/held/2>2</a>"))
        .set(
            "/held/2",
            Reply::html("<title>2</title><a href=/held/3>3</a>"),
        )
        .set("/held/3", Reply::html("<title>3</title>"));
    let body = json!({
        "url": origin.url("/"),
        "hooks": [{"name": "tool", "config": {"record": {}}}],
    });
    let created = client.post("/v1/crawls", &body).await.json();
    // The first version has seen the first page; the second page waits for its answer.
    origin.asked("/held/2", 1).await;
    let component = std::fs::read(fixture("hook-tool")).expect("a fixture");
    let text = manifest::read_text(&component).expect("a manifest");
    let text = text.replace("version = \"0.1.0\"", "version = \"0.2.0\"");
    let newer = manifest::embed(&component, &text).expect("a component");
    let path = "/v1/plugins/hook-tool?grant=all";
    let replaced = client.send("PUT", path, &WASM, &newer).await;
    assert_eq!(replaced.status, 200, "{}", replaced.text());
    origin.release();
    origin.asked("/held/3", 1).await;
    let path = format!("/v1/crawls/{}", created["id"]);
    let has_two = |answer: &Answer| {
        let items = answer.json()["items"].as_array().map(Vec::len);
        items == Some(2)
    };
    client.until(&format!("{path}/records"), has_two).await;
    let metrics = client.get("/v1/plugins/hook-tool/metrics").await.ok();
    let newest = &metrics["versions"][0];
    assert_eq!(
        (&newest["version"], &newest["serving"]),
        (&json!("0.2.0"), &json!(true))
    );
    // The second page was its first one.
    assert_eq!(newest["errors"], json!({}), "{metrics}");
    assert!(newest["calls"].as_u64() >= Some(1), "{metrics}");
    let removed = client
        .send("DELETE", "/v1/plugins/hook-tool", &[], b"")
        .await;
    assert_eq!(removed.status, 204);
    origin.release();
    let run = client
        .until(&path, |answer| answer.json()["status"] == "done")
        .await
        .ok();
    // The page after the removal is stored, and lists the missing hook.
    assert_eq!(run["page_count"], 3, "{run}");
    assert!(run["plugin_error_count"].as_u64() >= Some(1), "{run}");
    let errors = client.get(&format!("{path}/errors")).await.ok();
    assert_eq!(
        errors["items"][0]["message"],
        "response: not-found: no hook plugin serves `tool`"
    );
}
