//! Hardening 9: makes pages (input `"pages"`) or stdout streams (`"streams"`) for ever,
//! or (`"bytes"`) few pages of very much HTML.

use hostile_support::Error;
use hostile_support::host::parsing::from_html;

hostile_support::actor!(run);

async fn run(input: String) -> Result<String, Error> {
    let mut kept = Vec::new();
    let html = if input.contains("bytes") {
        "x".repeat(30 << 20)
    } else {
        "<p>x".to_owned()
    };
    loop {
        if input.contains("streams") {
            streams::leak();
        } else {
            kept.push(from_html("https://leak.example/", &html));
        }
    }
}

mod streams {
    /// The handle is given up without being closed.
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
