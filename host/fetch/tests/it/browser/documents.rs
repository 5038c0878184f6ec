//! Documents that scripts replace or stop, that forbid scripts, and that hide content in shadow roots.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_fetch::{
    Action, Kind, MayRequest, PictureOptions, RenderExtras, RenderRequest, WaitFor,
};
use orbweaver_origin::{Origin, Reply};
use tokio::time::Instant;

use super::{html, render, renderer};

/// The content, the URL and the response are of one document, also where a script leads to another one
/// whose answer takes longer than scripts have after the load event.
#[tokio::test]
async fn a_document_that_is_replaced_while_it_is_read_is_the_new_one() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/first",
        Reply::html("<p>first</p><script>setTimeout(() => { location.href = '/held/second' }, 150)</script>"),
    );
    let second = Reply {
        status: 404,
        ..Reply::html("<h1>second</h1>")
    };
    origin.set("/held/second", second);
    let renderer = renderer();
    let release = async {
        origin.asked("/held/second", 1).await;
        tokio::time::sleep(Duration::from_millis(6_500)).await;
        origin.release();
    };
    let (rendered, ()) = tokio::join!(render(&renderer, origin.url("/first")), release);
    let rendered = rendered.unwrap();
    assert!(
        html(&rendered).contains("<h1>second</h1>"),
        "{}",
        html(&rendered)
    );
    let response = &rendered.response;
    assert_eq!(response.final_url, origin.url("/held/second"));
    assert_eq!(response.status, 404);
    assert!(!rendered.partial);
}

/// Such a document has no load event.
#[tokio::test]
async fn a_document_that_a_script_stops_while_it_loads_is_there_at_once() {
    let origin = Origin::start().await.unwrap();
    origin.set("/nothing", Reply::new(204, ""));
    let file = Reply::new(200, "PK").header("Content-Type", "application/zip");
    origin.set("/file", file);
    let renderer = renderer();
    for script in [
        "location.href = '/nothing'",
        "location.href = '/file'",
        "location.href = 'mailto:ann@example.com'",
        "location.href = 'app://open'",
        "window.stop()",
    ] {
        origin.set(
            "/",
            Reply::html(format!("<h1>stands</h1><script>{script}</script>")),
        );
        for wait_for in [WaitFor::Load, WaitFor::NetworkIdle] {
            let started = Instant::now();
            let request = RenderRequest {
                wait_for,
                ..RenderRequest::new(origin.url("/"))
            };
            let rendered = renderer.render(request).await.unwrap();
            assert!(html(&rendered).contains("<h1>stands</h1>"), "{script}");
            assert!(!rendered.partial, "{script} {wait_for:?}");
            let took = started.elapsed();
            assert!(took < Duration::from_secs(20), "{script}: {took:?}");
        }
    }
}

/// No timers and observers of ours run in it, either.
#[tokio::test]
async fn a_document_that_forbids_scripts_has_actions_and_screenshots() {
    let origin = Origin::start().await.unwrap();
    let page = Reply::html(
        "<p id=p>static</p><a id=next href=/next>next</a><script>p.textContent = 'ran'</script>",
    );
    origin.set("/", page.header("Content-Security-Policy", "sandbox"));
    origin.set("/next", Reply::html("<h1>next</h1>"));
    let renderer = renderer();
    let request = |extras| RenderRequest {
        picture: true,
        extras: RenderExtras {
            picture: PictureOptions::default(),
            ..extras
        },
        ..RenderRequest::new(origin.url("/"))
    };
    let rendered = renderer
        .render(request(RenderExtras::default()))
        .await
        .unwrap();
    assert!(html(&rendered).contains("static"), "{}", html(&rendered));
    let picture = rendered.picture.unwrap().unwrap();
    assert!(picture.starts_with(b"\x89PNG"));
    let click = |selector: &str| RenderExtras {
        actions: vec![Action::Click {
            selector: selector.to_owned(),
        }],
        ..RenderExtras::default()
    };
    let rendered = renderer.render(request(click("#next"))).await.unwrap();
    assert!(
        html(&rendered).contains("<h1>next</h1>"),
        "{}",
        html(&rendered)
    );
    let error = renderer.render(request(click("#none"))).await.unwrap_err();
    assert!(error.to_string().contains("actions[0].selector"), "{error}");
    let waits = RenderExtras {
        selector: Some("#none".to_owned()),
        ..RenderExtras::default()
    };
    assert!(renderer.render(request(waits)).await.unwrap().partial);
}

#[tokio::test]
async fn content_of_shadow_roots_is_content_of_the_page() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/",
        Reply::html(
            "<x-made>slotted</x-made><x-written><template shadowrootmode=open><p>written</p></template>\
             </x-written><video controls></video><script>customElements.define('x-made',\
             class extends HTMLElement { connectedCallback() {\
             this.attachShadow({mode: 'closed'}).innerHTML = '<h2>made</h2><slot></slot>' } })</script>",
        ),
    );
    let rendered = render(&renderer(), origin.url("/")).await.unwrap();
    let html = html(&rendered);
    for part in [
        "<template shadowrootmode=\"closed\"><h2>made</h2><slot></slot></template>slotted",
        "<template shadowrootmode=\"open\"><p>written</p></template>",
        // Not the browser's own parts of an element.
        "<video controls=\"\"></video>",
    ] {
        assert!(html.contains(part), "{html}");
    }
}

/// Documents of frames are not asked about.
#[tokio::test]
async fn a_document_that_may_not_be_requested_ends_the_render() {
    let origin = Origin::start().await.unwrap();
    let renderer = renderer();
    let page = |lead: &str| Reply::html(format!("<p>first</p>{lead}"));
    let second = Reply::html("<h1>second</h1><iframe src=/no/frame></iframe>");
    origin
        .set("/yes", second)
        .set_under("/no/", |_| Reply::html("<p>not for us"))
        .set("/redirect/no", Reply::redirect(302, "/no/way"));
    for (way, is_allowed) in [
        (page("<script>location.href = '/no/way'</script>"), false),
        (
            page("<meta http-equiv=refresh content='0; url=/no/way'>"),
            false,
        ),
        (
            page("<script>location.href = '/redirect/no'</script>"),
            false,
        ),
        (Reply::redirect(302, "/no/way"), false),
        (page("<script>location.href = '/yes'</script>"), true),
        (Reply::redirect(302, "/yes"), true),
    ] {
        origin.set("/", way);
        let may_request = MayRequest(Arc::new(|url| {
            Box::pin(async move { !url.contains("/no/") })
        }));
        let request = RenderRequest {
            extras: RenderExtras {
                may_request: Some(may_request),
                ..RenderExtras::default()
            },
            ..RenderRequest::new(origin.url("/"))
        };
        match renderer.render(request).await {
            Ok(rendered) => {
                assert!(is_allowed);
                assert!(html(&rendered).contains("<h1>second</h1>"));
                assert_eq!(rendered.response.final_url, origin.url("/yes"));
            }
            Err(error) => {
                assert!(!is_allowed, "{error}");
                assert_eq!(error.kind, Kind::Scope, "{error}");
            }
        }
        assert_eq!(origin.count("/no/way"), 0);
    }
    assert!(origin.count("/no/frame") > 0);
}
