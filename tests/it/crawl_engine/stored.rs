//! What a run stores in the database.

use chrono::TimeDelta;
use orbweaver_core::ids::PageId;
use orbweaver_crawl::spec::CrawlSpec;
use orbweaver_store::crawl::{RunState, unpack_links};

use super::ground::{Answer, Ground};
use super::{crawl, over, pages, promises, queue, spec};
use crate::support::Service;

promises! {
    links_and_robots_directives_are_kept
    without_html_the_metadata_is_still_stored
    named_extractors_run_for_every_page
    an_unchanged_page_shares_the_stored_body
    fault_26_not_modified_reuses_the_body_and_updates_the_time
}

async fn links_and_robots_directives_are_kept(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => {
            let mut page = Answer::page("The title", &["/a"]).with("x-robots-tag", "noarchive");
            page.body.extend_from_slice(
                b"<meta name=robots content=noindex><link rel=canonical href=/real>\
                  <a rel=nofollow href=/b>B</a><a href=http://other.example/>Other</a>",
            );
            page
        }
        _ => Answer::page("page", &[]),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    // A `nofollow` link is followed, and marked.
    assert_eq!(run.page_count, 3);
    let store = &service.app.store;
    let page = store
        .previous_page(run.project, run.id, &ground.url("/"))
        .await;
    let page = page.unwrap().unwrap();
    assert_eq!(page.title.as_deref(), Some("The title"));
    assert_eq!(page.canonical, Some(ground.url("/real")));
    assert_eq!(page.robots.as_deref(), Some("noindex, noarchive"));
    let links = unpack_links(&page.links).unwrap();
    let shown: Vec<(&str, &str, bool)> = links
        .iter()
        .map(|link| (link.to_url.as_str(), link.anchor.as_str(), link.nofollow))
        .collect();
    let (a, b) = (ground.url("/a"), ground.url("/b"));
    assert_eq!(
        shown,
        [
            (a.as_str(), "to /a", false),
            (&b, "B", true),
            ("http://other.example/", "Other", false)
        ]
    );
}

async fn without_html_the_metadata_is_still_stored(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::page("A title", &["/a"]),
    })
    .await;
    let spec = CrawlSpec {
        store_html: false,
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &spec).await;
    assert_eq!(run.page_count, 2);
    for item in pages(&service, &run).await {
        let page = service
            .app
            .store
            .previous_page(run.project, run.id, &item.url)
            .await;
        let page = page.unwrap().unwrap();
        assert_eq!(page.blob, None);
        let kept: serde_json::Value = serde_json::from_str(&page.metadata.unwrap()).unwrap();
        assert_eq!(kept["metadata"]["title"], "A title");
        assert!(page.bytes > 0);
        // The metadata can be read; formats that need the HTML can't.
        let path = format!("/v1/pages/{}?format=", item.id);
        let signals = service.client().get(&format!("{path}signals")).await.ok();
        assert_eq!(signals["metadata"], kept["metadata"]);
        assert_eq!(signals["signals"]["title"], "A title");
        let markdown = service.client().get(&format!("{path}markdown")).await;
        markdown.error(422, "INVALID_INPUT");
    }
}

async fn named_extractors_run_for_every_page(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::page("A title", &["/a"]),
    })
    .await;
    let spec = CrawlSpec {
        extractors: vec!["signals".to_owned()],
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &spec).await;
    let page = service
        .app
        .store
        .previous_page(run.project, run.id, &ground.url("/a"))
        .await;
    let page = page.unwrap().unwrap();
    assert!(page.blob.is_some());
    let extensions: serde_json::Value = serde_json::from_str(&page.extensions.unwrap()).unwrap();
    assert_eq!(extensions["signals"]["title"], "A title");
}

