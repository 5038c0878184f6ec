//! Restricts the data folder's files to this user: they contain keys, pages and compiled code.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use super::Config;
use crate::user_dirs;

/// Creates the data folder (0700) and its database file (0600), and restricts files that an older
/// version or an open umask left accessible: the database with its companion files, `secret.key`
/// and the compiled plugins. The mode of an existing folder is left to its owner.
///
/// # Errors
/// When the folder or the database file cannot be created.
pub(super) fn prepare(config: &Config) -> io::Result<()> {
    create_dir(&config.data_dir)?;
    if let Some(database) = sqlite_file(config) {
        // SQLite gives its -wal and -shm files the mode of the database file.
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&database)?;
        close_companions(&database);
    }
    close(&config.data_dir.join("secret.key"), 0o600);
    close(&config.compiled_dir(), 0o700);
    Ok(())
}

/// `orbweaver/compiled` in the user's cache, made where it is missing; none where there is no such cache, or others may write to it: what lies there
/// is run as machine code.
pub(super) fn user_cache() -> Option<PathBuf> {
    private_dir(user_dirs::cache()?.join("compiled"))
}

/// The folder, made where it is missing, if nobody but this user and root may write to it or
/// replace it.
fn private_dir(dir: PathBuf) -> Option<PathBuf> {
    create_dir(&dir).ok()?;
    let dir = dir.canonicalize().ok()?;
    let me = rustix::process::geteuid().as_raw();
    let own = std::fs::metadata(&dir).ok()?;
    if own.uid() != me || own.mode() & 0o077 != 0 {
        return None;
    }
    for parent in dir.ancestors().skip(1) {
        let found = std::fs::metadata(parent).ok()?;
        // In a sticky folder users can't replace files of others.
        let is_open = found.mode() & 0o002 != 0 && found.mode() & 0o1000 == 0;
        if is_open || ![0, me].contains(&found.uid()) {
            return None;
        }
    }
    Some(dir)
}

fn create_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// The file of a SQLite database; `None` for PostgreSQL, and for a URL with options that decide
/// how the file is opened.
fn sqlite_file(config: &Config) -> Option<PathBuf> {
    let url = config.database_url();
    let path = url.expose().strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    let is_file = !path.is_empty() && !path.contains('?') && path != ":memory:";
    is_file.then(|| PathBuf::from(path))
}

/// Restricts the database file and files whose names start with its name.
fn close_companions(database: &Path) {
    let (Some(dir), Some(name)) = (database.parent(), database.file_name()) else {
        return;
    };
    let name = name.as_encoded_bytes();
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    for entry in entries {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && entry.file_name().as_encoded_bytes().starts_with(name) {
            close(&entry.path(), 0o600);
        }
    }
}

/// Removes other users' access to a file or folder, if it exists.
fn close(path: &Path, mode: u32) {
    let Ok(meta) = std::fs::symlink_metadata(path) else {
        return;
    };
    if meta.is_symlink() || meta.permissions().mode() & 0o077 == 0 {
        return;
    }
    if let Err(error) = std::fs::set_permissions(path, Permissions::from_mode(mode)) {
        tracing::warn!(%error, path = %path.display(), "other users may be able to read this file");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_in_an_open_folder_are_restricted_to_this_user() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let config = Config {
            data_dir: dir.path().to_owned(),
            ..Config::default()
        };
        // A file that an older version has left.
        for name in ["orbweaver.db-wal", "orbweaver.db.lock", "secret.key"] {
            std::fs::write(dir.path().join(name), "x").unwrap();
            let open = Permissions::from_mode(0o644);
            std::fs::set_permissions(dir.path().join(name), open).unwrap();
        }
        prepare(&config).unwrap();
        for name in [
            "orbweaver.db",
            "orbweaver.db-wal",
            "orbweaver.db.lock",
            "secret.key",
        ] {
            assert_eq!(mode(&dir.path().join(name)), 0o600, "{name}");
        }
        assert_eq!(mode(dir.path()), 0o755, "the operator chose this mode");
    }

    #[test]
    fn a_cache_that_others_may_write_to_is_not_used() {
        let root = tempfile::tempdir().unwrap();
        let cache = root.path().join("cache/orbweaver/compiled");
        let found = private_dir(cache.clone()).unwrap();
        assert_eq!(found, cache.canonicalize().unwrap());
        assert_eq!(mode(&cache), 0o700);
        for (path, open) in [
            (cache.clone(), 0o770),
            (cache.clone(), 0o750),
            (root.path().join("cache"), 0o777),
        ] {
            std::fs::set_permissions(&path, Permissions::from_mode(open)).unwrap();
            assert_eq!(
                private_dir(cache.clone()),
                None,
                "{} {open:o}",
                path.display()
            );
            std::fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
        }
        let file = root.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(private_dir(file.join("compiled")), None);
    }

    #[test]
    fn a_new_data_folder_is_restricted_to_this_user() {
        let dir = tempfile::tempdir().unwrap();
        let config = Config {
            data_dir: dir.path().join("a/b"),
            ..Config::default()
        };
        prepare(&config).unwrap();
        assert_eq!(mode(&config.data_dir), 0o700);
    }
}
