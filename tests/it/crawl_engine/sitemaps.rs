//! Runs that begin with sitemaps.

use std::time::Duration;

use orbweaver_crawl::spec::{CrawlSpec, SeedKind};
use orbweaver_store::crawl::{FailedUrl, Run, RunState, SkipReason, UNREADABLE_SITEMAP};

use super::ground::{Answer, Ground, Hit};
use super::{crawl, pages, paths, promises, spec};
use crate::support::Service;

promises! {
    the_host_that_a_sitemap_redirects_to_is_in_scope
    sitemaps_of_the_host_that_a_site_has_moved_to_are_its_own
    sitemaps_of_other_sites_urls_alone_are_a_failure
    nested_and_many_sitemaps_are_all_read
    what_a_cut_sitemap_leaves_out_is_told
    a_sitemap_of_a_busy_server_is_asked_for_again
    what_robots_txt_disallows_takes_no_place
    what_takes_long_to_match_is_decided_in_turn
    what_fails_makes_room_for_what_is_listed
    what_fails_makes_room_for_what_is_linked
}

fn listed(ground: &Ground, path: &str) -> CrawlSpec {
    CrawlSpec {
        seed_kind: SeedKind::Sitemap,
        ..spec(&ground.url(path))
    }
}

fn urls(locations: impl IntoIterator<Item = String>) -> Answer {
    let urls = locations.into_iter();
    let urls: String = urls
        .map(|url| format!("<url><loc>{url}</loc></url>"))
        .collect();
    Answer::text(format!("<urlset>{urls}</urlset>"))
}

fn index(locations: impl IntoIterator<Item = String>) -> Answer {
    let maps = locations.into_iter();
    let maps: String = maps
        .map(|url| format!("<sitemap><loc>{url}</loc></sitemap>"))
        .collect();
    Answer::text(format!("<sitemapindex>{maps}</sitemapindex>"))
}

/// What most paths of these sites answer.
fn other(hit: &Hit) -> Answer {
    match hit.path.as_str() {
        path if path.ends_with(".txt") || path.ends_with(".xml") => Answer::status(404),
        path => Answer::page(path, &[]),
    }
}

async fn errors(service: &Service, run: &Run) -> Vec<FailedUrl> {
    let store = &service.app.store;
    let errors = store.run_errors(run.project, run.id, i64::MIN, 0, 100);
    errors.await.expect("a database")
}

async fn the_host_that_a_sitemap_redirects_to_is_in_scope(service: Service) {
    let landing = Ground::of(|hit| match hit.path.as_str() {
        "/sitemap.xml" | "/maps/named.xml" => urls(["/a", "/b", "/c"].map(str::to_owned)),
        _ => other(hit),
    })
    .await;
    for named in [false, true] {
        let to = landing.url("");
        let ground = Ground::of(move |hit| match hit.path.as_str() {
            "/robots.txt" if named => Answer::text("Sitemap: /maps/named.xml"),
            "/sitemap.xml" if named => Answer::status(404),
            path => Answer::to(&format!("{to}{path}")),
        })
        .await;
        let run = crawl(&service, &listed(&ground, "/")).await;
        assert_eq!((run.status, run.page_count), (RunState::Done, 3), "{run:?}");
        let found = pages(&service, &run).await;
        assert!(
            found
                .iter()
                .all(|page| page.url.starts_with(&landing.url("/")))
        );
        assert!(run.progress.skipped.is_empty(), "{run:?}");
    }
}

async fn sitemaps_of_the_host_that_a_site_has_moved_to_are_its_own(service: Service) {
    // `/sitemap.xml` is no place of this site's: robots.txt alone names its sitemaps, by whole URLs.
    for missing in [Answer::status(404), Answer::page("Not found", &[])] {
        let landing = Ground::of(move |hit| match hit.path.as_str() {
            "/robots.txt" => {
                let host = &hit.headers["host"];
                Answer::text(format!("Sitemap: http://{host}/maps/all.xml"))
            }
            "/maps/all.xml" => index(["/maps/1.xml".to_owned()]),
            "/maps/1.xml" => urls(["/a", "/b"].map(str::to_owned)),
            "/sitemap.xml" => missing.clone(),
            _ => other(hit),
        })
        .await;
        let to = landing.url("");
        let ground = Ground::of(move |hit| Answer::to(&format!("{to}{}", hit.path))).await;
        let run = crawl(&service, &listed(&ground, "/")).await;
        assert_eq!((run.status, run.page_count), (RunState::Done, 2), "{run:?}");
    }
}

