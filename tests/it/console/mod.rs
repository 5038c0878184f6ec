//! The console: signing in, pages, forms, guards, and what strangers' pages may do in it.

mod hostile;
mod plugin_names;
mod shown;

use orbweaver_origin::{Origin, Reply};
use serde_json::json;

use crate::support::http::Answer;
use crate::support::{Client, KEY, Service, Site};

const HTML: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// Someone who signed in.
struct Visitor {
    client: Client,
    cookie: String,
    csrf: String,
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let text = |text: &str| text.bytes().map(byte).collect::<String>();
    let pairs: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", text(name), text(value)))
        .collect();
    pairs.join("&")
}

/// The answer with its slashes as they are: templates escape them, too.
fn plain(mut answer: Answer) -> Answer {
    answer.body = answer.text().replace("&#x2f;", "/").into_bytes();
    answer
}

async fn sign_in(service: &Service, key: &str) -> Answer {
    let body = encoded(&[("key", key)]);
    service
        .stranger()
        .send("POST", "/console/sign-in", &[FORM, HTML], body.as_bytes())
        .await
}

impl Visitor {
    async fn of(service: &Service) -> Self {
        Self::signed_in(service, KEY).await
    }

    async fn signed_in(service: &Service, key: &str) -> Self {
        let answer = sign_in(service, key).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = answer.header("set-cookie").expect("a cookie");
        assert!(
            cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
            "{cookie}"
        );
        assert!(!cookie.contains(key), "the key is sealed");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let mut visitor = Self {
            client: service.stranger(),
            cookie,
            csrf: String::new(),
        };
        let home = visitor.page("/").await;
        let (_, rest) = home.split_once("name=\"csrf\" value=\"").expect("a token");
        visitor.csrf = rest.split('"').next().unwrap().to_owned();
        visitor
    }

    async fn get(&self, path: &str) -> Answer {
        let headers = [HTML, ("cookie", self.cookie.as_str())];
        plain(self.client.send("GET", path, &headers, b"").await)
    }

    async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(
            answer
                .header("content-type")
                .unwrap()
                .starts_with("text/html")
        );
        answer.text()
    }

    async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut all = vec![("csrf", self.csrf.as_str())];
        all.extend_from_slice(fields);
        let headers = [HTML, FORM, ("cookie", self.cookie.as_str())];
        let body = encoded(&all);
        let answer = self.client.send("POST", path, &headers, body.as_bytes());
        plain(answer.await)
    }

    /// Starts a crawl and waits for its end; its path.
    async fn crawl(&self, url: &str) -> String {
        let fields = [("url", url), ("delay_ms", "0"), ("respect_robots", "false")];
        let started = self.post("/console/crawls", &fields).await;
        assert_eq!(started.status, 303, "{}", started.text());
        let path = started.header("location").unwrap().to_owned();
        // The stream ends with the run.
        let events = self.get(&format!("{path}/events")).await;
        assert!(events.text().contains("event: end"), "{}", events.text());
        path
    }
}

#[tokio::test]
async fn the_root_is_json_to_programs_and_a_page_to_browsers() {
    let service = Service::start().await;
    let client = service.stranger();
    let about = client.get("/").await.ok();
    assert_eq!(about["name"], "orbweaver");
    assert_eq!(
        (&about["docs"], &about["openapi"]),
        (&json!("/docs"), &json!("/openapi.json"))
    );
    assert!(about["version"].is_string());
    let page = client.send("GET", "/", &[HTML], b"").await;
    assert_eq!(page.status, 200);
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/html")
    );
    assert!(page.header("vary").unwrap().contains("accept"));
    assert!(page.text().contains("Sign in"));
    let post = client.send("POST", "/", &[], b"").await;
    post.error(405, "METHOD_NOT_ALLOWED");
}

#[tokio::test]
async fn every_page_forbids_scripts_that_are_not_ours() {
    let service = Service::start().await;
    let visitor = Visitor::of(&service).await;
    for path in [
        "/",
        "/console/crawls",
        "/console/keys",
        "/console/crawls/404",
    ] {
        let answer = visitor.get(path).await;
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("script-src 'self'"),
            "{policy}"
        );
        assert!(
            !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        // Under `no-referrer` a browser sends `Origin: null` with forms.
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
    }
}

