//! Crawls that render pages in a browser.

use std::collections::HashSet;

use orbweaver_core::ids::RunId;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Client, Service, runs};

/// A single-page application: every path answers with the same shell, whose router shows the
/// route of the path, with links that need no reload. Its texts come from `/api/`.
const APP: &str = r#"<!doctype html><title>App</title><div id="app"></div><script>
const routes = {'/': ['/about', '/news/1'], '/about': ['/', '/team'], '/news/1': ['/news/2'],
  '/news/2': ['/news/1'], '/team': ['https://other.example/']};
async function show() {
  const links = routes[location.pathname] || [];
  const answer = await fetch('/api' + location.pathname);
  const text = await answer.text();
  document.title = text;
  document.getElementById('app').innerHTML = '<h1>' + text + '</h1>' +
    links.map((to) => '<a href="' + to + '">' + to + '</a>').join(' ');
}
addEventListener('click', (event) => {
  if (event.target.tagName !== 'A') return;
  event.preventDefault();
  history.pushState(null, '', event.target.href);
  show();
});
show();
</script>"#;

async fn app() -> Origin {
    let origin = Origin::start().await.expect("an origin");
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/llms.txt", Reply::new(404, ""))
        .set("/llms-full.txt", Reply::new(404, ""))
        .set_under("/api/", |request| {
            Reply::text(format!("Text of {}", &request.path()[4..]))
        })
        .set_under("/", |_| Reply::html(APP));
    origin
}

async fn crawl(service: &Service, body: &Value) -> RunId {
    let created = service.client().post("/v1/crawls", body).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let run = RunId(created.json()["id"].as_i64().expect("an id"));
    runs::ended(service, run).await;
    run
}

