//! What the crawled site sees of a run: robots.txt, delays, retries, headers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use orbweaver_core::setting::Millis;
use orbweaver_crawl::spec::{CrawlSpec, MAX_DELAY_MS};
use orbweaver_store::crawl::{RunState, SkipReason};

use super::ground::{Answer, Ground, Hit};
use super::{crawl, llms_texts, over, paths, promises, queue, spec};
use crate::support::{Service, wait};

promises! {
    robots_txt_is_obeyed_unless_disabled
    a_seed_disallowed_by_robots_txt_fails_the_run
    requests_to_a_host_are_spaced_by_the_delay
    crawl_delay_is_honoured
    the_first_page_does_not_wait_for_a_crawl_delay
    two_runs_share_the_crawl_delay_of_a_host
    the_delay_of_a_run_does_not_slow_other_runs
    what_a_callers_header_brings_closes_the_host_for_nobody_else
    transient_failures_are_retried
    a_page_that_stays_unavailable_is_stored_with_its_status
    the_concurrency_limit_is_kept
    headers_cookies_and_user_agent_are_sent_with_every_request
    ai_bot_policy_and_llms_txt_are_recorded
    site_files_are_asked_for_with_what_the_run_sends
    the_robots_txt_of_a_run_alone_decides_about_its_urls
    a_robots_txt_that_cannot_be_had_is_asked_for_again
    urls_without_a_robots_txt_that_can_be_had_are_errors
    what_is_not_requested_takes_no_turn
}

fn links(count: usize) -> Answer {
    let links: Vec<String> = (0..count).map(|n| format!("/{n}")).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    Answer::page("links", &links)
}

async fn robots_txt_is_obeyed_unless_disabled(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: *\nDisallow: /private\n"),
        "/" => Answer::page("0", &["/private/1", "/open", "/to-private"]),
        "/to-private" => Answer::to("/private/2"),
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::page("page", &[]),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!(run.status, RunState::Done);
    assert_eq!(paths(&service, &run).await, ["", "open"]);
    assert_eq!(
        (ground.count("/private/1"), ground.count("/private/2")),
        (0, 0)
    );
    assert_eq!(run.error_count, 0);
    assert_eq!(run.progress.skipped[&SkipReason::Robots], 2);
    let careless = CrawlSpec {
        respect_robots: false,
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &careless).await;
    assert_eq!(
        paths(&service, &run).await,
        ["", "open", "private/1", "private/2"]
    );
}

async fn a_seed_disallowed_by_robots_txt_fails_the_run(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: Orbweaver\nDisallow: /\n"),
        _ => Answer::page("page", &[]),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((run.status, run.error_count), (RunState::Failed, 0));
    assert!(run.error_message.unwrap().contains("robots.txt"));
    assert_eq!(ground.count("/"), 0);
}

/// The least time between two requests.
fn least_gap(hits: &[Hit]) -> Duration {
    let pairs = hits.iter().zip(hits.iter().skip(1));
    pairs
        .map(|(a, b)| b.at.duration_since(a.at))
        .min()
        .expect("two requests")
}

/// The delay is between the sending of requests; the time until they arrive varies.
const LEAST: Duration = Duration::from_millis(200);

async fn requests_to_a_host_are_spaced_by_the_delay(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ => links(3),
    })
    .await;
    let spec = CrawlSpec {
        delay_ms: 400,
        concurrency: Some(8),
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &spec).await;
    assert_eq!(run.page_count, 4);
    // robots.txt, four pages and the llms files: all of them count.
    let log = ground.log();
    assert_eq!(log.len(), 7);
    assert!(least_gap(&log) >= LEAST, "{log:?}");
}

async fn crawl_delay_is_honoured(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: *\nCrawl-delay: 0.4\n"),
        path if path.ends_with(".txt") => Answer::status(404),
        _ => links(3),
    })
    .await;
    crawl(&service, &spec(&ground.url("/"))).await;
    let pages: Vec<Hit> = ground
        .log()
        .into_iter()
        .filter(|hit| !hit.path.ends_with(".txt"))
        .collect();
    assert_eq!(pages.len(), 4);
    assert!(least_gap(&pages) >= LEAST, "{pages:?}");
}

