//! Pages with a browser: waits, headers, cookies, actions, sessions and screenshots, in scans,
//! crawls and renders.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orbweaver_core::ids::RunId;
use orbweaver_origin::{Origin, Reply};
use serde_json::{Value, json};

use crate::support::{Service, runs};

/// A form whose answer a script shows later, a list that grows when it is scrolled, and a link.
const FORM: &str = r#"<!doctype html><title>Form</title><style>
  @media (prefers-color-scheme: dark) { h1::after { content: "" } }</style>
<h1>Form</h1><input id=name><button id=send>Send</button><p id=said></p>
<button id=hidden style="display:none">No</button><div style="height:4000px"></div>
<p id=end></p><a id=on href=/two>On</a><script>
const said = document.getElementById('said'), name = document.getElementById('name');
const tell = (how) => setTimeout(() => { said.textContent = how + ' ' + name.value; }, 300);
document.getElementById('send').onclick = (event) => tell(event.isTrusted ? 'clicked' : 'faked');
name.onkeydown = (event) => { if (event.key === 'Enter') tell('entered'); };
addEventListener('scroll', () => { document.getElementById('end').textContent = 'scrolled'; });
document.title = matchMedia('(prefers-color-scheme: dark)').matches ? 'Dark ' + innerWidth : 'Light';
</script>"#;

async fn site() -> Origin {
    let origin = Origin::start().await.expect("a site");
    origin
        .set("/robots.txt", Reply::text(""))
        .set("/llms.txt", Reply::new(404, ""))
        .set("/llms-full.txt", Reply::new(404, ""))
        .set("/form", Reply::html(FORM))
        .set(
            "/two",
            Reply::html("<title>Two</title><h1>Second page</h1>"),
        )
        .set_under("/echo", |request| {
            let header = |name: &str| request.header(name).unwrap_or("none").to_owned();
            Reply::html(format!(
                "<title>Echo</title><p id=key>{}</p><p id=cookie>{}</p>",
                header("x-key"),
                header("cookie")
            ))
        })
        .set_under("/login", |_| {
            Reply::html("<title>Login</title><p>welcome</p>")
                .header("Set-Cookie", "sid=s1; Path=/; HttpOnly; Max-Age=600")
        });
    origin
}

fn scan(origin: &Origin, path: &str, more: Value) -> Value {
    let mut body = json!({"url": origin.url(path), "cloud_mode": "browser"});
    body.as_object_mut()
        .expect("an object")
        .extend(more.as_object().expect("an object").clone());
    body
}

