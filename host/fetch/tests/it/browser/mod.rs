//! Rendering in a real browser: results, refusals, and failures that it survives.

mod documents;
mod escapes;
mod life;
mod memory;

use std::path::Path;
use std::time::Duration;

use orbweaver_core::setting::Millis;
use orbweaver_fetch::{
    BROWSERS, BrowserConfig, FetchConfig, FetchError, Fetcher, INCOMPLETE, Kind, RenderRequest,
    Rendered, Renderer, SubKind, WaitFor, find_browser,
};
use orbweaver_origin::{Origin, Proxy, Reply};
use tokio::net::TcpListener;

use crate::support::{Names, config, with_config, with_names};

/// A renderer whose guard allows 127.0.0.1 and no other loopback address.
fn renderer_with(change: impl FnOnce(&mut BrowserConfig)) -> Renderer {
    let mut browser = BrowserConfig::default();
    change(&mut browser);
    Renderer::new(fetcher(), None, browser)
}

/// The same with another program as its browser.
fn renderer_of(program: &Path) -> Renderer {
    Renderer::new(fetcher(), Some(program), BrowserConfig::default())
}

fn fetcher() -> Fetcher {
    let names = Names::default();
    names.then("a.example", &["127.0.0.1"]);
    names.then("hidden.example", &["10.1.2.3"]);
    let fetch = FetchConfig {
        allow_nets: vec!["127.0.0.1/32".parse().unwrap()],
        ..config()
    };
    with_names(fetch, names)
}

fn renderer() -> Renderer {
    renderer_with(|_| {})
}

/// One of each installed browser: those with a user interface differ from the preferred one without.
fn renderers() -> Vec<(&'static str, Renderer)> {
    let installed = BROWSERS.into_iter().filter_map(|name| {
        let program = find_browser(Some(Path::new(name)))?;
        Some((name, renderer_of(&program)))
    });
    let renderers: Vec<_> = installed.collect();
    assert!(!renderers.is_empty(), "no browser is installed");
    renderers
}

async fn render(renderer: &Renderer, url: String) -> Result<Rendered, FetchError> {
    renderer.render(RenderRequest::new(url)).await
}

fn html(rendered: &Rendered) -> String {
    String::from_utf8(rendered.response.body.to_vec()).unwrap()
}

#[tokio::test]
async fn scripts_run_and_the_result_has_the_documents_status_and_headers() {
    let origin = Origin::start().await.unwrap();
    origin.set("/start", Reply::redirect(302, "/app"));
    origin.set(
        "/app",
        Reply {
            status: 404,
            ..Reply::html(
                "<!doctype html><title>App</title><div id=root></div>\
                 <script>alert('in the way'); document.getElementById('root').innerHTML =\
                 '<h1>Made by a script é</h1>'; history.pushState({}, '', '/app/view')</script>",
            )
        }
        .header("X-Served-By", "origin"),
    );
    let rendered = render(&renderer(), origin.url("/start")).await.unwrap();
    let html = html(&rendered);
    assert!(html.starts_with("<!DOCTYPE html><html>"), "{html}");
    assert!(html.contains("<h1>Made by a script é</h1>"), "{html}");
    let response = &rendered.response;
    assert_eq!(response.status, 404);
    assert_eq!(response.url, origin.url("/start"));
    assert_eq!(response.final_url, origin.url("/app/view"));
    assert_eq!(response.redirects.len(), 1);
    assert_eq!(response.redirects[0].url, origin.url("/start"));
    assert_eq!(response.headers.get("x-served-by"), Some("origin"));
    assert_eq!(response.content_type(), Some("text/html; charset=utf-8"));
    assert!(response.wire_bytes > 100);
    assert!(!rendered.partial);
}

