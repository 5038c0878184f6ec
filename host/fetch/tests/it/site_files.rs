use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use orbweaver_core::ids::ProjectId;
use orbweaver_fetch::{
    FetchConfig, Fetcher, Kind, Personal, ProxyPool, Request, ResolveError, RobotsAnswer,
    RobotsFailure, RobotsVerdict, SubKind,
};
use orbweaver_origin::{Origin, Proxy, Reply};
use url::Url;

use crate::support::{Names, config, fetcher, get, with_config, with_names};

async fn robots(fetcher: &Fetcher, origin: &Origin) -> Arc<RobotsAnswer> {
    fetcher
        .site_files()
        .robots(fetcher, &Url::parse(&origin.url("/any/page")).unwrap())
        .await
}

#[tokio::test]
async fn robots_txt_is_fetched_once_and_obeyed_when_asked() {
    let origin = Origin::start().await.unwrap();
    origin.set("/robots.txt", Reply::text("user-agent: *\ndisallow: /\n\nuser-agent: orbweaver\ndisallow: /private\nsitemap: /s.xml"));
    let fetcher = fetcher();
    let polite = |path: &str| Request {
        respect_robots: true,
        ..Request::get(origin.url(path))
    };
    assert_eq!(fetcher.fetch(polite("/echo")).await.unwrap().status, 200);
    let error = fetcher.fetch(polite("/private/x")).await.unwrap_err();
    assert_eq!((error.kind.as_str(), error.retryable), ("robots", false));
    let error = fetcher
        .fetch(polite("/fault/redirect/302?/private"))
        .await
        .unwrap_err();
    assert_eq!((error.kind.as_str(), error.redirects.len()), ("robots", 1));
    assert_eq!(
        get(&fetcher, &origin.url("/private")).await.unwrap().status,
        404
    );
    let answer = robots(&fetcher, &origin).await;
    assert_eq!(answer.robots.sitemaps(), ["/s.xml"]);
    assert!(answer.text.as_deref().unwrap().starts_with("user-agent: *"));
    assert_eq!(origin.count("/robots.txt"), 1);
    assert_eq!(
        origin
            .requests()
            .iter()
            .filter(|request| request.path() == "/private")
            .count(),
        1
    );
}

/// Some servers put a comment of HTML before everything that they send.
#[tokio::test]
async fn rules_behind_a_comment_of_html_are_rules() {
    for (body, has_rules) in [
        ("<!-- a -->\nUser-agent: *\nDisallow: /private", true),
        (
            "<!-- a -->\n<!doctype html>\nUser-agent: *\nDisallow: /private",
            false,
        ),
    ] {
        let origin = Origin::start().await.unwrap();
        origin.set("/robots.txt", Reply::text(body));
        let answer = robots(&fetcher(), &origin).await;
        assert_eq!(answer.text.is_some(), has_rules, "{body}");
        let private = Url::parse(&origin.url("/private/x")).unwrap();
        let is_refused = matches!(answer.verdict(&private), RobotsVerdict::Disallowed);
        assert_eq!(is_refused, has_rules, "{body}");
    }
}

#[tokio::test]
async fn concurrent_requests_fetch_robots_txt_once() {
    let origin = Origin::start().await.unwrap();
    origin.set("/robots.txt", Reply::redirect(302, "/held/robots"));
    origin.set("/held/robots", Reply::text("user-agent: *\ndisallow: /x"));
    let fetcher = fetcher();
    let asking = (0..20).map(|_| robots(&fetcher, &origin));
    let (answers, ()) = tokio::join!(futures::future::join_all(asking), async {
        origin.asked("/held/robots", 1).await;
        origin.release();
    });
    assert!(answers.iter().all(|answer| !answer.rules.allows("/x")));
    assert_eq!(
        (origin.count("/robots.txt"), origin.count("/held/robots")),
        (1, 1)
    );
}

#[tokio::test]
async fn fault_41_without_a_file_the_status_decides() {
    let page = "<!doctype html><p>\nuser-agent: *\ndisallow: /\n";
    for (reply, allowed, has_text) in [
        (Reply::new(404, "user-agent: *\ndisallow: /"), true, false),
        (Reply::new(403, ""), true, false),
        (Reply::new(500, ""), false, false),
        (Reply::new(503, ""), false, false),
        (Reply::new(429, ""), false, false),
        (Reply::html(page), true, false),
        (Reply::text(page), true, false),
        (Reply::redirect(302, "/robots.txt"), true, false),
        (
            Reply::new(200, "user-agent: *\ndisallow: /").header("Content-Type", "text/html"),
            false,
            true,
        ),
        (Reply::text(""), true, true),
    ] {
        let origin = Origin::start().await.unwrap();
        origin.set("/robots.txt", reply.clone());
        let answer = robots(&fetcher(), &origin).await;
        assert_eq!(answer.rules.allows("/page"), allowed, "{reply:?}");
        assert_eq!(answer.text.is_some(), has_text, "{reply:?}");
    }
}