async fn the_first_page_does_not_wait_for_a_crawl_delay(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: *\nCrawl-delay: 120\n"),
        path if path.ends_with(".txt") => Answer::status(404),
        _ => links(2),
    })
    .await;
    let run = queue(&service, &spec(&ground.url("/")), None).await;
    ground.asked("/").await;
    let log = ground.log();
    let at = |path: &str| log.iter().find(|hit| hit.path == path).map(|hit| hit.at);
    let (robots, page) = (at("/robots.txt").unwrap(), at("/").unwrap());
    assert!(page.duration_since(robots) < Duration::from_secs(60));
    // The next one does, and the run says why.
    let (client, path) = (service.client(), format!("/v1/crawls/{run}"));
    wait::until("the run tells of the delay", async || {
        client.get(&path).await.ok()["crawl_delay_ms"] == 120_000
    })
    .await;
    assert_eq!((ground.count("/0"), ground.count("/1")), (0, 0));
}

async fn two_runs_share_the_crawl_delay_of_a_host(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: *\nCrawl-delay: 0.4\n"),
        path if path.ends_with(".txt") => Answer::status(404),
        _ => links(2),
    })
    .await;
    let spec = spec(&ground.url("/"));
    let one = queue(&service, &spec, None).await;
    let two = queue(&service, &spec, None).await;
    over(&service, one).await;
    over(&service, two).await;
    let pages: Vec<Hit> = ground
        .log()
        .into_iter()
        .filter(|hit| !hit.path.ends_with(".txt"))
        .collect();
    assert_eq!(pages.len(), 6);
    assert!(least_gap(&pages) >= LEAST, "{pages:?}");
}

/// Three nodes with one run each, of one host.
#[tokio::test(flavor = "multi_thread")]
async fn runs_of_all_nodes_share_the_crawl_delay_of_a_host() {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: *\nCrawl-delay: 0.4\n"),
        path if path.ends_with(".txt") => Answer::status(404),
        _ => links(4),
    })
    .await;
    let service = Service::on_postgres_with(|config| {
        config.crawl.runs = 1;
        // Nobody sends a request before its turn for having waited long.
        config.crawl.max_wait_ms = Millis(400);
    })
    .await;
    let _others = [service.node().await, service.node().await];
    let spec = spec(&ground.url("/"));
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(queue(&service, &spec, None).await);
    }
    for run in runs {
        assert_eq!(over(&service, run).await.page_count, 5);
    }
    let pages: Vec<Hit> = ground
        .log()
        .into_iter()
        .filter(|hit| !hit.path.ends_with(".txt"))
        .collect();
    assert_eq!(pages.len(), 15);
    assert!(least_gap(&pages) >= LEAST, "{pages:?}");
}

/// A run with a delay of an hour, and another run of the same host after it.
async fn the_delay_of_a_run_does_not_slow_other_runs(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ => links(2),
    })
    .await;
    let slow = CrawlSpec {
        delay_ms: MAX_DELAY_MS,
        ..spec(&ground.url("/"))
    };
    let slow = queue(&service, &slow, None).await;
    wait::until("the slow run asks", async || !ground.log().is_empty()).await;
    let quick = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((quick.status, quick.page_count), (RunState::Done, 3));
    let slow = service.app.store.run(quick.project, slow).await;
    let slow = slow.expect("a database").expect("a run");
    assert_eq!(slow.status, RunState::Running);
}

/// A run whose header makes the host ask for an hour, and another run of the same host after it.
async fn what_a_callers_header_brings_closes_the_host_for_nobody_else(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ if hit.headers.contains_key("x-busy") => Answer::status(429).with("retry-after", "3600"),
        _ => links(2),
    })
    .await;
    let shaped = CrawlSpec {
        headers: vec![("x-busy".to_owned(), "yes".to_owned())],
        ..spec(&ground.url("/busy"))
    };
    let shaped = queue(&service, &shaped, None).await;
    ground.asked("/busy").await;
    let plain = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((plain.status, plain.page_count), (RunState::Done, 3));
    // A run that had to wait would have done so until the host is asked again.
    assert_eq!(ground.count("/busy"), 1);
    let shaped = service.app.store.run(plain.project, shaped).await;
    let shaped = shaped.expect("a database").expect("a run");
    assert_eq!(shaped.status, RunState::Running);
}

async fn transient_failures_are_retried(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => links(2),
        "/0" if hit.before == 0 => Answer::status(503),
        "/1" if hit.before < 2 => Answer::status(429).with("retry-after", "0"),
        _ => Answer::page("at last", &[]),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((run.page_count, run.error_count), (3, 0));
    assert_eq!((ground.count("/0"), ground.count("/1")), (2, 3));
    let pages = super::pages(&service, &run).await;
    assert!(pages.iter().all(|page| page.status == 200), "{pages:?}");
    assert_eq!(service.billed().await, (3, 0));
}

