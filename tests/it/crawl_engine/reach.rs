//! Which pages a run fetches: scope, depth, redirects, sitemaps, limits.

use orbweaver_crawl::spec::{CrawlSpec, SeedKind};
use orbweaver_store::crawl::{RunState, SkipReason};
use serde_json::json;

use super::ground::{Answer, Ground, Hit};
use super::{crawl, pages, paths, promises, spec};
use crate::support::Service;

promises! {
    every_page_is_fetched_once
    max_pages_is_reached_exactly
    urls_that_a_cut_run_knows_of_are_skipped
    a_recent_run_answers_whatever_its_budget_was
    other_sites_deeper_links_and_excluded_paths_are_not_fetched
    links_for_browsers_without_scripts_are_followed
    url_variants_of_one_page_make_one_row
    redirects_are_followed_in_scope_and_stored_out_of_scope
    the_host_that_the_seed_redirects_to_is_in_scope
    a_seed_that_cannot_be_fetched_fails_the_run
    a_stored_request_that_breaks_a_rule_fails_by_its_field
    sitemap_mode_follows_no_links
    only_as_many_sitemaps_are_read_as_needed
    crawler_traps_do_not_use_up_the_page_limit
    what_is_listed_is_no_trap
}

async fn every_page_is_fetched_once(service: Service) {
    const PAGES: usize = 300;
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" | "/llms.txt" | "/llms-full.txt" => Answer::status(404),
        path => {
            let number: usize = path.trim_start_matches("/p/").parse().unwrap_or(0);
            let next: Vec<String> = [
                number * 2 + 1,
                number * 2 + 2,
                number / 2,
                (number * 7) % PAGES,
            ]
            .into_iter()
            .filter(|next| *next < PAGES)
            .map(|next| format!("/p/{next}"))
            .collect();
            let next: Vec<&str> = next.iter().map(String::as_str).collect();
            Answer::page(path, &next)
        }
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/p/0")).deep(50)).await;
    assert_eq!(run.status, RunState::Done, "{run:?}");
    assert_eq!((run.page_count, run.error_count), (300, 0));
    assert_eq!(run.error_message, None);
    assert_eq!(pages(&service, &run).await.len(), PAGES);
    let mut asked = ground.paths();
    assert_eq!(asked.len(), PAGES);
    asked.sort();
    asked.dedup();
    assert_eq!(asked.len(), PAGES);
    assert_eq!((run.progress.queued, run.progress.fetched), (0, 300));
    assert_eq!(service.billed().await, (300, 0));
}

/// A spec with another depth.
trait Deep {
    fn deep(self, depth: u32) -> CrawlSpec;
}

impl Deep for CrawlSpec {
    fn deep(self, depth: u32) -> CrawlSpec {
        CrawlSpec { depth, ..self }
    }
}

async fn max_pages_is_reached_exactly(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        // A failed page does not count against the limit.
        "/3" => Answer::status(200).with("content-encoding", "unknown"),
        _ => {
            let links: Vec<String> = (0..50).map(|n| format!("/{n}")).collect();
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            Answer::page("x", &links)
        }
    })
    .await;
    let spec = CrawlSpec {
        max_pages: 17,
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &spec).await;
    assert_eq!(run.status, RunState::Done);
    assert_eq!((run.page_count, run.error_count), (17, 1));
    assert_eq!(ground.paths().len(), 18);
}

/// A site whose start page links to so many pages.
async fn wide(links: usize) -> Ground {
    Ground::of(move |hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => {
            let links: Vec<String> = (0..links).map(|n| format!("/{n}")).collect();
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            Answer::page("wide", &links)
        }
        _ => Answer::page("leaf", &[]),
    })
    .await
}

async fn urls_that_a_cut_run_knows_of_are_skipped(service: Service) {
    for links in [20, 1_500] {
        let ground = wide(links).await;
        let run = |max_pages| CrawlSpec {
            max_pages,
            ..spec(&ground.url("/"))
        };
        let cut = crawl(&service, &run(5)).await;
        assert_eq!((cut.status, cut.page_count), (RunState::Done, 5));
        let left = links as u64 - 4;
        assert_eq!(cut.progress.skipped_for(SkipReason::Budget), left);
        assert_eq!(cut.progress.queued, 0);
        if links == 20 {
            let whole = crawl(&service, &run(50)).await;
            assert!(whole.progress.skipped.is_empty(), "{whole:?}");
        }
    }
}

