//! Runs survive the processes that work on them.

use std::sync::Arc;

use chrono::TimeDelta;
use orbweaver_core::ids::RunId;
use orbweaver_crawl::spec::{CrawlSpec, SeedKind};
use orbweaver_store::crawl::{Run, RunState, SkipReason};
use serde_json::json;
use tokio::sync::Semaphore;

use super::ground::{Answer, Ground};
use super::{crawl, llms_texts, over, paths, project, promises, queue, spec};
use crate::support::{Service, wait};

promises! {
    a_run_continues_after_a_restart
    a_continued_run_knows_what_it_found_nearer
    a_continued_run_has_the_page_that_a_url_redirects_to
    a_continued_run_takes_the_links_that_were_cut
    sitemaps_that_are_read_again_count_once
    a_continued_batch_counts_its_refused_urls
    a_continued_run_has_its_sites_files
    a_process_that_stood_still_goes_on_with_its_runs
    a_worker_that_lost_its_lease_writes_nothing
    a_deleted_run_stops
}

/// A chain of pages, each with leaves. One page waits for the gate.
async fn gated(gate: &Arc<Semaphore>) -> Ground {
    let gate = Arc::clone(gate);
    Ground::start(move |hit| {
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            match hit.path.as_str() {
                path if path.ends_with(".txt") => Answer::status(404),
                "/" => Answer::page("0", &["/a", "/b", "/held", "/c"]),
                "/held" => {
                    let _pass = gate.acquire().await;
                    Answer::page("held", &["/d", "/a"])
                }
                "/d" => Answer::page("d", &["/e"]),
                _ => Answer::page("leaf", &[]),
            }
        })
    })
    .await
}

const ALL: [&str; 7] = ["", "a", "b", "c", "d", "e", "held"];

async fn a_run_continues_after_a_restart(service: Service) {
    let gate = Arc::new(Semaphore::new(0));
    let ground = gated(&gate).await;
    let run = queue(&service, &spec(&ground.url("/")), None).await;
    for path in ["/a", "/b", "/c", "/held"] {
        ground.asked(path).await;
    }
    // Answers are written when the service stops; the waiting page is not.
    let service = service.restart().await;
    gate.add_permits(10);
    let run = over(&service, run).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 7));
    assert_eq!(paths(&service, &run).await, ALL);
    for path in ["/", "/a", "/b", "/c", "/d", "/e"] {
        assert_eq!(ground.count(path), 1, "{path}");
    }
    assert_eq!(ground.count("/held"), 2);
    assert_eq!(service.billed().await, (7, 0));
}

/// Waits until a run's row says so.
async fn noted(service: &Service, id: RunId, so: impl Fn(&Run) -> bool) {
    let project = project(service).await;
    wait::until("the run's row says so", async || {
        so(&service.app.store.run(project, id).await.unwrap().unwrap())
    })
    .await;
}

/// Two pages are found three links from the seed, as deep as the run goes, and later two links from
/// it: one is stored by then, the other is under way. A third is found too deep at first.
async fn a_continued_run_knows_what_it_found_nearer(service: Service) {
    let gates = [(); 2].map(|()| Arc::new(Semaphore::new(0)));
    let [slow, held] = gates.clone();
    let ground = Ground::start(move |hit| {
        let [slow, held] = gates.clone();
        Box::pin(async move {
            match hit.path.as_str() {
                path if path.ends_with(".txt") => Answer::status(404),
                "/" => Answer::page("0", &["/a", "/slow"]),
                "/a" => Answer::page("1", &["/b"]),
                "/b" => Answer::page("2", &["/stored", "/held"]),
                "/slow" => {
                    let _pass = slow.acquire().await;
                    Answer::page("1", &["/stored", "/held", "/early"])
                }
                "/stored" => Answer::page("2", &["/below-stored", "/early"]),
                "/early" => Answer::page("2", &[]),
                "/held" => {
                    let _pass = held.acquire().await;
                    Answer::page("2", &["/below-held"])
                }
                _ => Answer::page("3", &["/too-deep"]),
            }
        })
    })
    .await;
    let spec = CrawlSpec {
        depth: 3,
        ..spec(&ground.url("/"))
    };
    let run = queue(&service, &spec, None).await;
    ground.asked("/held").await;
    noted(&service, run, |run| run.page_count == 4).await;
    slow.add_permits(1);
    noted(&service, run, |run| run.page_count == 6).await;
    let service = service.restart().await;
    held.add_permits(10);
    let run = over(&service, run).await;
    let all = [
        "",
        "a",
        "b",
        "below-held",
        "below-stored",
        "early",
        "held",
        "slow",
        "stored",
    ];
    assert_eq!(paths(&service, &run).await, all);
    // The links to the page that is too deep. Those to pages that were taken later do not count.
    assert_eq!(run.progress.skipped_for(SkipReason::Depth), 2, "{run:?}");
}