fn markdown(answer: &Value) -> &str {
    answer["markdown"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test]
async fn actions_use_a_real_mouse_and_keyboard() {
    let service = Service::start().await;
    let client = service.client();
    let origin = site().await;
    let actions = json!([
        {"type": "type", "selector": "#name", "text": "Ann"},
        {"type": "click", "selector": "#send"},
        {"type": "wait", "milliseconds": 500},
        {"type": "scroll", "direction": "bottom"},
    ]);
    let body = scan(&origin, "/form", json!({"actions": actions}));
    let answer = client.post("/v1/scan", &body).await.ok();
    assert!(markdown(&answer).contains("clicked Ann"), "{answer}");
    assert!(markdown(&answer).contains("scrolled"), "{answer}");
    assert_eq!(answer["cloud_mode"], "browser");
    // `auto` renders at once, although the page would do without.
    let actions = json!([
        {"type": "type", "selector": "#name", "text": "Bo"},
        {"type": "press", "key": "Enter"},
        {"type": "wait", "selector": "#said"},
    ]);
    let body = scan(
        &origin,
        "/form",
        json!({"cloud_mode": "auto", "actions": actions}),
    );
    let answer = client.post("/v1/scan", &body).await.ok();
    assert!(markdown(&answer).contains("entered Bo"), "{answer}");
    // A click that leads to another page: the answer is that page.
    let body = json!({"url": origin.url("/form"), "return_format": "markdown",
        "actions": [{"type": "click", "selector": "#on"}]});
    let answer = client.post("/v1/cloud/render", &body).await.ok();
    assert!(
        answer["content"]
            .as_str()
            .expect("text")
            .contains("Second page"),
        "{answer}"
    );
}

#[tokio::test]
async fn an_action_that_fails_is_named_by_its_index() {
    let service = Service::start().await;
    let client = service.client();
    let origin = site().await;
    let scroll = json!({"type": "scroll"});
    for (action, expected) in [
        (
            json!({"type": "click", "selector": "#missing"}),
            "actions[1].selector: matches no element of the page within 10 seconds",
        ),
        (
            json!({"type": "click", "selector": "p:nope("}),
            "actions[1].selector: is not a valid CSS selector",
        ),
        (
            json!({"type": "press", "key": "F1"}),
            "actions[1].key: must be one of Enter",
        ),
    ] {
        let body = scan(&origin, "/form", json!({"actions": [scroll, action]}));
        let said = client
            .post("/v1/scan", &body)
            .await
            .error(422, "INVALID_INPUT");
        assert!(said.starts_with(expected), "{said}");
    }
    let body = scan(
        &origin,
        "/form",
        json!({"actions": [{"type": "evaluate", "script": "1"}]}),
    );
    let said = client
        .post("/v1/scan", &body)
        .await
        .error(422, "INVALID_INPUT");
    assert!(said.contains("evaluate"), "{said}");
    // In a crawl the URL is among the errors, with the action.
    let body = json!({"url": origin.url("/form"), "render": "always", "max_pages": 1,
        "actions": [{"type": "click", "selector": "#hidden"}]});
    let created = client.post("/v1/crawls", &body).await;
    assert_eq!(created.status, 202, "{}", created.text());
    let run = RunId(created.json()["id"].as_i64().expect("an id"));
    runs::ended(&service, run).await;
    let errors = client.get(&format!("/v1/crawls/{run}/errors")).await.ok();
    let said = errors["items"][0]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("{errors}"));
    assert!(
        said.starts_with("actions[0].selector: matches only an element that is not visible"),
        "{said}"
    );
}

#[tokio::test]
async fn a_page_without_a_browser_takes_no_such_fields() {
    let service = Service::start().await;
    let client = service.client();
    let origin = site().await;
    for (field, value) in [
        ("wait_for", json!("load")),
        ("headers", json!({"x-key": "k"})),
        ("cookies", json!("a=b")),
        ("actions", json!([{"type": "scroll"}])),
        ("session", json!("one")),
    ] {
        let body = scan(
            &origin,
            "/form",
            json!({"cloud_mode": "none", field: value}),
        );
        let said = client
            .post("/v1/scan", &body)
            .await
            .error(422, "INVALID_INPUT");
        assert_eq!(
            said,
            format!("{field}: needs a browser: set cloud_mode to browser or auto")
        );
        if matches!(field, "wait_for" | "actions" | "session") {
            let body = json!({"url": origin.url("/form"), field: value});
            let said = client
                .post("/v1/crawls", &body)
                .await
                .error(422, "INVALID_INPUT");
            assert_eq!(
                said,
                format!("{field}: needs a browser: set render to auto or always")
            );
        }
    }
    let body = json!({"url": origin.url("/form"), "render": "always",
        "actions": [{"type": "screenshot"}]});
    let said = client
        .post("/v1/crawls", &body)
        .await
        .error(422, "INVALID_INPUT");
    assert_eq!(said, "actions[0].type: a crawl takes no screenshots");
    let body = scan(&origin, "/form", json!({"session": "a b"}));
    let said = client
        .post("/v1/scan", &body)
        .await
        .error(422, "INVALID_INPUT");
    assert!(
        said.starts_with("session: must be 1 to 64 letters"),
        "{said}"
    );
    assert_eq!(origin.requests().len(), 0);
}

