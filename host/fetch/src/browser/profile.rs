//! Folders for profiles of browsers, with their preferences, and the removal of those that a killed
//! process left.
//!
//! A profile's process holds a lock on a file in it for as long as it lives, however it ends, so what
//! is not locked belongs to nobody.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tempfile::TempDir;

/// How the names of profiles begin.
const PREFIX: &str = "orbweaver-browser-";
/// The file that is locked.
const LOCK: &str = "in-use";
/// What no flag says, for browsers with a user interface: PDF files are saved instead of shown by a
/// viewer, whose page would take their place, and WebRTC sends no datagrams past the proxy.
const PREFERENCES: &str = r#"{
  "plugins": {"always_open_pdf_externally": true},
  "webrtc": {"ip_handling_policy": "disable_non_proxied_udp"}
}"#;

/// The profile of a browser; its folder is removed when this is dropped.
pub(super) struct Profile {
    folder: TempDir,
    _lock: File,
}

impl Profile {
    /// Makes one in the folder for temporary files, and removes those that are left there.
    ///
    /// # Errors
    /// If the folder, its lock or its preferences cannot be made.
    pub(super) fn new() -> io::Result<Self> {
        let place = std::env::temp_dir();
        remove_left(&place);
        Self::within(&place)
    }

    fn within(place: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        let lock = File::create_new(folder.path().join(LOCK))?;
        lock.try_lock()?;
        let preferences = folder.path().join("Default");
        std::fs::create_dir(&preferences)?;
        std::fs::write(preferences.join("Preferences"), PREFERENCES)?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes this user's profiles that no process has. One that is just being made has no lock file
/// yet, and is left alone; so is one that cannot be removed.
fn remove_left(place: &Path) {
    let Ok(entries) = std::fs::read_dir(place) else {
        return;
    };
    // SAFETY: asks for an id.
    let me = unsafe { libc::geteuid() };
    for entry in entries.flatten() {
        let is_profile = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX));
        // The metadata is the entry's own (lstat): a symbolic link is never one of our profiles.
        let is_mine = || {
            entry
                .metadata()
                .is_ok_and(|data| data.is_dir() && data.uid() == me)
        };
        if !is_profile || !is_mine() {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok())
            && let Err(error) = std::fs::remove_dir_all(entry.path())
        {
            tracing::debug!(%error, "a browser's profile that was left cannot be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_has_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let profiles = || {
            let mut names: Vec<_> = std::fs::read_dir(place.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let used = Profile::within(place.path()).unwrap();
        let left = Profile::within(place.path()).unwrap();
        // As after a kill: the lock ends with the process, the folder stays.
        let Profile { folder, _lock } = left;
        let left = folder.keep();
        drop(_lock);
        let begun = place.path().join(format!("{PREFIX}begun"));
        std::fs::create_dir(&begun).unwrap();
        let other = place.path().join("other");
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join(LOCK), "").unwrap();
        remove_left(place.path());
        assert!(!left.exists());
        assert_eq!(profiles().len(), 3, "{:?}", profiles());
        assert!(used.path().exists() && begun.exists() && other.exists());
        drop(used);
        assert_eq!(profiles().len(), 2);
    }
}