#[tokio::test]
async fn pages_are_small_and_name_no_other_host() {
    let service = Service::start().await;
    let visitor = Visitor::of(&service).await;
    let mut assets = 0;
    for file in ["style.css", "script.js", "icon.svg"] {
        let answer = visitor.get(&format!("/console/assets/{file}")).await;
        assert_eq!(answer.status, 200, "{file}");
        assert!(answer.header("cache-control").unwrap().contains("max-age"));
        assets += answer.body.len();
    }
    for path in [
        "/",
        "/console/crawls",
        "/console/monitors",
        "/console/actors",
        "/console/usage?days=365",
        "/console/keys",
        "/console/plugins",
        "/console/plugins/extract-metadata",
        "/console/actors/audit-onpage",
    ] {
        let html = visitor.page(path).await;
        assert!(
            html.len() + assets < 150_000,
            "{path}: {}",
            html.len() + assets
        );
        for attribute in ["src=\"", "<link rel=\"stylesheet\" href=\""] {
            for piece in html.split(attribute).skip(1) {
                assert!(
                    piece.starts_with("/console/assets/"),
                    "{path}: {}",
                    &piece[..40]
                );
            }
        }
    }
    let list = visitor.page("/console/plugins").await;
    for plugin in [
        "extract-metadata",
        "actor-audit-onpage",
        "hook-language-filter",
    ] {
        let link = format!("href=\"/console/plugins/{plugin}\"");
        assert!(list.contains(&link), "{plugin}");
    }
    let missing = visitor.get("/console/assets/..%2f..%2fCargo.toml").await;
    missing.error(404, "NOT_FOUND");
}

#[tokio::test]
async fn signing_in_needs_a_valid_key_and_ends_with_signing_out_or_revocation() {
    let service = Service::start().await;
    for key in ["", "orb_wrong", "<script>alert(1)</script>"] {
        let answer = sign_in(&service, key).await;
        assert_eq!(answer.status, 401, "{key}");
        assert!(answer.header("set-cookie").is_none());
        assert!(
            !answer.text().contains("<script>alert"),
            "{}",
            answer.text()
        );
    }
    let visitor = Visitor::of(&service).await;
    assert!(visitor.page("/console/keys").await.contains("orb_AAAAAAAA"));
    // Without the cookie, or with another text in it, one is sent to the sign-in.
    let stranger = service.stranger();
    for cookie in [
        "",
        "orbweaver_session=AAAA",
        "orbweaver_session=",
        "other=1",
    ] {
        let answer = stranger
            .send("GET", "/console/keys", &[HTML, ("cookie", cookie)], b"")
            .await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, Some("/")),
            "{cookie}"
        );
    }
    let out = visitor.post("/console/sign-out", &[]).await;
    assert_eq!(out.status, 303);
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));

    // A key that is revoked ends its sign-ins at once.
    let made = visitor
        .post("/console/keys/rotate", &[("label", "a <b> label")])
        .await;
    assert_eq!(made.status, 200);
    assert!(
        made.text().contains("a &lt;b&gt; label"),
        "labels are escaped"
    );
    let prefix = &KEY[..12];
    let revoked = visitor
        .post(&format!("/console/keys/{prefix}/revoke"), &[])
        .await;
    assert_eq!(revoked.status, 303, "{}", revoked.text());
    let after = visitor.get("/console/keys").await;
    assert_eq!(after.status, 303);
    assert!(after.header("set-cookie").unwrap().contains("Max-Age=0"));
}

#[tokio::test]
async fn a_sign_in_ends_after_twelve_hours() {
    let service = Service::start().await;
    let visitor = Visitor::of(&service).await;
    service.clock.advance(chrono::TimeDelta::hours(11));
    visitor.page("/console/keys").await;
    service.clock.advance(chrono::TimeDelta::hours(2));
    assert_eq!(visitor.get("/console/keys").await.status, 303);
}

