//! Measures a graph of 100,000 pages with 5 million edges: `cargo run --release --example large`.

use std::time::Instant;

use orbweaver_actor_internal_link_graph::{Collected, measure};

fn main() {
    let (pages, edges) = (100_000_u32, 5_000_000_usize);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as u32 % below
    };
    let mut run = Collected {
        urls: (0..pages)
            .map(|n| format!("https://site.example/section/{}/page-{n}", n % 97))
            .collect(),
        seed: Some(0),
        ..Collected::default()
    };
    for i in 0..edges {
        run.from.push(i as u32 % pages);
        // Some pages get most of the links.
        let most = random(pages) + 1;
        run.to.push(random(most));
        run.anchor.push(
            run.anchors
                .number(&format!("link text {}", random(200_000))),
        );
    }
    let start = Instant::now();
    let output = measure(&run, 50);
    println!("{:?} {:.2} s", output.stats, start.elapsed().as_secs_f64());
}