/// A URL redirects to one that is being fetched, whose answer comes only after a restart.
async fn a_continued_run_has_the_page_that_a_url_redirects_to(service: Service) {
    let gate = Arc::new(Semaphore::new(0));
    let passed = Arc::clone(&gate);
    let ground = Ground::start(move |hit| {
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            match hit.path.as_str() {
                path if path.ends_with(".txt") => Answer::status(404),
                "/" => Answer::page("home", &["/held", "/old"]),
                "/old" => Answer::to("/held"),
                _ => {
                    let _pass = gate.acquire().await;
                    Answer::page("held", &[])
                }
            }
        })
    })
    .await;
    let run = queue(&service, &spec(&ground.url("/")), None).await;
    ground.asked("/held").await;
    let project = project(&service).await;
    wait::until("the redirect is written", async || {
        let known = service.app.store.frontier_known(project, run, -1, 10);
        let known = known.await.expect("a database");
        known
            .iter()
            .any(|row| row.url.ends_with("/old") && !row.queued)
    })
    .await;
    let service = service.restart().await;
    passed.add_permits(10);
    let run = over(&service, run).await;
    assert_eq!(
        (run.status, run.error_count),
        (RunState::Done, 0),
        "{run:?}"
    );
    assert_eq!(paths(&service, &run).await, ["", "held"]);
    assert_eq!((ground.count("/old"), ground.count("/held")), (1, 2));
}

/// A page has more links than the run has use for at first. Most lead to no page, one waits for the gate.
async fn a_continued_run_takes_the_links_that_were_cut(service: Service) {
    let gate = Arc::new(Semaphore::new(0));
    let passed = Arc::clone(&gate);
    let ground = Ground::start(move |hit| {
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            match hit.path.as_str() {
                path if path.ends_with(".txt") => Answer::status(404),
                "/" => {
                    let bad = (0..2_600).map(|n| format!("/bad/{n}"));
                    let good = (0..3).map(|n| format!("/good/{n}"));
                    let held = std::iter::once("/held".to_owned());
                    let links: Vec<String> = held.chain(bad).chain(good).collect();
                    let links: Vec<&str> = links.iter().map(String::as_str).collect();
                    Answer::page("links", &links)
                }
                "/held" => {
                    let _pass = gate.acquire().await;
                    Answer::page("held", &[])
                }
                path if path.starts_with("/bad/") => {
                    Answer::status(200).with("content-encoding", "unknown")
                }
                path => Answer::page(path, &[]),
            }
        })
    })
    .await;
    let few = CrawlSpec {
        max_pages: 5,
        ..spec(&ground.url("/"))
    };
    let run = queue(&service, &few, None).await;
    ground.asked("/held").await;
    let is_cut = |run: &Run| run.progress.skipped_for(SkipReason::Budget) > 0;
    noted(&service, run, is_cut).await;
    let service = service.restart().await;
    passed.add_permits(10);
    let run = over(&service, run).await;
    let all = ["", "good/0", "good/1", "good/2", "held"];
    assert_eq!(paths(&service, &run).await, all, "{run:?}");
    assert_eq!(run.progress.skipped_for(SkipReason::Budget), 0, "{run:?}");
}