#[tokio::test]
async fn a_form_of_another_page_changes_nothing() {
    let (service, site) = (Service::start().await, Site::start().await);
    let visitor = Visitor::of(&service).await;
    let url = site.url("/article");
    let cookie = ("cookie", visitor.cookie.as_str());
    for (csrf, origin) in [
        ("", None),
        ("0123456789abcdef0123456789abcdef", None),
        (visitor.csrf.as_str(), Some("https://evil.example")),
        (visitor.csrf.as_str(), Some("http://test")),
        (visitor.csrf.as_str(), Some("null")),
    ] {
        for path in [
            "/console/scan",
            "/console/crawls",
            "/console/sign-out",
            "/console/keys/rotate",
        ] {
            let body = encoded(&[("csrf", csrf), ("url", &url)]);
            let mut headers = vec![HTML, FORM, cookie];
            headers.extend(origin.map(|origin| ("origin", origin)));
            let answer = visitor
                .client
                .send("POST", path, &headers, body.as_bytes())
                .await;
            assert_eq!(answer.status, 403, "{path} {csrf} {origin:?}");
        }
    }
    assert_eq!(site.hits("/article"), 0);
    assert_eq!(service.billed().await, (0, 0));
    let foreign = [HTML, FORM, ("origin", "https://evil.example")];
    let body = encoded(&[("key", KEY)]);
    let answer = service
        .stranger()
        .send("POST", "/console/sign-in", &foreign, body.as_bytes())
        .await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn a_scan_shows_content_json_and_the_curl_line_and_is_billed_once() {
    let (service, site) = (Service::start().await, Site::start().await);
    let visitor = Visitor::of(&service).await;
    let url = site.url("/article");
    let answer = visitor
        .post("/console/scan", &[("url", &url), ("include_links", "true")])
        .await;
    let html = answer.text();
    assert_eq!(answer.status, 200, "{html}");
    assert!(
        html.contains("<h1>How orb weavers build</h1>"),
        "Markdown is rendered"
    );
    assert!(html.contains("curl -s http"), "{html}");
    assert!(html.contains("https://other.example/"), "links are listed");
    assert_eq!(service.billed().await, (1, 0));
    for (fields, message) in [
        (
            vec![("url", "http://10.0.0.1/")],
            "not on the public internet",
        ),
        (vec![("url", "")], "url: is required"),
        (
            vec![("url", url.as_str()), ("max_age_seconds", "soon")],
            "max_age_seconds: must be",
        ),
    ] {
        let answer = visitor.post("/console/scan", &fields).await.text();
        assert!(
            answer.contains("INVALID_INPUT") && answer.contains(message),
            "{fields:?}: {answer}"
        );
    }
}

#[tokio::test]
async fn runs_pages_errors_links_and_differences_are_shown() {
    let service = Service::start().await;
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/",
        Reply::html("<title>Home</title><a href='/b'>y</a><a href='/fault/closed'>z</a>"),
    );
    origin.set(
        "/b",
        Reply::html("<title>B</title><p>first text of the page</p>"),
    );
    let visitor = Visitor::of(&service).await;
    let first = visitor.crawl(&origin.url("/")).await;
    origin.set(
        "/b",
        Reply::html("<title>B</title><p>second text of the page</p>"),
    );
    let second = visitor.crawl(&origin.url("/")).await;

    let list = visitor.page("/console/crawls").await;
    assert!(list.contains(&first) && list.contains(&second), "{list}");
    let pages = visitor.page(&second).await;
    assert!(pages.contains(&origin.url("/b")), "{pages}");
    let errors = visitor.page(&format!("{second}?view=errors")).await;
    assert!(errors.contains("/fault/closed"), "{errors}");
    let links = visitor.page(&format!("{second}?view=links")).await;
    assert!(links.contains(&origin.url("/b")), "{links}");
    for view in ["orphans", "deliveries", "nothing"] {
        visitor.page(&format!("{second}?view={view}")).await;
    }
    let (_, rest) = pages.split_once("/console/pages/").expect("a page");
    let id = rest.split('"').next().unwrap();
    for view in ["markdown", "source", "article", "html", "signals"] {
        visitor
            .page(&format!("/console/pages/{id}?view={view}"))
            .await;
    }
    let number = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let diff = format!(
        "/console/diff?old={}&new={}",
        number(&first),
        number(&second)
    );
    let diff = visitor.page(&diff).await;
    assert!(
        diff.contains("second text of the page") && diff.contains("first text of the page"),
        "{diff}"
    );

    let gone = visitor.post(&format!("{first}/delete"), &[]).await;
    assert_eq!(gone.status, 303);
    assert_eq!(visitor.get(&first).await.status, 404);
}

