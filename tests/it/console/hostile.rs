//! What strangers' texts may do in the console: nothing. As HTML, and in a real browser.

use futures::StreamExt as _;
use orbweaver_engine::Kind;
use orbweaver_origin::{Origin, Reply};
use orbweaver_store::{
    PluginCall, PluginLine, PluginRecord, RecordBounds, RecordOrigin, StateOwner,
};
use serde_json::{Value, json};

use super::Visitor;
use crate::support::{Client, Service};

/// What a payload does if it runs: it marks the document. It has no quotes, spaces or slashes, so
/// that it works in any place.
const RUN: &str = "document.documentElement.dataset.ran=1";

/// Texts that run a script where they are not escaped; `RUN` stands for it.
const PAYLOADS: [&str; 34] = [
    "<script>RUN</script>",
    "\"><script>RUN</script>",
    "'><script>RUN</script>",
    "</title><script>RUN</script>",
    "</textarea><script>RUN</script>",
    "</code></pre><script>RUN</script>",
    "--><script>RUN</script>",
    "<scr<script>ipt>RUN</script>",
    "<SCRIPT/x>RUN</SCRIPT>",
    "<img src=x onerror=RUN>",
    "<img/src=x/onerror=RUN>",
    "<svg onload=RUN>",
    "<svg><script>RUN</script></svg>",
    "<svg><animate onbegin=RUN attributeName=x dur=1s>",
    "<body onload=RUN>",
    "<iframe srcdoc='<script>parent.RUN</script>'></iframe>",
    "<iframe src=javascript:parent.RUN></iframe>",
    "<details open ontoggle=RUN>x</details>",
    "<input autofocus onfocus=RUN>",
    "<video><source onerror=RUN></video>",
    "<math><mi><style><img src=x onerror=RUN></style></mi></math>",
    "<object data=javascript:RUN></object>",
    "<meta http-equiv=refresh content=0;url=javascript:RUN>",
    "<form action=javascript:RUN><button autofocus onfocus=RUN>x</button></form>",
    "\" autofocus onfocus=RUN x=\"",
    "' autofocus onfocus=RUN x='",
    "javascript:RUN",
    "[x](javascript:RUN)",
    "[x](data:text/html,<script>RUN</script>)",
    "![x](x\" onerror=\"RUN)",
    "<javascript:RUN>",
    "```\n</pre><script>RUN</script>\n```",
    "{{ 7 * 7 }}{% raw %}<script>RUN</script>{% endraw %}",
    "\\u003cscript\\u003eRUN\\u003c/script\\u003e",
];