async fn sitemaps_that_are_read_again_count_once(service: Service) {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}/map.xml", closed.local_addr().unwrap());
    drop(closed);
    let gate = Arc::new(Semaphore::new(0));
    let passed = Arc::clone(&gate);
    let ground = Ground::start(move |hit| {
        let (gate, silent) = (Arc::clone(&gate), silent.clone());
        Box::pin(async move {
            let host = hit.headers.get("host").cloned().unwrap_or_default();
            let list = |paths: &[&str]| {
                let urls = paths
                    .iter()
                    .map(|path| format!("<url><loc>http://{host}{path}</loc></url>"));
                format!("<urlset>{}</urlset>", urls.collect::<String>())
            };
            match hit.path.as_str() {
                path if path.ends_with(".txt") => Answer::status(404),
                "/maps/index.xml" => {
                    let (one, held) = ("/maps/one.xml", "/maps/held.xml");
                    Answer::text(format!(
                        "<sitemapindex><sitemap><loc>{silent}</loc></sitemap>\
                         <sitemap><loc>http://{host}{one}</loc></sitemap>\
                         <sitemap><loc>http://{host}{held}</loc></sitemap></sitemapindex>"
                    ))
                }
                "/maps/one.xml" => {
                    let away = "<url><loc>http://elsewhere.example/</loc></url></urlset>";
                    Answer::text(list(&["/a", "/no/1", "/no/2"]).replace("</urlset>", away))
                }
                "/maps/held.xml" => {
                    let _pass = gate.acquire().await;
                    Answer::text(list(&["/b", "/no/3"]))
                }
                _ => Answer::page("x", &[]),
            }
        })
    })
    .await;
    let spec = CrawlSpec {
        seed_kind: SeedKind::Sitemap,
        exclude_paths: vec!["^/no/".to_owned()],
        ..spec(&ground.url("/maps/index.xml"))
    };
    let run = queue(&service, &spec, None).await;
    ground.asked("/maps/held.xml").await;
    let begun = |run: &Run| (run.page_count, run.error_count) == (1, 1);
    noted(&service, run, begun).await;
    // Once more: what the first restart has read again counts once, too.
    let service = service.restart().await.restart().await;
    passed.add_permits(10);
    let run = over(&service, run).await;
    assert_eq!(paths(&service, &run).await, ["a", "b"]);
    assert_eq!((run.error_count, run.progress.failed), (1, 1), "{run:?}");
    let count = |reason| run.progress.skipped_for(reason);
    let counts = (count(SkipReason::Scope), count(SkipReason::Excluded));
    assert_eq!(counts, (1, 3), "{run:?}");
    let errors = service
        .app
        .store
        .run_errors(run.project, run.id, i64::MIN, 0, 10);
    assert_eq!(errors.await.unwrap().len(), 1);
}

async fn a_continued_batch_counts_its_refused_urls(service: Service) {
    let gate = Arc::new(Semaphore::new(0));
    let ground = gated(&gate).await;
    let urls = [ground.url("/held"), "ftp://example.com/".to_owned()];
    let body = json!({"urls": urls, "delay_ms": 0});
    let created = service.client().post("/v1/batch", &body).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let run = RunId(created.json()["id"].as_i64().unwrap());
    ground.asked("/held").await;
    let service = service.restart().await;
    gate.add_permits(10);
    let run = over(&service, run).await;
    assert_eq!((run.page_count, run.error_count), (1, 1), "{run:?}");
    assert_eq!(run.progress.failed, 1, "{run:?}");
}

