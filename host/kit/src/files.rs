//! Files that a fixture names. A project may be somebody else's: its fixtures name their own files alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The path of a file in a folder or below it.
///
/// # Errors
/// There is no such file, or it is elsewhere: by `..`, an absolute path or a link.
pub(crate) fn within(folder: &Path, file: &str) -> Result<PathBuf> {
    let real = |path: &Path| {
        fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (root, path) = (real(folder)?, real(&folder.join(file))?);
    if !path.starts_with(&root) {
        bail!("`{file}` must be a file in {} or below it", root.display());
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixture_names_no_file_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("fixtures");
        fs::create_dir_all(folder.join("pages")).unwrap();
        fs::write(folder.join("pages/a.html"), "a").unwrap();
        fs::write(root.path().join("secret"), "s").unwrap();
        assert!(within(&folder, "pages/a.html").is_ok());
        assert!(within(&folder, "pages/../pages/a.html").is_ok());
        let absolute = root.path().join("secret").display().to_string();
        for file in ["../secret", "pages/../../secret", &absolute] {
            let error = within(&folder, file).unwrap_err().to_string();
            assert!(error.contains("must be a file in "), "{error}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.path().join("secret"), folder.join("link")).unwrap();
            assert!(within(&folder, "link").is_err());
        }
        assert!(within(&folder, "missing").is_err());
    }
}
