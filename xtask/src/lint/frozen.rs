//! The contract of plugins stays as it was published: `wit/` against the copies in `tests/frozen/`.
//!
//! Each published version of the WIT package has a folder `tests/frozen/VERSION` with its WIT, its
//! tables of names, its test vectors of the snapshot, and components that were built against it. Those
//! folders never change: [`PUBLISHED`] has their digests. `wit/` has everything that the published
//! versions of its major version have, and nothing else where its version is a published one. Comments
//! may change.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::shell::root;

/// Published versions, and the digest of the files of each: a new version adds a line, and no line ever
/// changes.
const PUBLISHED: [(&str, &str); 2] = [
    (
        "1.0.0",
        "3d8cc870b5e9bf762e87961261da829aadfc80fb6dd7d86c6f22660b79fc654f",
    ),
    (
        "1.1.0",
        "b52d3a7f385e06e8edb544a9ea14f2c12b06891e1f113b507f5455b22fbbc9e2",
    ),
];

/// Files of the contract besides the WIT.
const NAMES: &str = "names.txt";
const VECTORS: &str = "snapshot-vectors.json";

/// Reports everything that has changed in one error.
pub fn check() -> Result<()> {
    let mut broken = Vec::new();
    let wit = root().join("wit");
    let current = Package::read(&wit)?;
    for (version, digest) in PUBLISHED {
        let folder = root().join("tests/frozen").join(version);
        let found = digest_of(&folder)?;
        if found != digest {
            broken.push(format!(
                "tests/frozen/{version} has changed (its digest is {found}): published versions stay \
                 as they are"
            ));
        }
        let published = Package::read(&folder.join("wit"))?;
        broken.extend(changes(&published, &current));
        let read = |name: &str| -> Result<(String, String)> {
            let read = |path: PathBuf| {
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
            };
            Ok((read(folder.join("wit").join(name))?, read(wit.join(name))?))
        };
        let (before, now) = read(NAMES)?;
        broken.extend(changed_names(&before, &now));
        let (before, now) = read(VECTORS)?;
        if before != now {
            broken.push(format!(
                "wit/{VECTORS} is not that of {version}: the snapshot needs a new version of its format"
            ));
        }
    }
    if !PUBLISHED
        .iter()
        .any(|(version, _)| *version == current.version)
    {
        eprintln!(
            "note: orbweaver:plugin@{} is not published; publishing it adds tests/frozen/{} and a line \
             in xtask/src/lint/frozen.rs",
            current.version, current.version
        );
    }
    if broken.is_empty() {
        return Ok(());
    }
    bail!(
        "the contract of plugins is frozen, and has changed (wit/README.md says what a new version may \
         add):\n- {}",
        broken.join("\n- ")
    )
}

/// Names and contents of all files below a folder, as one digest.
fn digest_of(folder: &Path) -> Result<String> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    let mut digest = Sha256::new();
    for file in files {
        let name = file.strip_prefix(folder).unwrap_or(&file);
        let bytes = fs::read(&file)?;
        digest.update(format!("{}\n{}\n", name.display(), bytes.len()));
        digest.update(&bytes);
    }
    let mut hex = String::new();
    for byte in digest.finalize() {
        write!(hex, "{byte:02x}")?;
    }
    Ok(hex)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// A WIT package without its comments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Package {
    version: String,
    /// The items of each interface and world, in their order: `interface log` has
    /// `log: func(level: level, message: string)`, a resource one item for each of its functions.
    items: BTreeMap<String, Vec<String>>,
}

impl Package {
    fn read(folder: &Path) -> Result<Self> {
        let mut package = Self::default();
        for name in ["types.wit", "worlds.wit"] {
            let path = folder.join(name);
            let text = fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            package.add(&text)?;
        }
        Ok(package)
    }