#[tokio::test]
async fn headers_and_cookies_reach_the_page_and_sessions_keep_cookies() {
    let service = Service::start().await;
    let client = service.client();
    let origin = site().await;
    let more = json!({"headers": {"X-Key": "k1", "Cookie": "c=d"}, "cookies": "a=b"});
    let answer = client
        .post("/v1/scan", &scan(&origin, "/echo", more))
        .await
        .ok();
    for sent in ["k1", "a=b", "c=d"] {
        assert!(markdown(&answer).contains(sent), "{sent}: {answer}");
    }
    // The cookie that one page sets is sent by the next of the session, and by no other.
    let login = scan(&origin, "/login", json!({"session": "ann"}));
    client.post("/v1/scan", &login).await.ok();
    for (session, sees) in [(Some("ann"), true), (Some("bo"), false), (None, false)] {
        let more = session.map_or(json!({}), |name| json!({"session": name}));
        let answer = client
            .post("/v1/scan", &scan(&origin, "/echo", more))
            .await
            .ok();
        assert_eq!(
            markdown(&answer).contains("sid=s1"),
            sees,
            "{session:?} {answer}"
        );
    }
    let body = json!({"url": origin.url("/echo"), "return_format": "text", "session": "ann"});
    let answer = client.post("/v1/cloud/render", &body).await.ok();
    assert!(
        answer["content"].as_str().expect("text").contains("sid=s1"),
        "{answer}"
    );
    // Another project has sessions of its own.
    let other = service.other_project("other").await;
    let answer = other
        .post(
            "/v1/scan",
            &scan(&origin, "/echo", json!({"session": "ann"})),
        )
        .await
        .ok();
    assert!(!markdown(&answer).contains("sid=s1"), "{answer}");
}

#[tokio::test]
async fn headers_of_a_rendered_page_reach_no_other_origin() {
    let service = Service::start().await;
    let client = service.client();
    let (origin, other) = (site().await, site().await);
    let away = other.url("/echo");
    origin.set("/away", Reply::redirect(302, &away));
    let script = format!("<title>Away</title><script>location.href = '{away}'</script>");
    origin.set("/script", Reply::html(script));
    let image = format!("<title>Image</title><img src={away}><h1>Image</h1>");
    origin.set("/image", Reply::html(image));
    for path in ["/away", "/script", "/image"] {
        let more = json!({"headers": {"X-Key": "k1"}, "cookies": "a=b", "wait_for": "networkidle"});
        let body = scan(&origin, path, more);
        client.post("/v1/scan", &body).await.ok();
        let sent = origin.requests();
        let sent = sent.iter().find(|request| request.path() == path);
        assert_eq!(sent.expect("a request").header("x-key"), Some("k1"));
    }
    assert!(other.count("/echo") >= 3);
    for request in other.requests() {
        // Cookies are of a host, whatever its port; the header is of an origin.
        assert_eq!(request.header("x-key"), None, "{}", request.path());
    }
}

#[tokio::test]
async fn a_download_is_asked_for_like_the_page() {
    let service = Service::start().await;
    let client = service.client();
    let origin = site().await;
    origin.set_under("/report", |request| {
        let header = |name: &str| request.header(name).unwrap_or("none").to_owned();
        let text = format!("<p>key {} cookie {}", header("x-key"), header("cookie"));
        Reply::html(text).header("Content-Disposition", "attachment; filename=report.html")
    });
    let login = scan(&origin, "/login", json!({"session": "ann"}));
    client.post("/v1/scan", &login).await.ok();
    let more = json!({"headers": {"X-Key": "k1", "Cookie": "c=d"}, "cookies": "a=b",
        "session": "ann"});
    let body = scan(&origin, "/report", more);
    let answer = client.post("/v1/scan", &body).await.ok();
    for sent in ["key k1", "a=b", "c=d", "sid=s1"] {
        assert!(markdown(&answer).contains(sent), "{sent}: {answer}");
    }
}

