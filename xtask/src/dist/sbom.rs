//! The list of everything that the program is made from: a CycloneDX 1.6 document, read from
//! `cargo metadata` and the lock files of the host and of the plugins inside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::VERSION;
use crate::setup::WASM_TARGET;
use crate::shell::{cargo, output, root};

/// The document's name.
pub fn file_name() -> String {
    format!("orbweaver-{VERSION}.cdx.json")
}

/// Writes the document.
pub fn write(file: &Path) -> Result<()> {
    let host = format!("{}-unknown-linux-gnu", super::architecture());
    let mut parts = Parts::default();
    parts.add(".", &host, |name| name == "orbweaver-server")?;
    parts.add("plugins", WASM_TARGET, |name| {
        ["extract-", "actor-", "site-"]
            .iter()
            .any(|kind| name.starts_with(&format!("orbweaver-{kind}")))
    })?;
    let text = serde_json::to_string_pretty(&parts.document())?;
    fs::write(file, text + "\n").with_context(|| file.display().to_string())
}

/// Packages of several workspaces, by package URL.
#[derive(Default)]
struct Parts {
    /// What the program is built from directly.
    tops: BTreeSet<String>,
    components: BTreeMap<String, Value>,
    uses: BTreeMap<String, BTreeSet<String>>,
}

impl Parts {
    /// Adds what the chosen packages of a workspace are built from, for one target.
    fn add(&mut self, folder: &str, target: &str, is_top: impl Fn(&str) -> bool) -> Result<()> {
        let folder = root().join(folder);
        let json = output(cargo(&folder).args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--filter-platform",
            target,
        ]))?;
        let lock = fs::read_to_string(folder.join("Cargo.lock"))?;
        self.add_metadata(&serde_json::from_str(&json)?, &checksums(&lock), is_top)
    }

    fn add_metadata(
        &mut self,
        metadata: &Value,
        checksums: &BTreeMap<(String, String), String>,
        is_top: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let packages: BTreeMap<String, Value> = list(&metadata["packages"])
            .into_iter()
            .map(|package| (text(&package["id"]), package))
            .collect();
        let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
            .into_iter()
            .map(|node| (text(&node["id"]), node))
            .collect();
        let mut open: Vec<String> = packages
            .iter()
            .filter(|(_, package)| is_top(&text(&package["name"])))
            .map(|(id, _)| id.clone())
            .collect();
        for id in &open {
            let package = packages.get(id).context("a package is missing")?;
            self.tops.insert(url(package));
        }
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id.clone()) {
                continue;
            }
            let package = packages.get(&id).context("a package is missing")?;
            let reference = url(package);
            let key = (text(&package["name"]), text(&package["version"]));
            self.components
                .insert(reference.clone(), component(package, checksums.get(&key)));
            let uses = self.uses.entry(reference).or_default();
            let used = list(&nodes.get(&id).context("a node is missing")?["deps"]);
            for dependency in used.iter().filter(|used| is_built_with(used)) {
                let id = text(&dependency["pkg"]);
                uses.insert(url(packages.get(&id).context("a package is missing")?));
                open.push(id);
            }
        }
        Ok(())
    }

    fn document(self) -> Value {
        let program = format!("pkg:generic/orbweaver@{VERSION}");
        let mut dependencies = vec![json!({ "ref": program, "dependsOn": self.tops })];
        dependencies.extend(
            self.uses
                .into_iter()
                .map(|(reference, uses)| json!({ "ref": reference, "dependsOn": uses })),
        );
        json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {
                "component": {
                    "type": "application",
                    "bom-ref": program,
                    "name": "orbweaver",
                    "version": VERSION,
                    "licenses": [{ "expression": "Apache-2.0" }],
                },
            },
            "components": self.components.into_values().collect::<Vec<_>>(),
            "dependencies": dependencies,
        })
    }
}

/// Dependencies of tests alone are in no program. A dependency may have several kinds.
fn is_built_with(dependency: &Value) -> bool {
    let kinds = dependency["dep_kinds"].as_array();
    kinds
        .into_iter()
        .flatten()
        .any(|kind| kind["kind"] != "dev")
}

fn url(package: &Value) -> String {
    format!(
        "pkg:cargo/{}@{}",
        text(&package["name"]),
        // A build number's plus sign has a meaning in URLs.
        text(&package["version"]).replace('+', "%2B")
    )
}

fn component(package: &Value, checksum: Option<&String>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": url(package),
        "name": text(&package["name"]),
        "version": text(&package["version"]),
        "purl": url(package),
    });
    if let Some(license) = package["license"].as_str() {
        // Old manifests separate alternatives by a slash.
        let license = license.replace('/', " OR ");
        let license = license.split_whitespace().collect::<Vec<_>>().join(" ");
        component["licenses"] = json!([{ "expression": license }]);
    }
    if let Some(description) = package["description"].as_str() {
        component["description"] = json!(description.trim());
    }
    if let Some(repository) = package["repository"].as_str() {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// SHA-256 of each package's archive, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut sums = BTreeMap::new();
    let (mut name, mut version) = ("", "");
    for line in lock.lines() {
        let value = |key: &str| line.strip_prefix(key)?.strip_suffix('"');
        if let Some(found) = value("name = \"") {
            name = found;
        } else if let Some(found) = value("version = \"") {
            version = found;
        } else if let Some(found) = value("checksum = \"") {
            sums.insert((name.to_owned(), version.to_owned()), found.to_owned());
        }
    }
    sums
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str) -> Value {
        json!({ "id": name, "name": name, "version": "1.0.0+x", "license": "MIT/Apache-2.0" })
    }

    #[test]
    fn the_document_has_what_the_program_is_built_with_and_no_more() {
        let uses = |names: &[(&str, Option<&str>)]| {
            names
                .iter()
                .map(|(name, kind)| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] }))
                .collect::<Vec<_>>()
        };
        let metadata = json!({
            "packages": [package("top"), package("lib"), package("tool"), package("test")],
            "resolve": { "nodes": [
                { "id": "top", "deps": uses(&[("lib", None), ("test", Some("dev"))]) },
                { "id": "lib", "deps": uses(&[("tool", Some("build"))]) },
                { "id": "tool", "deps": [] },
                { "id": "test", "deps": [] },
            ]},
        });
        let lock = "name = \"lib\"\nversion = \"1.0.0+x\"\nchecksum = \"ab\"\n";
        let mut parts = Parts::default();
        parts
            .add_metadata(&metadata, &checksums(lock), |name| name == "top")
            .unwrap();
        let document = parts.document();
        let names: Vec<&str> = document["components"]
            .as_array()
            .unwrap()
            .iter()
            .map(|component| component["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["lib", "tool", "top"]);
        assert_eq!(document["components"][0]["purl"], "pkg:cargo/lib@1.0.0%2Bx");
        assert_eq!(document["components"][0]["hashes"][0]["content"], "ab");
        assert_eq!(
            document["components"][0]["licenses"][0]["expression"],
            "MIT OR Apache-2.0"
        );
        assert_eq!(
            document["dependencies"][0]["dependsOn"],
            json!(["pkg:cargo/top@1.0.0%2Bx"])
        );
    }
}
