//! The contents of the plugin folder. Files are compared by size, times, mode and inode. A file that is
//! still changing is ignored until it has been unchanged for a moment, so a partly written file
//! is not an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long a file must be unchanged before it is read.
pub(crate) const STILL: Duration = Duration::from_millis(150);

/// Identifies one state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) size: u64,
    modified: Option<SystemTime>,
    /// Changes with the owner and the mode, too: a file that could not be read may be readable then.
    changed: (i64, i64),
    mode: u32,
    inode: u64,
}

/// The `.wasm` files of a folder; hidden files are ignored as incomplete.
pub(crate) fn scan(dir: &Path) -> std::io::Result<BTreeMap<PathBuf, Fingerprint>> {
    use std::os::unix::fs::MetadataExt as _;

    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_none_or(|n| n.to_string_lossy().starts_with('.'));
        if hidden || path.extension().is_none_or(|e| e != "wasm") {
            continue;
        }
        // A file may disappear after the listing.
        let Ok(file) = std::fs::metadata(&path) else {
            continue;
        };
        if file.is_file() {
            let modified = file.modified().ok();
            found.insert(
                path,
                Fingerprint {
                    size: file.len(),
                    modified,
                    changed: (file.ctime(), file.ctime_nsec()),
                    mode: file.mode(),
                    inode: file.ino(),
                },
            );
        }
    }
    Ok(found)
}

/// The state of the folder to load: a file that changed within the last [`STILL`] keeps its last
/// loaded state.
pub(crate) fn settle(
    found: BTreeMap<PathBuf, Fingerprint>,
    seen: &BTreeMap<PathBuf, Fingerprint>,
    moving: &mut BTreeMap<PathBuf, (Fingerprint, Instant)>,
) -> BTreeMap<PathBuf, Fingerprint> {
    let now = Instant::now();
    moving.retain(|path, _| found.contains_key(path));
    let mut still = BTreeMap::new();
    for (path, current) in found {
        let last = seen.get(&path).copied();
        if last == Some(current) {
            moving.remove(&path);
            still.insert(path, current);
            continue;
        }
        match moving.get(&path) {
            Some((before, since)) if *before == current => {
                if now.duration_since(*since) >= STILL {
                    moving.remove(&path);
                    still.insert(path, current);
                    continue;
                }
            }
            _ => {
                moving.insert(path.clone(), (current, now));
            }
        }
        if let Some(last) = last {
            still.insert(path, last);
        }
    }
    still
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn another_mode_is_another_state_of_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("extract-a.wasm");
        std::fs::write(&path, b"a").unwrap();
        let state = || scan(dir.path()).unwrap().remove(&path);
        let set = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).unwrap();
        };
        set(0o200);
        let before = state();
        assert_eq!(state(), before);
        set(0o644);
        assert_ne!(state(), before);
    }
}
