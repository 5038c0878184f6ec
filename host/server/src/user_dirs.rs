//! The user's folders (XDG Base Directory Specification).

use std::path::PathBuf;

/// `orbweaver` in the user's cache; none where neither XDG_CACHE_HOME nor HOME is an absolute path.
pub(crate) fn cache() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", ".cache")
}

/// `orbweaver` in the user's configuration; none where neither XDG_CONFIG_HOME nor HOME is an
/// absolute path.
pub(crate) fn config() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config")
}

fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    // The specification: a path that is not absolute is to be ignored.
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let base = absolute(variable).or_else(|| Some(absolute("HOME")?.join(below_home)))?;
    Some(base.join("orbweaver"))
}