#[tokio::test]
async fn fault_41_an_unreachable_site_disallows_all() {
    let closed = Origin::start().await.unwrap();
    closed.set(
        "/robots.txt",
        Reply::redirect(302, "http://10.0.0.1/robots.txt"),
    );
    let answer = robots(&fetcher(), &closed).await;
    assert!(!answer.rules.allows("/") && answer.robots.is_unreachable());
    assert!(answer.error.is_some() && answer.status.is_none());
}

#[tokio::test]
async fn the_cause_is_the_unreachable_host_not_its_robots_txt() {
    let names = Names::default();
    names.then("private.example", &["10.0.0.1"]);
    names.fail("servfail.example", ResolveError::ServFail);
    let fetcher = with_names(config(), names);
    let closed = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let refused = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    let polite = |url: String| Request {
        respect_robots: true,
        ..Request::get(url)
    };
    for (url, kind, sub) in [
        ("http://missing.example/", Kind::Dns, SubKind::NxDomain),
        ("http://servfail.example/", Kind::Dns, SubKind::ServFail),
        (&refused, Kind::Connect, SubKind::Refused),
    ] {
        let error = fetcher.fetch(polite(url.to_owned())).await.unwrap_err();
        assert_eq!((error.kind, error.sub), (kind, Some(sub)), "{url}: {error}");
        let parsed = Url::parse(url).unwrap();
        let answer = fetcher.site_files().robots(&fetcher, &parsed).await;
        let verdict = answer.verdict(&parsed);
        assert!(
            matches!(verdict, RobotsVerdict::Unavailable(RobotsFailure::Host(cause)) if cause.kind == kind),
            "{url}: {verdict:?}"
        );
    }
    // The host responds; only its file fails.
    for reply in [
        Reply::new(503, ""),
        Reply::new(429, ""),
        Reply::redirect(302, "http://missing.example/robots.txt"),
    ] {
        let origin = Origin::start().await.unwrap();
        origin.set("/robots.txt", reply);
        let error = fetcher.fetch(polite(origin.url("/"))).await.unwrap_err();
        assert_eq!(
            (error.kind, error.sub, error.retryable),
            (Kind::Robots, Some(SubKind::Unreachable), true),
            "{error}"
        );
        assert_eq!(origin.count("/"), 0);
    }
}

#[tokio::test]
async fn fault_41_a_huge_robots_txt_is_cut_and_redirects_are_followed() {
    let origin = Origin::start().await.unwrap();
    let mut huge = b"user-agent: *\ndisallow: /early\n".to_vec();
    huge.extend(b"# filler\n".repeat(100_000));
    huge.extend(b"disallow: /late\n");
    origin.set("/real/robots", Reply::text(huge));
    origin.set("/robots.txt", Reply::redirect(301, "/real/robots"));
    let answer = robots(&fetcher(), &origin).await;
    assert!(!answer.rules.allows("/early") && answer.rules.allows("/late"));
}

#[tokio::test]
async fn fault_41_five_redirects_are_followed_and_six_count_as_no_file() {
    for (redirects, closed) in [(5, true), (6, false)] {
        let origin = Origin::start().await.unwrap();
        origin.set("/robots.txt", Reply::redirect(301, "/hop/1"));
        for hop in 1..redirects {
            let next = format!("/hop/{}", hop + 1);
            origin.set(&format!("/hop/{hop}"), Reply::redirect(302, &next));
        }
        let last = format!("/hop/{redirects}");
        origin.set(&last, Reply::text("user-agent: *\ndisallow: /"));
        let answer = robots(&fetcher(), &origin).await;
        assert_eq!(answer.rules.allows("/page"), !closed, "{redirects}");
        assert_eq!(origin.count(&last), usize::from(closed), "{redirects}");
    }
}

#[tokio::test]
async fn llms_txt_is_text_or_absent() {
    let origin = Origin::start().await.unwrap();
    origin.set("/llms.txt", Reply::text("# Site\n> summary"));
    origin.set("/llms-full.txt", Reply::html("<!doctype html><p>not found"));
    let fetcher = fetcher();
    let url = Url::parse(&origin.url("/deep/page?x")).unwrap();
    for _ in 0..3 {
        let (files, own) = (fetcher.site_files(), Personal::default());
        let text = files.llms_txt_for(&fetcher, &url, &own).await;
        assert_eq!(text.as_deref(), Some("# Site\n> summary"));
        let full = files.llms_full_txt_for(&fetcher, &url, &own).await;
        assert_eq!(full, None);
    }
    assert_eq!(
        (origin.count("/llms.txt"), origin.count("/llms-full.txt")),
        (1, 1)
    );
}

