//! Plugins that are not loaded yet. Compiling takes seconds for each, so the plugins that a
//! request needs are loaded first, and requests for loaded plugins do not wait.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// Where a plugin is loaded from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PluginFile {
    /// The program, under this file name.
    Embedded(String),
    /// A file of the plugin folder.
    Folder(PathBuf),
}

impl PluginFile {
    /// The path in the folder, or the bare file name in the program.
    pub fn path(&self) -> &Path {
        match self {
            Self::Embedded(name) => Path::new(name),
            Self::Folder(path) => path,
        }
    }

    /// The file name, such as `extract-links.wasm`.
    pub fn name(&self) -> Cow<'_, str> {
        let name = self.path().file_name().unwrap_or_default();
        name.to_string_lossy()
    }
}

/// The waiting plugins, and those that are being loaded.
#[derive(Default)]
pub(crate) struct Pending(Mutex<State>);

#[derive(Default)]
struct State {
    /// The next one first.
    waiting: VecDeque<PluginFile>,
    loading: BTreeSet<PluginFile>,
}

impl Pending {
    /// Adds plugins, in this order, after those that already wait.
    pub fn add(&self, files: impl IntoIterator<Item = PluginFile>) {
        self.0.lock().waiting.extend(files);
    }

    /// Takes the next plugin, which counts as being loaded until [`done`](Self::done).
    pub fn next(&self) -> Option<PluginFile> {
        let mut state = self.0.lock();
        let file = state.waiting.pop_front()?;
        state.loading.insert(file.clone());
        Some(file)
    }

    /// Records that a plugin is loaded or was refused.
    pub fn done(&self, file: &PluginFile) {
        self.0.lock().loading.remove(file);
    }

    /// Whether a plugin with a matching file name is not loaded yet. Matching ones that wait are
    /// loaded first.
    pub fn want(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        let mut state = self.0.lock();
        let named = |file: &PluginFile| is_wanted(&file.name());
        let (mut wanted, rest): (VecDeque<_>, VecDeque<_>) =
            state.waiting.drain(..).partition(named);
        let is_coming = !wanted.is_empty() || state.loading.iter().any(named);
        wanted.extend(rest);
        state.waiting = wanted;
        is_coming
    }

    /// Whether all plugins are loaded.
    pub fn is_empty(&self) -> bool {
        let state = self.0.lock();
        state.waiting.is_empty() && state.loading.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_plugins_are_loaded_first() {
        let pending = Pending::default();
        let file = |name: &str| PluginFile::Folder(format!("/plugins/{name}.wasm").into());
        let embedded = PluginFile::Embedded("actor-c.wasm".to_owned());
        pending.add(["extract-a", "extract-b", "actor-c"].map(file));
        pending.add([embedded.clone()]);
        assert!(pending.want(|name| name == "actor-c.wasm"));
        assert_eq!(pending.next(), Some(file("actor-c")));
        pending.done(&file("actor-c"));
        assert_eq!(pending.next(), Some(embedded.clone()));
        assert!(
            pending.want(|name| name == "actor-c.wasm"),
            "it is being loaded"
        );
        pending.done(&embedded);
        assert!(!pending.want(|name| name == "actor-c.wasm"));
        assert!(!pending.want(|name| name == "nobody.wasm"));
        assert_eq!(pending.next(), Some(file("extract-a")));
        assert_eq!(pending.next(), Some(file("extract-b")));
        assert_eq!((pending.next(), pending.is_empty()), (None, false));
        pending.done(&file("extract-a"));
        pending.done(&file("extract-b"));
        assert!(pending.is_empty());
    }
}
