//! Rendering in a real browser: results, refusals, and failures that it survives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use orbweaver_core::setting::Millis;
use orbweaver_fetch::{
    BrowserConfig, FetchConfig, FetchError, Kind, RenderRequest, Rendered, Renderer, SubKind,
    WaitFor,
};
use orbweaver_origin::{Origin, Proxy, Reply};
use tokio::net::TcpListener;

use crate::support::{Names, config, with_config, with_names};

/// A renderer whose guard allows 127.0.0.1 and no other loopback address.
fn renderer_with(change: impl FnOnce(&mut BrowserConfig)) -> Renderer {
    let mut browser = BrowserConfig::default();
    change(&mut browser);
    let names = Names::default();
    names.then("a.example", &["127.0.0.1"]);
    names.then("hidden.example", &["10.1.2.3"]);
    let fetch = FetchConfig {
        allow_nets: vec!["127.0.0.1/32".parse().unwrap()],
        ..config()
    };
    Renderer::new(with_names(fetch, names), None, browser)
}

fn renderer() -> Renderer {
    renderer_with(|_| {})
}

async fn render(renderer: &Renderer, url: String) -> Result<Rendered, FetchError> {
    renderer.render(RenderRequest::new(url)).await
}

fn html(rendered: &Rendered) -> String {
    String::from_utf8(rendered.response.body.to_vec()).unwrap()
}

/// The processes of a group, zombies included.
fn processes(group: i32) -> Vec<(i32, String)> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let pid = path.file_name()?.to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(path.join("stat")).ok()?;
            let of: i32 = stat.rsplit_once(") ")?.1.split(' ').nth(2)?.parse().ok()?;
            let line = std::fs::read_to_string(path.join("cmdline")).unwrap_or_default();
            (of == group).then_some((pid, line.replace('\0', " ")))
        })
        .collect()
}