/// The seed's page is stored before the process stops, and its site's files are not.
async fn a_continued_run_has_its_sites_files(service: Service) {
    let gate = Arc::new(Semaphore::new(0));
    let passed = Arc::clone(&gate);
    let ground = Ground::start(move |hit| {
        let gate = Arc::clone(&gate);
        Box::pin(async move {
            match hit.path.as_str() {
                "/robots.txt" => Answer::text("User-agent: GPTBot\nDisallow: /\n"),
                "/llms.txt" | "/held" => {
                    let _pass = gate.acquire().await;
                    Answer::text("# A site\n")
                }
                path if path.ends_with(".txt") => Answer::status(404),
                _ => Answer::page("0", &["/held"]),
            }
        })
    })
    .await;
    let run = queue(&service, &spec(&ground.url("/")), None).await;
    ground.asked("/llms.txt").await;
    noted(&service, run, |run| run.page_count == 1).await;
    let service = service.restart().await;
    passed.add_permits(10);
    let run = over(&service, run).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 2));
    let (llms, _) = llms_texts(&service, &run).await;
    assert_eq!(llms.as_deref(), Some("# A site\n"));
    let policy = run.ai_bot_policy.unwrap();
    assert!(policy.contains(r#""GPTBot":"disallowed""#), "{policy}");
}

async fn a_process_that_stood_still_goes_on_with_its_runs(service: Service) {
    let gate = Arc::new(Semaphore::new(0));
    let ground = gated(&gate).await;
    let run = queue(&service, &spec(&ground.url("/")), None).await;
    ground.asked("/held").await;
    // The lease has run out when the worker looks for work.
    service.clock.advance(TimeDelta::minutes(1));
    let other = Ground::of(|_| Answer::page("other", &[])).await;
    let done = crawl(&service, &spec(&other.url("/"))).await;
    assert_eq!(done.status, RunState::Done);
    gate.add_permits(10);
    let run = over(&service, run).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 7));
    for path in ["/", "/a", "/b", "/c", "/d", "/e", "/held"] {
        assert_eq!(ground.count(path), 1, "{path}");
    }
    assert_eq!(service.billed().await, (8, 0));
}

async fn a_worker_that_lost_its_lease_writes_nothing(service: Service) {
    let gate = Arc::new(Semaphore::new(0));
    let ground = gated(&gate).await;
    let run = queue(&service, &spec(&ground.url("/")), None).await;
    ground.asked("/held").await;
    // For another node, whose clock is an hour ahead, the worker looks dead.
    let ahead = service.app.clock.now() + TimeDelta::hours(1);
    let store = &service.app.store;
    // A row that the worker is just writing is passed over.
    let taken = loop {
        let taken = store
            .lease_run("another", ahead, ahead + TimeDelta::hours(1))
            .await;
        match taken.unwrap() {
            Some(taken) => break taken,
            None => tokio::task::yield_now().await,
        }
    };
    assert_eq!(taken.run.id, run);
    let before = store.run(taken.lease.project, run).await.unwrap().unwrap();
    gate.add_permits(10);
    // The worker notices it by itself, and writes nothing more.
    let live = &service.app.crawls.live;
    wait::until("the worker stops", async || live.progress(run).is_none()).await;
    let after = store.run(taken.lease.project, run).await.unwrap().unwrap();
    assert_eq!(after, before);
    assert!(store.release_lease(taken.lease).await.unwrap());
    let run = over(&service, run).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 7));
    assert_eq!(paths(&service, &run).await, ALL);
    assert_eq!(service.billed().await, (7, 0));
}

async fn a_deleted_run_stops(service: Service) {
    let gate = Arc::new(Semaphore::new(0));
    let ground = gated(&gate).await;
    let run = queue(&service, &spec(&ground.url("/")), None).await;
    ground.asked("/held").await;
    let project = project(&service).await;
    service
        .app
        .store
        .delete_run(project, run, service.app.clock.now())
        .await
        .unwrap();
    gate.add_permits(10);
    // Another run of the same worker ends, and the deleted one is still gone.
    let other = Ground::of(|_| Answer::page("other", &[])).await;
    let done = crawl(&service, &spec(&other.url("/"))).await;
    assert_eq!(done.status, RunState::Done);
    assert_eq!(service.app.store.run(project, run).await.unwrap(), None);
}
