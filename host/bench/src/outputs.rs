//! `bench corpus`: what the six roles say of the pages of some folders, as one hash a role, so
//! that two versions of the code can be compared; and how long the roles take for all pages.
//! Every page goes through the sandbox and through the native code, whose answers must agree.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use orbweaver_engine::{Engine, Page};
use sha2::{Digest as _, Sha256};

use crate::corpus;
use crate::extract::{ROLES, URL, calls, engine, native, native_page};

#[derive(clap::Args)]
pub struct Args {
    /// Folders of pages (.html, .html.gz).
    #[arg(required = true)]
    folders: Vec<PathBuf>,
}

/// What has been seen of one role.
#[derive(Default)]
struct RoleOutputs {
    outputs: Sha256,
    native: Duration,
    sandboxed: Duration,
}

pub fn run(args: &Args) -> Result<()> {
    let engine = engine()?;
    let mut pages = Vec::new();
    for folder in &args.folders {
        pages.extend(corpus::pages(folder)?);
    }
    pages.sort_unstable();
    let mut seen: [RoleOutputs; ROLES.len()] = Default::default();
    for html in &pages {
        one_page(&engine, html, &mut seen)?;
    }
    println!("{} pages", pages.len());
    for (role, seen) in ROLES.iter().zip(seen) {
        let ratio = seen.sandboxed.as_secs_f64() / seen.native.as_secs_f64();
        println!(
            "{role:<16} native {:>6} ms   sandboxed {:>6} ms   ratio {ratio:.2}   sha256 {}",
            seen.native.as_millis(),
            seen.sandboxed.as_millis(),
            hex::encode(seen.outputs.finalize())
        );
    }
    Ok(())
}

fn one_page(engine: &Engine, html: &str, seen: &mut [RoleOutputs; ROLES.len()]) -> Result<()> {
    let snapshot = orbweaver_dom::parse(html);
    let view = snapshot.view()?;
    let native_page = native_page(html, &view);
    let page = Page::from_html(URL, html);
    page.snapshot();
    for (role, seen) in ROLES.iter().zip(seen) {
        let start = Instant::now();
        let expected = native(role, &native_page)?;
        seen.native += start.elapsed();
        let start = Instant::now();
        for answer in engine.extract_blocking(&page, calls(&[*role])) {
            seen.sandboxed += start.elapsed();
            ensure!(
                *answer? == *expected,
                "{role}: the sandbox answers otherwise"
            );
        }
        seen.outputs.update(expected.len().to_le_bytes());
        seen.outputs.update(expected);
    }
    Ok(())
}