async fn exported(client: &Client, run: RunId) -> Vec<Value> {
    let path = format!("/v1/crawls/{run}/export?include=html,title,markdown,redirects");
    let text = client.get(&path).await.text();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn found(pages: &[Value], origin: &Origin) -> HashSet<String> {
    let base = origin.url("");
    let urls = pages
        .iter()
        .map(|page| page["url"].as_str().expect("a URL"));
    urls.map(|url| {
        url.strip_prefix(&base)
            .expect("a URL of the site")
            .to_owned()
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_a_single_page_application_is_found() {
    let (service, origin) = (Service::start().await, app().await);
    let client = service.client();
    let routes = ["/", "/about", "/news/1", "/news/2", "/team"].map(str::to_owned);
    let plain = crawl(&service, &json!({"url": origin.url("/"), "delay_ms": 0})).await;
    assert_eq!(
        exported(&client, plain).await.len(),
        1,
        "the shell has no links"
    );
    assert_eq!(service.billed().await, (1, 0));
    let mut cloud = 0;
    for mode in ["auto", "always"] {
        let before = origin.count("/about");
        let body = json!({"url": origin.url("/"), "delay_ms": 0, "render": mode});
        let run = crawl(&service, &body).await;
        let pages = exported(&client, run).await;
        assert_eq!(
            found(&pages, &origin),
            HashSet::from(routes.clone()),
            "{mode}"
        );
        for page in &pages {
            let path = page["url"].as_str().unwrap().replace(&origin.url(""), "");
            assert_eq!(page["title"], format!("Text of {path}"), "{mode}");
            let html = page["html"].as_str().unwrap();
            assert!(
                html.contains(&format!("<h1>Text of {path}</h1>")),
                "{mode}: {html}"
            );
        }
        // The run remembers that the site's pages need a browser: no page but the first is fetched
        // before it is rendered.
        assert_eq!(origin.count("/about"), before + 1, "{mode}");
        cloud += 5;
        assert_eq!(service.billed().await, (1, cloud), "{mode}");
        let links = client
            .get(&format!("/v1/crawls/{run}/links?limit=100"))
            .await
            .ok();
        let to = links["items"].as_array().unwrap().iter();
        let to: HashSet<&str> = to.map(|link| link["to_url"].as_str().unwrap()).collect();
        assert!(to.contains(origin.url("/team").as_str()), "{to:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn auto_leaves_pages_with_text_to_plain_http() {
    let service = Service::start().await;
    let origin = Origin::start().await.expect("an origin");
    let text = "A page that has its text in its source needs no browser. ".repeat(10);
    origin
        .set("/robots.txt", Reply::text(""))
        .set(
            "/",
            Reply::html(format!("<p>{text}<a href=/app>app</a> <a href=/b>b</a>")),
        )
        .set("/b", Reply::html(format!("<p>{text}")))
        .set("/app", Reply::html(APP))
        .set("/api/app", Reply::text("Made by a script"));
    let body = json!({"url": origin.url("/"), "delay_ms": 0, "render": "auto"});
    let run = crawl(&service, &body).await;
    let pages = exported(&service.client(), run).await;
    assert_eq!(
        found(&pages, &origin),
        HashSet::from(["/", "/b", "/app"].map(str::to_owned))
    );
    assert_eq!(
        service.billed().await,
        (2, 1),
        "only the application is rendered"
    );
    let app = pages
        .iter()
        .find(|page| page["url"] == origin.url("/app"))
        .unwrap();
    assert_eq!(app["title"], "Made by a script");
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_and_cookies_go_to_the_seeds_site_only() {
    let (service, origin, other) = (Service::start().await, app().await, app().await);
    let elsewhere = other.url("/api/elsewhere");
    let html = format!(
        "<div id=app></div><script>fetch('/api/own').then(() => fetch('{elsewhere}', {{mode: 'no-cors'}}))\
         .finally(() => {{ document.getElementById('app').innerHTML = '<p id=done>Done</p>' }})</script>"
    );
    origin.set("/page", Reply::html(html));
    let body = json!({
        "url": origin.url("/page"),
        "max_pages": 1,
        "render": "always",
        "wait_for": {"selector": "#done"},
        "headers": {"X-Secret": "hunter2"},
        "cookies": "session=hunter3",
    });
    let run = crawl(&service, &body).await;
    let pages = exported(&service.client(), run).await;
    assert!(
        pages[0]["html"].as_str().unwrap().contains("Done"),
        "{pages:?}"
    );
    let sent = |origin: &Origin, path: &str| {
        let requests = origin.requests();
        let request = requests.iter().find(|request| request.path() == path);
        let request = request
            .unwrap_or_else(|| panic!("{path} was not requested"))
            .clone();
        (
            request.header("x-secret").map(str::to_owned),
            request.header("cookie").map(str::to_owned),
        )
    };
    let secret = (
        Some("hunter2".to_owned()),
        Some("session=hunter3".to_owned()),
    );
    assert_eq!(sent(&origin, "/page"), secret);
    assert_eq!(sent(&origin, "/api/own"), secret);
    assert_eq!(sent(&other, "/api/elsewhere"), (None, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_leads_out_of_the_scope_is_not_stored_as_the_sites() {
    let (service, origin, other) = (Service::start().await, app().await, app().await);
    let away = format!("<script>location.href = '{}'</script>", other.url("/about"));
    origin
        .set(
            "/start",
            Reply::html("<p>Start <a href=/away>away</a> <a href=/to>to</a>"),
        )
        .set("/to", Reply::redirect(302, &other.url("/about")))
        .set("/away", Reply::html(away));
    let body = json!({"url": origin.url("/start"), "delay_ms": 0, "render": "always"});
    let run = crawl(&service, &body).await;
    let pages = exported(&service.client(), run).await;
    let expected = HashSet::from(["/start", "/away", "/to"].map(str::to_owned));
    assert_eq!(found(&pages, &origin), expected);
    for page in &pages {
        let html = page["html"].as_str().unwrap_or_default();
        assert!(!html.contains("Text of /about"), "{page}");
    }
    let redirect = pages
        .iter()
        .find(|page| page["url"] == origin.url("/to"))
        .unwrap();
    assert_eq!(redirect["status"], 302);
    // Another host is not even asked.
    assert_eq!(other.count("/about"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_leads_to_what_robots_txt_disallows_is_left_out() {
    let (service, origin) = (Service::start().await, app().await);
    let rules = Reply::text("User-agent: *\nDisallow: /secret");
    let leads = |to: &str| Reply::html(format!("<script>location.href = '{to}'</script>"));
    origin
        .set("/robots.txt", rules)
        .set(
            "/start",
            Reply::html("<p>Start <a href=/to-secret>a</a> <a href=/to-open>b</a>"),
        )
        .set("/to-secret", leads("/secret"))
        .set("/to-open", leads("/open"))
        .set("/secret", Reply::html("<h1>Kept from robots</h1>"))
        .set("/open", Reply::html("<h1>For all</h1>"));
    let client = service.client();
    for (respects, expected) in [
        // A page that a script leads on has the URL at which that ends, as after any redirect.
        (true, vec!["/start", "/open"]),
        (false, vec!["/start", "/open", "/secret"]),
    ] {
        let body = json!({"url": origin.url("/start"), "delay_ms": 0, "render": "always",
            "respect_robots": respects});
        let run = crawl(&service, &body).await;
        let pages = exported(&client, run).await;
        let expected: HashSet<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(found(&pages, &origin), expected);
        let has_secret = pages
            .iter()
            .any(|page| page["html"].to_string().contains("Kept from"));
        assert_eq!(has_secret, !respects);
        assert_eq!(origin.count("/secret"), usize::from(!respects));
        let run = client.get(&format!("/v1/crawls/{run}")).await.ok();
        let skipped = run["skipped"]["robots"].as_u64().unwrap_or(0);
        assert_eq!(skipped, u64::from(respects), "{run}");
        assert_eq!(run["error_count"], 0, "{run}");
    }
}

#[tokio::test]
async fn options_of_rendering_are_checked() {
    let service = Service::start().await;
    let client = service.client();
    for (options, field) in [
        (json!({"render": "sometimes"}), "render"),
        (json!({"wait_for": "idle"}), "wait_for"),
        (json!({"wait_for": {"selector": ""}}), "wait_for.selector"),
        (
            json!({"wait_for": {"milliseconds": 10_001}}),
            "wait_for.milliseconds",
        ),
        (
            json!({"render": "auto", "headers": {"Host": "x"}}),
            "headers.Host",
        ),
    ] {
        let mut body = json!({"url": "https://example.com/"});
        for (name, value) in options.as_object().unwrap() {
            body[name] = value.clone();
        }
        let said = client
            .post("/v1/crawls", &body)
            .await
            .error(422, "INVALID_INPUT");
        assert!(said.starts_with(&format!("{field}: ")), "{said}");
    }
    let without = Service::with(|config| config.browser = Some("/nowhere/chromium".into())).await;
    let body = json!({"url": "https://example.com/", "render": "auto"});
    let said = without.client().post("/v1/crawls", &body).await;
    assert!(said.error(501, "NOT_IMPLEMENTED").starts_with("render: "));
}