    fn add(&mut self, text: &str) -> Result<()> {
        // What is open: the interface or world, and in it a resource.
        let mut open: Vec<String> = Vec::new();
        let mut item = String::new();
        let mut depth = 0_u32;
        for token in tokens(text) {
            match (token, depth) {
                ("{", 0) if is_container(&item, open.len()) => {
                    open.push(std::mem::take(&mut item));
                }
                ("{", _) => {
                    depth += 1;
                    push(&mut item, token);
                }
                ("}", 0) => {
                    if !item.is_empty() {
                        bail!("unexpected end of {open:?}: {item}");
                    }
                    let closed = open.pop().context("too many closing braces")?;
                    self.items.entry(closed).or_default();
                }
                ("}", _) => {
                    depth -= 1;
                    push(&mut item, token);
                    // The names of a `use` go on, up to its semicolon.
                    if depth == 0 && !item.starts_with("use ") {
                        self.keep(&open, std::mem::take(&mut item))?;
                    }
                }
                (";", 0) => {
                    let item = std::mem::take(&mut item);
                    match item.strip_prefix("package orbweaver:plugin@") {
                        Some(version) if open.is_empty() => version.clone_into(&mut self.version),
                        _ => self.keep(&open, item)?,
                    }
                }
                _ => push(&mut item, token),
            }
        }
        if !open.is_empty() || !item.is_empty() {
            bail!("unexpected end of the file in {open:?}: {item}");
        }
        Ok(())
    }

    fn keep(&mut self, open: &[String], item: String) -> Result<()> {
        let (container, resource) = match open {
            [container] => (container, ""),
            [container, resource] => (container, resource.as_str()),
            _ => bail!("an item outside of interfaces and worlds: {item}"),
        };
        let item = format!("{resource} {item}").trim().to_owned();
        self.items.entry(container.clone()).or_default().push(item);
        Ok(())
    }
}

fn is_container(item: &str, depth: usize) -> bool {
    match depth {
        0 => item.starts_with("interface ") || item.starts_with("world "),
        1 => item.starts_with("resource "),
        _ => false,
    }
}

/// Appends a token, with a space between words.
fn push(item: &mut String, token: &str) {
    if !item.is_empty() {
        item.push(' ');
    }
    item.push_str(token);
}

/// Words and punctuation without comments.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(|line| line.split_once("//").map_or(line, |(code, _)| code))
        .flat_map(|line| {
            line.split_inclusive(|c: char| c.is_whitespace() || "{};,".contains(c))
                .flat_map(|part| {
                    let end = part.len() - usize::from(part.ends_with(['{', '}', ';', ',']));
                    let (word, mark) = part.split_at(end);
                    [word.trim(), mark]
                })
        })
        .filter(|token| !token.is_empty())
}

/// What a later package has changed of an earlier one of the same major version.
fn changes(published: &Package, current: &Package) -> Vec<String> {
    let major = |package: &Package| package.version.split('.').next().map(str::to_owned);
    if major(published) != major(current) {
        return Vec::new();
    }
    let version = &published.version;
    let mut broken = Vec::new();
    if *version == current.version && published != current {
        broken.push(format!(
            "wit/ is not the published {version}: a change needs a new version of the package"
        ));
    }
    for (container, items) in &published.items {
        let Some(now) = current.items.get(container) else {
            broken.push(format!("{container} of {version} is missing"));
            continue;
        };
        for item in items {
            if !now.contains(item) {
                broken.push(format!("{container}: of {version} is missing: {item}"));
            }
        }
        // A component of the earlier version has none of a new export.
        let is_new_export = |item: &&String| item.starts_with("export ") && !items.contains(item);
        for item in now.iter().filter(is_new_export) {
            broken.push(format!(
                "{container}: has more exports than {version}: {item}"
            ));
        }
    }
    broken
}

