//! Rules about crates that compiler lints cannot express, checked in manifests and lock files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::boxed;
use crate::shell::{cargo, output, root};

/// The crates of `host/` in layers. A crate may depend only on crates of earlier layers.
const LAYERS: &[&[&str]] = &[
    &["orbweaver-core", "orbweaver-blobs"],
    &["orbweaver-engine", "orbweaver-fetch", "orbweaver-store"],
    &["orbweaver-accounts"],
    &["orbweaver-pipeline"],
    &["orbweaver-crawl", "orbweaver-actors", "orbweaver-kit"],
    &["orbweaver-api"],
    &["orbweaver-server"],
    &["orbweaver-bench", "orbweaver-fuzz"],
];

/// Libraries that only one crate may use, with that crate. The benchmarks may use them too, to
/// measure the bare library.
const OWNERS: &[(&str, &str)] = &[
    ("wasmtime", "orbweaver-engine"),
    ("wasmtime-wasi", "orbweaver-engine"),
    ("wasmtime-wasi-io", "orbweaver-engine"),
    ("sqlx", "orbweaver-store"),
    ("sqlx-macros", "orbweaver-store"),
    ("object_store", "orbweaver-blobs"),
];

/// Reports all broken rules in one error.
pub fn check() -> Result<()> {
    let workspace = Workspace::read()?;
    let manifest = read("Cargo.toml")?;
    let mut broken = layers(&workspace);
    broken.extend(owners(&workspace));
    broken.extend(test_profile(&workspace, &manifest));
    broken.extend(lints(&workspace)?);
    broken.extend(boxed::check()?);
    let host = locked(&read("Cargo.lock")?);
    for other in ["plugins/Cargo.lock", "tests/hostile/Cargo.lock"] {
        broken.extend(same_versions(&host, other, &locked(&read(other)?)));
    }
    if broken.is_empty() {
        return Ok(());
    }
    bail!(
        "rules of the workspace are broken:\n- {}",
        broken.join("\n- ")
    )
}

/// A package of the workspace, or one outside it that is used by path.
struct Package {
    name: String,
    /// Its folder, relative to the repository.
    folder: String,
    /// Names of its normal and build dependencies.
    uses: Vec<String>,
}

struct Workspace {
    members: Vec<Package>,
    /// Names of crates outside the workspace that members use by path: those of `plugins/`.
    neighbours: BTreeSet<String>,
}

impl Workspace {
    fn read() -> Result<Self> {
        let json = output(cargo(root()).args(["metadata", "--format-version=1", "--no-deps"]))?;
        Self::parse(&serde_json::from_str(&json)?)
    }

    fn parse(metadata: &Value) -> Result<Self> {
        let packages = metadata["packages"]
            .as_array()
            .context("`cargo metadata` lists no packages")?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let top = text(&metadata["workspace_root"]);
        let mut members = Vec::new();
        let mut neighbours = BTreeSet::new();
        for package in packages {
            let dependencies = package["dependencies"].as_array();
            let mut uses = Vec::new();
            for dependency in dependencies.into_iter().flatten() {
                if dependency["path"].is_string() {
                    neighbours.insert(text(&dependency["name"]));
                }
                if dependency["kind"] != "dev" {
                    uses.push(text(&dependency["name"]));
                }
            }
            let folder = text(&package["manifest_path"]);
            let folder = folder.trim_end_matches("/Cargo.toml");
            let folder = folder.strip_prefix(&top).unwrap_or(folder);
            members.push(Package {
                name: text(&package["name"]),
                folder: folder.trim_start_matches('/').to_owned(),
                uses,
            });
        }
        for member in &members {
            neighbours.remove(&member.name);
        }
        Ok(Self {
            members,
            neighbours,
        })
    }
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|names| names.contains(&name))
}

/// Checks the direction of dependencies between the crates of `host/`.
fn layers(workspace: &Workspace) -> Vec<String> {
    let mut broken = Vec::new();
    for package in &workspace.members {
        let Some(own) = layer(&package.name) else {
            if package.folder.starts_with("host/") {
                broken.push(format!(
                    "{} is in no layer; add it to LAYERS in xtask/src/lint/rules.rs",
                    package.name
                ));
            }
            continue;
        };
        for used in &package.uses {
            if layer(used).is_some_and(|other| other >= own) {
                broken.push(format!(
                    "{} depends on {used}, which is not in an earlier layer",
                    package.name
                ));
            }
        }
    }
    broken
}

fn owners(workspace: &Workspace) -> Vec<String> {
    let mut broken = Vec::new();
    for package in &workspace.members {
        for (library, owner) in OWNERS {
            let allowed = [*owner, "orbweaver-bench"].contains(&package.name.as_str());
            if !allowed && package.uses.iter().any(|used| used == library) {
                broken.push(format!(
                    "{} depends on {library}, which only {owner} may use",
                    package.name
                ));
            }
        }
    }
    broken
}

