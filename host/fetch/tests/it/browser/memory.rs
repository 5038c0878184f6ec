//! Pages that take the machine's memory or time, and those beside them.

use std::time::Duration;

use orbweaver_core::setting::Millis;
use orbweaver_fetch::{Kind, PictureOptions, RenderExtras, RenderRequest, SubKind};
use orbweaver_origin::{Origin, Reply};

use super::life::{nice_values, processes};
use super::{html, render, renderer, renderer_with};

/// Allocates buffers of so many MiB in all, outside the heap of scripts, and fills them.
fn allocating(mib: u32) -> Reply {
    let script = format!(
        "<p>here<script>const kept = []; (function more() {{\
           const part = new Uint8Array(8 << 20);\
           for (let at = 0; at < part.length; at += 512) part[at] = Math.random() * 255;\
           kept.push(part);\
           if (kept.length * 8 < {mib}) setTimeout(more, 5);\
         }})()</script><img src=/held/never>"
    );
    Reply::html(script)
}

#[tokio::test]
async fn a_page_that_takes_too_much_memory_is_ended_while_it_runs() {
    let origin = Origin::start().await.unwrap();
    origin.set("/greedy", allocating(4_000));
    origin.set("/held/never", Reply::html(""));
    origin.set("/held/other", Reply::html("<p>other"));
    let renderer = renderer_with(|config| {
        config.max_memory_mib = 600;
        config.timeout_ms = Millis(120_000);
    });
    let other = async { render(&renderer, origin.url("/held/other")).await };
    let greedy = async {
        let error = render(&renderer, origin.url("/greedy")).await.unwrap_err();
        let asked = (origin.count("/greedy"), origin.count("/held/other"));
        origin.asked("/held/other", 1).await;
        origin.release();
        (error, asked)
    };
    let (other, (error, (greedy, _))) = tokio::join!(other, greedy);
    assert_eq!(
        (error.kind, error.sub),
        (Kind::TooLarge, Some(SubKind::Memory)),
        "{error}"
    );
    assert!(
        error.message.contains("rendering.max_memory_mib"),
        "{error}"
    );
    assert!(!error.retryable);
    assert_eq!(greedy, 1, "it is not tried again");
    assert!(html(&other.unwrap()).contains("other"));
    assert_eq!(origin.count("/held/other"), 1, "its browser lives on");
}

#[tokio::test]
async fn pages_of_a_browser_that_is_ended_are_rendered_in_their_own() {
    let origin = Origin::start().await.unwrap();
    // Four together are too much, each alone is not.
    origin.set("/large", allocating(112));
    origin.set("/held/never", Reply::html(""));
    let renderer = renderer_with(|config| {
        config.max_memory_mib = 300;
        config.timeout_ms = Millis(120_000);
    });
    let page = || render(&renderer, origin.url("/large"));
    let pages = async { tokio::join!(page(), page(), page(), page()) };
    let tries = async {
        origin.asked("/large", 8).await;
        loop {
            origin.release();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (one, two, three, four) = tokio::select! {
        pages = pages => pages,
        () = tries => unreachable!(),
    };
    for page in [one, two, three, four] {
        assert!(html(&page.unwrap()).contains("here"));
    }
    assert_eq!(origin.count("/large"), 8);
}

#[tokio::test]
async fn a_page_opens_no_others() {
    let origin = Origin::start().await.unwrap();
    origin.set(
        "/",
        Reply::html(
            "<p id=said></p><script>let opened = 0;\
             for (let i = 0; i < 20; i++) if (window.open('/popup?' + i)) opened++;\
             document.getElementById('said').textContent = 'opened ' + opened</script>",
        ),
    );
    origin.set("/popup", Reply::html("<script>for (;;);</script>"));
    let renderer = renderer();
    let rendered = render(&renderer, origin.url("/")).await.unwrap();
    assert!(html(&rendered).contains("opened 0"), "{}", html(&rendered));
    assert_eq!(origin.count("/popup"), 0);
}

#[tokio::test]
async fn a_screenshot_has_a_bounded_number_of_pixels() {
    let origin = Origin::start().await.unwrap();
    let wide = "<div style='width:30000px;height:30000px;background:red'>wide</div>";
    origin.set("/wide", Reply::html(wide));
    let request = RenderRequest {
        picture: true,
        extras: RenderExtras {
            picture: PictureOptions::default(),
            ..RenderExtras::default()
        },
        ..RenderRequest::new(origin.url("/wide"))
    };
    let rendered = renderer().render(request).await.unwrap();
    let picture = rendered.picture.unwrap().unwrap();
    // PNG: width and height are in the first chunk.
    let number = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
    assert_eq!((number(16), number(20)), (4_096, 5_120));
}

#[tokio::test]
async fn a_page_that_computes_for_long_goes_behind_all_others() {
    let origin = Origin::start().await.unwrap();
    origin.set("/busy", Reply::html("<script>for (;;);</script>"));
    let renderer = renderer();
    let request = RenderRequest {
        timeout: Some(Duration::from_secs(120)),
        ..RenderRequest::new(origin.url("/busy"))
    };
    let is_last = async {
        loop {
            if let Some(group) = renderer.process_group().await
                && processes(group)
                    .into_iter()
                    .filter(|(_, line)| line.contains("--type=renderer"))
                    .any(|(pid, _)| nice_values(pid).contains(&19))
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = is_last => {}
        rendered = renderer.render(request) => panic!("{:?}", rendered.map(|page| page.partial)),
    }
}
