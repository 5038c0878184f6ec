//! The lock file beside installed components: which artefact each of them is.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::reference::{Digest, Reference};

/// Its name in the plugin folder.
const FILE: &str = "plugins.lock";
/// Version of its form.
const VERSION: u32 = 1;
/// What stands at its top.
const HEAD: &str = "# Written by `orbweaver plugin install`.\n\n";

/// The components of a plugin folder that are from registries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    version: u32,
    #[serde(default, rename = "plugin", skip_serializing_if = "Vec::is_empty")]
    plugins: Vec<Locked>,
}

/// A component from a registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locked {
    /// Its file in the plugin folder.
    pub file: String,
    /// Registry, repository and tag.
    pub source: String,
    /// Digest of the artefact's manifest.
    pub digest: String,
    /// Digest of the component.
    pub component: String,
    /// SHA-256 of the public key that its signature was checked by; `None`: it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            version: VERSION,
            plugins: Vec::new(),
        }
    }
}

impl Lock {
    /// The lock file of a folder; an empty one if there is none.
    ///
    /// # Errors
    /// A file that cannot be read, or is of a later version.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let lock: Self = toml::from_str(&text).with_context(|| path.display().to_string())?;
        if lock.version != VERSION {
            bail!("{}: version {} is not known", path.display(), lock.version);
        }
        Ok(lock)
    }

    /// The components, by file.
    pub fn plugins(&self) -> &[Locked] {
        &self.plugins
    }

    /// Checks that what a registry serves for a reference is what was installed from there, if anything was.
    ///
    /// # Errors
    /// Another digest.
    pub fn check(&self, reference: &Reference, digest: &Digest) -> Result<()> {
        let source = reference.source();
        let known = || self.plugins.iter().filter(|locked| locked.source == source);
        // A tag under which a plugin of another name was stored since has a line for each.
        if known().any(|locked| locked.digest == digest.as_str()) {
            return Ok(());
        }
        match known().next() {
            Some(locked) => bail!(
                "{source} is {digest} now, and the lock file has {}; --update installs it",
                locked.digest
            ),
            None => Ok(()),
        }
    }

    /// Checks that a file of the folder which is replaced by what a reference names is from the same repository.
    ///
    /// # Errors
    /// One from another repository, or one that was not installed from a registry: its content is
    /// `component`.
    pub fn check_place(&self, file: &str, component: &Digest, reference: &Reference) -> Result<()> {
        let known = self.plugins.iter().find(|locked| locked.file == file);
        let Some(known) = known.filter(|known| known.component == component.as_str()) else {
            bail!("{file} is installed, and not from a registry; --update replaces it");
        };
        let source: Reference = known.source.parse()?;
        if (&source.host, &source.repository) != (&reference.host, &reference.repository) {
            bail!(
                "{file} is installed from {}, which is another source; --update replaces it",
                known.source
            );
        }
        Ok(())
    }

    /// Notes a component; it takes the place of the one with its file.
    pub fn set(&mut self, locked: Locked) {
        self.plugins.retain(|other| other.file != locked.file);
        self.plugins.push(locked);
        self.plugins.sort_by(|a, b| a.file.cmp(&b.file));
    }

    /// Writes the lock file of a folder, by rename.
    ///
    /// # Errors
    /// A failed write.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let partial = folder.join(format!(".{FILE}.new"));
        let text = format!("{HEAD}{}", toml::to_string(self)?);
        fs::write(&partial, text)
            .and_then(|()| fs::rename(&partial, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(file: &str, source: &str, digest: &Digest) -> Locked {
        Locked {
            file: file.to_owned(),
            source: source.to_owned(),
            digest: digest.to_string(),
            component: digest.to_string(),
            key: None,
        }
    }

    #[test]
    fn another_digest_of_the_same_source_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (Digest::of(b"old"), Digest::of(b"new"));
        let mut lock = Lock::read(folder.path()).unwrap();
        lock.set(locked("b.wasm", "oci://a.example/b:1", &old));
        lock.set(locked("a.wasm", "oci://a.example/a:1", &old));
        lock.write(folder.path()).unwrap();

        let mut lock = Lock::read(folder.path()).unwrap();
        let files: Vec<&str> = lock.plugins().iter().map(|one| one.file.as_str()).collect();
        assert_eq!(files, ["a.wasm", "b.wasm"]);
        let one: Reference = "oci://a.example/a:1".parse().unwrap();
        assert!(lock.check(&one, &old).is_ok());
        let error = lock.check(&one, &new).unwrap_err().to_string();
        assert!(
            error.contains("--update") && error.contains(old.as_str()),
            "{error}"
        );
        // Another tag is asked for by name.
        let two: Reference = "oci://a.example/a:2".parse().unwrap();
        assert!(lock.check(&two, &new).is_ok());
        lock.set(locked("a.wasm", "oci://a.example/a:2", &new));
        assert!(lock.check(&one, &new).is_ok());
        assert_eq!(lock.plugins().len(), 2);
    }

    #[test]
    fn a_tag_that_named_two_plugins_is_known_with_both() {
        let source = "oci://a.example/a:1";
        let of = |content: &[u8]| Digest::of(content);
        let mut lock = Lock::default();
        lock.set(locked("a.wasm", source, &of(b"first")));
        let reference: Reference = source.parse().unwrap();
        assert!(lock.check(&reference, &of(b"second")).is_err());
        // It was installed with --update.
        lock.set(locked("b.wasm", source, &of(b"second")));
        assert!(lock.check(&reference, &of(b"second")).is_ok());
        assert!(lock.check(&reference, &of(b"third")).is_err());
    }

    #[test]
    fn what_is_installed_from_elsewhere_is_not_replaced() {
        let mut lock = Lock::default();
        let old = Digest::of(b"old");
        lock.set(locked("a.wasm", "oci://a.example/a:1", &old));
        let check = |file: &str, component: &[u8], reference: &str| {
            let reference = reference.parse().unwrap();
            lock.check_place(file, &Digest::of(component), &reference)
        };
        assert!(check("a.wasm", b"old", "oci://a.example/a:1").is_ok());
        assert!(check("a.wasm", b"old", "oci://a.example/a:2").is_ok());
        for (file, component, reference, why) in [
            (
                "a.wasm",
                &b"old"[..],
                "oci://a.example/b:1",
                "oci://a.example/a:1",
            ),
            ("a.wasm", b"old", "oci://b.example/a:1", "another source"),
            // A file was put in the place of the one that was installed.
            (
                "a.wasm",
                b"own",
                "oci://a.example/a:1",
                "not from a registry",
            ),
            (
                "b.wasm",
                b"old",
                "oci://a.example/a:1",
                "not from a registry",
            ),
        ] {
            let error = check(file, component, reference).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("--update"), "{error}");
        }
    }

    #[test]
    fn a_lock_file_of_a_later_version_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["version = 2\n", "version = 1\nnew = true\n", "no TOML"] {
            fs::write(folder.path().join(FILE), text).unwrap();
            assert!(Lock::read(folder.path()).is_err(), "{text}");
        }
    }
}