#[tokio::test]
async fn robots_txt_of_callers_agents_do_not_displace_our_own() {
    let origin = Origin::start().await.unwrap();
    let large = "disallow: /\n".repeat(5_000);
    // No two answers are the same, so that agents cannot share them.
    let count = AtomicU64::new(0);
    origin.set_under("/robots.txt", move |_| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        Reply::text(format!("# {number}\nuser-agent: *\n{large}"))
    });
    let fetcher = fetcher();
    let url = Url::parse(&origin.url("/")).unwrap();
    let (files, none) = (fetcher.site_files(), Personal::default());
    let own = robots(&fetcher, &origin).await;
    // Its rules take many times as much memory as its text.
    let text = own.text.as_ref().map_or(0, String::len);
    assert!(
        own.held_bytes() > 10 * text,
        "{} of {text}",
        own.held_bytes()
    );
    for agent in 0..200 {
        let agent = format!("Agent{agent}");
        files.robots_as(&fetcher, &url, &agent, &none).await;
    }
    assert_eq!(origin.count("/robots.txt"), 201);
    robots(&fetcher, &origin).await;
    assert_eq!(origin.count("/robots.txt"), 201, "ours is kept");
    for agent in 0..200 {
        let agent = format!("Agent{agent}");
        files.robots_as(&fetcher, &url, &agent, &none).await;
    }
    let asked_again = origin.count("/robots.txt") - 201;
    assert!(asked_again > 100, "few of the others are: {asked_again}");
}

#[tokio::test]
async fn agents_that_get_the_same_file_share_it() {
    let origin = Origin::start().await.unwrap();
    origin.set("/robots.txt", Reply::text("user-agent: *\ndisallow: /a\n"));
    let fetcher = fetcher();
    let url = Url::parse(&origin.url("/")).unwrap();
    let (files, none) = (fetcher.site_files(), Personal::default());
    let own = robots(&fetcher, &origin).await;
    let same = files.robots_as(&fetcher, &url, "AgentA", &none).await;
    assert!(Arc::ptr_eq(&own, &same));
    origin.set("/robots.txt", Reply::text("user-agent: *\ndisallow: /b\n"));
    let other = files.robots_as(&fetcher, &url, "AgentB", &none).await;
    assert!(!Arc::ptr_eq(&own, &other));
    assert_eq!(other.text.as_deref(), Some("user-agent: *\ndisallow: /b\n"));
    // The status decides, too: a file that fails is no file.
    let failure = Reply {
        status: 503,
        ..Reply::text("user-agent: *\ndisallow: /a\n")
    };
    origin.set("/robots.txt", failure);
    let failed = files.robots_as(&fetcher, &url, "AgentC", &none).await;
    assert!(failed.robots.is_unreachable());
}

#[tokio::test]
async fn agents_share_a_file_that_was_never_fetched_as_ourselves() {
    let origin = Origin::start().await.unwrap();
    origin.set("/robots.txt", Reply::text("user-agent: *\ndisallow: /a\n"));
    let fetcher = fetcher();
    let url = Url::parse(&origin.url("/")).unwrap();
    let (files, none) = (fetcher.site_files(), Personal::default());
    let first = files.robots_as(&fetcher, &url, "AgentA", &none).await;
    let second = files.robots_as(&fetcher, &url, "AgentB", &none).await;
    assert!(Arc::ptr_eq(&first, &second));
    let own = robots(&fetcher, &origin).await;
    assert!(Arc::ptr_eq(&first, &own));
    assert_eq!(origin.count("/robots.txt"), 3, "each asks for itself");
}

#[tokio::test]
async fn a_failure_is_asked_for_again_by_who_has_waited_and_its_answer_is_kept() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/robots.txt",
        Reply::new(503, "").header("retry-after", "7"),
    );
    let fetcher = fetcher();
    let (files, url) = (fetcher.site_files(), Url::parse(&origin.url("/")).unwrap());
    let own = Personal::default();
    let read = |again| files.robots_for(&fetcher, &url, &own, again);
    let first = read(false).await;
    assert!(first.is_fresh && first.answer.may_pass());
    assert_eq!(first.answer.retry_after.as_deref(), Some("7"));
    let cached = read(false).await;
    assert!(!cached.is_fresh && cached.answer.may_pass());
    origin.set("/robots.txt", Reply::text("user-agent: *\ndisallow: /x"));
    let again = read(true).await;
    assert!(again.is_fresh && !again.answer.may_pass());
    // An answer is one, however often it is asked for.
    assert!(!read(true).await.is_fresh);
    assert_eq!(origin.count("/robots.txt"), 2);
    assert!(!files.has_llms_txt_for(&fetcher, &url, &own));
    files.llms_txt_for(&fetcher, &url, &own).await;
    assert!(files.has_llms_txt_for(&fetcher, &url, &own));
    assert!(!files.has_llms_full_txt_for(&fetcher, &url, &own));
    let personal = Personal {
        cookies: Some("a=b".to_owned()),
        ..own.clone()
    };
    assert!(!files.has_llms_txt_for(&fetcher, &url, &personal));
}