fn kill(pid: i32) {
    let status = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
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
    let loaded = waiting("/app", WaitFor::Load).await.unwrap();
    assert!(html(&loaded).contains("early"), "{}", html(&loaded));
    let idle = waiting("/app", WaitFor::NetworkIdle).await.unwrap();
    assert!(
        html(&idle).contains("late data and late data"),
        "{}",
        html(&idle)
    );
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
    let started = std::time::Instant::now();
    let restless = render(&renderer, origin.url("/restless")).await.unwrap();
    assert!(html(&restless).contains("xxx") && !restless.partial);
    assert!(started.elapsed() < Duration::from_secs(8));
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
async fn a_navigation_by_script_to_a_private_address_is_refused() {
    let origin = Origin::start().await.unwrap();
    let renderer = renderer();
    for (path, to) in [
        ("/a", "http://169.254.169.254/latest/meta-data/".to_owned()),
        ("/b", origin.url_at("hidden.example", "/")),
        ("/c", "https://10.0.0.1/".to_owned()),
    ] {
        origin.set(
            path,
            Reply::html(format!("<script>location.href = '{to}'</script>wait")),
        );
        let error = render(&renderer, origin.url(path)).await.unwrap_err();
        assert_eq!(error.kind, Kind::Refused, "{to}: {error}");
    }
    let error = render(&renderer, "http://169.254.169.254/".to_owned()).await;
    assert_eq!(error.unwrap_err().kind, Kind::Refused);
}

/// Tries every way in which a page can open a connection, to an address that the guard
/// refuses and where a server listens.
#[tokio::test]
async fn nothing_that_a_page_does_reaches_a_refused_address() {
    let origin = Origin::start().await.unwrap();
    let private = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let datagrams = tokio::net::UdpSocket::bind("127.0.0.2:0").await.unwrap();
    let (port, udp) = (
        private.local_addr().unwrap().port(),
        datagrams.local_addr().unwrap().port(),
    );
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    let listening = tokio::spawn(async move {
        let mut bytes = [0; 64];
        loop {
            tokio::select! {
                _ = private.accept() => {}
                _ = datagrams.recv(&mut bytes) => {}
            }
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let there = format!("127.0.0.2:{port}");
    origin.set(
        "/hop",
        Reply::redirect(302, &format!("http://{there}/hopped")),
    );
    origin.set(
        "/worker.js",
        Reply::text(format!(
            "fetch('http://{there}/worker').finally(() => postMessage(1))"
        ))
        .header("Content-Type", "text/javascript"),
    );
    origin.set(
        "/",
        Reply::html(format!(
            "<img src=/held/open><link rel=preconnect href=http://{there}><link rel=dns-prefetch href=//{there}>\
             <link rel=stylesheet href=http://{there}/style.css>\
             <img src=http://{there}/image><img src=/hop><iframe src=http://{there}/frame></iframe>\
             <script src=http://{there}/script.js></script>\
             <script>(async () => {{\
               const quiet = async (f) => {{ try {{ await f() }} catch {{}} }};\
               const socket = (url) => new Promise((done) => {{ const s = new WebSocket(url);\
                 s.onopen = s.onerror = done; }});\
               await quiet(() => fetch('http://{there}/fetch', {{mode: 'no-cors'}}));\
               await quiet(() => fetch('https://{there}/fetch', {{mode: 'no-cors'}}));\
               await quiet(() => socket('ws://{there}/'));\
               await quiet(() => socket('wss://{there}/'));\
               navigator.sendBeacon('http://{there}/beacon', 'x');\
               window.open('http://{there}/popup');\
               new EventSource('http://{there}/events');\
               await quiet(() => new Promise((done) => {{\
                 new Worker('/worker.js').onmessage = done; setTimeout(done, 1000) }}));\
               await quiet(async () => {{ const t = new WebTransport('https://127.0.0.2:{udp}/');\
                 await Promise.race([t.ready, new Promise((done) => setTimeout(done, 500))]) }});\
               await quiet(async () => {{\
                 const c = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.2:{udp}'}},\
                   {{urls: 'turn:127.0.0.2:{port}?transport=tcp', username: 'u', credential: 'c'}}]}});\
                 c.createDataChannel('x'); await c.setLocalDescription(await c.createOffer());\
                 await new Promise((done) => setTimeout(done, 1500)) }});\
               document.title = 'tried everything';\
               fetch('/done')\
             }})()</script>"
        )),
    );
    origin.set("/held/open", Reply::new(404, ""));
    let renderer = renderer();
    // The page stays open until its script is through: its `load` waits for an image.
    let done = async {
        origin.asked("/done", 1).await;
        origin.release();
    };
    let (rendered, ()) = tokio::join!(render(&renderer, origin.url("/")), done);
    assert!(html(&rendered.unwrap()).contains("<title>tried everything"));
    listening.abort();
    assert_eq!(reached.load(Ordering::SeqCst), 0);
}

/// What outlives a page or leaves it by another way than a request of its own.
#[tokio::test]
async fn workers_downloads_and_other_schemes_reach_no_refused_address() {
    let origin = Origin::start().await.unwrap();
    let private = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let there = private.local_addr().unwrap();
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    let listening = tokio::spawn(async move {
        while private.accept().await.is_ok() {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let script = |text: String| Reply::text(text).header("Content-Type", "text/javascript");
    origin.set(
        "/service.js",
        script(format!(
            "const out = () => fetch('http://{there}/service', {{mode: 'no-cors'}}).catch(() => 0);\
             self.addEventListener('install', (e) => e.waitUntil(out()));\
             self.addEventListener('activate', (e) => e.waitUntil(clients.claim().then(out)));"
        )),
    );
    origin.set(
        "/shared.js",
        script(format!(
            "onconnect = (e) => {{ fetch('http://{there}/shared', {{mode: 'no-cors'}}).catch(() => 0)\
             .then(() => e.ports[0].postMessage(1)) }}"
        )),
    );
    origin.set(
        "/",
        Reply::html(format!(
            "<img src=/held/open><link rel=prefetch href=http://{there}/prefetch>\
             <link rel=modulepreload href=http://{there}/module.js><link rel=manifest href=http://{there}/m>\
             <script type=speculationrules>{{\"prerender\": [{{\"urls\": [\"http://{there}/prerender\"]}}],\
             \"prefetch\": [{{\"urls\": [\"http://{there}/speculated\"]}}]}}</script>\
             <style>@import url(http://{there}/import.css); @font-face {{ font-family: f;\
             src: url(http://{there}/font) }} p {{ font-family: f; background: url(http://{there}/bg) }}</style>\
             <p>text<video src=http://{there}/video autoplay></video><object data=http://{there}/object></object>\
             <embed src=http://{there}/embed><iframe src=file:///etc/hostname></iframe>\
             <a id=save download=x href=http://{there}/save>s</a>\
             <a id=ping ping=http://{there}/ping href='#x'>p</a>\
             <form id=form target=_blank method=post action=http://{there}/form><input name=a></form>\
             <script>(async () => {{\
               const quiet = async (f) => {{ try {{ await f() }} catch {{}} }};\
               const soon = (ms) => new Promise((done) => setTimeout(done, ms));\
               await quiet(() => Promise.race([navigator.serviceWorker.register('/service.js')\
                 .then(() => navigator.serviceWorker.ready), soon(2000)]));\
               await quiet(() => new Promise((done) => {{ const w = new SharedWorker('/shared.js');\
                 w.port.onmessage = done; setTimeout(done, 1000) }}));\
               await quiet(() => import('http://{there}/imported.js'));\
               await quiet(() => fetch('http://{there}/late', {{mode: 'no-cors', keepalive: true}}));\
               await quiet(async () => {{ document.title = 'read: ' +\
                 await (await fetch('file:///etc/hostname')).text() }});\
               for (const id of ['save', 'ping']) document.getElementById(id).click();\
               document.getElementById('form').submit();\
               for (const url of ['file:///etc/hostname', 'ftp://{there}/', 'view-source:http://{there}/'])\
                 await quiet(() => window.open(url));\
               await soon(500);\
               if (!document.title.startsWith('read')) document.title = 'tried the rest';\
               fetch('/done')\
             }})()</script>"
        )),
    );
    origin.set("/held/open", Reply::new(404, ""));
    let renderer = renderer();
    let done = async {
        origin.asked("/done", 1).await;
        origin.release();
    };
    let (rendered, ()) = tokio::join!(render(&renderer, origin.url("/")), done);
    let html = html(&rendered.unwrap());
    assert!(html.contains("<title>tried the rest"), "{html}");
    listening.abort();
    assert_eq!(reached.load(Ordering::SeqCst), 0);
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
        timeout: Some(Duration::from_millis(1_500)),
        ..RenderRequest::new(origin.url(path))
    };
    let rendered = renderer.render(request("/endless")).await.unwrap();
    assert!(rendered.partial && html(&rendered).contains("stands"));
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
    let rendered = render(&renderer, origin.url("/fault/endless")).await;
    // Cut off by the filter: the browser either shows the part received or reports an error.
    if let Ok(rendered) = rendered {
        assert!(rendered.response.body.len() < 1 << 20);
    }
}

#[tokio::test]
async fn a_crash_costs_one_retry() {
    let origin = Origin::start().await.unwrap();
    origin.set("/held/page", Reply::html("<p>at last</p>"));
    let renderer = renderer();
    for whole in [false, true] {
        let url = origin.url("/held/page");
        let asked = origin.count("/held/page");
        let crash = async {
            origin.asked("/held/page", asked + 1).await;
            let group = renderer.process_group().await.unwrap();
            let victims: Vec<i32> = processes(group)
                .into_iter()
                .filter(|(pid, line)| {
                    if whole {
                        *pid == group
                    } else {
                        line.contains("--type=renderer")
                    }
                })
                .map(|(pid, _)| pid)
                .collect();
            assert!(!victims.is_empty());
            victims.into_iter().for_each(kill);
            origin.asked("/held/page", asked + 2).await;
            origin.release();
        };
        let (rendered, ()) = tokio::join!(render(&renderer, url), crash);
        assert!(html(&rendered.unwrap()).contains("at last"));
    }
}

#[tokio::test]
async fn a_browser_is_replaced_after_its_uses_and_leaves_nothing() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("fine"));
    let renderer = renderer_with(|config| config.max_uses = 2);
    render(&renderer, origin.url("/")).await.unwrap();
    let first = renderer.process_group().await.unwrap();
    render(&renderer, origin.url("/")).await.unwrap();
    render(&renderer, origin.url("/")).await.unwrap();
    let second = renderer.process_group().await.unwrap();
    assert_ne!(first, second);
    gone(first).await;
    renderer.shutdown().await;
    assert_eq!(processes(second), []);
    let error = render(&renderer, origin.url("/")).await.unwrap_err();
    assert_eq!(error.kind, Kind::Browser);
}

/// Waits for a group's end, which comes with its last page's.
async fn gone(group: i32) {
    let patience = async {
        while !processes(group).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(60), patience).await;
    assert!(ended.is_ok(), "left behind: {:?}", processes(group));
}

#[tokio::test]
async fn dropping_the_pool_ends_the_browser() {
    let origin = Origin::start().await.unwrap();
    origin.set("/", Reply::html("fine"));
    let renderer = renderer();
    render(&renderer, origin.url("/")).await.unwrap();
    let group = renderer.process_group().await.unwrap();
    drop(renderer);
    gone(group).await;
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
    let renderer = renderer();
    for (path, body) in [
        ("/notes", "just <b>text</b>"),
        ("/file", "%PDF-1.4 bytes"),
        ("/save", "to be saved"),
    ] {
        let rendered = render(&renderer, origin.url(path)).await.unwrap();
        assert_eq!(html(&rendered), body);
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
            timeout: Some(Duration::from_millis(500)),
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
