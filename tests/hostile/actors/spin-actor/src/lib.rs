//! Hardening 1 and 2 for actors: an endless loop, with host calls (input `"yield"`) or
//! without them.

use hostile_support::Error;
use hostile_support::host::parsing::from_html;

hostile_support::actor!(run);

async fn run(input: String) -> Result<String, Error> {
    loop {
        if input.contains("yield") {
            std::hint::black_box(from_html("https://spin.example/", "").status());
        }
        std::hint::black_box(&input);
    }
}
