//! What the console shows of the project: usage, monitors with their runs and webhooks, plugins.

use chrono::TimeDelta;
use orbweaver_origin::{Origin, Reply};
use orbweaver_store::NewUsage;
use serde_json::json;

use super::{Visitor, encoded, sign_in};
use crate::support::runs::{self, Written};
use crate::support::{Receiver, Service};
use crate::tenant_plugins::{allowing, installed, read, site};

#[tokio::test]
async fn usage_is_drawn_by_day_and_kind_of_call() {
    let service = Service::start().await;
    let visitor = Visitor::of(&service).await;
    assert!(
        visitor
            .page("/console/usage")
            .await
            .contains("Nothing was used")
    );
    let project = service.app.store.projects().await.unwrap()[0].id;
    let mut token = 0;
    for day in 0..3 {
        for (call, pages) in [("crawl", 60), ("scan", 20), ("cloud-search", 10 * day)] {
            token += 1;
            let usage = NewUsage {
                project,
                token: token.to_string(),
                call,
                pages,
                cloud_pages: 0,
                cost_micros: 0,
                at: service.app.clock.now(),
                reservation: None,
            };
            service.app.store.bill(usage).await.unwrap();
        }
        service.clock.advance(TimeDelta::days(1));
    }
    // The first sign-in has ended.
    let visitor = Visitor::of(&service).await;
    let page = visitor.page("/console/usage?days=7").await;
    assert_eq!(page.matches("<g><title>").count(), 3, "a bar a day: {page}");
    assert!(
        page.contains("2026-03-01: 80 pages") && page.contains("2026-03-03: 100 pages"),
        "{page}"
    );
    for call in ["crawl", "scan", "cloud-search"] {
        assert!(page.contains(&format!("</i>{call}</li>")), "{call}: {page}");
    }
    // The most used kind stands below: 60 of 100.
    assert!(
        page.contains("class=\"k0\" x=\"41\" y=\"40.0\" width=\"8\" height=\"60.0\""),
        "{page}"
    );
    assert!(page.contains("no cap"), "{page}");
    // A year has weeks; what is no period is the usual one.
    assert!(
        visitor
            .page("/console/usage?days=365")
            .await
            .contains("Pages per week")
    );
    assert!(
        visitor
            .page("/console/usage?days=x")
            .await
            .contains("Pages per day")
    );

    // A tier with caps says what is left.
    let other = service.other_project("shop").await;
    let answer = sign_in(&service, other.key().unwrap()).await;
    let cookie = answer
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let headers = [super::HTML, ("cookie", cookie.as_str())];
    let page = service
        .stranger()
        .send("GET", "/console/usage", &headers, b"")
        .await
        .text();
    assert!(
        page.contains("200 left") && page.contains("100 left"),
        "{page}"
    );
}

#[tokio::test]
async fn a_monitor_shows_its_runs_their_changes_and_webhooks() {
    let service = Service::start().await;
    let visitor = Visitor::of(&service).await;
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("<title>Home</title><p>as it was</p>"));
    let mut receiver = Receiver::start(&[]).await;
    let url = origin.url("/");
    let webhook = receiver.url();
    let fields = [
        ("url", url.as_str()),
        ("cron", "*/5 * * * *"),
        ("webhook_url", &webhook),
        ("delay_ms", "0"),
    ];
    assert_eq!(visitor.post("/console/crawls", &fields).await.status, 303);
    let list = visitor.page("/console/monitors").await;
    let (_, rest) = list
        .split_once("href=\"/console/monitors/")
        .expect("a link");
    let path = format!("/console/monitors/{}", rest.split('"').next().unwrap());
    assert!(visitor.page(&path).await.contains("It has not run yet"));

    let client = service.client();
    for text in ["as it was", "as it is"] {
        let page = format!("<title>Home</title><p>{text}</p>");
        origin.set("/", Reply::html(page.as_str()));
        service.clock.advance(TimeDelta::minutes(5));
        receiver.next().await;
    }
    let listed = client.get("/v1/crawls?monitor_id=1").await.ok();
    let ids: Vec<i64> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["id"].as_i64().unwrap())
        .collect();
    assert_eq!(ids.len(), 2, "{listed}");
    let none = client.get("/v1/crawls?monitor_id=2").await.ok();
    assert_eq!(none["items"], json!([]));
    client
        .get("/v1/crawls?monitor_id=0")
        .await
        .error(422, "INVALID_INPUT");
    for id in &ids {
        let path = format!("/v1/crawls/{id}");
        while client.get(&path).await.ok()["webhook_status"] == "pending" {
            tokio::task::yield_now().await;
        }
    }
    let page = visitor.page(&path).await;
    let diff = format!("/console/diff?old={}&amp;new={}", ids[1], ids[0]);
    assert!(page.contains(&diff), "{page}");
    assert_eq!(page.matches("crawl.done").count(), 2, "{page}");
    assert!(
        visitor
            .page(&diff.replace("&amp;", "&"))
            .await
            .contains("as it is")
    );

    // A webhook is sent once more.
    let (_, rest) = page.split_once("/deliveries/").expect("a button");
    let delivery = rest.split('"').next().unwrap();
    let again = format!("/console/crawls/{}/deliveries/{delivery}", ids[0]);
    assert_eq!(visitor.post(&again, &[]).await.status, 303);
    assert_eq!(receiver.next().await.json()["id"], ids[0]);
    let wrong = format!("/console/crawls/{}/deliveries/{delivery}", ids[1]);
    assert_eq!(visitor.post(&wrong, &[]).await.status, 404);
    assert_eq!(visitor.get("/console/monitors/404").await.status, 404);
}

