//! Plugin files that are not loaded yet. Compiling takes seconds for each, so the files that a
//! request needs are loaded first, and requests for loaded plugins do not wait.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// The waiting files, and those that are being loaded.
#[derive(Default)]
pub(crate) struct Coming(Mutex<State>);

#[derive(Default)]
struct State {
    /// The next one first.
    waiting: VecDeque<PathBuf>,
    loading: BTreeSet<PathBuf>,
}

impl Coming {
    /// Adds files, in this order, after those that already wait.
    pub fn add(&self, files: impl IntoIterator<Item = PathBuf>) {
        self.0.lock().waiting.extend(files);
    }

    /// Takes the next file, which counts as being loaded until [`done`](Self::done).
    pub fn next(&self) -> Option<PathBuf> {
        let mut state = self.0.lock();
        let file = state.waiting.pop_front()?;
        state.loading.insert(file.clone());
        Some(file)
    }

    /// Records that a file is loaded or was refused.
    pub fn done(&self, file: &Path) {
        self.0.lock().loading.remove(file);
    }

    /// Whether a matching file is not loaded yet. Matching files that wait are loaded first.
    pub fn want(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        let mut state = self.0.lock();
        let named = |file: &PathBuf| {
            let name = file.file_name().map(OsStr::to_string_lossy);
            name.is_some_and(|name| is_wanted(&name))
        };
        let (mut wanted, rest): (VecDeque<_>, VecDeque<_>) =
            state.waiting.drain(..).partition(named);
        let is_coming = !wanted.is_empty() || state.loading.iter().any(named);
        wanted.extend(rest);
        state.waiting = wanted;
        is_coming
    }

    /// Whether all files are loaded.
    pub fn is_empty(&self) -> bool {
        let state = self.0.lock();
        state.waiting.is_empty() && state.loading.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_files_are_loaded_first() {
        let coming = Coming::default();
        let file = |name: &str| PathBuf::from(format!("/plugins/{name}.wasm"));
        coming.add(["extract-a", "extract-b", "actor-c"].map(file));
        assert!(coming.want(|name| name == "actor-c.wasm"));
        assert_eq!(coming.next(), Some(file("actor-c")));
        assert!(
            coming.want(|name| name == "actor-c.wasm"),
            "it is being loaded"
        );
        coming.done(&file("actor-c"));
        assert!(!coming.want(|name| name == "actor-c.wasm"));
        assert!(!coming.want(|name| name == "nobody.wasm"));
        assert_eq!(coming.next(), Some(file("extract-a")));
        assert_eq!(coming.next(), Some(file("extract-b")));
        assert_eq!((coming.next(), coming.is_empty()), (None, false));
        coming.done(&file("extract-a"));
        coming.done(&file("extract-b"));
        assert!(coming.is_empty());
    }
}