/// Checks that each crate has its own settings in the tests' profile. Without them it would be
/// tested without overflow checks.
fn test_profile(workspace: &Workspace, manifest: &str) -> Vec<String> {
    let members = workspace.members.iter().map(|package| &package.name);
    members
        .chain(&workspace.neighbours)
        .filter(|name| !manifest.contains(&format!("\n[profile.bench.package.{name}]\n")))
        .map(|name| format!("Cargo.toml: [profile.bench.package.{name}] is missing"))
        .collect()
}

/// Checks that each crate uses the workspace's lints.
fn lints(workspace: &Workspace) -> Result<Vec<String>> {
    let mut folders: Vec<String> = workspace
        .members
        .iter()
        .map(|package| package.folder.clone())
        .collect();
    for entry in fs::read_dir(root().join("plugins"))? {
        let entry = entry?;
        if entry.path().join("Cargo.toml").is_file() {
            folders.push(format!("plugins/{}", entry.file_name().to_string_lossy()));
        }
    }
    folders.sort();
    let mut broken = Vec::new();
    for folder in folders {
        let path = format!("{folder}/Cargo.toml");
        if !read(&path)?.contains("\n[lints]\nworkspace = true\n") {
            broken.push(format!("{path}: `[lints] workspace = true` is missing"));
        }
    }
    Ok(broken)
}

/// Packages of a lock file: names with all their versions.
type Locked = BTreeMap<String, BTreeSet<String>>;

fn locked(lock: &str) -> Locked {
    let mut packages = Locked::new();
    let mut name = "";
    for line in lock.lines() {
        let value = |key: &str| line.strip_prefix(key)?.strip_suffix('"');
        if let Some(found) = value("name = \"") {
            name = found;
        } else if let Some(version) = value("version = \"") {
            let versions = packages.entry(name.to_owned()).or_default();
            versions.insert(version.to_owned());
        }
    }
    packages
}

/// Checks that a library with compatible versions in two lock files has the same version in both,
/// so that host and plugins parse in the same way.
fn same_versions(host: &Locked, path: &str, other: &Locked) -> Vec<String> {
    let mut broken = Vec::new();
    for (name, versions) in other {
        for version in versions {
            let ours = host.get(name).into_iter().flatten();
            let mut compatible = ours.filter(|ours| range(ours) == range(version)).peekable();
            if let Some(expected) = compatible.peek().copied()
                && !compatible.any(|ours| ours == version)
            {
                broken.push(format!(
                    "{path} has {name} {version}, Cargo.lock has {expected}: run \
                     `cargo update -p {name}@{version} --precise {expected}` there"
                ));
            }
        }
    }
    broken
}

/// The part of a version that must be equal for two versions to be compatible.
fn range(version: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in version.split('.') {
        parts.push(part);
        if part != "0" {
            break;
        }
    }
    parts
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace(packages: &[(&str, &str, &[&str])]) -> Workspace {
        let members = packages.iter().map(|(name, folder, uses)| Package {
            name: (*name).to_owned(),
            folder: (*folder).to_owned(),
            uses: uses.iter().map(|used| (*used).to_owned()).collect(),
        });
        Workspace {
            members: members.collect(),
            neighbours: BTreeSet::from(["orbweaver-dom".to_owned()]),
        }
    }

    #[test]
    fn a_dependency_on_the_same_or_a_later_layer_is_reported() {
        let right = ("orbweaver-fetch", "host/fetch", ["orbweaver-core"]);
        let wrong = ("orbweaver-store", "host/store", ["orbweaver-engine"]);
        let found = layers(&workspace(&[
            (right.0, right.1, &right.2),
            (wrong.0, wrong.1, &wrong.2),
            ("orbweaver-new", "host/new", &[]),
        ]));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("orbweaver-store depends on orbweaver-engine"));
        assert!(found[1].contains("orbweaver-new is in no layer"));
    }

    #[test]
    fn a_library_of_another_crate_is_reported() {
        let found = owners(&workspace(&[
            ("orbweaver-engine", "host/engine", &["wasmtime"]),
            ("orbweaver-api", "host/api", &["sqlx"]),
        ]));
        assert_eq!(
            found,
            ["orbweaver-api depends on sqlx, which only orbweaver-store may use"]
        );
    }

    #[test]
    fn a_crate_without_a_test_profile_is_reported() {
        let manifest = "\n[profile.bench.package.orbweaver-core]\nopt-level = 1\n";
        let found = test_profile(
            &workspace(&[("orbweaver-core", "host/core", &[])]),
            manifest,
        );
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("orbweaver-dom"));
    }

    #[test]
    fn compatible_versions_must_be_equal() {
        let lock = |version: &str| {
            locked(&format!(
                "[[package]]\nname = \"html5ever\"\nversion = \"{version}\"\nsource = \"r\"\n"
            ))
        };
        let found = |ours: &str, theirs: &str| {
            same_versions(&lock(ours), "plugins/Cargo.lock", &lock(theirs)).len()
        };
        assert_eq!(found("0.40.1", "0.40.1"), 0);
        assert_eq!(found("0.40.1", "0.40.2"), 1);
        assert_eq!(found("0.40.1", "0.41.0"), 0);
        assert_eq!(found("1.2.3", "1.3.0"), 1);
    }
}