#[tokio::test]
async fn what_the_answer_to_a_form_warns_of_is_on_the_next_page() {
    let service = crate::support::runs::without_workers(false, |_| {}).await;
    let visitor = Visitor::of(&service).await;
    let crawl = [
        ("url", crate::support::runs::SEED),
        ("return_only_changed", "true"),
    ];
    let monitor = [crawl[0], ("cron", "0 6 * * *"), ("max_age_seconds", "60")];
    for (fields, said) in [
        (&crawl[..], "return_only_changed "),
        (&monitor[..], "max_age_seconds has no effect with cron"),
    ] {
        let made = visitor.post("/console/crawls", fields).await;
        assert_eq!(made.status, 303, "{}", made.text());
        let next = made.header("location").unwrap();
        let shown = |html: &str| html.contains(&format!("role=\"status\">{said}"));
        assert!(shown(&visitor.page(next).await), "{next}");
        let (path, notice) = next.split_once('?').expect("a notice");
        assert!(!shown(&visitor.page(path).await));
        // Nobody but this service says something there.
        let forged = format!("{path}?{}x", notice.replace('=', "=A"));
        assert!(!shown(&visitor.page(&forged).await));
    }
}

#[tokio::test]
async fn monitors_are_made_paused_and_deleted() {
    let service = Service::start().await;
    let visitor = Visitor::of(&service).await;
    let fields = [("url", "http://127.0.0.1:8081/"), ("cron", "0 6 * * *")];
    let made = visitor.post("/console/crawls", &fields).await;
    assert_eq!(
        made.header("location"),
        Some("/console/monitors"),
        "{}",
        made.text()
    );
    let wrong = [("url", "http://127.0.0.1:8081/"), ("cron", "every day")];
    let refused = visitor.post("/console/crawls", &wrong).await.text();
    assert!(
        refused.contains("cron: ") && refused.contains("every day"),
        "{refused}"
    );
    let list = visitor.page("/console/monitors").await;
    assert!(list.contains("<td><code>0 6 * * *</code>"), "{list}");
    let (_, rest) = list
        .split_once("action=\"/console/monitors/")
        .expect("a switch");
    let id = rest.split('/').next().unwrap().to_owned();
    let change = async |action: &str| {
        visitor
            .post(&format!("/console/monitors/{id}/{action}"), &[])
            .await
            .status
    };
    assert_eq!(change("pause").await, 303);
    assert!(visitor.page("/console/monitors").await.contains("paused"));
    assert_eq!(change("explode").await, 404);
    assert_eq!(change("delete").await, 303);
    assert!(
        !visitor
            .page("/console/monitors")
            .await
            .contains("<td><code>0 6 * * *</code>")
    );
}

#[tokio::test]
async fn an_actors_form_comes_from_its_schema_and_runs_it() {
    let (service, site) = (Service::start().await, Site::start().await);
    let visitor = Visitor::of(&service).await;
    let list = visitor.page("/console/actors").await;
    assert!(list.contains("/console/actors/structured-data"), "{list}");
    let form = visitor.page("/console/actors/structured-data").await;
    assert!(
        form.contains("name=\"url\"") && form.contains("required"),
        "{form}"
    );
    let url = site.url("/article");
    let ran = visitor
        .post("/console/actors/structured-data", &[("url", &url)])
        .await
        .text();
    assert!(
        ran.contains("Article") && ran.contains("schema.org"),
        "{ran}"
    );
    assert_eq!(visitor.get("/console/actors/nothing").await.status, 404);
}

#[tokio::test]
async fn other_projects_see_nothing_and_no_plugins() {
    let (service, site) = (Service::start().await, Site::start().await);
    let owner = Visitor::of(&service).await;
    let run = owner.crawl(&site.url("/article")).await;
    let made = owner.client.clone();
    let other = service.other_project("other").await;
    let key = other.key().expect("a key").to_owned();
    let answer = sign_in(&service, &key).await;
    let cookie = answer
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    for (path, status) in [
        (run.as_str(), 404),
        ("/console/plugins", 403),
        ("/console/usage", 200),
    ] {
        let answer = made
            .send("GET", path, &[HTML, ("cookie", &cookie)], b"")
            .await;
        assert_eq!(answer.status, status, "{path}");
    }
}