#[tokio::test]
async fn a_page_is_kept_for_requests_that_render_it_alike() {
    let service = Service::start().await;
    let client = service.client();
    let origin = site().await;
    let hour = json!({"max_age_seconds": 3_600});
    let keyed = json!({"max_age_seconds": 3_600, "headers": {"x-key": "secret"}});
    let first = client
        .post("/v1/scan", &scan(&origin, "/echo", keyed.clone()))
        .await
        .ok();
    assert!(markdown(&first).contains("secret"), "{first}");
    let plain = client
        .post("/v1/scan", &scan(&origin, "/echo", hour))
        .await
        .ok();
    assert!(!markdown(&plain).contains("secret"), "{plain}");
    let before = origin.count("/echo");
    let again = client
        .post("/v1/scan", &scan(&origin, "/echo", keyed))
        .await
        .ok();
    assert!(markdown(&again).contains("secret"), "{again}");
    assert_eq!(origin.count("/echo"), before);
    // Window and colours count, too, but not what only the picture's file is like.
    let window = json!({"viewport": {"width": 640, "height": 480}, "dark_mode": true});
    let mut file = window.clone();
    file["format"] = json!("jpeg");
    for (screenshot, title, fetches) in [
        (Some(window.clone()), "Dark 640", 1),
        (None, "Light", 1),
        // The picture is taken anew.
        (Some(file), "Dark 640", 1),
        (None, "Light", 0),
    ] {
        let mut body = scan(&origin, "/form", json!({"max_age_seconds": 3_600}));
        if let Some(options) = screenshot {
            body["screenshot"] = options;
        }
        let before = origin.count("/form");
        let answer = client.post("/v1/scan", &body).await.ok();
        assert_eq!(answer["metadata"]["title"], title, "{body}");
        assert_eq!(origin.count("/form") - before, fetches, "{body}");
    }
}

#[tokio::test]
async fn a_crawled_page_answers_scans_that_ask_for_it_alike() {
    let service = Service::start().await;
    let client = service.client();
    let origin = site().await;
    let answers = async |crawl: &Value, scan: &Value| {
        let mut body = json!({"max_pages": 1, "delay_ms": 0});
        let fields = crawl.as_object().expect("an object").clone();
        body.as_object_mut().expect("an object").extend(fields);
        runs::crawled(&client, &body).await;
        let before = origin.requests().len();
        let mut body = json!({"max_age_seconds": 600});
        let fields = scan.as_object().expect("an object").clone();
        body.as_object_mut().expect("an object").extend(fields);
        client.post("/v1/scan", &body).await.ok();
        service.clock.advance(chrono::TimeDelta::seconds(601));
        let requests = origin.requests();
        let pages = requests[before..].iter();
        let mut pages = pages.filter(|request| !request.path().ends_with(".txt"));
        pages.next().is_none()
    };
    let form = origin.url("/form");
    let rendered = |more: Value| {
        let mut body = json!({"url": form, "render": "always"});
        let fields = more.as_object().expect("an object").clone();
        body.as_object_mut().expect("an object").extend(fields);
        body
    };
    let plain = scan(&origin, "/form", json!({}));
    assert!(answers(&rendered(json!({})), &plain).await);
    for more in [
        json!({"session": "ann"}),
        json!({"actions": [{"type": "scroll"}]}),
        json!({"wait_for": "networkidle"}),
    ] {
        let crawl = rendered(more.clone());
        assert!(!answers(&crawl, &plain).await, "{more}");
        let alike = scan(&origin, "/form", more.clone());
        assert!(answers(&crawl, &alike).await, "{more}");
    }
    // A crawl takes URLs that differ in such parameters for one page; a scan asks for just its own.
    for query in ["?sid=7", "?utm_source=letter&utm_medium=mail"] {
        let crawl = json!({"url": format!("{form}{query}")});
        assert!(!answers(&crawl, &json!({"url": form})).await, "{query}");
    }
    let crawl = json!({"url": format!("{form}?b=1&a=2")});
    assert!(answers(&crawl, &crawl).await);
}