#[tokio::test]
async fn each_wait_point_sees_its_content() {
    let origin = Origin::start().await.unwrap();
    origin.set("/data", Reply::text("late data"));
    origin.set("/held/image", Reply::new(404, ""));
    origin.set(
        "/app",
        Reply::html(
            "<p id=p>early</p><script>addEventListener('load', () => setTimeout(async () => {\
             const one = await (await fetch('/data?1')).text();\
             await new Promise((done) => setTimeout(done, 300));\
             const two = await (await fetch('/data?2')).text();\
             document.getElementById('p').textContent = one + ' and ' + two; }, 100))</script>",
        ),
    );
    origin.set("/slow", Reply::html("<p>parsed</p><img src=/held/image>"));
    let renderer = renderer();
    let waiting = |path: &str, wait_for| {
        let request = RenderRequest {
            wait_for,
            ..RenderRequest::new(origin.url(path))
        };
        renderer.render(request)
    };
    // An application shows its data only after its load event.
    for wait_for in [
        WaitFor::Load,
        WaitFor::DomContentLoaded,
        WaitFor::NetworkIdle,
    ] {
        let page = waiting("/app", wait_for).await.unwrap();
        assert!(
            html(&page).contains("late data and late data"),
            "{wait_for:?}: {}",
            html(&page)
        );
    }
    // The image never comes, so `load` never fires.
    let parsed = waiting("/slow", WaitFor::DomContentLoaded).await.unwrap();
    assert!(html(&parsed).contains("parsed") && !parsed.partial);
}

#[tokio::test]
async fn every_wait_includes_content_made_from_fetched_data() {
    let origin = Origin::start().await.unwrap();
    origin.set("/data", Reply::text("from the server"));
    origin.set("/held/image", Reply::new(404, ""));
    let app = "<div id=root></div><script type=module>\
               const text = await (await fetch('/data')).text();\
               document.getElementById('root').textContent = 'made ' + text;</script>";
    origin.set("/app", Reply::html(app));
    origin.set("/open", Reply::html(format!("{app}<img src=/held/image>")));
    origin.set(
        "/restless",
        Reply::html(
            "<p id=p></p><script>setInterval(() => p.append('x'), 20);\
             setInterval(() => fetch('/data'), 50)</script>",
        ),
    );
    let renderer = renderer();
    for wait_for in [
        WaitFor::Load,
        WaitFor::DomContentLoaded,
        WaitFor::NetworkIdle,
    ] {
        let request = |path: &str| RenderRequest {
            wait_for,
            ..RenderRequest::new(origin.url(path))
        };
        let rendered = renderer.render(request("/app")).await.unwrap();
        let html = html(&rendered);
        assert!(
            html.contains("made from the server"),
            "{wait_for:?}: {html}"
        );
    }
    let parsed = RenderRequest {
        wait_for: WaitFor::DomContentLoaded,
        ..RenderRequest::new(origin.url("/open"))
    };
    let parsed = renderer.render(parsed).await.unwrap();
    assert!(html(&parsed).contains("made from the server"));
    let restless = render(&renderer, origin.url("/restless")).await.unwrap();
    assert!(html(&restless).contains("xxx") && !restless.partial);
}

#[tokio::test]
async fn pages_share_nothing() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/",
        Reply::html(
            "<script>document.title = document.cookie + localStorage.length;\
                     document.cookie = 'a=1; max-age=1000'; localStorage.b = 2</script>",
        ),
    );
    let renderer = renderer();
    for _ in 0..2 {
        let rendered = render(&renderer, origin.url("/")).await.unwrap();
        assert!(
            html(&rendered).contains("<title>0</title>"),
            "{}",
            html(&rendered)
        );
    }
}

