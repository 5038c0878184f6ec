//! The login: which service commands run at, in a file that only this user may read.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};

use crate::user_dirs;

/// A service and the key for it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Saved {
    /// Its address, such as `https://crawl.example.com`.
    pub(super) server: String,
    /// A key of a project.
    pub(super) key: String,
}

impl Saved {
    /// The login; `None` if there is none.
    pub(super) fn read() -> anyhow::Result<Option<Self>> {
        match place() {
            Some(path) => Self::read_from(&path),
            None => Ok(None),
        }
    }

    /// Remembers the login; returns its file.
    pub(super) fn write(&self) -> anyhow::Result<PathBuf> {
        let path = place().context("neither XDG_CONFIG_HOME nor HOME is an absolute path")?;
        self.write_to(&path)?;
        Ok(path)
    }

    /// Forgets the login; returns its address if there was one.
    pub(super) fn forget() -> anyhow::Result<Option<String>> {
        let Some(path) = place() else { return Ok(None) };
        // A file that cannot be read is removed, too.
        let server = Self::read_from(&path).ok().flatten();
        match std::fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot remove {}", path.display()));
            }
        }
        Ok(Some(server.map_or_else(
            || path.display().to_string(),
            |saved| saved.server,
        )))
    }

    fn read_from(path: &Path) -> anyhow::Result<Option<Self>> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        if std::fs::metadata(path)?.mode() & 0o077 != 0 {
            bail!(
                "{}: others may read it, and it has a key; `chmod 600` closes it",
                path.display()
            );
        }
        // The parser's message would show the line, which may have the key.
        match toml::from_str(&text) {
            Ok(saved) => Ok(Some(saved)),
            Err(_) => bail!(
                "{}: is not a login; `orbweaver logout` removes it",
                path.display()
            ),
        }
    }

    fn write_to(&self, path: &Path) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {}", path.display());
        if let Some(folder) = path.parent() {
            let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
            made.with_context(cannot)?;
        }
        // Written beside it and renamed: the file is whole, and closed from its first byte on.
        let part = path.with_extension(format!("{}.part", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)
            .and_then(|mut file| {
                let text = toml::to_string(self).map_err(std::io::Error::other)?;
                file.write_all(text.as_bytes())?;
                std::fs::rename(&part, path)
            });
        if written.is_err() {
            let _ = std::fs::remove_file(&part);
        }
        written.with_context(cannot)
    }
}

/// The file: `orbweaver/login.toml` in the user's configuration.
fn place() -> Option<PathBuf> {
    Some(user_dirs::config()?.join("login.toml"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_login_is_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("login.toml");
        assert!(Saved::read_from(&path).unwrap().is_none());
        let saved = Saved {
            server: "https://crawl.example.com".to_owned(),
            key: "orb_secret".to_owned(),
        };
        saved.write_to(&path).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        let again = Saved::read_from(&path).unwrap().unwrap();
        assert_eq!((again.server, again.key), (saved.server, saved.key));

        let open = std::fs::Permissions::from_mode(0o640);
        std::fs::set_permissions(&path, open).unwrap();
        let Err(error) = Saved::read_from(&path) else {
            panic!("others could read the key");
        };
        assert!(format!("{error:#}").contains("chmod 600"), "{error:#}");
    }

    #[test]
    fn a_damaged_login_does_not_show_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("login.toml");
        let mut file = OpenOptions::new();
        let mut file = file
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .unwrap();
        file.write_all(b"server = 7\nkey = orb_secret").unwrap();
        let Err(error) = Saved::read_from(&path) else {
            panic!("it is no login");
        };
        assert!(!format!("{error:#}").contains("orb_secret"), "{error:#}");
    }
}