async fn a_recent_run_answers_whatever_its_budget_was(service: Service) {
    let ground = wide(3).await;
    let client = service.client();
    let body = json!({"url": ground.url("/"), "max_pages": 2, "delay_ms": 0});
    let cut = crate::support::runs::crawled(&client, &body).await;
    for max_pages in [2, 50] {
        let body = json!({"url": ground.url("/"), "max_pages": max_pages, "delay_ms": 0,
            "max_age_seconds": 3_600});
        let recent = client.post("/v1/crawls", &body).await;
        assert_eq!((recent.status, &recent.json()["id"]), (200, &cut["id"]));
    }
}

async fn other_sites_deeper_links_and_excluded_paths_are_not_fetched(service: Service) {
    let other = Ground::of(|_| Answer::page("other", &[])).await;
    let away = other.url("/away");
    let ground = Ground::of(move |hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => Answer::page("0", &["/a?x=1", "/no/1", "/yes/no", &away, "mailto:a@b.c"]),
        "/a?x=1" => Answer::page("1", &["/b"]),
        "/b" => Answer::page("2", &["/c", "/private.pdf"]),
        "/yes/no" => Answer::page("1", &[]),
        _ => Answer::page("3", &["/d"]),
    })
    .await;
    let spec = CrawlSpec {
        depth: 2,
        exclude_paths: vec!["^/no/".to_owned(), r"\.pdf$".to_owned()],
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &spec).await;
    assert_eq!(paths(&service, &run).await, ["", "a?x=1", "b", "yes/no"]);
    assert_eq!(other.log().len(), 0);
    let skipped = &run.progress.skipped;
    let count = |reason| run.progress.skipped_for(reason);
    let counts = (count(SkipReason::Scope), count(SkipReason::Excluded));
    assert_eq!(counts, (1, 2), "{skipped:?}");
    assert_eq!(count(SkipReason::Depth), 1, "{skipped:?}");

    // With include patterns, the seed is fetched all the same.
    let spec = CrawlSpec {
        include_paths: vec!["^/a".to_owned()],
        exclude_paths: Vec::new(),
        ..spec
    };
    let run = crawl(&service, &spec).await;
    assert_eq!(paths(&service, &run).await, ["", "a?x=1"]);
}

async fn links_for_browsers_without_scripts_are_followed(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/" => {
            let mut page = Answer::page("0", &["/a"]);
            page.body.extend_from_slice(
                b"<p>Text of the page itself.</p><noscript>Without scripts: <a href=/b>all</a></noscript>",
            );
            page
        }
        "/a" => Answer::page("1", &[]),
        "/b" => Answer::page("2", &["/"]),
        _ => Answer::status(404),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!(paths(&service, &run).await, ["", "a", "b"]);
}

async fn url_variants_of_one_page_make_one_row(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => Answer::page(
            "0",
            &[
                "/a;jsessionid=1",
                "/a?utm_source=x",
                "/a#top",
                "/%7Eann",
                "/~ann",
                "/%c3%a4",
                "/%C3%A4",
                "/slash/",
                "/slash",
                "/x/../a",
            ],
        ),
        _ => Answer::page("page", &["/"]),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    // The URL is fetched as the first link to it was written.
    assert_eq!(
        paths(&service, &run).await,
        ["", "%7Eann", "%c3%a4", "a;jsessionid=1", "slash", "slash/"]
    );
    assert_eq!(ground.paths().len(), 6);
}