#[tokio::test]
async fn a_page_that_never_ends_is_partial_and_a_busy_one_an_error() {
    let origin = Origin::start().await.unwrap();
    origin.set("/held/never", Reply::html(""));
    origin.set(
        "/endless",
        Reply::html("<p>stands</p><img src=/held/never>"),
    );
    origin.set(
        "/busy",
        Reply::html("<p>stands</p><script>for (;;);</script>"),
    );
    let renderer = renderer();
    let request = |path: &str| RenderRequest {
        timeout: Some(Duration::from_secs(4)),
        ..RenderRequest::new(origin.url(path))
    };
    let rendered = renderer.render(request("/endless")).await.unwrap();
    assert!(rendered.partial && html(&rendered).contains("stands"));
    let said = rendered.response.headers.get(INCOMPLETE);
    assert!(said.unwrap().contains("time for rendering"), "{said:?}");
    let error = renderer.render(request("/busy")).await.unwrap_err();
    assert_eq!(error.kind, Kind::Timeout, "{error}");
    let error = renderer.render(request("/held/never")).await.unwrap_err();
    assert_eq!(
        (error.kind, error.sub.map(SubKind::as_str)),
        (Kind::Timeout, Some("total"))
    );
    // The pool still works.
    origin.set("/", Reply::html("fine"));
    assert!(render(&renderer, origin.url("/")).await.is_ok());
}

#[tokio::test]
async fn a_body_without_end_stops_at_the_limit() {
    let origin = Origin::start().await.unwrap();
    let renderer = renderer_with(|config| config.max_page_bytes = 300_000);
    let error = render(&renderer, origin.url("/fault/endless")).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind, Kind::TooLarge, "{error}");
    // What a page shows besides its document may be cut.
    origin.set(
        "/page",
        Reply::html("<p>stands</p><img src=/fault/endless>"),
    );
    let rendered = render(&renderer, origin.url("/page")).await.unwrap();
    assert!(html(&rendered).contains("stands") && !rendered.partial);
}

#[tokio::test]
async fn a_document_that_breaks_off_is_an_error_at_once() {
    let origin = Origin::start().await.unwrap();
    // Longer than a test may take: the load event of such a document does not come.
    let renderer = renderer_with(|config| config.timeout_ms = Millis(600_000));
    let leading = format!(
        "<script>location = '{}'</script>",
        origin.url("/fault/short")
    );
    origin.set("/leading", Reply::html(leading));
    for path in ["/fault/short", "/fault/cut-chunk", "/leading"] {
        for wait_for in [WaitFor::Load, WaitFor::DomContentLoaded] {
            let request = RenderRequest {
                wait_for,
                ..RenderRequest::new(origin.url(path))
            };
            let error = renderer.render(request).await.unwrap_err();
            assert_eq!(error.kind, Kind::IncompleteBody, "{path}: {error}");
            assert!(error.retryable, "{path}");
        }
    }
}

#[tokio::test]
async fn many_at_once_take_turns() {
    let origin = Origin::start().await.unwrap();
    let renderer = renderer_with(|config| config.concurrent = 2);
    let pages = (0..8).map(|number| {
        let path = format!("/{number}");
        origin.set(
            &path,
            Reply::html(format!(
                "<p id=p></p><script>p.textContent = 'page ' + {number}</script>"
            )),
        );
        let (renderer, url) = (renderer.clone(), origin.url(&path));
        async move { (number, html(&render(&renderer, url).await.unwrap())) }
    });
    for (number, html) in futures::future::join_all(pages).await {
        assert!(html.contains(&format!("page {number}<")), "{html}");
    }
    // A page whose turn does not come in time is refused.
    let full = renderer_with(|config| {
        config.concurrent = 1;
        config.queue_ms = Millis(50);
    });
    origin.set("/held/turn", Reply::html("held"));
    let holding = render(&full, origin.url("/held/turn"));
    let second = async {
        origin.asked("/held/turn", 1).await;
        let refused = render(&full, origin.url("/0")).await.unwrap_err();
        origin.release();
        refused
    };
    let (first, refused) = tokio::join!(holding, second);
    first.unwrap();
    assert_eq!(
        (refused.kind, refused.sub.map(SubKind::as_str)),
        (Kind::Browser, Some("busy"))
    );
}