#[tokio::test]
async fn no_request_of_a_scan_names_the_crawler() {
    let service = Service::start().await;
    let origin = site().await;
    let body = json!({"url": origin.url("/two"), "user_agent": "Orbweaver/9.9",
        "screenshot_inline": true});
    let answer = service.client().post("/v1/scan", &body).await.ok();
    assert!(answer["screenshot"].is_string(), "{answer}");
    let requests = origin.requests();
    let agents: Vec<&str> = requests
        .iter()
        .filter(|request| request.path() == "/two")
        .filter_map(|request| request.header("user-agent"))
        .collect();
    // The page, and the page for its picture.
    assert_eq!(agents.len(), 2);
    assert!(
        agents.iter().all(|agent| agent.starts_with("Mozilla/5.0")),
        "{agents:?}"
    );
}

/// Width and height in the header of a PNG.
fn size(png: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

fn decoded(text: &Value) -> Vec<u8> {
    STANDARD
        .decode(text.as_str().expect("base64"))
        .expect("base64")
}

#[tokio::test]
async fn screenshots_have_options() {
    let service = Service::start().await;
    let client = service.client();
    let origin = site().await;
    let window = json!({"viewport": {"width": 640, "height": 480}});
    let with = |more: Value| {
        let mut options = window.clone();
        options
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("one").clone());
        scan(&origin, "/form", json!({"screenshot": options}))
    };
    let answer = client
        .post(
            "/v1/scan",
            &with(json!({"full_page": false, "dark_mode": true})),
        )
        .await
        .ok();
    assert_eq!(size(&decoded(&answer["screenshot"])), (640, 480));
    assert_eq!(
        answer["metadata"]["title"], "Dark 640",
        "{}",
        answer["metadata"]
    );
    let answer = client.post("/v1/scan", &with(json!({}))).await.ok();
    let (width, height) = size(&decoded(&answer["screenshot"]));
    assert!(width == 640 && height > 4_000, "{width} x {height}");
    let answer = client
        .post("/v1/scan", &with(json!({"selector": "#send"})))
        .await
        .ok();
    let (width, height) = size(&decoded(&answer["screenshot"]));
    assert!(width < 200 && height < 60, "{width} x {height}");
    let answer = client
        .post("/v1/scan", &with(json!({"selector": "#missing"})))
        .await
        .ok();
    assert_eq!(answer["screenshot"], Value::Null);
    let said = answer["screenshot_error"].as_str().expect("why");
    assert!(
        said.starts_with("screenshot.selector: matches no visible element"),
        "{said}"
    );
    let billed = service.billed().await;
    let body = json!({"url": origin.url("/two"), "return_format": "png",
        "screenshot": {"selector": "#missing"}});
    let said = client.post("/v1/cloud/render", &body).await;
    let said = said.error(422, "INVALID_INPUT");
    assert!(said.starts_with("screenshot.selector: "), "{said}");
    assert_eq!(service.billed().await, billed);
    for (format, start) in [("jpeg", &b"\xff\xd8\xff"[..]), ("webp", b"RIFF")] {
        let body = json!({"url": origin.url("/two"), "return_format": "png",
            "screenshot": {"format": format, "quality": 50}});
        let answer = client.post("/v1/cloud/render", &body).await.ok();
        assert!(decoded(&answer["content"]).starts_with(start), "{format}");
    }
    // Those of actions are beside it, in their order.
    let shot = json!({"type": "screenshot"});
    let actions = json!([shot, {"type": "click", "selector": "#on"}, shot]);
    let body = scan(
        &origin,
        "/form",
        json!({"actions": actions, "screenshot": {"full_page": false}}),
    );
    let answer = client.post("/v1/scan", &body).await.ok();
    let shots = answer["screenshots"].as_array().expect("screenshots");
    assert_eq!(shots.len(), 2);
    assert_ne!(shots[0], shots[1]);
    assert_eq!(answer["final_url"], origin.url("/two"));
}
