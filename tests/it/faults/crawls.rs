//! Faults during a crawl: it ends, reports what it could not fetch, and stores everything
//! else.

use std::collections::BTreeMap;

use orbweaver_core::setting::Millis;
use orbweaver_fetch::FetchConfig;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use super::support::{Faulty, GOOD};
use crate::support::{Names, Service};

/// Faults that yield no page.
const FAILING: &[&str] = &[
    "silent",
    "drip",
    "endless",
    "terabyte",
    "short",
    "bad-chunk",
    "cut-chunk",
    "bomb/gzip",
    "nested",
    "not-gzip",
    "unknown-coding",
    "loop-a",
    "self",
    "no-location",
    "locations",
    "big-header",
    "many-headers",
    "bad-header",
    "two-lengths",
    "length-and-chunked",
    "http09",
    "garbage",
    "closed",
    "not-modified",
];

/// Unusual answers that yield a page.
const ODD: &[&str] = &[
    "surplus",
    "cut-gzip",
    "no-content",
    "early-hints",
    "refresh",
    "opaque",
];

fn short(fetch: &mut FetchConfig) {
    fetch.limits.first_byte_ms = Millis(3_000);
    fetch.limits.total_ms = Millis(10_000);
    fetch.limits.min_rate_window_ms = Millis(3_000);
    fetch.limits.max_body_bytes = 1 << 20;
}

