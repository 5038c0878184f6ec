//! What a run stores in the database.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use chrono::TimeDelta;
use flate2::Compression;
use flate2::write::GzEncoder;
use orbweaver_core::ids::PageId;
use orbweaver_crawl::render::RenderMode;
use orbweaver_crawl::spec::CrawlSpec;
use orbweaver_store::crawl::{PreviousPage, Run, RunState, unpack_links};

use super::ground::{Answer, Ground};
use super::{crawl, over, pages, promises, queue, spec};
use crate::support::Service;

promises! {
    links_and_robots_directives_are_kept
    without_html_the_metadata_is_still_stored
    named_extractors_run_for_every_page
    an_unchanged_page_shares_the_stored_body
    fault_26_not_modified_reuses_the_body_and_updates_the_time
    fault_26_not_modified_updates_the_headers
    an_incomplete_page_is_asked_for_without_conditions
    a_shell_that_could_not_be_rendered_is_rendered_once_it_can
}

/// A page of a run.
async fn page_of(service: &Service, run: &Run, url: &str) -> PreviousPage {
    let page = service.app.store.previous_page(run.project, run.id, url);
    page.await.expect("a database").expect("the page")
}

/// A run of a monitor after this one.
async fn crawl_after(service: &Service, spec: &CrawlSpec, run: &Run) -> Run {
    let next = queue(service, spec, Some(run.id)).await;
    over(service, next).await
}

/// The validators of all requests for a path.
fn asked_with(ground: &Ground, path: &str) -> Vec<Option<String>> {
    let log = ground.log().into_iter().filter(|hit| hit.path == path);
    log.map(|hit| hit.headers.get("if-none-match").cloned())
        .collect()
}

async fn fault_26_not_modified_updates_the_headers(service: Service) {
    let ground = Ground::of(|hit| {
        let asked = hit.headers.get("if-none-match").map(String::as_str);
        match (hit.path.as_str(), asked) {
            (path, _) if path.ends_with(".txt") => Answer::status(404),
            ("/", Some("\"one\"")) => Answer::status(304).with("etag", "\"two\""),
            ("/", Some(_)) => Answer::status(304),
            ("/", None) => Answer::page("kept", &["/robots"]).with("etag", "\"one\""),
            // What it says to robots is a part of the page's row.
            (_, Some(_)) => Answer::status(304).with("x-robots-tag", "noindex"),
            _ if hit.before > 0 => Answer::page("robots", &[])
                .with("etag", "\"r\"")
                .with("x-robots-tag", "noindex"),
            _ => Answer::page("robots", &[]).with("etag", "\"r\""),
        }
    })
    .await;
    let spec = spec(&ground.url("/"));
    let first = crawl(&service, &spec).await;
    let second = crawl_after(&service, &spec, &first).await;
    let third = crawl_after(&service, &spec, &second).await;
    assert_eq!((third.page_count, third.error_count), (2, 0));
    let tag = |tag: &str| Some(tag.to_owned());
    assert_eq!(
        asked_with(&ground, "/"),
        [None, tag("\"one\""), tag("\"two\"")]
    );
    let page = page_of(&service, &third, &ground.url("/")).await;
    assert!(page.headers.contains("text/html") && page.headers.contains("two"));
    assert!(!page.headers.contains("one"), "{}", page.headers);
    // The third run's answer says what is known.
    let expected = [None, tag("\"r\""), None, tag("\"r\"")];
    assert_eq!(asked_with(&ground, "/robots"), expected);
    for (run, robots) in [
        (&first, None),
        (&second, Some("noindex")),
        (&third, Some("noindex")),
    ] {
        let page = page_of(&service, run, &ground.url("/robots")).await;
        assert_eq!(page.robots.as_deref(), robots);
    }
}

async fn an_incomplete_page_is_asked_for_without_conditions(service: Service) {
    let text: String = (0..9_000).map(|n| format!("<p>{n}")).collect();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).expect("memory");
    let whole = gzip.finish().expect("memory");
    let ground = Ground::of(move |hit| {
        let (half, _) = whole.split_at(whole.len() / 2);
        let body = match hit.path.as_str() {
            path if path.ends_with(".txt") => return Answer::status(404),
            _ if hit.headers.contains_key("if-none-match") => return Answer::status(304),
            _ if hit.before == 0 => half,
            _ => whole.as_slice(),
        };
        Answer {
            body: body.to_vec(),
            ..Answer::page("", &[])
        }
        .with("content-encoding", "gzip")
        .with("etag", "\"one\"")
    })
    .await;
    let (url, spec) = (ground.url("/"), spec(&ground.url("/")));
    let first = crawl(&service, &spec).await;
    let second = crawl_after(&service, &spec, &first).await;
    let third = crawl_after(&service, &spec, &second).await;
    let asked = asked_with(&ground, "/");
    assert_eq!(asked, [None, None, Some("\"one\"".to_owned())]);
    let half = page_of(&service, &first, &url).await;
    for run in [&second, &third] {
        let page = page_of(&service, run, &url).await;
        assert!(page.bytes > half.bytes && page.content_hash != half.content_hash);
        assert!(!page.headers.contains("incomplete"), "{}", page.headers);
    }
}

async fn a_shell_that_could_not_be_rendered_is_rendered_once_it_can(service: Service) {
    const SHELL: &[u8] = b"<!doctype html><title>Shell</title><div id=app></div><script>\
        document.title = 'Made'; document.getElementById('app').textContent = 'by a script'</script>";
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = Arc::clone(&is_broken);
    let ground = Ground::of(move |hit| {
        let by_browser = hit.headers.contains_key("upgrade-insecure-requests");
        match hit.path.as_str() {
            "/" if by_browser && broken.load(Ordering::SeqCst) => Answer::to("/"),
            "/" if hit.headers.contains_key("if-none-match") => Answer::status(304),
            "/" => Answer {
                body: SHELL.to_vec(),
                ..Answer::page("", &[])
            }
            .with("etag", "\"one\""),
            _ => Answer::status(404),
        }
    })
    .await;
    let spec = CrawlSpec {
        render: RenderMode::Auto,
        ..spec(&ground.url("/"))
    };
    let url = ground.url("/");
    let shown = async |run: &Run| {
        let page = page_of(&service, run, &url).await;
        (page.title.unwrap_or_default(), page.rendered)
    };
    let first = crawl(&service, &spec).await;
    assert_eq!(shown(&first).await, ("Shell".to_owned(), false));
    // As long as it cannot be rendered, the stored page is the answer.
    let second = crawl_after(&service, &spec, &first).await;
    assert_eq!(shown(&second).await, ("Shell".to_owned(), false));
    assert_eq!(second.error_count, 0);
    is_broken.store(false, Ordering::SeqCst);
    let third = crawl_after(&service, &spec, &second).await;
    assert_eq!(shown(&third).await, ("Made".to_owned(), true));
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