/// Names are appended to the tables only.
fn changed_names(before: &str, now: &str) -> Vec<String> {
    let table = |text: &str, table: &str| -> Vec<String> {
        let start = format!("{table} ");
        let lines = text.lines().filter(|line| line.starts_with(&start));
        lines.map(str::to_owned).collect()
    };
    ["tag", "attr"]
        .into_iter()
        .filter(|name| !table(now, name).starts_with(&table(before, name)))
        .map(|name| format!("wit/{NAMES}: names of `{name}` have changed; they are only appended"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED_WIT: &str = "
        /// The package.
        package orbweaver:plugin@1.0.0;
        interface pages {
            use types.{header, error};
            record hop { url: string, /// A status.
                status: u16, }
            resource page {
                url: func() -> string; // with a comment
            }
            open: func(id: u32) -> result<page, error>;
        }
        world actor { import pages; export acting; }
    ";

    fn package(text: &str) -> Package {
        let mut package = Package::default();
        package.add(text).unwrap();
        package
    }

    fn changed(from: &str, to: &str) -> Vec<String> {
        assert!(PUBLISHED_WIT.contains(from), "{from}");
        let now = PUBLISHED_WIT.replace(from, to);
        changes(&package(PUBLISHED_WIT), &package(&now))
    }

    #[test]
    fn a_package_is_read_without_its_comments() {
        let read = package(PUBLISHED_WIT);
        assert_eq!(read.version, "1.0.0");
        assert_eq!(
            read.items["interface pages"],
            [
                "use types. { header , error }",
                "record hop { url: string , status: u16 , }",
                "resource page url: func() -> string",
                "open: func(id: u32) -> result<page , error>",
            ]
        );
        assert_eq!(read.items["world actor"], ["import pages", "export acting"]);
    }

    #[test]
    fn only_comments_may_change_in_a_published_version() {
        assert!(changed("/// The package.", "/// Another text; {").is_empty());
        for (from, to) in [
            ("url: string", "url: option<string>"),
            ("status: u16,", "status: u16, more: u8,"),
            ("url: func() -> string;", ""),
            ("open:", "more: func();\n open:"),
            ("import pages;", "import pages; import log;"),
        ] {
            assert!(!changed(from, to).is_empty(), "{from} to {to}");
        }
    }

    #[test]
    fn a_later_version_only_adds() {
        let later = |from: &str, to: &str| {
            let now = PUBLISHED_WIT.replace("1.0.0", "1.1.0").replace(from, to);
            changes(&package(PUBLISHED_WIT), &package(&now))
        };
        for (from, to) in [
            ("open:", "more: func();\n open:"),
            ("import pages;", "import pages; import log;"),
            ("world actor", "interface log { log: func(); } world actor"),
            (
                "url: func() -> string;",
                "url: func() -> string; size: func() -> u64;",
            ),
        ] {
            assert_eq!(later(from, to), Vec::<String>::new(), "{from} to {to}");
        }
        for (from, to) in [
            ("status: u16,", "status: u16, more: u8,"),
            ("id: u32", "id: u64"),
            ("url: func() -> string;", ""),
            ("import pages;", ""),
            ("export acting;", "export acting; export more;"),
            ("interface pages", "interface sites"),
        ] {
            assert!(!later(from, to).is_empty(), "{from} to {to}");
        }
        let next = PUBLISHED_WIT
            .replace("1.0.0", "2.0.0")
            .replace("u16", "u32");
        assert!(changes(&package(PUBLISHED_WIT), &package(&next)).is_empty());
    }

    #[test]
    fn names_are_only_appended() {
        let before = "tag 1 a\ntag 2 b\nattr 1 id\n";
        assert!(changed_names(before, before).is_empty());
        assert!(
            changed_names(before, "tag 1 a\ntag 2 b\ntag 3 c\nattr 1 id\nattr 2 x\n").is_empty()
        );
        for now in [
            "tag 1 a\nattr 1 id\n",
            "tag 1 b\ntag 2 a\nattr 1 id\n",
            "tag 1 a\ntag 2 b\nattr 1 class\n",
        ] {
            assert!(!changed_names(before, now).is_empty(), "{now}");
        }
    }
}