#[tokio::test]
async fn a_project_sees_its_plugins_and_calls_a_failed_one_again() {
    let service = Service::with(allowing(3)).await;
    let ours = service.other_project("ours").await;
    installed(&ours, "trap", &read("trap")).await;
    let origin = site().await;
    let scan = json!({"url": origin.url("/"), "extractors": ["panic"]});
    ours.post("/v1/scan", &scan).await.ok();
    let visitor = Visitor::signed_in(&service, ours.key().unwrap()).await;
    assert!(
        visitor
            .page("/")
            .await
            .contains("href=\"/console/plugins\"")
    );
    assert!(visitor.page("/console/plugins").await.contains("trap"));
    let page = visitor.page("/console/plugins/extract-trap").await;
    assert!(page.contains("a message for the log"), "{page}");
    let (_, rest) = page
        .split_once("/console/plugins/extract")
        .expect("a button");
    let (_, rest) = rest.split_once("/calls/").expect("a button");
    let call = rest.split('"').next().unwrap();
    let again = format!("/console/plugins/extract-trap/calls/{call}");
    let answer = visitor.post(&again, &[]).await.text();
    assert!(
        answer.contains(&format!("Call {call} again")) && answer.contains("trap"),
        "{answer}"
    );
    let answer = visitor
        .post("/console/plugins/extract-trap/calls/999", &[])
        .await
        .text();
    assert!(answer.contains("NOT_FOUND"), "{answer}");
    // The form of another sign-in changes nothing.
    let headers = [
        super::HTML,
        super::FORM,
        ("cookie", visitor.cookie.as_str()),
    ];
    let body = encoded(&[("csrf", "x")]);
    let refused = visitor
        .client
        .send("POST", &again, &headers, body.as_bytes())
        .await;
    assert_eq!(refused.status, 403);
}

#[tokio::test]
async fn a_page_without_its_html_shows_what_there_is() {
    let service = Service::start().await;
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("<title>Bare</title><p>some words"));
    let body = json!({"url": origin.url("/"), "store_html": false, "delay_ms": 0});
    let started = service.client().post("/v1/crawls", &body).await.json();
    let visitor = Visitor::of(&service).await;
    let run = format!("/console/crawls/{}", started["id"]);
    // The stream ends with the run.
    visitor.get(&format!("{run}/events")).await;
    let list = visitor.page(&run).await;
    let (_, rest) = list.split_once("/console/pages/").expect("a page");
    let page = format!("/console/pages/{}", rest.split('"').next().unwrap());

    let shown = visitor.page(&page).await;
    let is_current = |text: &str, view: &str| {
        text.contains(&format!("{page}?view={view}\" aria-current=\"page\""))
    };
    assert!(is_current(&shown, "signals"), "{shown}");
    assert!(
        shown.contains("word_count") && !shown.contains("role=\"alert\""),
        "{shown}"
    );
    for view in ["markdown", "source", "article", "html"] {
        let asked = visitor.page(&format!("{page}?view={view}")).await;
        assert!(is_current(&asked, view), "{asked}");
        assert!(
            asked.contains("store_html was false") && asked.contains(&origin.url("/")),
            "{asked}"
        );
    }
    // What is no page at all is still an error.
    assert_eq!(visitor.get("/console/pages/4711").await.status, 404);
}

#[tokio::test]
async fn the_first_orphans_of_many_are_shown() {
    let service = runs::without_workers(false, |_| {}).await;
    let visitor = Visitor::of(&service).await;
    let pages: Vec<Written> = (0..251)
        .map(|n| Written::new(&n.to_string(), "<p>a", &[]))
        .collect();
    let many = runs::done(&service, &pages).await;
    let few = runs::done(&service, &pages[..3]).await;
    // The seed is no orphan.
    for (run, rows, more) in [(many, 200, Some("50 more")), (few, 2, None)] {
        let shown = visitor
            .page(&format!("/console/crawls/{run}?view=orphans"))
            .await;
        assert_eq!(shown.matches("href=\"/console/pages/").count(), rows);
        assert_eq!(shown.contains("the API lists them all"), more.is_some());
        assert!(shown.contains(more.unwrap_or_default()), "{shown}");
    }
}

#[tokio::test]
async fn an_address_with_a_wrong_query_is_a_page() {
    let service = Service::start().await;
    let visitor = Visitor::of(&service).await;
    for path in [
        "/console/crawls?offset=-1",
        "/console/usage?days=1&days=2",
        "/console/monitors?offset=x",
    ] {
        let page = visitor.page(path).await;
        assert!(page.contains("<h1"), "{path}: {page}");
    }
    let diff = visitor.get("/console/diff?old=1&old=2").await;
    let kind = diff.header("content-type").unwrap();
    assert!(kind.starts_with("text/html"), "{kind}: {}", diff.text());
}
