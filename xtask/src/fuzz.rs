//! `cargo xtask fuzz NAME`: a target under libFuzzer, guided by coverage.

use std::fs;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::shell::{cargo, output, root, run, target_dir};

/// Targets that need the service's crates, which take minutes to compile.
const OF_SERVICE: [&str; 3] = ["cookies", "plugin", "router"];
/// LLVM's pass that counts edges, and what libFuzzer reads of it. All of these are stable.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions=on",
];

/// Arguments of `fuzz`.
#[derive(Args)]
pub struct Fuzz {
    /// The target; the folders in host/fuzz/corpus have the targets' names.
    name: String,
    /// How long it runs.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Feed this file alone, such as an input that was found.
    #[arg(long)]
    input: Option<std::path::PathBuf>,
}

impl Fuzz {
    /// Builds the target with coverage in a folder of its own, and runs it. New inputs are kept
    /// in `target/fuzz/corpus`, what breaks a promise in `target/fuzz/found`.
    ///
    /// # Errors
    /// An unknown target, a failed build, or an input that breaks a promise.
    pub fn run(&self) -> Result<()> {
        let name = &self.name;
        let seeds = root().join("host/fuzz/corpus").join(name);
        if !seeds.is_dir() {
            bail!("no target `{name}`: {} is no folder", seeds.display());
        }
        let host = output(std::process::Command::new("rustc").args(["--print", "host-tuple"]))?;
        let dir = target_dir().join("fuzz");
        let (corpus, found) = (dir.join("corpus").join(name), dir.join("found"));
        for folder in [&corpus, &found] {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let mut features = "libfuzzer".to_owned();
        if OF_SERVICE.contains(&name.as_str()) {
            features.push_str(",service");
        }
        // With a target named, flags reach neither build scripts nor procedural macros.
        run(cargo(root())
            .args(["build", "--release", "--package", "orbweaver-fuzz"])
            .args(["--bin", "orbweaver-fuzz", "--no-default-features"])
            .args(["--features", &features, "--target", &host, "--target-dir"])
            .arg(&dir)
            .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}")))?;
        let program = dir.join(&host).join("release/orbweaver-fuzz");
        let mut fuzz = std::process::Command::new(program);
        fuzz.env("ORBWEAVER_FUZZ", name);
        match &self.input {
            Some(input) => fuzz.arg(input),
            None => fuzz
                .env("ORBWEAVER_FUZZ_SEEDS", &corpus)
                .arg(format!("-max_total_time={}", self.seconds))
                .args(["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1"])
                .arg(format!("-artifact_prefix={}/{name}-", found.display()))
                .args([&corpus, &seeds]),
        };
        run(&mut fuzz)
    }
}