async fn fault_26_not_modified_reuses_the_body_and_updates_the_time(service: Service) {
    let ground = Ground::of(|hit| {
        let conditional = hit.headers.contains_key("if-none-match")
            || hit.headers.contains_key("if-modified-since");
        match hit.path.as_str() {
            path if path.ends_with(".txt") => Answer::status(404),
            "/" if conditional => Answer::status(304),
            "/dated" if conditional => Answer::status(304).with("etag", "\"other\""),
            "/" => Answer::page("kept", &["/dated", "/plain", "/unasked"]).with("etag", "\"one\""),
            "/dated" => {
                Answer::page("dated", &[]).with("last-modified", "Sun, 01 Mar 2026 11:00:00 GMT")
            }
            // A page without validators, and a 304 to an unconditional request.
            "/plain" => Answer::page("plain", &[]),
            _ => Answer::status(304),
        }
    })
    .await;
    let spec = spec(&ground.url("/"));
    let first = crawl(&service, &spec).await;
    assert_eq!((first.page_count, first.error_count), (3, 1));
    service.clock.advance(TimeDelta::hours(1));
    let second = queue(&service, &spec, Some(first.id)).await;
    let second = over(&service, second).await;
    assert_eq!((second.page_count, second.error_count), (3, 1));
    let asked: Vec<bool> = ["/", "/dated", "/plain", "/unasked"]
        .iter()
        .map(|path| {
            let log = ground.log();
            let hit = log.iter().rfind(|hit| hit.path == *path).unwrap();
            hit.headers.contains_key("if-none-match")
                || hit.headers.contains_key("if-modified-since")
        })
        .collect();
    assert_eq!(asked, [true, true, false, false]);
    let (old, new) = (
        pages(&service, &first).await,
        pages(&service, &second).await,
    );
    for page in &new {
        let before = old.iter().find(|old| old.url == page.url).unwrap();
        assert_eq!((page.status, page.bytes), (200, before.bytes));
        assert_eq!(page.fetched_at - before.fetched_at, TimeDelta::hours(1));
        let content = |id: PageId| {
            let client = service.client();
            async move { client.get(&format!("/v1/pages/{id}")).await.ok() }
        };
        let (body, stored) = (content(page.id).await, content(before.id).await);
        assert_eq!(body["html"], stored["html"]);
        assert_eq!(body["metadata"]["title"], stored["metadata"]["title"]);
    }
    assert_eq!(service.billed().await, (6, 0));
}

async fn an_unchanged_page_shares_the_stored_body(service: Service) {
    let ground = Ground::of(|hit| {
        let asked = hit.headers.get("if-none-match").map(String::as_str);
        match hit.path.as_str() {
            path if path.ends_with(".txt") => Answer::status(404),
            "/" if asked == Some("\"one\"") => Answer::status(304).with("etag", "\"one\""),
            "/" => Answer::page("0", &["/a"]).with("etag", "\"one\""),
            _ => Answer::page(&format!("visit {}", hit.before), &[]),
        }
    })
    .await;
    let spec = spec(&ground.url("/"));
    let first = crawl(&service, &spec).await;
    let second = queue(&service, &spec, Some(first.id)).await;
    let second = over(&service, second).await;
    assert_eq!((second.status, second.page_count), (RunState::Done, 2));
    let log = ground.log();
    let last = log.iter().rfind(|hit| hit.path == "/").unwrap();
    assert_eq!(last.headers["if-none-match"], "\"one\"");

    let store = &service.app.store;
    let page = async |run: &orbweaver_store::crawl::Run, path: &str| {
        let page = store
            .previous_page(run.project, run.id, &ground.url(path))
            .await;
        page.unwrap().unwrap()
    };
    let (old, new) = (page(&first, "/").await, page(&second, "/").await);
    assert_eq!((new.status, new.blob), (200, old.blob));
    assert_eq!(new.content_hash, old.content_hash);
    assert_eq!(new.links, old.links);
    let (old, new) = (page(&first, "/a").await, page(&second, "/a").await);
    assert_ne!(new.content_hash, old.content_hash);
    assert!(
        pages(&service, &second)
            .await
            .iter()
            .all(|page| page.id > PageId(0))
    );
}
