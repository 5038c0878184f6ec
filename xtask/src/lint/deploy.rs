//! What operators deploy: alerts, dashboard and book name metrics that exist, the book names all of
//! them, each alert fires where it should, and the Compose file follows its specification.

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
/// Pages of the book that describe metrics.
const PAGES: [&str; 4] = [
    "docs/operations.md",
    "docs/postgresql.md",
    "docs/project-plugins.md",
    "docs/security.md",
];
/// A name in the sources that looks like a metric's: the console's cookie.
const COOKIE: &str = "orbweaver_session";

/// Checks names of metrics and the Compose file, and runs the tests of the alerts.
pub fn check() -> Result<()> {
    let mut source = String::new();
    read_sources(&root().join("host"), &mut source)?;
    let known = literals(&source);
    let mut described = BTreeSet::new();
    let mut faults = Vec::new();
    for file in FILES.into_iter().chain(PAGES) {
        let text = fs::read_to_string(root().join(file)).context(file)?;
        let names = metrics(&text);
        let unknown = names.iter().filter(|name| !known.contains(name.as_str()));
        faults.extend(unknown.map(|name| format!("{file}: there is no metric {name}")));
        if PAGES.contains(&file) {
            described.extend(names);
        }
    }
    let missing = known.iter().filter(|name| !described.contains(**name));
    faults.extend(missing.map(|name| format!("no page of the book describes {name}")));
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
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

/// The metrics that sources name: each is a string literal of its own.
fn literals(source: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    source
        .split('"')
        .filter(|text| text.starts_with("orbweaver_") && text.chars().all(is_name))
        .filter(|name| *name != COOKIE)
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

    #[test]
    fn metrics_of_sources_are_whole_literals() {
        let source = r#"counter!("orbweaver_x_total", "a" => 1); target: "orbweaver_server=debug",
            cookie: "orbweaver_session""#;
        let found: Vec<&str> = literals(source).into_iter().collect();
        assert_eq!(found, ["orbweaver_x_total"]);
    }
}
