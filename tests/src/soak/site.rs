//! The hostile clients' own site: pages and files that are as bad as they can be.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};
use orbweaver_origin::{Origin, Reply};

/// The site, on a runtime of its own, which ends with it.
pub(super) struct HostileSite {
    origin: Origin,
    _runtime: tokio::runtime::Runtime,
}

impl HostileSite {
    /// On a free port of loopback.
    ///
    /// # Errors
    /// When there is none.
    pub fn start() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .on_thread_start(super::hostile::step_back)
            .enable_all()
            .build()?;
        let origin = runtime.block_on(Origin::start()).context("a site")?;
        let rules = "disallow: /*a*b*c*d\n".repeat(20_000);
        origin.set(
            "/robots.txt",
            Reply::text(format!("user-agent: nobody\n{rules}")),
        );
        origin.set(
            "/page",
            Reply::html("<title>x</title><p>Some words.".to_owned()),
        );
        let base = format!("https://a.example/{}/", "b".repeat(10_000));
        let links = "<a href=c>d</a>".repeat(100_000);
        origin.set("/base", Reply::html(format!("<base href={base}>{links}")));
        // A link to further pages that nobody ever answers.
        let slow: String = (0..100)
            .map(|n| format!("<a href=/fault/silent?{n}>x</a>"))
            .collect();
        origin.set("/slow", Reply::html(slow));
        let count = AtomicU64::new(0);
        origin.set_under("/endless/", move |_| {
            let first = count.fetch_add(1_000, Ordering::Relaxed);
            let mut index = String::from("<sitemapindex>");
            for number in first..first + 1_000 {
                let long = "x".repeat(1_500);
                let _ = write!(
                    index,
                    "<sitemap><loc>/endless/{number}/{long}</loc></sitemap>"
                );
            }
            index.push_str("</sitemapindex>");
            Reply::text(index).header("content-type", "application/xml")
        });
        Ok(Self {
            origin,
            _runtime: runtime,
        })
    }

    /// Its address as a URL without a path.
    pub fn url(&self) -> String {
        self.origin.url("")
    }
}
