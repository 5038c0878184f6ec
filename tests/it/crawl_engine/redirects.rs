//! Links to URLs that redirect.

use std::collections::HashMap;
use std::sync::Arc;

use orbweaver_crawl::spec::{CrawlSpec, SeedKind};
use orbweaver_store::crawl::{Run, RunState};
use tokio::sync::Barrier;

use super::ground::{Answer, Ground, Hit};
use super::{crawl, pages, promises, spec};
use crate::support::Service;

promises! {
    links_over_several_redirects_count_for_the_page
    listed_urls_that_redirect_to_each_other_are_no_orphans
    urls_that_redirect_to_each_other_are_an_error
    redirects_are_compared_by_where_they_lead
}

/// `/old1` redirects to `/old2`, and so on to `/new`.
fn chain(hit: &Hit) -> Answer {
    match hit.path.as_str() {
        "/old1" => Answer::to("/old2"),
        "/old2" => Answer::to("/old3"),
        "/old3" => Answer::to("/new"),
        "/new" => Answer::page("new", &[]),
        _ => Answer::status(404),
    }
}

/// Paths of a run's pages, with the number of pages that link to each.
async fn inlinks(service: &Service, run: &Run) -> HashMap<String, u32> {
    let inlinks = service.app.store.inlinks(run.project, run.id).await;
    let inlinks = inlinks.expect("a database");
    let pages = pages(service, run).await.into_iter();
    let path = |url: &str| url.splitn(4, '/').nth(3).unwrap_or("").to_owned();
    pages
        .map(|page| (path(&page.url), inlinks[&page.id]))
        .collect()
}

async fn links_over_several_redirects_count_for_the_page(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/" => Answer::page("home", &["/old1", "/p1", "/p2"]),
        "/p1" => Answer::page("p1", &["/old2"]),
        "/p2" => Answer::page("p2", &["/old3", "/old1"]),
        _ => chain(hit),
    })
    .await;
    for concurrency in [None, Some(1)] {
        let spec = CrawlSpec {
            concurrency,
            ..spec(&ground.url("/"))
        };
        let run = crawl(&service, &spec).await;
        assert_eq!((run.status, run.page_count), (RunState::Done, 4), "{run:?}");
        assert_eq!(inlinks(&service, &run).await["new"], 3, "{concurrency:?}");
    }
}

async fn listed_urls_that_redirect_to_each_other_are_no_orphans(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/sitemap.xml" => {
            let urls = ["/", "/old1", "/old2", "/old3", "/new"];
            let urls: String = urls
                .map(|url| format!("<url><loc>{url}</loc></url>"))
                .concat();
            Answer::text(format!("<urlset>{urls}</urlset>"))
        }
        "/" => Answer::page("home", &["/old1"]),
        _ => chain(hit),
    })
    .await;
    for concurrency in [None, Some(1)] {
        let spec = CrawlSpec {
            seed_kind: SeedKind::Sitemap,
            concurrency,
            ..spec(&ground.url("/"))
        };
        let run = crawl(&service, &spec).await;
        assert_eq!((run.status, run.page_count), (RunState::Done, 2), "{run:?}");
        assert_eq!(inlinks(&service, &run).await["new"], 1, "{concurrency:?}");
        let orphans = service.app.store.orphans(run.project, run.id).await;
        let orphans = orphans.expect("a database");
        assert!(orphans.iter().all(|page| !page.url.ends_with("/new")));
    }
}

async fn urls_that_redirect_to_each_other_are_an_error(service: Service) {
    let both = Arc::new(Barrier::new(2));
    let ground = Ground::start(move |hit| {
        let both = Arc::clone(&both);
        Box::pin(async move {
            let target = match hit.path.as_str() {
                "/a" => "/b",
                "/b" => "/a",
                "/" => return Answer::page("home", &["/a", "/b"]),
                _ => return Answer::status(404),
            };
            // Each is being fetched when the other one answers.
            both.wait().await;
            Answer::to(target)
        })
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 1));
    assert_eq!(run.error_count, 1, "{run:?}");
    let errors = service.app.store.run_errors(run.project, run.id, -1, 0, 10);
    let errors = errors.await.expect("a database");
    assert_eq!((errors.len(), errors[0].kind.as_str()), (1, "bad_redirect"));
}

async fn redirects_are_compared_by_where_they_lead(service: Service) {
    let other = Ground::of(|_| Answer::page("other", &[])).await;
    let away = other.url("/");
    let ground = Ground::of(move |hit| match hit.path.as_str() {
        "/" => Answer::page("home", &["/away"]),
        // The text is another one each time, the target only at the third.
        "/away" => Answer {
            body: format!("Found, request {}", hit.before).into(),
            ..Answer::to(&format!("{away}{}", hit.before / 2))
        },
        _ => Answer::status(404),
    })
    .await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(crawl(&service, &spec(&ground.url("/"))).await);
    }
    let mut changed = Vec::new();
    for pair in runs.windows(2) {
        let (old, new) = (&pair[0], &pair[1]);
        let diff = service.app.store.diff(old.project, old.id, new.id).await;
        changed.push(diff.expect("a database").changed.len());
    }
    assert_eq!(changed, [0, 1]);
}