#[tokio::test]
async fn documents_that_are_not_html_are_returned_unchanged() {
    let origin = Origin::start().await.unwrap();
    origin.set("/notes", Reply::text("just <b>text</b>"));
    origin.set(
        "/file",
        Reply::new(200, "%PDF-1.4 bytes").header("Content-Type", "application/pdf"),
    );
    origin.set(
        "/save",
        Reply::new(200, "to be saved").header("Content-Disposition", "attachment; filename=x.bin"),
    );
    for (browser, renderer) in renderers() {
        for (path, body) in [
            ("/notes", "just <b>text</b>"),
            ("/file", "%PDF-1.4 bytes"),
            ("/save", "to be saved"),
        ] {
            let rendered = render(&renderer, origin.url(path)).await.unwrap();
            assert_eq!(html(&rendered), body, "{browser}");
        }
    }
}

#[tokio::test]
async fn failures_have_the_same_kind_as_those_of_a_fetch() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/to-nowhere",
        Reply::html(format!("<script>location = 'http://{closed}/'</script>")),
    );
    let renderer = renderer();
    let kind = async |url: String| render(&renderer, url).await.unwrap_err().kind;
    assert_eq!(kind(format!("http://{closed}/")).await, Kind::Connect);
    assert_eq!(kind(format!("https://{closed}/")).await, Kind::Connect);
    assert_eq!(kind(origin.url("/to-nowhere")).await, Kind::Connect);
    assert_eq!(kind("http://absent.example/".to_owned()).await, Kind::Dns);
}

/// Fault 16.
#[tokio::test]
async fn a_refresh_without_delay_is_followed() {
    let origin = Origin::start().await.unwrap();
    let meta =
        |content: &str| Reply::html(format!("<meta http-equiv=refresh content='{content}'>"));
    origin
        .set("/meta", meta("0; url=/next"))
        .set(
            "/header",
            Reply::html("<p>wait").header("Refresh", "0; /meta"),
        )
        .set("/later", meta("60; url=/next"))
        .set("/next", Reply::html("<p>landed"));
    let renderer = renderer();
    // The page may be read at the moment at which it leads on.
    for _ in 0..5 {
        for (path, landed) in [
            ("/meta", "/next"),
            ("/header", "/next"),
            ("/later", "/later"),
        ] {
            let rendered = render(&renderer, origin.url(path)).await.unwrap();
            assert_eq!(rendered.response.final_url, origin.url(landed), "{path}");
        }
    }
}

#[tokio::test]
async fn a_page_uses_the_requested_proxy() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("<img src=/image>through"));
    origin.set("/image", Reply::new(200, ""));
    let renderer = Renderer::new(with_config(config()), None, BrowserConfig::default());
    for proxy in [
        Proxy::http(origin.address()).await.unwrap(),
        Proxy::socks5(origin.address()).await.unwrap(),
    ] {
        let request = |proxy: &str| RenderRequest {
            proxy: Some(proxy.parse().unwrap()),
            ..RenderRequest::new(origin.url_at("a.example", "/"))
        };
        let rendered = renderer.render(request(&proxy.url())).await.unwrap();
        assert!(html(&rendered).contains("through"));
        assert!(!proxy.asked().is_empty());
        let wrong = proxy.url_with("customer", "wrong");
        let error = renderer.render(request(&wrong)).await.unwrap_err();
        assert_eq!(
            (error.kind, error.sub.map(SubKind::as_str)),
            (Kind::Proxy, Some("auth")),
            "{error}"
        );
        // The page's tunnels too: the secure site does not exist, but the proxy sees the request.
        let before = proxy.asked().len();
        let secure = RenderRequest {
            url: origin.url_at("a.example", "/").replace("http:", "https:"),
            timeout: Some(Duration::from_secs(5)),
            ..request(&proxy.url())
        };
        renderer.render(secure).await.unwrap_err();
        assert!(proxy.asked().len() > before);
    }
}