async fn redirects_are_followed_in_scope_and_stored_out_of_scope(service: Service) {
    let other = Ground::of(|_| Answer::page("other", &[])).await;
    let away = other.url("/away");
    let ground = Ground::of(move |hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => Answer::page("0", &["/old", "/new", "/old2", "/away", "/loop", "/cookie"]),
        "/old" | "/old2" => Answer::to("/new"),
        "/new" => Answer::page("new", &[]),
        // What its body links to is no page of the site.
        "/away" => Answer {
            body: Answer::page("Found", &["/in-the-body"]).body,
            ..Answer::to(&away).with("content-type", "text/html")
        },
        "/loop" => Answer::to("/loop"),
        "/cookie" if hit.headers.contains_key("cookie") => Answer::page("cookie", &[]),
        "/cookie" => Answer::to("/cookie").with("set-cookie", "seen=1"),
        _ => Answer::status(404),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!(run.status, RunState::Done);
    let mut rows: Vec<(String, u16)> = pages(&service, &run)
        .await
        .into_iter()
        .map(|page| {
            (
                page.url.splitn(4, '/').nth(3).unwrap_or("").to_owned(),
                page.status,
            )
        })
        .collect();
    rows.sort();
    let expected = [("", 200), ("away", 302), ("cookie", 200), ("new", 200)];
    assert_eq!(
        rows,
        expected.map(|(path, status)| (path.to_owned(), status))
    );
    assert_eq!(ground.count("/new"), 1, "{:?}", ground.paths());
    assert_eq!(other.log().len(), 0);
    // The loop is the only failure.
    assert_eq!(run.error_count, 1);
}

async fn the_host_that_the_seed_redirects_to_is_in_scope(service: Service) {
    let landing = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/home" => Answer::page("home", &["/a"]),
        _ => Answer::page("a", &[]),
    })
    .await;
    let home = landing.url("/home");
    let ground = Ground::of(move |hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::to(&home),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    let mut urls: Vec<String> = pages(&service, &run)
        .await
        .into_iter()
        .map(|page| page.url)
        .collect();
    urls.sort();
    assert_eq!(urls, [landing.url("/a"), landing.url("/home")]);
}

async fn a_seed_that_cannot_be_fetched_fails_the_run(service: Service) {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    let run = crawl(&service, &spec(&url)).await;
    assert_eq!(run.status, RunState::Failed);
    // If robots.txt can't be fetched either, that is the reason given.
    assert!(run.error_message.is_some(), "{run:?}");
    assert_eq!(run.page_count, 0);
    let careless = CrawlSpec {
        respect_robots: false,
        ..spec(&url)
    };
    let run = crawl(&service, &careless).await;
    assert_eq!((run.status, run.error_count), (RunState::Failed, 1));
    assert!(run.finished_at.is_some() && run.started_at.is_some());

    // Every answer is a page, whatever its status.
    let ground = Ground::of(|_| Answer::status(404)).await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 1));
}

/// A monitor may have been stored before the rule.
async fn a_stored_request_that_breaks_a_rule_fails_by_its_field(service: Service) {
    let ground = Ground::of(|_| Answer::page("page", &[])).await;
    let refused = CrawlSpec {
        include_paths: vec!["^/".to_owned(), "(".to_owned()],
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &refused).await;
    assert_eq!((run.status, run.page_count), (RunState::Failed, 0));
    let why = run.error_message.expect("a reason");
    assert!(why.starts_with("include_paths[1]: "), "{why}");
}

async fn sitemap_mode_follows_no_links(service: Service) {
    let ground = Ground::of(|hit| {
        let host = hit.headers.get("host").cloned().unwrap_or_default();
        let list = |inner: String| Answer::text(inner);
        match hit.path.as_str() {
            "/robots.txt" => list(format!("Sitemap: http://{host}/maps/index.xml\n")),
            "/maps/index.xml" => list(format!(
                "<sitemapindex><sitemap><loc>http://{host}/maps/index.xml</loc></sitemap>\
                 <sitemap><loc>http://{host}/maps/one.xml</loc></sitemap>\
                 <sitemap><loc>http://{host}/maps/gone.xml</loc></sitemap></sitemapindex>"
            )),
            "/maps/one.xml" => list(format!(
                "<urlset><url><loc>http://{host}/a</loc></url><url><loc>http://{host}/b</loc></url>\
                 <url><loc>http://elsewhere.example/c</loc></url></urlset>"
            )),
            "/a" | "/b" => Answer::page("x", &["/linked"]),
            _ => Answer::status(404),
        }
    })
    .await;
    // The origin has no sitemap.xml; robots.txt names one.
    for seed in ["/", "/maps/index.xml", "/maps/one.xml"] {
        let spec = CrawlSpec {
            seed_kind: SeedKind::Sitemap,
            ..spec(&ground.url(seed))
        };
        let run = crawl(&service, &spec).await;
        assert_eq!(run.status, RunState::Done, "{seed}: {run:?}");
        assert_eq!(paths(&service, &run).await, ["a", "b"], "{seed}");
        assert_eq!(
            run.error_count, 0,
            "{seed}: a sitemap that is gone has answered"
        );
    }
    assert_eq!(ground.count("/linked"), 0);
    let spec = CrawlSpec {
        seed_kind: SeedKind::Sitemap,
        ..spec(&ground.url("/maps/gone.xml"))
    };
    let run = crawl(&service, &spec).await;
    assert_eq!(run.status, RunState::Failed);
    assert!(run.error_message.unwrap().contains("404"));
}

