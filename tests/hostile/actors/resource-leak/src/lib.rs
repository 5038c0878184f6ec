//! Hardening 9 and client attack 9: makes the host hold resources. The input says which:
//!
//! - `pages`: small pages, without end, never closed; `streams`: stdout streams;
//! - `bytes`: 89 pages of 20 MB, never closed; `churn`: the same, each closed before the next;
//! - `snapshots`: parsed pages, without end, never closed; `roles`: the same, parsed by a role;
//! - `bombs`: deeply nested pages with many attributes, parsed and closed, without end;
//! - `bodies`: 900 concurrent requests with bodies of 4 MB, to a server that never answers.

use hostile_support::futures_util::future::join_all;
use hostile_support::host::parsing::from_html;
use hostile_support::host::{extraction_sync, http, requests};
use hostile_support::{Error, error, get};

hostile_support::actor!(run);

const URL: &str = "https://leak.example/";
const LARGE: usize = 20_000_000;

async fn run(input: String) -> Result<String, Error> {
    let mut held = Vec::new();
    match input.trim_matches('"') {
        "pages" => loop {
            held.push(from_html(URL, "<p>x"));
        },
        "streams" => loop {
            streams::leak();
        },
        "bytes" => {
            let html = "x".repeat(LARGE);
            for _ in 0..89 {
                held.push(from_html(URL, &html));
            }
        }
        "churn" => {
            let html = "x".repeat(LARGE);
            for _ in 0..89 {
                drop(from_html(URL, &html));
            }
        }
        "snapshots" => {
            let html = "<p>x".repeat(50_000);
            loop {
                let page = from_html(URL, &html);
                drop(page.snapshot());
                held.push(page);
            }
        }
        "roles" => {
            let html = "<p>x".repeat(50_000);
            loop {
                let page = from_html(URL, &html);
                extraction_sync::extract("good", &page, "{}")?;
                held.push(page);
            }
        }
        "bombs" => {
            let html = "<div a b c d><b e=f>".repeat(100_000);
            loop {
                drop(from_html(URL, &html).snapshot());
            }
        }
        "bodies" => {
            // The body belongs to the guest until its request begins, then to the host.
            let request = |_| async {
                let request = requests::Request {
                    method: "POST".to_owned(),
                    body: Some(vec![b'x'; 4 << 20]),
                    ..get(URL)
                };
                http::fetch(request).await
            };
            join_all((0..900).map(request)).await;
        }
        _ => return Err(error("invalid-input", "unknown attack")),
    }
    Ok(held.len().to_string())
}

mod streams {
    /// Forgets the handle without closing it.
    pub fn leak() {
        #[cfg(target_family = "wasm")]
        {
            #[link(wasm_import_module = "wasi:cli/stdout@0.2.0")]
            unsafe extern "C" {
                #[link_name = "get-stdout"]
                fn get_stdout() -> i32;
            }
            // SAFETY: the function takes nothing and returns a handle.
            unsafe { get_stdout() };
        }
    }
}