/// Compressed, without its end.
fn half(text: &str) -> Reply {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    Reply::text(&packed[..packed.len() / 2]).header("Content-Encoding", "gzip")
}

#[tokio::test]
async fn a_file_whose_end_is_missing_is_no_file() {
    let origin = Origin::start().await.unwrap();
    let lines = (0..5_000).map(|n| format!("allow: /{n}\n"));
    let long = lines.collect::<String>();
    let robots_txt = format!("user-agent: *\n{long}disallow: /private\n");
    origin.set("/robots.txt", half(&robots_txt));
    origin.set("/llms.txt", half(&format!("# Site\n{long}")));
    let fetcher = fetcher();
    let answer = robots(&fetcher, &origin).await;
    let error = answer.error.as_ref().expect("a failure");
    assert_eq!((error.kind, error.retryable), (Kind::IncompleteBody, true));
    // Nobody knows what the rest disallows.
    assert!(!answer.rules.allows("/1") && answer.may_pass());
    let url = Url::parse(&origin.url("/")).unwrap();
    let (files, own) = (fetcher.site_files(), Personal::default());
    assert_eq!(files.llms_txt_for(&fetcher, &url, &own).await, None);
    // The site's own 404 stays one.
    let missing = Origin::start().await.unwrap();
    missing.set("/robots.txt", half(&robots_txt).with_status(404));
    assert!(robots(&fetcher, &missing).await.rules.allows("/private"));
}

/// The address of no server.
fn nowhere() -> String {
    let closed = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    format!("http://{}", closed.local_addr().unwrap())
}

#[tokio::test]
async fn robots_txt_is_asked_for_in_the_way_of_the_page() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/robots.txt",
        Reply::text("user-agent: *\ndisallow: /private"),
    );
    origin.set("/page", Reply::text("silk"));
    origin.set("/to-private", Reply::redirect(302, "/private"));
    let proxy = Proxy::http(origin.address()).await.unwrap();
    let pool = vec![proxy.url().parse().unwrap()];
    let all = with_config(FetchConfig {
        proxy_pools: [(ProxyPool::Isp, pool)].into(),
        ..config()
    });
    let (one, other) = (all.of_project(ProjectId(1)), all.of_project(ProjectId(2)));
    // Only the proxy reaches the site.
    let site = nowhere();
    let polite = |path: &str, proxy: Option<&str>| Request {
        respect_robots: true,
        proxy: proxy.map(|url| url.parse().unwrap()),
        ..Request::get(format!("{site}{path}"))
    };
    let by_proxy = proxy.url();
    for (fetcher, asked) in [(&one, 1), (&one, 1), (&other, 2)] {
        let page = fetcher.fetch(polite("/page", Some(&by_proxy))).await;
        assert_eq!(page.unwrap().status, 200);
        for path in ["/private", "/to-private"] {
            let page = fetcher.fetch(polite(path, Some(&by_proxy))).await;
            assert_eq!(page.unwrap_err().sub, Some(SubKind::Disallowed), "{path}");
        }
        // A proxy may answer in the site's place: its answers are its user's alone.
        assert_eq!(origin.count("/robots.txt"), asked);
    }
    // Those of the operator's pools are for all.
    for (fetcher, session) in [(&one, 1), (&one, 2), (&other, 3)] {
        let through = |path| {
            let request = polite(path, None);
            fetcher.fetch_through(ProxyPool::Isp, None, session, request)
        };
        assert_eq!(through("/page").await.unwrap().status, 200);
        let refused = through("/private").await.unwrap_err();
        assert_eq!(refused.sub, Some(SubKind::Disallowed));
        assert_eq!(origin.count("/robots.txt"), 3);
    }
    assert_eq!(origin.count("/private"), 0);
    let direct = one.fetch(polite("/echo", None)).await.unwrap_err();
    assert_eq!(direct.kind, Kind::Connect);
    // A proxy that does not work is the cause, not a robots.txt.
    for scheme in ["socks5:", "http:"] {
        let dead = nowhere().replace("http:", scheme);
        let error = one.fetch(polite("/echo", Some(&dead))).await.unwrap_err();
        assert_eq!(error.kind, Kind::Proxy, "{error}");
        let says = "the proxy gives no connection: ";
        assert!(error.message.starts_with(says), "{error}");
    }
}
