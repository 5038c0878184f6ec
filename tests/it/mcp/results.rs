//! Long work, long results, and actors.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use super::{ask, called, failed, send, with_actor};
use crate::support::Service;

#[tokio::test]
async fn a_crawl_is_waited_for_with_progress_and_its_pages_are_read() {
    let service = Service::start().await;
    let origin = Origin::start().await.unwrap();
    let long = format!(
        "<title>Long</title><h1>Long</h1><p>{}</p>",
        "word ".repeat(3_000)
    );
    origin.set(
        "/",
        Reply::html("<title>Home</title><a href='/long'>x</a><a href='/b'>y</a>"),
    );
    origin.set("/long", Reply::html(long.as_str()));
    origin.set("/b", Reply::html("<title>B</title><p>Second page</p>"));
    let client = service.client();

    let params = json!({
        "name": "crawl",
        "arguments": {"url": origin.url("/"), "delay_ms": 0, "respect_robots": false, "wait_seconds": 60},
        "_meta": {"progressToken": "t1"},
    });
    let message = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params});
    let answer = send(&client, &[], &message).await;
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events: Vec<Value> = answer
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str(data).ok())
        .collect();
    let (last, told) = events.split_last().expect("events");
    assert!(!told.is_empty(), "{events:?}");
    let mut before = -1.0;
    for event in told {
        assert_eq!(event["method"], "notifications/progress");
        assert_eq!(event["params"]["progressToken"], "t1");
        let now = event["params"]["progress"].as_f64().unwrap();
        assert!(now > before, "{events:?}");
        before = now;
    }
    assert_eq!(last["id"], 3);
    let run = &last["result"]["structuredContent"];
    assert_eq!(
        (&run["status"], &run["page_count"]),
        (&json!("done"), &json!(3)),
        "{run}"
    );
    let links: Vec<&Value> = last["result"]["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|block| block["type"] == "resource_link")
        .collect();
    assert_eq!(links.len(), 3, "{last}");

    let id = &run["id"];
    let pages = called(&client, "crawl_pages", json!({"id": id})).await;
    let long = pages["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|page| page["url"] == origin.url("/long"))
        .unwrap();
    // A long text comes in parts that join without loss.
    let mut text = String::new();
    let mut offset = json!(0);
    let mut parts = 0;
    while !offset.is_null() {
        let arguments = json!({"id": long["id"], "offset": offset, "max_chars": 4_000});
        let part = called(&client, "page", arguments).await;
        text.push_str(part["markdown"].as_str().unwrap());
        offset = part["next_offset"].clone();
        parts += 1;
    }
    assert!(parts > 3, "{parts}");
    assert_eq!(text.matches("word").count(), 3_000);

    // The same page as a resource, by its link.
    let link = links
        .iter()
        .find(|link| link["name"] == origin.url("/long"))
        .unwrap();
    let read = ask(&client, "resources/read", json!({"uri": link["uri"]})).await;
    let contents = &read["contents"][0];
    assert_eq!(contents["mimeType"], "text/markdown");
    assert_eq!(contents["text"], text);
    let listed = ask(&client, "resources/templates/list", json!({})).await;
    assert_eq!(listed["resourceTemplates"].as_array().unwrap().len(), 2);
    for (uri, code) in [
        ("orbweaver://pages/999999/markdown", -32002),
        ("orbweaver://pages/1/../../v1/keys", -32602),
        ("file:///etc/passwd", -32002),
    ] {
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": uri}});
        let answer = send(&client, &[], &message).await.ok();
        assert_eq!(answer["error"]["code"], code, "{uri}: {answer}");
    }

    let same = json!({"old_id": id, "new_id": id});
    let diff = called(&client, "diff", same).await;
    assert_eq!(diff["summary"]["unchanged"], 3);
    let list = called(&client, "crawl_list", json!({"limit": 1})).await;
    assert_eq!(list["items"][0]["id"], *id);
    called(&client, "crawl_delete", json!({"id": id})).await;
    let (code, _) = failed(&client, "crawl_status", json!({"id": id})).await;
    assert_eq!(code, "NOT_FOUND");
}

#[tokio::test]
async fn what_an_answer_warns_of_is_in_the_result() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    origin.set("/", Reply::html("<title>Home</title><p>Words"));
    let (client, url) = (service.client(), origin.url("/"));
    let crawl = json!({"url": url, "limit": 10, "delay_ms": 0});
    let run = called(&client, "crawl", crawl).await;
    let status = json!({"id": run["id"], "pages": 10});
    let extract = json!({"url": url, "role": "metadata", "cloud_moed": "none"});
    for (result, name) in [
        (&run, "limit is not a field"),
        (
            &called(&client, "crawl_status", status).await,
            "pages is not a query parameter",
        ),
        (
            &called(&client, "extract", extract).await,
            "cloud_moed is not a field; did you mean cloud_mode?",
        ),
    ] {
        let said = result["warnings"].as_array().expect("warnings");
        assert_eq!(said.len(), 1, "{result}");
        assert!(said[0].as_str().unwrap().starts_with(name), "{said:?}");
    }
}

