//! A page reaches no address that the guard refuses, whatever it tries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use orbweaver_fetch::{Kind, Renderer};
use orbweaver_origin::{Origin, Reply};
use tokio::net::TcpListener;

use super::{html, render, renderers};

#[tokio::test]
async fn a_navigation_by_script_to_a_private_address_is_refused() {
    let origin = Origin::start().await.unwrap();
    for (browser, renderer) in renderers() {
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
            assert_eq!(error.kind, Kind::Refused, "{browser}, {to}: {error}");
        }
        let error = render(&renderer, "http://169.254.169.254/".to_owned()).await;
        assert_eq!(error.unwrap_err().kind, Kind::Refused, "{browser}");
    }
}

/// Tries every way in which a page can open a connection, to an address that the guard
/// refuses and where a server listens.
#[tokio::test]
async fn nothing_that_a_page_does_reaches_a_refused_address() {
    for (browser, renderer) in renderers() {
        assert_eq!(reached_by_all_ways_out(&renderer).await, 0, "{browser}");
    }
}

/// Number of connections and datagrams that got there.
async fn reached_by_all_ways_out(renderer: &Renderer) -> usize {
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
    // The page stays open until its script is through: its `load` waits for an image.
    let done = async {
        origin.asked("/done", 1).await;
        origin.release();
    };
    let (rendered, ()) = tokio::join!(render(renderer, origin.url("/")), done);
    assert!(html(&rendered.unwrap()).contains("<title>tried everything"));
    listening.abort();
    reached.load(Ordering::SeqCst)
}

/// What outlives a page or leaves it by another way than a request of its own.
#[tokio::test]
async fn workers_downloads_and_other_schemes_reach_no_refused_address() {
    for (browser, renderer) in renderers() {
        assert_eq!(reached_by_the_rest(&renderer).await, 0, "{browser}");
    }
}

/// Number of connections that got there.
async fn reached_by_the_rest(renderer: &Renderer) -> usize {
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
             <a id=save download=x target=_blank href=http://{there}/save>s</a>\
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
    let done = async {
        origin.asked("/done", 1).await;
        origin.release();
    };
    let page = render(renderer, origin.url("/"));
    tokio::pin!(page);
    let rendered = tokio::select! {
        rendered = &mut page => rendered,
        () = done => page.await,
    };
    let html = html(&rendered.unwrap());
    assert!(html.contains("<title>tried the rest"), "{html}");
    listening.abort();
    reached.load(Ordering::SeqCst)
}