async fn only_as_many_sitemaps_are_read_as_needed(service: Service) {
    let ground = Ground::of(|hit| {
        let host = hit.headers.get("host").cloned().unwrap_or_default();
        match hit.path.as_str() {
            "/maps/index.xml" => {
                let maps = (0..100)
                    .map(|n| format!("<sitemap><loc>http://{host}/maps/{n}.xml</loc></sitemap>"));
                Answer::text(format!(
                    "<sitemapindex>{}</sitemapindex>",
                    maps.collect::<String>()
                ))
            }
            path if path.starts_with("/maps/") => {
                let urls = (0..1_000).map(|n| format!("<url><loc>{path}/{n}</loc></url>"));
                Answer::text(format!("<urlset>{}</urlset>", urls.collect::<String>()))
            }
            path if path.ends_with(".txt") => Answer::status(404),
            _ => Answer::page("x", &[]),
        }
    })
    .await;
    let spec = CrawlSpec {
        seed_kind: SeedKind::Sitemap,
        max_pages: 1,
        // There is time enough to read them all before the page answers.
        delay_ms: 100,
        ..spec(&ground.url("/maps/index.xml"))
    };
    let run = crawl(&service, &spec).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 1));
    let read = (0..100)
        .filter(|n| ground.count(&format!("/maps/{n}.xml")) > 0)
        .count();
    assert!(read <= 4, "{read}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_at_its_time_limit_ends_and_keeps_its_pages() {
    let service = Service::with(|config| config.crawl.max_age_seconds = 2).await;
    let answer = |hit: &Hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::page("x", &["/next"]),
    };
    let ground = Ground::of(answer).await;
    let slow = CrawlSpec {
        delay_ms: 3_600_000,
        respect_robots: false,
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &slow).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 1));
    assert!(run.error_message.unwrap().contains("2 seconds"));
    // After its robots.txt, another host leaves no time for a page.
    let other = Ground::of(answer).await;
    let none = CrawlSpec {
        delay_ms: 3_600_000,
        respect_robots: true,
        ..spec(&other.url("/"))
    };
    let run = crawl(&service, &none).await;
    assert_eq!((run.status, run.page_count), (RunState::Failed, 0));
    assert!(run.error_message.unwrap().contains("2 seconds"));
}

async fn crawler_traps_do_not_use_up_the_page_limit(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => Answer::page("0", &["/loop/", "/facets?a=1&b=2&c=3", "/end"]),
        path if path.starts_with("/loop/") => Answer::page("loop", &["loop/x/"]),
        path if path.starts_with("/facets") => Answer::page(
            "facets",
            &[
                "?b=2&a=1&c=3",
                "?c=3&a=1&b=2",
                "?c=3&b=2&a=1",
                "?a=1&c=3&b=2",
            ],
        ),
        _ => Answer::page("end", &[]),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/")).deep(50)).await;
    assert_eq!(run.status, RunState::Done);
    let paths = paths(&service, &run).await;
    let facets = paths
        .iter()
        .filter(|path| path.starts_with("facets"))
        .count();
    assert_eq!(facets, 2, "{paths:?}");
    assert!(paths.len() < 20, "{paths:?}");
    assert!(run.progress.skipped_for(SkipReason::Budget) > 0);
}

async fn what_is_listed_is_no_trap(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/sitemap.xml" => {
            let mut urls = vec!["/a/b/a/b/a/b".to_owned()];
            // Three orders of the same parameters, of which two are fetched where they are linked.
            urls.extend(["x=1&y=2&z=3", "y=2&x=1&z=3", "z=3&y=2&x=1"].map(|q| format!("/?{q}")));
            let urls = urls
                .iter()
                .map(|url| format!("<url><loc>{}</loc></url>", url.replace('&', "&amp;")));
            Answer::text(format!("<urlset>{}</urlset>", urls.collect::<String>()))
        }
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::page("page", &[]),
    })
    .await;
    for seed in ["/q/q/q/q", "/a/b/a/b/a/b", &"/x".repeat(70)] {
        let run = crawl(&service, &spec(&ground.url(seed))).await;
        assert_eq!((run.status, run.page_count), (RunState::Done, 1), "{seed}");
    }
    let listed = CrawlSpec {
        seed_kind: SeedKind::Sitemap,
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &listed).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 4), "{run:?}");
    assert!(run.progress.skipped.is_empty(), "{run:?}");
}