#[tokio::test]
async fn whole_numbers_in_any_notation_and_null_are_taken_as_by_the_api() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let words = "word ".repeat(2_000);
    origin.set("/", Reply::html(format!("<title>Home</title><p>{words}")));
    let client = service.client();
    let crawl = json!({"url": origin.url("/"), "delay_ms": 0.0, "max_pages": 5.0,
        "wait_seconds": 60.0, "max_chars": 20_000.0, "cron": null});
    let run = called(&client, "crawl", crawl).await;
    assert_eq!(run["status"], "done", "{run}");
    let id = run["id"].as_f64().unwrap();
    let pages = json!({"id": id, "limit": 10.0, "offset": 0.0, "status": null});
    let pages = called(&client, "crawl_pages", pages).await;
    let page = pages["items"][0]["id"].as_f64().unwrap();
    let whole = json!({"id": page, "offset": 100.0, "format": null, "max_chars": 2_000});
    let part = called(&client, "page", whole).await;
    assert!(
        part["markdown"].as_str().unwrap().contains("word"),
        "{part}"
    );
    assert!(
        part["next_offset"].is_u64() && part.get("html").is_none(),
        "{part}"
    );
}

#[tokio::test]
async fn a_long_result_is_cut_and_says_so() {
    let service = Service::start().await;
    let origin = Origin::start().await.unwrap();
    let links: String = (0..400)
        .map(|n| format!("<p><a href='/{n}'>Link number {n}</a></p>"))
        .collect();
    origin.set("/", Reply::html(format!("<title>Many</title>{links}")));
    let client = service.client();
    let arguments = json!({"url": origin.url("/"), "include": ["markdown", "metadata"], "include_links": true, "max_chars": 5_000});
    let scan = called(&client, "scan", arguments).await;
    assert!(scan.to_string().len() < 6_000, "{}", scan.to_string().len());
    assert_eq!(scan["metadata"]["title"], "Many", "short parts stay whole");
    let cuts = scan["truncated"].as_array().unwrap();
    let links = cuts
        .iter()
        .find(|cut| cut["field"] == "/links")
        .expect("the links");
    assert_eq!(
        (&links["of"], &links["unit"]),
        (&json!(400), &json!("items"))
    );
    assert!(
        scan["rest"].as_str().unwrap().contains("max_chars"),
        "{scan}"
    );

    let crawl = json!({"url": origin.url("/"), "delay_ms": 0, "max_pages": 1, "respect_robots": false, "wait_seconds": 60});
    let run = called(&client, "crawl", crawl).await;
    // A list that is cut goes on where it was cut.
    let mut targets = Vec::new();
    let mut offset = json!(0);
    while !offset.is_null() {
        let arguments =
            json!({"id": run["id"], "limit": 1_000, "offset": offset, "max_chars": 10_000});
        let part = called(&client, "crawl_links", arguments).await;
        let items = part["items"].as_array().unwrap();
        targets.extend(
            items
                .iter()
                .map(|link| link["to_url"].as_str().unwrap().to_owned()),
        );
        offset = part["next_offset"].clone();
    }
    assert_eq!(targets.len(), 400);
    targets.sort();
    targets.dedup();
    assert_eq!(targets.len(), 400);

    // An offset as text is the same number. A table is no result of a tool.
    let arguments = json!({"id": run["id"], "limit": 1_000, "offset": "100", "format": "csv",
        "max_chars": 10_000});
    let part = called(&client, "crawl_links", arguments).await;
    let items = part["items"].as_array().expect("items").len() as u64;
    assert!(items > 0 && items < 300, "{items}");
    assert_eq!(part["next_offset"], json!(100 + items));
}

#[tokio::test]
async fn an_actor_is_called_by_its_tool_and_billed_as_the_endpoint() {
    let folder = tempfile::tempdir().unwrap();
    let service = with_actor(folder.path()).await;
    let origin = Origin::start().await.unwrap();
    origin.set("/a", Reply::html("<title>A</title>"));
    let client = service.client();
    let answer = called(
        &client,
        "actor_two-pages-rs",
        json!({"urls": [origin.url("/a")]}),
    )
    .await;
    assert_eq!(answer["actor"], "two-pages-rs");
    assert_eq!(answer["data"]["items"][0]["title"], "A");
    assert_eq!(service.billed().await, (1, 0));
    for arguments in [json!({}), json!({"urls": ["http://10.0.0.1/"]})] {
        let (code, _) = failed(&client, "actor_two-pages-rs", arguments).await;
        assert_eq!(code, "INVALID_INPUT");
    }
}