async fn sitemaps_of_other_sites_urls_alone_are_a_failure(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/sitemap.xml" => urls(["http://elsewhere.example/a".to_owned()]),
        _ => other(hit),
    })
    .await;
    let run = crawl(&service, &listed(&ground, "/")).await;
    assert_eq!((run.status, run.page_count), (RunState::Failed, 0));
    let message = run.error_message.expect("a cause");
    assert!(message.contains("the sitemaps list no URL"), "{message}");
}

async fn nested_and_many_sitemaps_are_all_read(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/maps/0.xml" => index((1..=1_100).map(|n| format!("/maps/one/{n}.xml"))),
        path if path.starts_with("/maps/one/") => urls([format!("{path}/page")]),
        "/nested/8.xml" => urls(["/deep".to_owned()]),
        path if path.starts_with("/nested/") => {
            let level: usize = path
                .trim_start_matches("/nested/")
                .trim_end_matches(".xml")
                .parse()
                .expect("a level");
            index([
                format!("/nested/{}.xml", level + 1),
                "/nested/0.xml".to_owned(),
            ])
        }
        _ => other(hit),
    })
    .await;
    let nested = crawl(&service, &listed(&ground, "/nested/0.xml")).await;
    assert_eq!(paths(&service, &nested).await, ["deep"]);
    assert!(errors(&service, &nested).await.is_empty());
    let many = CrawlSpec {
        max_pages: 5_000,
        ..listed(&ground, "/maps/0.xml")
    };
    let run = crawl(&service, &many).await;
    assert_eq!(
        (run.status, run.page_count),
        (RunState::Done, 1_100),
        "{run:?}"
    );
}

async fn what_a_cut_sitemap_leaves_out_is_told(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/sitemap.xml" => Answer::text("<urlset><url><loc>/a</loc></url><url><loc>/b"),
        _ => other(hit),
    })
    .await;
    let run = crawl(&service, &listed(&ground, "/")).await;
    assert_eq!(run.status, RunState::Done, "{run:?}");
    assert_eq!(paths(&service, &run).await, ["a"]);
    assert_eq!(run.error_count, 0);
    let told = errors(&service, &run).await;
    assert_eq!(told.len(), 1);
    assert_eq!(
        (told[0].url.as_str(), told[0].kind.as_str()),
        (ground.url("/sitemap.xml").as_str(), UNREADABLE_SITEMAP)
    );
    assert!(
        told[0].message.contains("read as far as possible"),
        "{told:?}"
    );
}

async fn a_sitemap_of_a_busy_server_is_asked_for_again(service: Service) {
    let ground = Ground::of(|hit| match (hit.path.as_str(), hit.before) {
        ("/sitemap.xml", _) => index(["/one.xml", "/two.xml", "/down.xml"].map(str::to_owned)),
        ("/one.xml", 0) => Answer::status(503),
        ("/two.xml", 0) => Answer::status(429).with("retry-after", "1"),
        ("/two.xml", 1) => Answer::status(502),
        ("/down.xml", _) => Answer::status(504),
        ("/one.xml" | "/two.xml", _) => urls([format!("{}/page", hit.path)]),
        _ => other(hit),
    })
    .await;
    let run = crawl(&service, &listed(&ground, "/")).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 2), "{run:?}");
    let asked = ["/one.xml", "/two.xml", "/down.xml"].map(|path| ground.count(path));
    assert_eq!(asked, [2, 3, 3]);
    let log = ground.log();
    let two: Vec<_> = log.iter().filter(|hit| hit.path == "/two.xml").collect();
    assert!(two[1].at - two[0].at >= Duration::from_secs(1));
    let told = errors(&service, &run).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        (told[0].url.as_str(), told[0].attempts),
        (ground.url("/down.xml").as_str(), 3)
    );
}