fn payloads() -> Vec<String> {
    PAYLOADS
        .iter()
        .map(|text| text.replace("RUN", RUN))
        .collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A site with a page for each payload, which has it as text in every place, and as it is.
async fn site() -> Origin {
    let origin = Origin::start().await.expect("a site");
    origin.set("/robots.txt", Reply::text(""));
    let mut links = String::new();
    for (number, payload) in payloads().iter().enumerate() {
        let shown = escaped(payload);
        let page = format!(
            "<title>{shown}</title><meta name=description content=\"{shown}\">\
             <script type=application/ld+json>{}</script>\
             <h1>{shown}</h1><p>{shown} <a href=\"{shown}\">{shown}</a> \
             <a href=\"/?{shown}\">{shown}</a> <a href=\"/fault/closed?{shown}\">{shown}</a></p>\
             <pre>{shown}</pre><table><tr><td>{shown}</td></tr></table>{payload}",
            json!({"@type": "Article", "headline": payload})
                .to_string()
                .replace('<', "\\u003c"),
        );
        let path = format!("/{number}");
        origin.set(&path, Reply::html(page));
        links.push_str(&format!("<a href=\"{path}?{shown}\">{shown}</a> "));
    }
    let home = format!("<title>Home</title>{links}");
    origin.set_under("/", move |request| {
        let path = request.path();
        if path == "/" {
            Reply::html(home.as_str())
        } else {
            Reply::new(404, "")
        }
    });
    origin
}

/// Plugins that log every payload, and fail with it.
async fn records(service: &Service) {
    let administrator = service.app.store.projects().await.expect("projects")[0].id;
    let owner = StateOwner {
        project: administrator,
        own: false,
        kind: Kind::Extractor.as_str().to_owned(),
        name: "metadata".to_owned(),
    };
    let at = service.app.clock.now();
    let origin = RecordOrigin {
        version: "1".to_owned(),
        ..RecordOrigin::default()
    };
    let mut records = Vec::new();
    for payload in payloads() {
        let line = PluginLine {
            at,
            origin: origin.clone(),
            level: "error".to_owned(),
            message: payload.clone(),
        };
        records.push(PluginRecord::Line(owner.clone(), line));
        let call = PluginCall {
            at,
            origin: origin.clone(),
            digest: String::new(),
            input: json!({"kind": "extractor", "role": payload, "page": payload}).to_string(),
            input_digest: String::new(),
            body: None,
            not_replayable: payload.clone(),
            code: "trap".to_owned(),
            message: payload,
            cpu_us: 1,
            wall_us: 1,
            memory: 1,
        };
        records.push(PluginRecord::Call(owner.clone(), Box::new(call)));
    }
    let bounds = RecordBounds {
        lines: 1_000,
        line_bytes: 1 << 20,
        calls: 1_000,
        call_bytes: 1 << 20,
    };
    let saved = service
        .app
        .store
        .save_plugin_records(&records, bounds)
        .await;
    saved.expect("records");
}

/// A page in a real browser, with what is done in it; its HTML after that.
async fn opened(client: &Client, url: &str, cookie: &str, actions: &Value) -> String {
    let body = json!({
        "url": url, "cookies": cookie, "actions": actions,
        "wait_for": {"event": "load", "milliseconds": 50},
    });
    let answer = client.post("/v1/cloud/render", &body).await.ok();
    answer["content"].as_str().expect("HTML").to_owned()
}

fn has_run(html: &str) -> bool {
    html.contains("data-ran=\"1\"")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_payload_runs_in_a_browser() {
    let service = Service::start().await;
    let origin = site().await;
    let client = service.client();
    // A page without our policy runs what the console must not: so the test can fail.
    for number in [0, 9] {
        let html = opened(&client, &origin.url(&format!("/{number}")), "", &json!([])).await;
        assert!(has_run(&html), "{html}");
    }

    let visitor = Visitor::of(&service).await;
    let run = visitor.crawl(&origin.url("/")).await;
    records(&service).await;
    let pages = client.get(&run.replace("/console", "/v1")).await.ok();
    assert!(
        pages["page_count"].as_u64().unwrap() > PAYLOADS.len() as u64,
        "{pages}"
    );
    let list = run.replace("/console", "/v1") + "/pages?limit=1000";
    let list = client.get(&list).await.ok();
    let mut paths: Vec<String> = ["pages", "errors", "links", "graph", "orphans", "deliveries"]
        .map(|view| format!("{run}?view={view}"))
        .into();
    for page in list["items"].as_array().unwrap() {
        let own = page["url"].as_str().unwrap().contains("/?");
        let views: &[&str] = if own { &[] } else { &["markdown", "html"] };
        for view in views {
            paths.push(format!("/console/pages/{}?view={view}", page["id"]));
        }
    }
    paths.push("/console/plugins/extract-metadata".to_owned());
    paths.push("/console/plugins".to_owned());
    paths.push("/console/usage".to_owned());
    let base = format!("http://{}", service.address);
    let looks = paths.iter().map(|path| {
        let (url, cookie, client) = (format!("{base}{path}"), &visitor.cookie, &client);
        async move { (path, opened(client, &url, cookie, &json!([])).await) }
    });
    let seen: Vec<(&String, String)> = futures::stream::iter(looks)
        .buffer_unordered(4)
        .collect()
        .await;
    for (path, html) in &seen {
        assert!(
            html.contains("Sign out"),
            "{path} is not the console: {html}"
        );
        assert!(!has_run(html), "{path}: {html}");
    }
    let log = &seen
        .iter()
        .find(|(path, _)| path.contains("extract-metadata"))
        .unwrap()
        .1;
    assert!(log.contains("&lt;svg onload="), "{log}");

    // The same by hand: a scan of each, and each as what a person enters.
    let by_hand = |field: &str, button: &str, text: &str| {
        json!([
            {"type": "type", "selector": field, "text": text},
            {"type": "click", "selector": button},
            {"type": "wait", "milliseconds": 700},
        ])
    };
    let scans = (0..PAYLOADS.len()).map(|number| {
        let url = origin.url(&format!("/{number}"));
        by_hand("#f-url", "form[action=\"/console/scan\"] button.main", &url)
    });
    let typed = payloads();
    let searches = typed
        .iter()
        .filter(|payload| !payload.contains('\n'))
        .map(|payload| {
            let button = "form[action=\"/console/search\"] button";
            by_hand("input[name=query]", button, payload)
        });
    let looks = scans.chain(searches).map(|actions| {
        let (base, cookie, client) = (&base, &visitor.cookie, &client);
        async move {
            let html = opened(client, base, cookie, &actions).await;
            (actions, html)
        }
    });
    let seen: Vec<(Value, String)> = futures::stream::iter(looks)
        .buffer_unordered(4)
        .collect()
        .await;
    for (actions, html) in &seen {
        let is_there = html.contains("aria-label=\"Result\"") || html.contains("<h1>Search</h1>");
        assert!(is_there, "{actions}: {html}");
        assert!(!has_run(html), "{actions}: {html}");
    }
}

#[tokio::test]
async fn hostile_pages_are_text_wherever_they_are_shown() {
    let service = Service::start().await;
    let origin = Origin::start().await.unwrap();
    let payload = "\"><script>alert(1)</script><img src=x onerror=alert(2)>";
    let shown = payload
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let html = format!(
        "<title>{shown}</title><meta name=description content='{shown}'>\
         <h1>{shown}</h1><p>a <a href='javascript:alert(3)'>script</a> \
         <a href='data:text/html,<script>alert(4)</script>'>data</a> \
         <a href='/b?\"onmouseover=\"alert(5)'>attribute</a></p>\
         <pre>{shown}</pre><svg onload=alert(6)></svg><script>alert(7)</script>"
    );
    origin.set("/", Reply::html(html.as_str()));
    let visitor = Visitor::of(&service).await;
    let run = visitor.crawl(&origin.url("/")).await;
    let pages = visitor.page(&run).await;
    let (_, rest) = pages.split_once("/console/pages/").expect("a page");
    let id = rest.split('"').next().unwrap();
    let mut seen = vec![pages.clone()];
    for view in ["markdown", "source", "article", "html", "signals"] {
        seen.push(
            visitor
                .page(&format!("/console/pages/{id}?view={view}"))
                .await,
        );
    }
    for view in ["errors", "links", "orphans"] {
        seen.push(visitor.page(&format!("{run}?view={view}")).await);
    }
    let url = origin.url("/");
    let scan = [("url", url.as_str()), ("include_links", "true")];
    seen.push(visitor.post("/console/scan", &scan).await.text());
    seen.push(
        visitor
            .post("/console/actors/structured-data", &[("url", &url)])
            .await
            .text(),
    );
    seen.push(
        visitor
            .post("/console/scan", &[("url", payload)])
            .await
            .text(),
    );
    seen.push(
        visitor
            .post("/console/search", &[("query", payload)])
            .await
            .text(),
    );
    seen.push(
        visitor
            .get(&format!("/console/diff?old={}&new=1", "%22%3E%3Cscript%3E"))
            .await
            .text(),
    );
    for html in &seen {
        for tag in [
            "<script>",
            "<img src=x",
            "<svg",
            "href=\"javascript",
            "href=\"data:",
        ] {
            assert!(!html.contains(tag), "{tag}: {html}");
        }
        for piece in html.split('<').skip(1) {
            let tag = piece.split('>').next().unwrap_or_default();
            let outside: String = tag.split('"').step_by(2).collect();
            assert!(!outside.contains(" on"), "{tag}");
        }
    }
}