#[tokio::test]
async fn a_crawl_of_every_fault_stores_every_reachable_page() {
    let faulty = Faulty::with_config(|config| {
        short(&mut config.fetch);
        config.crawl.retries = 1;
        config.crawl.retry_base_ms = Millis(50);
    })
    .await;
    let mut links: Vec<String> = FAILING
        .iter()
        .chain(ODD)
        .map(|fault| format!("/fault/{fault}"))
        .collect();
    links.push("/good".to_owned());
    faulty
        .origin
        .set("/", page(links.iter().map(String::as_str)));
    let run = faulty.crawl("/", json!({"concurrency": 8})).await;
    assert_eq!(run["status"], "done", "{run}");
    // Two of the loop's pages are linked; one of them is the same page as the other.
    assert_eq!(run["error_count"], FAILING.len(), "{run}");
    let rows = faulty.rows(&run).await;
    for path in ["/", "/good"] {
        assert_eq!(rows.get(path), Some(&200), "{path}: {rows:?}");
    }
    for fault in ODD {
        assert!(
            rows.contains_key(&format!("/fault/{fault}")),
            "{fault}: {rows:?}"
        );
    }
    assert_eq!(rows.len(), 2 + ODD.len(), "{rows:?}");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_15_credentials_stay_with_their_origin() {
    let names = Names::of(&[
        ("one.example", &["127.0.0.1"]),
        ("two.example", &["127.0.0.1"]),
    ]);
    let faulty = Faulty {
        service: Service::with_resolver(names, |_| {}).await,
        origin: Origin::start().await.unwrap(),
    };
    faulty.origin.set("/good", Reply::html(GOOD));
    let other = Origin::start().await.unwrap();
    let own = |path: &str| faulty.origin.url_at("one.example", path);
    let away = |path: &str| other.url_at("two.example", path);
    // The seed redirects at once, so the other site is in scope, too; from there one link leads
    // further and one leads back.
    faulty.origin.set(
        "/",
        Reply::redirect(302, &away("/landing")).header("Set-Cookie", "visit=1"),
    );
    faulty.origin.set("/home", page([]));
    other.set("/landing", page(["/beyond", own("/home").as_str()]));
    other.set("/beyond", page([]));
    let options = json!({"url": own("/"), "cookies": "session=1", "headers":
        {"Authorization": "Bearer x", "X-Api-Key": "y", "Accept-Language": "de"}});
    let run = faulty.crawl("/", options).await;
    assert_eq!(
        (&run["status"], &run["page_count"]),
        (&json!("done"), &json!(3)),
        "{run}"
    );
    let sent = |origin: &Origin, path: &str| {
        let requests = origin.requests();
        let request = requests.iter().find(|request| request.path() == path);
        let request = request.unwrap_or_else(|| panic!("{path} was not asked for"));
        ["authorization", "x-api-key", "cookie", "accept-language"]
            .map(|name| request.header(name).map(str::to_owned))
    };
    let all = |cookie: &str| ["Bearer x", "y", cookie, "de"].map(|value| Some(value.to_owned()));
    assert_eq!(sent(&faulty.origin, "/"), all("session=1"));
    assert_eq!(sent(&faulty.origin, "/home"), all("session=1; visit=1"));
    for path in ["/landing", "/beyond"] {
        let only_language = [None, None, None, Some("de".to_owned())];
        assert_eq!(sent(&other, path), only_language, "{path}");
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_15_a_redirect_within_a_crawl_drops_credentials() {
    let names = Names::of(&[
        ("site.example", &["127.0.0.1"]),
        ("sub.site.example", &["127.0.0.1"]),
    ]);
    let faulty = Faulty {
        service: Service::with_resolver(names, |_| {}).await,
        origin: Origin::start().await.unwrap(),
    };
    faulty.origin.set("/good", Reply::html(GOOD));
    let sub = faulty.origin.url_at("sub.site.example", "/landed");
    faulty.origin.set("/", page(["/moved", "/stays"]));
    faulty.origin.set("/moved", Reply::redirect(301, &sub));
    faulty.origin.set("/stays", Reply::redirect(308, "/there"));
    faulty.origin.set("/there", page([]));
    faulty.origin.set("/landed", page([]));
    let options = json!({"url": faulty.origin.url_at("site.example", "/"), "subdomains": true,
        "cookies": "session=1", "headers": {"Authorization": "Bearer x"}});
    let run = faulty.crawl("/", options).await;
    assert_eq!(run["page_count"], 3, "{run}");
    let requests = faulty.origin.requests();
    for (path, kept) in [("/moved", true), ("/landed", false), ("/there", true)] {
        let request = requests.iter().find(|request| request.path() == path);
        let request = request.unwrap();
        assert_eq!(request.header("authorization").is_some(), kept, "{path}");
        assert_eq!(request.header("cookie").is_some(), kept, "{path}");
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_25_retry_after_is_honoured_and_clamped() {
    let faulty = Faulty::with_config(|config| {
        config.crawl.max_wait_ms = Millis(1_500);
        config.crawl.retry_base_ms = Millis(20);
    })
    .await;
    // The service's clock is at 2026-03-01T12:00:00Z.
    let cases = [
        ("/busy/seconds", "1", 1_000),
        ("/busy/date", "Sun, 01 Mar 2026 12:00:01 GMT", 1_000),
        ("/busy/negative", "-5", 0),
        ("/busy/decade", "315360000", 1_500),
    ];
    faulty.origin.set("/", page(cases.map(|(path, ..)| path)));
    for (status, (path, wait, _)) in [503, 429, 503, 429].into_iter().zip(cases) {
        let busy = Reply::new(status, "later").header("Retry-After", wait);
        let asked = std::sync::atomic::AtomicUsize::new(0);
        faulty.origin.set_under(path, move |_| {
            match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 => busy.clone(),
                _ => Reply::html("<title>At last</title>"),
            }
        });
    }
    let run = faulty.crawl("/", json!({"concurrency": 1})).await;
    assert_eq!(
        (&run["status"], &run["error_count"]),
        (&json!("done"), &json!(0))
    );
    let rows = faulty.rows(&run).await;
    let requests = faulty.origin.requests();
    for (path, _, least) in cases {
        assert_eq!(rows.get(path), Some(&200), "{path}: {rows:?}");
        let times: Vec<_> = requests
            .iter()
            .filter(|request| request.path() == path)
            .map(|request| request.at)
            .collect();
        assert_eq!(times.len(), 2, "{path}");
        let waited = times[1].duration_since(times[0]).as_millis();
        assert!(waited >= least, "{path} was asked again after {waited} ms");
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_34_a_foreign_base_leads_to_no_private_address() {
    let faulty = Faulty::start().await;
    let other = Origin::start().await.unwrap();
    let base = other.url("/base/");
    let html = format!("<base href='{base}'><a href='x'>x</a><a href='/y'>y</a>");
    faulty.origin.set("/", Reply::html(html));
    let run = faulty.crawl("/", json!({})).await;
    assert_eq!(
        faulty.rows(&run).await,
        BTreeMap::from([("/".to_owned(), 200)])
    );
    assert!(other.requests().is_empty(), "another host is out of scope");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_35_nofollow_is_honoured_when_requested() {
    let faulty = Faulty::start().await;
    faulty.origin.set(
        "/",
        Reply::html(
            "<a href=/a rel=nofollow>a</a><a href=/b rel='x UGC'>b</a><a href=/c>c</a>\
             <a href=/d rel=sponsored>d</a><a href=/e>e</a><a href=/f>f</a>",
        ),
    );
    let marked = Reply::html("<meta name=robots content='noindex, nofollow'><a href=/c1>c1</a>");
    faulty.origin.set("/c", marked);
    faulty
        .origin
        .set("/e", page(["/e1"]).header("X-Robots-Tag", "none"));
    let other = page(["/f1"]).header("X-Robots-Tag", "otherbot: nofollow");
    faulty.origin.set("/f", other);
    for path in ["/a", "/b", "/d", "/c1", "/e1", "/f1"] {
        faulty.origin.set(path, page([]));
    }
    let asked = faulty.crawl("/", json!({"respect_nofollow": true})).await;
    let rows = faulty.rows(&asked).await;
    assert_eq!(
        rows.keys().collect::<Vec<_>>(),
        ["/", "/c", "/e", "/f", "/f1"]
    );
    let all = faulty.crawl("/", json!({})).await;
    assert_eq!(faulty.rows(&all).await.len(), 10);
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_36_a_canonical_elsewhere_does_not_move_the_crawl() {
    let faulty = Faulty::start().await;
    let other = Origin::start().await.unwrap();
    let canonical = other.url("/real");
    let html = format!("<link rel=canonical href='{canonical}'><a href=/next>next</a>");
    faulty.origin.set("/", Reply::html(html));
    faulty.origin.set("/next", page([]));
    let run = faulty.crawl("/", json!({})).await;
    let rows = faulty.rows(&run).await;
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["/", "/next"]);
    assert!(other.requests().is_empty());
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_37_crawler_traps_end() {
    let faulty = Faulty::with_config(|config| config.crawl.template_budget = 40).await;
    let origin = &faulty.origin;
    // An endless calendar, by query and by path.
    origin.set_under("/cal", |request| {
        let month: u32 = request.query().strip_prefix("month=").map_or(0, number);
        let next = format!("/cal?month={}", month + 1);
        let day = format!("/days/2026/{}", month + 1);
        page([next.as_str(), day.as_str()])
    });
    origin.set_under("/days/2026/", |request| {
        let day = request.path().rsplit('/').next().map_or(0, number);
        page([format!("/days/2026/{}", day + 1).as_str()])
    });
    // Facets, combined in any order.
    origin.set_under("/list", |request| {
        let mut facets: Vec<&str> = request.query().split('&').collect();
        facets.retain(|facet| !facet.is_empty());
        let more = ["a=1", "b=2", "c=3", "d=4", "e=5"].map(|facet| {
            let mut next = facets.clone();
            if !next.contains(&facet) {
                next.push(facet);
            }
            format!("/list?{}", next.join("&"))
        });
        page(more.iter().map(String::as_str))
    });
    // A relative link that was meant to be absolute.
    origin.set_under("/deep/", |_| page(["a/b/"]));
    origin.set("/", page(["/cal", "/list", "/deep/", "/good"]));
    let run = faulty
        .crawl("/", json!({"max_pages": 5_000, "depth": 50}))
        .await;
    assert_eq!(run["status"], "done", "{run}");
    let rows = faulty.rows(&run).await;
    let under = |prefix: &str| rows.keys().filter(|path| path.starts_with(prefix)).count();
    assert!((10..=45).contains(&under("/cal")), "{}", under("/cal"));
    assert!((10..=45).contains(&under("/days/")), "{}", under("/days/"));
    // 31 sets of facets and the unfiltered list; counting each order they would be 326 URLs.
    assert!((31..=80).contains(&under("/list")), "{}", under("/list"));
    assert!((2..=10).contains(&under("/deep/")), "{}", under("/deep/"));
    assert!(rows.contains_key("/good"));
    faulty.is_well().await;
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or(0)
}

#[tokio::test]
async fn fault_38_a_page_is_fetched_once_by_its_first_url() {
    let faulty = Faulty::start().await;
    let origin = &faulty.origin;
    origin.set_under("/", |_| page([]));
    let upper = origin.url("/p?id=1").replace("http://", "HTTP://");
    let same = [
        "/p?utm_source=a&id=1",
        "/p?id=1",
        "/p?id=1&gclid=x",
        "/p?id=1&fbclid=y#part",
        "/p;jsessionid=0AB?id=1",
        "/p?id=1&PHPSESSID=9",
        "/p?sid=3&id=1",
        "/./q/../p?id=1",
        upper.as_str(),
    ];
    let others = ["/P?id=1", "/p/?id=1", "/p?id=2", "/%70?id=1", "/p?id=%31"];
    let tildes = ["/%7Euser", "/~user"];
    origin.set("/", page(same.into_iter().chain(others).chain(tildes)));
    let run = faulty.crawl("/", json!({})).await;
    let asked: Vec<String> = faulty
        .origin
        .requests()
        .into_iter()
        .map(|request| request.target)
        .filter(|target| target != "/" && !target.ends_with(".txt"))
        .collect();
    let mut expected = vec!["/p?utm_source=a&id=1", "/%7Euser"];
    expected.extend(others);
    expected.sort_unstable();
    let mut sorted: Vec<&str> = asked.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    assert_eq!(
        sorted, expected,
        "each page once, by the first URL that linked it"
    );
    assert_eq!(run["page_count"], 1 + expected.len());
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_38_tracking_parameters_are_kept_if_configured() {
    let faulty = Faulty::with_config(|config| config.crawl.drop_tracking = false).await;
    faulty.origin.set_under("/", |_| page([]));
    let links = ["/p?id=1", "/p?id=1&utm_source=a", "/p;jsessionid=0AB?id=1"];
    // URLs that are equivalent by the URL standard are still one page.
    let same = ["/p?id=1#part", "/./p?id=1"];
    faulty.origin.set("/", page(links.into_iter().chain(same)));
    let run = faulty.crawl("/", json!({})).await;
    let rows = faulty.rows(&run).await;
    let mut expected = vec!["/"];
    expected.extend(links);
    expected.sort_unstable();
    assert_eq!(rows.keys().collect::<Vec<_>>(), expected);
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_39_each_run_has_its_own_cookies() {
    let faulty = Faulty::start().await;
    let set = page(["/next"]).header("Set-Cookie", "visit=1; Path=/");
    faulty.origin.set("/", set);
    faulty.origin.set("/next", page([]));
    for _ in 0..2 {
        let run = faulty.crawl("/", json!({"concurrency": 1})).await;
        assert_eq!(run["page_count"], 2);
    }
    let cookies = |path: &str| -> Vec<Option<String>> {
        let requests = faulty.origin.requests();
        let of_path = requests.iter().filter(|request| request.path() == path);
        of_path
            .map(|request| request.header("cookie").map(str::to_owned))
            .collect()
    };
    assert_eq!(cookies("/"), [None, None], "no run sees another's cookies");
    assert_eq!(
        cookies("/next"),
        [Some("visit=1".to_owned()), Some("visit=1".to_owned())]
    );
    faulty.is_well().await;
}

/// A page with these links.
fn page<'a>(links: impl IntoIterator<Item = &'a str>) -> Reply {
    let links = links.into_iter().map(|link| {
        let link = link.replace('&', "&amp;");
        format!("<a href=\"{link}\">link</a>")
    });
    Reply::html(format!(
        "<!doctype html><title>Page</title>{}",
        links.collect::<String>()
    ))
}

/// The status of a run, for tests that only check whether it ended well.
pub(super) fn status(run: &Value) -> &str {
    run["status"].as_str().unwrap_or_default()
}