#[tokio::test]
async fn a_screenshot_has_the_whole_page_with_lazily_loaded_images() {
    let origin = Origin::start().await.unwrap();
    let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='200' height='100'>\
               <rect width='200' height='100' fill='#c00'/></svg>";
    origin.set(
        "/red.svg",
        Reply::new(200, svg).header("Content-Type", "image/svg+xml"),
    );
    origin.set(
        "/",
        Reply::html(
            "<body style='margin:0;background:#fff'><h1>Top</h1><div style='height:5000px'></div>\
             <img loading=lazy src=/red.svg width=200 height=100 style='display:block'>\
             <p id=end>not seen</p><script>new IntersectionObserver((seen) => { if (seen[0].isIntersecting)\
             document.getElementById('end').textContent = 'the end was seen' }).observe(\
             document.getElementById('end'))</script>",
        ),
    );
    let request = RenderRequest {
        picture: true,
        ..RenderRequest::new(origin.url("/"))
    };
    let rendered = renderer().render(request).await.unwrap();
    let png = rendered.picture.unwrap().unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    let (width, height) = (number(16), number(20));
    assert!(width >= 1_200 && height > 5_100, "{width} x {height}");
    assert_eq!(origin.count("/red.svg"), 1, "the lazy image was asked for");
    if let Some(path) = std::env::var_os("ORBWEAVER_KEEP_PNG") {
        std::fs::write(path, &png).unwrap();
    }
}

#[tokio::test]
async fn text_that_is_no_html_has_the_bytes_of_the_response() {
    let origin = Origin::start().await.unwrap();
    let cases: [(&str, &[u8], &str); 6] = [
        ("/utf8", "caf\u{e9}".as_bytes(), "text/plain"),
        (
            "/named",
            "caf\u{e9}".as_bytes(),
            "text/plain; charset=utf-8",
        ),
        (
            "/cyrillic",
            b"\xef\xf0\xe8\xe2\xe5\xf2",
            "text/plain; charset=windows-1251",
        ),
        ("/json", "{\"a\":\"\u{e9}\"}".as_bytes(), "application/json"),
        (
            "/feed",
            b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><rss><a>\xe9</a></rss>",
            "text/xml",
        ),
        (
            "/xml",
            "<?xml version=\"1.0\"?><rss><a>\u{e9}</a></rss>".as_bytes(),
            "text/xml",
        ),
    ];
    let renderer = renderer();
    for (path, body, content_type) in cases {
        let reply = Reply::new(200, body).header("content-type", content_type);
        origin.set(path, reply);
        let rendered = render(&renderer, origin.url(path)).await.unwrap();
        let got = &rendered.response.body;
        assert_eq!(&got[..], body, "{path}: {}", String::from_utf8_lossy(got));
    }
}

#[tokio::test]
async fn cookies_that_the_browser_refuses_are_left_out() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("<p>here"));
    let mut request = RenderRequest::new(origin.url("/"));
    let large = "x".repeat(5_000);
    request.extras.cookies = Some(format!("__Secure-a=1; b=2; c={large}"));
    renderer().render(request).await.unwrap();
    let asked = origin.requests();
    let asked = asked.iter().find(|asked| asked.path() == "/").unwrap();
    assert_eq!(asked.header("cookie"), Some("b=2"));
}

#[tokio::test]
async fn a_page_has_a_bounded_amount_of_uploads_under_way() {
    let origin = Origin::start().await.unwrap();
    // Three bodies of 7 MiB at once: the service holds two, and refuses the third.
    origin.set(
        "/",
        Reply::html(
            "<script>const body = new Blob([new Uint8Array(7 << 20)]);\
             for (let n = 0; n < 3; n++) fetch('/held/' + n, {method: 'POST', body})\
               .then(answer => { if (answer.status == 502) document.body.id = 'refused' })\
             </script><body>",
        ),
    );
    let mut request = RenderRequest::new(origin.url("/"));
    request.extras.selector = Some("#refused".to_owned());
    let rendered = renderer().render(request).await.unwrap();
    let shown = html(&rendered);
    assert!(
        !rendered.partial && shown.contains("id=\"refused\""),
        "{shown}"
    );
    origin.release();
}
