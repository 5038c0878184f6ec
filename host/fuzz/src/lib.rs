//! Fuzz targets: each feeds bytes of a stranger to one parser or interface, and panics where a
//! promise does not hold.
//!
//! `cargo xtask fuzz NAME` runs a target under libFuzzer, guided by coverage, on the stable
//! toolchain: coverage is a pass of LLVM that `-C passes` turns on, and libFuzzer comes with
//! the crate `libfuzzer-sys`. Sanitizers need a nightly toolchain, so there are none. The tests
//! run each target over its corpus and over mutations of it for a second or two, always the
//! same ones.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a target reports what it finds by a panic"
)]

mod html;
mod mutate;
mod rules;
#[cfg(feature = "service")]
mod service;

use std::path::{Path, PathBuf};

pub use mutate::Mutator;

/// A parser or interface to feed.
pub struct Target {
    /// Its name, in kebab case; also that of its folder in `corpus/`.
    pub name: &'static str,
    /// Feeds it one input. Panics where a promise is broken.
    pub run: fn(&[u8]),
    /// Inputs made from what the project has anyway, besides those of its folder.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Longest input that is useful, in bytes.
    pub max_len: usize,
}

/// Every target.
pub fn targets() -> Vec<Target> {
    let mut targets = html::targets();
    targets.extend(rules::targets());
    #[cfg(feature = "service")]
    targets.extend(service::targets());
    targets
}

/// The folder of a target's committed inputs.
pub fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name)
}

impl Target {
    /// The committed inputs, sorted by their files' names, then the seeds.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn inputs(&self) -> std::io::Result<Vec<Vec<u8>>> {
        let folder = corpus(self.name);
        let mut files = Vec::new();
        if folder.is_dir() {
            for entry in std::fs::read_dir(&folder)? {
                files.push(entry?.path());
            }
        }
        files.sort();
        let mut inputs = Vec::new();
        for file in files {
            inputs.push(std::fs::read(file)?);
        }
        inputs.extend((self.seeds)());
        Ok(inputs)
    }
}

fn no_seeds() -> Vec<Vec<u8>> {
    Vec::new()
}

/// Text of any bytes.
fn text(data: &[u8]) -> String {
    String::from_utf8_lossy(data).into_owned()
}

/// The first line, and what follows it.
fn line(data: &[u8]) -> (String, &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n');
    match end {
        Some(end) => (text(&data[..end]), &data[end + 1..]),
        None => (text(data), &[]),
    }
}
