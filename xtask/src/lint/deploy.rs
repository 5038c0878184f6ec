//! What operators deploy: alerts and dashboard name metrics that exist, each alert fires where it
//! should, and the Compose file follows its specification.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::docs;
use crate::setup;
use crate::shell::{on_path, root, run, target_dir};

/// Files that name metrics.
const FILES: [&str; 2] = [
    "deploy/prometheus/alerts.yaml",
    "deploy/grafana/orbweaver.json",
];

/// Checks names of metrics and the Compose file, and runs the tests of the alerts.
pub fn check() -> Result<()> {
    let mut source = String::new();
    read_sources(&root().join("host"), &mut source)?;
    let mut unknown = Vec::new();
    for file in FILES {
        let text = fs::read_to_string(root().join(file)).context(file)?;
        let names = metrics(&text).into_iter();
        unknown.extend(
            names
                .filter(|name| !source.contains(&format!("\"{name}\"")))
                .map(|name| format!("{file}: there is no metric {name}")),
        );
    }
    if !unknown.is_empty() {
        bail!("{}", unknown.join("\n"));
    }
    run(Command::new(docs::tools()?.join("check-jsonschema"))
        .args(["--builtin-schema", "vendor.compose-spec"])
        .arg(root().join("deploy/compose.yaml")))?;
    run(Command::new(promtool()?)
        .args(["test", "rules", "alerts.test.yaml"])
        .current_dir(root().join("deploy/prometheus")))
}

/// Our metrics in a text, without what Prometheus adds to a histogram's name.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_name(c))
        .filter(|word| word.starts_with("orbweaver_"))
        .map(|word| {
            ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| word.strip_suffix(suffix))
                .unwrap_or(word)
                .to_owned()
        })
        .collect()
}

fn read_sources(folder: &Path, into: &mut String) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_sources(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push_str(&fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// Prometheus' own checker. Where it is missing it is taken out of Debian's package, which is not
/// installed: it would start a server.
fn promtool() -> Result<PathBuf> {
    if on_path("promtool") {
        return Ok(PathBuf::from("promtool"));
    }
    let folder = target_dir().join("tools/prometheus");
    let program = folder.join("usr/bin/promtool");
    if !program.is_file() {
        fs::create_dir_all(&folder)?;
        setup::apt_download("prometheus", &folder)?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_with_their_own_names() {
        let text = "sum(rate(orbweaver_fetch_seconds_bucket{a=\"orb\"}[5m])) / orbweaver_x_total";
        let found = metrics(text);
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, ["orbweaver_fetch_seconds", "orbweaver_x_total"]);
    }
}