async fn what_robots_txt_disallows_takes_no_place(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /no\n"),
        "/sitemap.xml" => {
            let bad = (0..3_500).map(|n| format!("/no/{n}"));
            urls(bad.chain((0..5).map(|n| format!("/{n}"))))
        }
        "/links" => {
            let bad = (0..3_500).map(|n| format!("/no/{n}"));
            let links: Vec<String> = bad.chain((0..4).map(|n| format!("/{n}"))).collect();
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            Answer::page("links", &links)
        }
        _ => other(hit),
    })
    .await;
    let five = |spec| CrawlSpec {
        max_pages: 5,
        ..spec
    };
    for spec in [listed(&ground, "/"), spec(&ground.url("/links"))] {
        let run = crawl(&service, &five(spec)).await;
        assert_eq!((run.status, run.page_count), (RunState::Done, 5), "{run:?}");
        assert_eq!(run.progress.skipped_for(SkipReason::Robots), 3_500);
    }
}

/// More links than are matched at once against sixty rules that read all of each.
async fn what_takes_long_to_match_is_decided_in_turn(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => {
            let rules = (0..60).map(|n| format!("Disallow: /*/never/{n}\n"));
            let rules: String = rules.collect();
            Answer::text(format!("User-agent: *\n{rules}Disallow: /*/no/\n"))
        }
        "/" => {
            let long = "x".repeat(200);
            let links = (0..1_500).map(|n| match n % 500 {
                499 => format!("/{long}/yes/{n}"),
                _ => format!("/{long}/no/{n}"),
            });
            let links: Vec<String> = links.collect();
            let links: Vec<&str> = links.iter().map(String::as_str).collect();
            Answer::page("links", &links)
        }
        _ => other(hit),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 4), "{run:?}");
    assert_eq!(run.progress.skipped_for(SkipReason::Robots), 1_497);
    assert!(!ground.paths().iter().any(|path| path.contains("/no/")));
}

/// A site of which 2,600 URLs give no answer, before three that do.
async fn failing() -> Ground {
    Ground::of(|hit| {
        let all = || {
            let bad = (0..2_600).map(|n| format!("/bad/{n}"));
            bad.chain((0..3).map(|n| format!("/good/{n}")))
        };
        match hit.path.as_str() {
            "/sitemap.xml" => urls(all()),
            "/moved" => Answer::to("/"),
            "/" => {
                let links: Vec<String> = all().collect();
                let links: Vec<&str> = links.iter().map(String::as_str).collect();
                Answer::page("links", &links)
            }
            path if path.starts_with("/bad/") => {
                Answer::status(200).with("content-encoding", "unknown")
            }
            _ => other(hit),
        }
    })
    .await
}

async fn what_fails_makes_room_for_what_is_listed(service: Service) {
    let ground = failing().await;
    // One request at a time: a sitemap that waits does not count as one.
    for concurrency in [None, Some(1)] {
        let few = CrawlSpec {
            max_pages: 3,
            concurrency,
            ..listed(&ground, "/")
        };
        let run = crawl(&service, &few).await;
        assert_eq!((run.status, run.page_count), (RunState::Done, 3), "{run:?}");
    }
}

async fn what_fails_makes_room_for_what_is_linked(service: Service) {
    let ground = failing().await;
    // The page with the links may have another URL than the seed.
    for seed in ["/", "/moved"] {
        let few = CrawlSpec {
            max_pages: 4,
            ..spec(&ground.url(seed))
        };
        let run = crawl(&service, &few).await;
        assert_eq!((run.status, run.page_count), (RunState::Done, 4), "{run:?}");
        assert_eq!(run.progress.skipped_for(SkipReason::Budget), 0, "{run:?}");
    }
}