async fn a_page_that_stays_unavailable_is_stored_with_its_status(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        "/" => links(1),
        _ => Answer::status(503).with("retry-after", "1"),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((run.page_count, run.error_count), (2, 0));
    let asked: Vec<Hit> = ground
        .log()
        .into_iter()
        .filter(|hit| hit.path == "/0")
        .collect();
    assert_eq!(asked.len(), 3);
    assert!(least_gap(&asked) >= Duration::from_millis(700), "{asked:?}");
    let pages = super::pages(&service, &run).await;
    assert_eq!(pages.iter().filter(|page| page.status == 503).count(), 1);
}

async fn the_concurrency_limit_is_kept(service: Service) {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let ground = Ground::start(move |hit| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&most));
        Box::pin(async move {
            // robots.txt, llms.txt and sitemaps count like any other request.
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(20)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            if hit.path.ends_with(".txt") {
                return Answer::status(404);
            }
            links(30)
        })
    })
    .await;
    let spec = CrawlSpec {
        concurrency: Some(3),
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &spec).await;
    assert_eq!(run.page_count, 31);
    assert!(seen.load(Ordering::SeqCst) <= 3);
}

async fn headers_cookies_and_user_agent_are_sent_with_every_request(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ => links(2),
    })
    .await;
    let fixed = CrawlSpec {
        headers: vec![("x-key".to_owned(), "value".to_owned())],
        cookies: Some("a=1; b=2".to_owned()),
        user_agent: Some("Curious/1.0".to_owned()),
        ..spec(&ground.url("/"))
    };
    crawl(&service, &fixed).await;
    for hit in ground
        .log()
        .iter()
        .filter(|hit| !hit.path.ends_with(".txt"))
    {
        assert_eq!(hit.headers["x-key"], "value");
        assert_eq!(hit.headers["cookie"], "a=1; b=2");
        assert_eq!(hit.headers["user-agent"], "Curious/1.0");
    }
    let before = ground.log().len();
    let rotated = CrawlSpec {
        user_agent: Some("Orbweaver/1.0".to_owned()),
        ..spec(&ground.url("/"))
    };
    crawl(&service, &rotated).await;
    for hit in ground.log().iter().skip(before) {
        assert!(
            hit.headers["user-agent"].starts_with("Mozilla/5.0"),
            "{hit:?}"
        );
    }
}

