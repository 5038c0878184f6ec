//! /v1/cloud/…, without other services: browser, transformation, links, small crawls.

use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Service, Site};

const APP: &str = "<!doctype html><title>App</title><div id=\"root\"></div><script>\
    document.getElementById('root').innerHTML = '<h1>Rendered heading</h1>' +\
    '<p>This text was made by a script, and no plain fetch ever sees it.</p>'</script>";

async fn origin() -> Origin {
    let origin = Origin::start().await.expect("an origin");
    origin.set("/app", Reply::html(APP));
    origin.set(
        "/page",
        Reply::html(
            "<title>Page</title><h1>Plain heading</h1><p>A paragraph of plain text that is long \
             enough to be content, and that a plain fetch sees well, with <a href=/next>a link</a>, \
             <a href=/next>the same</a>, <a href='mailto:a@b.example'>mail</a> and \
             <a href=https://elsewhere.example/x>another</a>. It goes on for another sentence, so \
             that nobody takes it for an empty shell.</p>",
        ),
    );
    origin
}

#[tokio::test]
async fn render_returns_the_page_after_its_scripts_in_every_format() {
    let (service, origin) = (Service::start().await, origin().await);
    let client = service.client();
    let render = async |more: Value| {
        let mut body = json!({"url": origin.url("/app")});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        client.post("/v1/cloud/render", &body).await.ok()
    };
    let raw = render(json!({})).await;
    assert!(
        raw["content"]
            .as_str()
            .unwrap()
            .contains("<h1>Rendered heading</h1>"),
        "{raw}"
    );
    assert_eq!(raw["cost_usd"], 0.0);
    assert!(raw["elapsed_ms"].is_u64());
    let markdown = render(json!({"return_format": "markdown", "wait_for": "networkidle"})).await;
    assert!(
        markdown["content"]
            .as_str()
            .unwrap()
            .contains("# Rendered heading"),
        "{markdown}"
    );
    let text = render(json!({"return_format": "text", "wait_for": "domcontentloaded"})).await;
    let text = text["content"].as_str().unwrap().to_owned();
    assert!(
        text.contains("made by a script") && !text.contains('<'),
        "{text}"
    );
    let png = render(json!({"return_format": "png"})).await;
    assert!(png["content"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    assert_eq!(service.billed().await, (0, 4));
}

#[tokio::test]
async fn an_application_that_fetches_its_data_is_rendered_completely() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let client = service.client();
    origin.set("/robots.txt", Reply::text(""));
    origin.set("/data.json", Reply::text(r#"{"title": "Made of data"}"#));
    origin.set(
        "/spa",
        Reply::html(
            "<!doctype html><title>SPA</title><div id=root></div><script>\
             addEventListener('load', async () => {\
             const data = await (await fetch('/data.json')).json();\
             document.getElementById('root').innerHTML = `<h1>${data.title}</h1>`; })</script>",
        ),
    );
    let url = origin.url("/spa");
    for (path, body) in [
        ("/v1/cloud/render", json!({"url": url})),
        ("/v1/cloud/render", json!({"url": url, "wait_for": "load"})),
        (
            "/v1/cloud/render",
            json!({"url": url, "wait_for": "domcontentloaded"}),
        ),
        (
            "/v1/cloud/render",
            json!({"url": url, "wait_for": "networkidle"}),
        ),
        ("/v1/cloud/scrape", json!({"url": url, "chrome": true})),
        (
            "/v1/cloud/crawl",
            json!({"url": url, "chrome": true, "limit": 1}),
        ),
        ("/v1/scan", json!({"url": url, "cloud_mode": "browser"})),
    ] {
        let answer = client.post(path, &body).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert!(
            answer.text().contains("Made of data"),
            "{body}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn the_screenshot_endpoint_is_deprecated_on_every_answer() {
    let (service, origin) = (Service::start().await, origin().await);
    let body = json!({"url": origin.url("/app")});
    let png = service.client().post("/v1/cloud/screenshot", &body).await;
    assert_eq!(png.status, 200, "{}", png.text());
    assert_eq!(png.header("content-type"), Some("image/png"));
    assert!(png.body.starts_with(b"\x89PNG"));
    let accept = [("accept", "application/json")];
    let json = service
        .client()
        .post_with("/v1/cloud/screenshot", &accept, &body)
        .await;
    assert!(
        json.ok()["content"]
            .as_str()
            .unwrap()
            .starts_with("iVBORw0KGgo")
    );
    for accept in [
        "image/png, application/json;q=0.5",
        "application/json;q=0, */*",
        "*/*",
    ] {
        let picture = service
            .client()
            .post_with("/v1/cloud/screenshot", &[("accept", accept)], &body)
            .await;
        assert_eq!(
            picture.header("content-type"),
            Some("image/png"),
            "{accept}"
        );
    }
    let invalid = service
        .client()
        .post("/v1/cloud/screenshot", &json!({"url": "x"}))
        .await;
    invalid.error(422, "INVALID_INPUT");
    let stranger = service.stranger().post("/v1/cloud/screenshot", &body).await;
    stranger.error(401, "UNAUTHORIZED");
    let misused = service.client().get("/v1/cloud/screenshot").await;
    misused.error(405, "METHOD_NOT_ALLOWED");
    for answer in [&png, &json, &invalid, &stranger, &misused] {
        assert_eq!(answer.header("deprecation"), Some("true"));
        assert_eq!(
            answer.header("link"),
            Some("</v1/cloud/render>; rel=\"successor-version\"")
        );
    }
    assert_eq!(service.billed().await, (0, 5));
}

#[tokio::test]
async fn scrape_uses_the_cheapest_backend_that_succeeds() {
    let (service, origin) = (Service::start().await, origin().await);
    let client = service.client();
    let scrape = async |body: Value| client.post("/v1/cloud/scrape", &body).await.ok();
    let page = scrape(json!({"url": origin.url("/page")})).await;
    assert!(
        page["content"]
            .as_str()
            .unwrap()
            .contains("# Plain heading"),
        "{page}"
    );
    assert_eq!(
        (&page["backend"], &page["status"]),
        (&json!("local"), &json!(200))
    );
    assert_eq!(origin.count("/page"), 1);
    // For an app shell the browser is tried next, which requests the page again.
    let app = scrape(json!({"url": origin.url("/app")})).await;
    assert!(
        app["content"]
            .as_str()
            .unwrap()
            .contains("Rendered heading"),
        "{app}"
    );
    assert_eq!(origin.count("/app"), 2);
    assert_eq!(page["backend_reason"], "local http: good");
    assert_eq!(
        app["backend_reason"],
        "local http: empty shell (root); local browser: good"
    );
    let chrome =
        scrape(json!({"url": origin.url("/app"), "chrome": true, "return_format": "raw"})).await;
    assert!(
        chrome["content"]
            .as_str()
            .unwrap()
            .contains("<h1>Rendered heading</h1>")
    );
    assert_eq!(origin.count("/app"), 3);
    let forced = scrape(
        json!({"url": origin.url("/app"), "force_backend": "local", "return_format": "raw"}),
    )
    .await;
    assert_eq!(forced["content"], APP);
    assert_eq!(forced.get("backend_reason"), None);
    assert_eq!(service.billed().await, (0, 4));
    // Without a response nothing is billed.
    let gone = json!({"url": origin.url("/fault/closed")});
    client
        .post("/v1/cloud/scrape", &gone)
        .await
        .error(502, "FETCH_FAILED");
    assert_eq!(service.billed().await, (0, 4));
}

#[tokio::test]
async fn a_script_that_leads_to_a_private_address_is_422() {
    let (service, origin) = (Service::start().await, origin().await);
    origin.set(
        "/evil",
        Reply::html("<script>location = 'http://169.254.169.254/latest/'</script>"),
    );
    let body = json!({"url": origin.url("/evil")});
    let message = service
        .client()
        .post("/v1/cloud/render", &body)
        .await
        .error(422, "INVALID_INPUT");
    assert!(message.contains("169.254.169.254"), "{message}");
    assert_eq!(service.billed().await, (0, 0));
}

#[tokio::test]
async fn each_link_of_the_page_is_listed_once() {
    let (service, origin) = (Service::start().await, origin().await);
    let body = json!({"url": origin.url("/page")});
    let found = service.client().post("/v1/cloud/links", &body).await.ok();
    assert_eq!(
        found["links"],
        json!([origin.url("/next"), "https://elsewhere.example/x"])
    );
    let one = json!({"url": origin.url("/page"), "limit": 1});
    let found = service.client().post("/v1/cloud/links", &one).await.ok();
    assert_eq!(found["links"].as_array().unwrap().len(), 1);
    assert_eq!(service.billed().await, (0, 2));
}

#[tokio::test]
async fn a_crawl_returns_a_sites_pages_in_one_answer() {
    let (service, origin) = (Service::start().await, Origin::start().await.unwrap());
    let page = |links: &str| {
        Reply::html(format!(
            "<title>P</title><p>{}</p>{links}",
            "Words that make this a page and no shell. ".repeat(8)
        ))
    };
    origin.set(
        "/robots.txt",
        Reply::text("User-agent: *\nDisallow: /secret\n"),
    );
    origin.set(
        "/",
        page("<a href=/a>a</a><a href=/b#x>b</a><a href=/secret>s</a><a href=https://other.example/>o</a>"),
    );
    origin.set("/a", page("<a href=/>home</a><a href=/c>c</a>"));
    // Followed as a crawl's run follows it, which honours nofollow only when asked to.
    origin.set("/b", page("<a href=/gone rel=nofollow>gone</a>"));
    origin.set("/c", page(""));
    origin.set("/secret", page(""));
    let body = json!({"url": origin.url("/"), "return_format": "text"});
    let result = service.client().post("/v1/cloud/crawl", &body).await.ok();
    let items = result["items"].as_array().unwrap();
    let mut found: Vec<(String, u64)> = items
        .iter()
        .map(|item| {
            let url = item["url"].as_str().unwrap().to_owned();
            (url, item["status"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(found[0].0, origin.url("/"), "the first page comes first");
    found.sort();
    let expected = [
        ("/", 200),
        ("/a", 200),
        ("/b#x", 200),
        ("/c", 200),
        ("/gone", 404),
    ];
    assert_eq!(
        found,
        expected.map(|(path, status)| (origin.url(path), status))
    );
    assert!(
        items[0]["content"]
            .as_str()
            .unwrap()
            .starts_with("Words that make")
    );
    assert_eq!(origin.count("/secret"), 0);
    assert_eq!(service.billed().await, (0, 5));
    let two = json!({"url": origin.url("/"), "limit": 2});
    let result = service.client().post("/v1/cloud/crawl", &two).await.ok();
    assert_eq!(result["items"].as_array().unwrap().len(), 2);
    assert_eq!(service.billed().await, (0, 7));
}

#[tokio::test]
async fn redirects_lead_a_crawl_to_no_other_site_no_page_twice_and_nothing_disallowed() {
    let (service, other) = (Service::start().await, Origin::start().await.unwrap());
    let origin = Origin::start().await.unwrap();
    let page = |links: &str| {
        Reply::html(format!(
            "<title>P</title><p>{}</p>{links}",
            "Words that make this a page and no shell. ".repeat(8)
        ))
    };
    other.set("/", page(""));
    origin.set(
        "/robots.txt",
        Reply::text("User-agent: *\nDisallow: /secret\n"),
    );
    let links = ["/a", "/again", "/out", "/hidden"].map(|path| format!("<a href={path}>x</a>"));
    origin.set("/", page(&links.concat()));
    origin.set("/a", page(""));
    origin.set("/secret", page(""));
    origin.set("/again", Reply::redirect(302, "/a"));
    origin.set("/out", Reply::redirect(302, &other.url("/")));
    origin.set("/hidden", Reply::redirect(302, "/secret"));
    let body = json!({"url": origin.url("/"), "return_format": "text"});
    let result = service.client().post("/v1/cloud/crawl", &body).await.ok();
    let items = result["items"].as_array().unwrap();
    let found: Vec<&str> = items
        .iter()
        .map(|item| item["url"].as_str().unwrap())
        .collect();
    assert_eq!(found, [origin.url("/"), origin.url("/a")]);
    assert_eq!(origin.count("/secret"), 0);
    assert_eq!(service.billed().await, (0, 2));
}

#[tokio::test]
async fn html_in_the_request_is_transformed_and_pdf_is_refused() {
    let service = Service::start().await;
    let client = service.client();
    let transform = async |body: Value| client.post("/v1/cloud/transform", &body).await;
    let html = crate::support::site::ARTICLE;
    let main = transform(json!({"data": html})).await.ok();
    let content = main["content"].as_str().unwrap();
    assert!(
        content.contains("bridge thread") && !content.contains("Menu entry"),
        "{content}"
    );
    assert_eq!(main["status"], 200);
    assert_eq!(
        (&main["return_format"], &main["engine"]),
        (&json!("markdown"), &json!("markdown"))
    );
    let whole = transform(json!({"data": html, "readability": false}))
        .await
        .ok();
    assert!(whole["content"].as_str().unwrap().contains("Menu entry"));
    let text = transform(json!({"data": html, "return_format": "text"}))
        .await
        .ok();
    let content = text["content"].as_str().unwrap();
    assert!(
        content.contains("bridge thread") && !content.contains("Menu entry"),
        "{content}"
    );
    assert_eq!(text["engine"], "markdown");
    // The headline is content, whatever the format.
    for (html, plain) in [
        ("<h1>x</h1><p>y</p>", "x\n\ny"),
        ("<h1>Title</h1>", "Title"),
    ] {
        let text = transform(json!({"data": html, "return_format": "text"}));
        let text = text.await.ok();
        assert_eq!(text["content"], plain, "{html}");
        assert_eq!(text["engine"], "markdown", "{html}");
    }
    let raw = transform(json!({"data": html, "return_format": "raw"}))
        .await
        .ok();
    assert_eq!(raw["content"], html);
    assert_eq!(service.billed().await, (0, 6));
    // The text is decoded already, whatever its document once was.
    let legacy = "<meta charset=shift_jis><p>Café – Straße 日本</p>";
    for format in ["markdown", "text", "raw"] {
        let body = json!({"data": legacy, "return_format": format, "readability": false});
        let content = transform(body).await.ok()["content"].to_string();
        assert!(
            content.contains("Café – Straße 日本"),
            "{format}: {content}"
        );
    }
    assert_eq!(service.billed().await, (0, 9));
    for (pdf, rule) in [
        (
            json!({"data": "JVBERi0xLjQK", "input_kind": "pdf_base64"}),
            "input_kind: must be `html`",
        ),
        (json!({"data": "JVBERi0xLjQK"}), "data: PDF is not accepted"),
        (json!({"data": "%PDF-1.7"}), "data: PDF is not accepted"),
    ] {
        let message = transform(pdf).await.error(422, "INVALID_INPUT");
        assert!(message.starts_with(rule), "{message}");
    }
    assert_eq!(service.billed().await, (0, 9));
    for format in ["markdown", "text"] {
        let empty = transform(json!({"data": "<p></p>", "return_format": format}));
        assert_eq!(empty.await.ok()["content"], "", "{format}");
    }
}

#[tokio::test]
async fn unconfigured_backends_name_the_setting_after_validation() {
    let service = Service::with(|config| config.browser = Some("/no/such/browser".into())).await;
    let site = Site::start().await;
    let url = site.url("/article");
    let client = service.client();
    for (path, body, setting) in [
        (
            "scrape",
            json!({"url": url, "force_backend": "vendor"}),
            "cloud.vendor_url",
        ),
        (
            "scrape",
            json!({"url": url, "force_backend": "proxy"}),
            "fetch.proxy_pools.isp",
        ),
        (
            "scrape",
            json!({"url": url, "force_backend": "local", "chrome": true}),
            "--browser",
        ),
        ("render", json!({"url": url}), "--browser"),
        ("screenshot", json!({"url": url}), "--browser"),
        ("unblock", json!({"url": url}), "cloud.vendor_url"),
        (
            "proxy-fetch",
            json!({"url": url, "pool": "mobile"}),
            "fetch.proxy_pools.mobile",
        ),
    ] {
        let answer = client.post(&format!("/v1/cloud/{path}"), &body).await;
        let message = answer.error(501, "NOT_IMPLEMENTED");
        assert!(message.contains(setting), "{path}: {message}");
    }
    for (path, body, field) in [
        (
            "scrape",
            json!({"url": "ftp://a.example/", "force_backend": "vendor"}),
            "url",
        ),
        (
            "scrape",
            json!({"url": url, "proxy_pool": "isp"}),
            "proxy_pool",
        ),
        (
            "scrape",
            json!({"url": url, "force_backend": "proxy", "proxy_country": "Germany"}),
            "proxy_country",
        ),
        (
            "scrape",
            json!({"url": url, "return_format": "pdf"}),
            "return_format",
        ),
        ("render", json!({"url": "http://10.0.0.1/"}), "url"),
        (
            "render",
            json!({"url": url, "wait_for": "forever"}),
            "wait_for",
        ),
        ("screenshot", json!({}), "url"),
        ("unblock", json!({"url": url, "country": "x1"}), "country"),
        ("unblock", json!({"url": url, "country": "QQ"}), "country"),
        (
            "unblock",
            json!({"url": url, "return_format": "commonmark"}),
            "return_format",
        ),
        (
            "transform",
            json!({"data": "<p>x</p>", "return_format": "commonmark"}),
            "return_format",
        ),
        (
            "transform",
            json!({"data": "<p>x</p>", "input_kind": "docx"}),
            "input_kind",
        ),
        ("links", json!({"url": url, "limit": "3"}), "limit"),
        ("links", json!({"url": url, "limit": 1.5}), "limit"),
        ("crawl", json!({"url": url, "limit": 501}), "limit"),
        ("crawl", json!({"url": url, "chrome": "yes"}), "chrome"),
        ("search", json!({"query": "x", "limit": 0}), "limit"),
        (
            "render",
            json!({"url": url, "return_format": "commonmark"}),
            "return_format",
        ),
        (
            "proxy-fetch",
            json!({"url": url, "country": "QQ"}),
            "country",
        ),
        ("proxy-fetch", json!({"url": url, "pool": "home"}), "pool"),
        ("links", json!({"url": url, "limit": 5001}), "limit"),
        ("crawl", json!({"url": url, "limit": 0}), "limit"),
        ("search", json!({"query": " "}), "query"),
        ("search", json!({"query": "x", "num": 51}), "num"),
        ("transform", json!({"return_format": "text"}), "data"),
    ] {
        let answer = client.post(&format!("/v1/cloud/{path}"), &body).await;
        let message = answer.error(422, "INVALID_INPUT");
        assert!(
            message.starts_with(&format!("{field}:")),
            "{path}: {message}"
        );
    }
    let answer = client
        .post("/v1/cloud/links", &json!({"url": url, "limit": "3"}))
        .await;
    assert_eq!(
        answer.error(422, "INVALID_INPUT"),
        "limit: must be a whole number between 1 and 5000, not string \"3\""
    );
    // The limits themselves are accepted.
    for (path, body) in [
        ("links", json!({"url": url, "limit": 5000})),
        ("links", json!({"url": url, "limit": 1.0})),
        ("crawl", json!({"url": url, "limit": 1})),
        ("search", json!({"query": "x", "limit": 50})),
        ("search", json!({"query": "x", "num": 1})),
    ] {
        client.post(&format!("/v1/cloud/{path}"), &body).await.ok();
    }
    let balance = client.get("/v1/cloud/balance").await.ok();
    assert_eq!(balance, json!({"balance_usd": 0.0, "currency": "USD"}));
    let billed = service.billed().await;
    assert_eq!(billed, (0, 3), "links twice and one page of a crawl");
}

#[tokio::test]
async fn a_retry_is_not_billed_twice_and_a_cap_is_429() {
    let service = Service::with(|config| {
        let tier = config.tiers.get_mut("free").expect("a tier");
        tier.cloud_pages_per_day = orbweaver_accounts::tiers::Cap::at(2);
    })
    .await;
    let origin = origin().await;
    let client = service.other_project("small").await;
    let key = [("idempotency-key", "0a4ee89e-9a22-4a3b-9c57-0d2ac1a3f0f1")];
    let body = json!({"url": origin.url("/page")});
    let first = client.post_with("/v1/cloud/scrape", &key, &body).await.ok();
    let again = client.post_with("/v1/cloud/scrape", &key, &body).await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(again.ok(), first);
    assert_eq!(origin.count("/page"), 1);
    client.post("/v1/cloud/links", &body).await.ok();
    let capped = client.post("/v1/cloud/links", &body).await;
    capped.error(429, "RATE_LIMITED");
    assert!(capped.header("retry-after").is_some());
    assert_eq!(
        origin.count("/page"),
        2,
        "nothing is fetched beyond the cap"
    );
}
