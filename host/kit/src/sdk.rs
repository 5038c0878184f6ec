//! The Rust SDK as files beside a plugin, so that it builds without a checkout of the source.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use toml::{Table, Value};

/// Path in the repository, and content, of every file of the SDK.
const SDK_FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sdk_files.rs"));

/// The manifest of the SDK's workspace, from which its crates inherit.
const WORKSPACE: &str = "plugins/Cargo.toml";

/// Tables of a manifest that only a checkout can use.
const CHECKOUT_ONLY: [&str; 5] = ["bench", "dev-dependencies", "example", "lints", "test"];

/// Writes the SDK and the WIT into a folder, as `plugins/…` and `wit/…`.
pub(crate) fn write(folder: &Path) -> Result<()> {
    let workspace = SDK_FILES.iter().find(|(name, _)| *name == WORKSPACE);
    let workspace: Table = toml::from_str(workspace.map_or("", |(_, text)| text))?;
    for (name, text) in SDK_FILES {
        if *name == WORKSPACE {
            continue;
        }
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)
                .with_context(|| format!("cannot create {}", parent.display()))?;
        }
        let written = match name.ends_with("/Cargo.toml") {
            true => fs::write(&path, standalone(text, &workspace).context(*name)?),
            false => fs::write(&path, text),
        };
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Writes the WIT alone into a folder.
pub(crate) fn write_wit(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, text) in SDK_FILES {
        if let Some(file) = name.strip_prefix("wit/") {
            let path = folder.join(file);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

/// A crate's manifest without its workspace: what it inherits is written out.
fn standalone(manifest: &str, workspace: &Table) -> Result<String> {
    let mut manifest: Table = toml::from_str(manifest)?;
    for name in CHECKOUT_ONLY {
        manifest.remove(name);
    }
    let shared = workspace.get("workspace").and_then(Value::as_table);
    let inherited = |table: &str, key: &str| {
        let table = shared?.get(table)?.as_table()?;
        table.get(key).cloned()
    };
    if let Some(package) = table_of(&mut manifest, "package") {
        for (key, value) in package.iter_mut() {
            if is_inherited(value) {
                *value = inherited("package", key).with_context(|| format!("package.{key}"))?;
            }
        }
    }
    let mut every = vec![&mut manifest];
    while let Some(table) = every.pop() {
        for (key, value) in table.iter_mut() {
            let Some(inner) = value.as_table_mut() else {
                continue;
            };
            if key != "dependencies" {
                every.push(inner);
                continue;
            }
            for (name, wanted) in inner.iter_mut() {
                if is_inherited(wanted) {
                    let found = inherited("dependencies", name);
                    let found = found.with_context(|| format!("dependencies.{name}"))?;
                    *wanted = merged(found, wanted);
                }
            }
        }
    }
    Ok(toml::to_string(&manifest)?)
}

fn table_of<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut Table> {
    table.get_mut(key).and_then(Value::as_table_mut)
}

fn is_inherited(value: &Value) -> bool {
    let flag = value.get("workspace").and_then(Value::as_bool);
    flag.unwrap_or_default()
}

/// A dependency of the workspace with the fields that the crate adds; a path is relative to the
/// workspace's folder, which has all crates.
fn merged(found: Value, wanted: &Value) -> Value {
    let mut whole = match found {
        Value::Table(table) => table,
        version => Table::from_iter([("version".to_owned(), version)]),
    };
    if let Some(Value::String(path)) = whole.get_mut("path") {
        *path = format!("../{path}");
    }
    for (key, value) in wanted.as_table().into_iter().flatten() {
        if key != "workspace" {
            whole.insert(key.clone(), value.clone());
        }
    }
    Value::Table(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_needs_no_workspace() {
        let workspace: Table = toml::from_str(
            "[workspace.package]\nversion = \"1.2.3\"\n[workspace.dependencies]\n\
             dom = { path = \"dom\" }\nserde = \"1\"\n",
        )
        .unwrap();
        let manifest = "[package]\nname = \"sdk\"\nversion.workspace = true\n[lints]\nworkspace = true\n\
            [dependencies]\ndom = { workspace = true, optional = true }\n\
            [target.'cfg(unix)'.dependencies]\nserde.workspace = true\n\
            [dev-dependencies]\nnasty = { path = \"../nasty\" }\n";
        let alone: Table = toml::from_str(&standalone(manifest, &workspace).unwrap()).unwrap();
        assert_eq!(alone["package"]["version"].as_str(), Some("1.2.3"));
        assert_eq!(
            alone["dependencies"]["dom"]["path"].as_str(),
            Some("../dom")
        );
        assert_eq!(
            alone["dependencies"]["dom"]["optional"].as_bool(),
            Some(true)
        );
        let target = &alone["target"]["cfg(unix)"]["dependencies"]["serde"];
        assert_eq!(target["version"].as_str(), Some("1"));
        assert!(!alone.contains_key("lints") && !alone.contains_key("dev-dependencies"));
    }

    #[test]
    fn the_sdk_is_complete_and_its_manifests_stand_alone() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        for name in [
            "plugins/sdk",
            "plugins/dom",
            "plugins/markup",
            "plugins/urls",
        ] {
            let manifest = fs::read_to_string(folder.path().join(name).join("Cargo.toml")).unwrap();
            assert!(!manifest.contains("workspace"), "{name}: {manifest}");
            assert!(
                folder.path().join(name).join("src/lib.rs").is_file(),
                "{name}"
            );
        }
        assert!(folder.path().join("wit/types.wit").is_file());
    }
}
