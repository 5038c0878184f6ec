//! Bad deeds that a component of any kind may do, by name: the same ones for actors, fetchers and hooks
//! as the extractors do, one each.

use std::sync::Mutex;

use crate::host::log::{Level, log};
use crate::{Error, error};

static KEPT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Does it; what it returns is the answer. `None` if it is none of these. It calls the host
/// by the interface `log` alone, which every world has.
pub fn act(what: &str) -> Option<Result<String, Error>> {
    Some(match what {
        "spin" => loop {
            std::hint::black_box(0);
        },
        // Grows until it is refused; the answer is the size in pages.
        "fill" => Ok(fill().to_string()),
        "eat" => {
            let mut hoard: Vec<Vec<u8>> = Vec::new();
            loop {
                hoard.push(std::hint::black_box(vec![1; 1 << 20]));
            }
        }
        "recurse" => Ok(down(0, &mut [0; 64]).to_string()),
        // A text that is larger than what one call of the host may pass.
        "shout" => {
            log(Level::Warn, &"x".repeat(8 << 20));
            Ok("null".to_owned())
        }
        "log" => {
            log(
                Level::Info,
                "\u{1b}[2J\u{1b}]0;owned\u{7} first\nforged line",
            );
            log(Level::Info, &"y".repeat(1 << 20));
            for line in 0..20_000 {
                log(Level::Warn, &format!("flood {line}"));
            }
            Ok("null".to_owned())
        }
        "panic" => panic!("a message for the log"),
        #[cfg(target_family = "wasm")]
        "unreachable" => std::arch::wasm32::unreachable(),
        "exit" => std::process::exit(3),
        "divide" => Ok((1 / std::hint::black_box(0)).to_string()),
        // What earlier calls left in a global.
        "remember" => {
            let mut kept = KEPT.lock().unwrap();
            let before = kept.join(" ");
            kept.push("a secret of this caller".to_owned());
            Ok(format!("{before:?}"))
        }
        "peek" => {
            let mut line = String::new();
            let read = std::io::stdin().read_line(&mut line).unwrap_or(usize::MAX);
            Ok(format!(
                "[{},{},{read}]",
                std::env::vars().count(),
                std::env::args().count()
            ))
        }
        "empty" => Ok(String::new()),
        "not-json" => Ok("{\"title\": ".to_owned()),
        "nan" => Ok("{\"score\": NaN}".to_owned()),
        "control" => Ok("{\"title\": \"a\u{0}b\"}".to_owned()),
        "deep" => Ok("[".repeat(20_000) + &"]".repeat(20_000)),
        "long" => Ok(format!("\"{}\"", "x".repeat(1 << 20))),
        "error" => Err(error("failed", "\u{1b}[31mred\nline")),
        _ => return None,
    })
}

/// As [`act`], also with deeds that call the host for pages: only in worlds that may parse.
pub fn act_with_pages(what: &str) -> Option<Result<String, Error>> {
    let page = || crate::host::parsing::from_html("https://deeds.example/", "");
    match what {
        "yield" => loop {
            std::hint::black_box(page().status());
        },
        "leak" => {
            let mut pages = Vec::new();
            loop {
                pages.push(page());
            }
        }
        _ => act(what),
    }
}

fn fill() -> usize {
    #[cfg(target_family = "wasm")]
    {
        while std::arch::wasm32::memory_grow(0, 16) != usize::MAX {}
        std::arch::wasm32::memory_size(0)
    }
    #[cfg(not(target_family = "wasm"))]
    0
}

#[expect(unconditional_recursion, reason = "the point")]
#[inline(never)]
fn down(depth: u64, above: &mut [u8; 64]) -> u64 {
    let mut frame = [depth as u8; 64];
    frame[0] = frame[0].wrapping_add(above[63]);
    let below = down(std::hint::black_box(depth + 1), &mut frame);
    below + u64::from(std::hint::black_box(&frame)[7])
}