async fn ai_bot_policy_and_llms_txt_are_recorded(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        "/robots.txt" => Answer::text("User-agent: GPTBot\nDisallow: /\n"),
        "/llms.txt" => Answer::text("# A site\n"),
        "/llms-full.txt" => Answer::text("# All of it\n"),
        _ => Answer::page("page", &[]),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    let (llms, full) = llms_texts(&service, &run).await;
    assert_eq!(llms.as_deref(), Some("# A site\n"));
    assert_eq!(full.as_deref(), Some("# All of it\n"));
    let policy = run.ai_bot_policy.unwrap();
    assert!(policy.contains(r#""GPTBot":"disallowed""#), "{policy}");
}

async fn site_files_are_asked_for_with_what_the_run_sends(service: Service) {
    let ground = Ground::of(|hit| {
        let sends =
            |name: &str, value: &str| hit.headers.get(name).is_some_and(|sent| sent == value);
        if !sends("x-token", "open") || !sends("cookie", "a=b") {
            return Answer::status(404);
        }
        match hit.path.as_str() {
            "/robots.txt" => Answer::text("User-agent: *\nDisallow: /private\n"),
            "/llms.txt" => Answer::text("# A site\n"),
            "/llms-full.txt" => Answer::text("# All of it\n"),
            "/" => Answer::page("0", &["/private/1", "/open"]),
            _ => Answer::page("page", &[]),
        }
    })
    .await;
    let sending = CrawlSpec {
        headers: vec![("X-Token".to_owned(), "open".to_owned())],
        cookies: Some("a=b".to_owned()),
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &sending).await;
    assert_eq!(paths(&service, &run).await, ["", "open"]);
    let (llms, full) = llms_texts(&service, &run).await;
    assert_eq!(llms.as_deref(), Some("# A site\n"));
    assert_eq!(full.as_deref(), Some("# All of it\n"));
    // What it got is nobody else's.
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!(llms_texts(&service, &run).await, (None, None));
    // Nor does it get what others got.
    let run = crawl(&service, &sending).await;
    assert_eq!(paths(&service, &run).await, ["", "open"]);
    let (llms, _) = llms_texts(&service, &run).await;
    assert_eq!(llms.as_deref(), Some("# A site\n"));
}

async fn the_robots_txt_of_a_run_alone_decides_about_its_urls(service: Service) {
    let ground = Ground::of(|hit| {
        let is_known = hit
            .headers
            .get("x-token")
            .is_some_and(|sent| sent == "open");
        match hit.path.as_str() {
            "/robots.txt" if is_known => Answer::text("User-agent: *\nDisallow: /private\n"),
            // Strangers may not even ask for what the run may have, but for what it may not.
            "/robots.txt" => Answer::text("User-agent: *\nAllow: /private\nDisallow: /\n"),
            "/" => Answer::page("0", &["/private/1", "/to-private", "/open"]),
            "/to-private" => Answer::to("/private/2"),
            path if path.ends_with(".txt") => Answer::status(404),
            _ => Answer::page("page", &[]),
        }
    })
    .await;
    let sending = CrawlSpec {
        headers: vec![("X-Token".to_owned(), "open".to_owned())],
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &sending).await;
    assert_eq!(paths(&service, &run).await, ["", "open"], "{run:?}");
    assert_eq!(run.progress.skipped[&SkipReason::Robots], 2);
    let asked = ground.log();
    let asked = asked.iter().filter(|hit| hit.path == "/robots.txt");
    let tokens: Vec<_> = asked.map(|hit| hit.headers.get("x-token")).collect();
    assert!(
        matches!(tokens[..], [Some(token)] if token == "open"),
        "{tokens:?}"
    );
}

async fn a_robots_txt_that_cannot_be_had_is_asked_for_again(service: Service) {
    for failure in [503, 429, 500] {
        let ground = Ground::of(move |hit| match hit.path.as_str() {
            "/robots.txt" if hit.before == 0 => Answer::status(failure).with("retry-after", "1"),
            "/robots.txt" => Answer::text("User-agent: *\nDisallow: /private\n"),
            path if path.ends_with(".txt") => Answer::status(404),
            _ => Answer::page("page", &["/private"]),
        })
        .await;
        let run = crawl(&service, &spec(&ground.url("/"))).await;
        assert_eq!((run.status, run.page_count), (RunState::Done, 1), "{run:?}");
        assert_eq!((run.error_count, ground.count("/private")), (0, 0));
        assert_eq!(run.progress.skipped[&SkipReason::Robots], 1);
        assert_eq!(ground.count("/robots.txt"), 2);
    }
}

async fn urls_without_a_robots_txt_that_can_be_had_are_errors(service: Service) {
    let down = AtomicUsize::new(0);
    let ground = Ground::of(move |hit| match hit.path.as_str() {
        // The retries of one run, and the first answer that the next one gets itself.
        "/robots.txt" if down.fetch_add(1, Ordering::Relaxed) < 3 => Answer::status(503),
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::page("page", &[]),
    })
    .await;
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((run.status, run.error_count), (RunState::Failed, 1));
    assert!(run.progress.skipped.is_empty(), "{run:?}");
    let errors = service.app.store.run_errors(run.project, run.id, -1, 0, 10);
    let errors = errors.await.expect("a database");
    assert_eq!(errors[0].kind, "robots");
    assert!(errors[0].message.contains("503"), "{errors:?}");
    assert_eq!(ground.count("/"), 0);
    // The failure is cached, but not for who has met it and asks again.
    let run = crawl(&service, &spec(&ground.url("/"))).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 1), "{run:?}");
}

async fn what_is_not_requested_takes_no_turn(service: Service) {
    let ground = Ground::of(|hit| match hit.path.as_str() {
        path if path.ends_with(".txt") => Answer::status(404),
        _ => Answer::page("page", &[]),
    })
    .await;
    crawl(&service, &spec(&ground.url("/"))).await;
    // An hour between two requests: there is only one.
    let slow = CrawlSpec {
        delay_ms: MAX_DELAY_MS,
        ..spec(&ground.url("/"))
    };
    let run = crawl(&service, &slow).await;
    assert_eq!((run.status, run.page_count), (RunState::Done, 1), "{run:?}");
    assert_eq!(ground.log().len(), 5);
}
