//! Clients that do their worst, each with an ordinary key or none.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{Ask, Whereabouts, connect};
use super::load::Dice;

/// What a hostile client does again and again: the rows of the list in docs/security.md.
pub(super) const ATTACKS: [&str; 12] = [
    "silent connections",
    "slow heads and bodies",
    "many answers begun and left",
    "patterns",
    "quadratic text",
    "nested pages",
    "long base, many links",
    "robots.txt by many agents",
    "guessed keys",
    "long paths",
    "slow crawls",
    "endless sitemaps",
];

/// The path of the page whose crawls never end.
const SLOW: &str = "/slow";

/// Gives the calling thread little of the processors while the service wants them: hostile clients and
/// their site have machines of their own. What they cost the service is measured, not what they cost
/// the machine.
pub(super) fn step_back() {
    // A failure makes the measured times longer, not shorter.
    let _ = rustix::process::setpriority_process(None, 15);
}

/// Attacks until told to stop.
pub(super) fn attack(
    what: usize,
    key: &str,
    hostile_site: &str,
    at: &Whereabouts,
    stop: &AtomicBool,
) {
    step_back();
    let mut dice = Dice::new(what as u64 + 77);
    let mut held = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let Some(address) = at.get() else {
            std::thread::sleep(Duration::from_millis(200));
            continue;
        };
        // Every attack may be refused, and connections may break: that is what is wanted.
        let done = once(
            what % ATTACKS.len(),
            key,
            hostile_site,
            address,
            &mut dice,
            &mut held,
        );
        if done.is_err() {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    end_runs(key, &format!("{hostile_site}{SLOW}"), at);
}

/// Deletes the runs of a URL that have not ended. A run that waits an hour between two requests keeps
/// its place in its own project, whose further crawls are refused as long.
fn end_runs(key: &str, url: &str, at: &Whereabouts) {
    let until = Instant::now() + Duration::from_secs(60);
    let listed = Ask::get("/v1/crawls?limit=1000", key).settle(at, until);
    let listed = listed.map(|answer| answer.json()).unwrap_or_default();
    let items = listed["items"].as_array();
    for run in items.into_iter().flatten() {
        if run["url"] == url && run["finished_at"].is_null() {
            let path = format!("/v1/crawls/{}", run["id"]);
            let ask = Ask {
                method: "DELETE",
                ..Ask::get(&path, key)
            };
            // What is left is found by the audit: its project gets no place for its own crawls.
            ask.settle(at, until);
        }
    }
}

fn once(
    what: usize,
    key: &str,
    site: &str,
    address: SocketAddr,
    dice: &mut Dice,
    held: &mut Vec<TcpStream>,
) -> anyhow::Result<()> {
    let post = |path: &str, body: serde_json::Value| {
        let body = body.to_string();
        let ask = Ask {
            timeout: Duration::from_secs(30),
            ..Ask::post(path, key, &body)
        };
        ask.send(address).map(drop)
    };
    match what {
        0 => {
            held.push(connect(address, key, Duration::from_secs(5))?);
            if held.len() > 400 {
                held.drain(..200);
            }
            std::thread::sleep(Duration::from_millis(20));
            Ok(())
        }
        1 => {
            let mut slow = connect(address, key, Duration::from_secs(5))?;
            let head = "POST /v1/scan HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n";
            slow.write_all(head.as_bytes())?;
            if dice.below(2) == 0 {
                slow.write_all(format!("authorization: Bearer {key}\r\n\r\n{{").as_bytes())?;
            }
            held.push(slow);
            if held.len() > 200 {
                held.drain(..100);
            }
            std::thread::sleep(Duration::from_millis(50));
            Ok(())
        }
        2 => {
            let mut left = connect(address, key, Duration::from_secs(5))?;
            let body = json!({"url": format!("{site}/page"), "max_age_seconds": 0}).to_string();
            write!(
                left,
                "POST /v1/scan HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            )?;
            std::thread::sleep(Duration::from_millis(5));
            Ok(())
        }
        3 => {
            let pattern = r"(?i)(\w\pL){24}".repeat(40);
            let patterns = vec![pattern; 100];
            post(
                "/v1/crawls",
                json!({"url": format!("{site}/page"), "include_paths": patterns, "exclude_paths": patterns}),
            )
        }
        4 => {
            let html = format!("<p>{}", "![".repeat(250_000));
            post(
                "/v1/cloud/transform",
                json!({"data": [{"html": html, "url": "https://a.example/"}], "return_format": "text"}),
            )
        }
        5 => {
            let html = ["<a href=x><table>", "<h2>x", "<noscript><img src=a>"];
            let html = html[dice.below(3) as usize].repeat(40_000);
            post(
                "/v1/cloud/transform",
                json!({"data": [{"html": html, "url": "https://a.example/"}], "return_format": "markdown"}),
            )
        }
        6 => post(
            "/v1/scan",
            json!({"url": format!("{site}/base"), "max_age_seconds": 0}),
        ),
        7 => {
            let path = format!(
                "/v1/robots-policy?url={site}/page&user_agent=Agent{}",
                dice.below(1_000)
            );
            Ask::get(&path, key).send(address).map(drop)
        }
        8 => {
            let guess = format!("orb_{:032}", dice.below(1 << 31));
            let ask = Ask {
                from: Some(key),
                ..Ask::get("/v1/usage", &guess)
            };
            ask.send(address).map(drop)
        }
        9 => {
            let path = format!("/{}", "a".repeat(60_000));
            Ask::get(&path, key).send(address).map(drop)
        }
        10 => {
            post(
                "/v1/crawls",
                json!({"url": format!("{site}{SLOW}"), "delay_ms": 3_600_000, "max_pages": 100_000}),
            )?;
            std::thread::sleep(Duration::from_millis(200));
            Ok(())
        }
        _ => {
            post(
                "/v1/crawls",
                json!({"url": format!("{site}/endless/sitemap.xml"), "max_pages": 1, "mode": "sitemap"}),
            )?;
            std::thread::sleep(Duration::from_millis(500));
            Ok(())
        }
    }
}
