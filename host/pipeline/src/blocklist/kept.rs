//! The last good copy of each list at a URL, in the data folder: a start while the list's
//! server is down must not leave the service without it.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::MAX_BYTES;

/// The folder of the copies. It and its files are this user's alone, since a URL may name a
/// list that is paid for.
#[derive(Clone, Debug)]
pub(super) struct KeptLists(PathBuf);

impl KeptLists {
    /// In a data folder; nothing is created yet.
    pub fn in_data_dir(data_dir: &Path) -> Self {
        Self(data_dir.join("blocklists"))
    }

    /// The copy of the list at a URL; none where none was kept.
    ///
    /// # Errors
    /// A copy that cannot be read.
    pub fn read(&self, url: &str) -> io::Result<Option<String>> {
        let path = self.file(url);
        match std::fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
            Ok(meta) if meta.len() > MAX_BYTES => {
                return Err(io::Error::other(format!("larger than {MAX_BYTES} bytes")));
            }
            Ok(_) => {}
        }
        let bytes = std::fs::read(path)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Keeps a copy. A concurrent reader sees the old one or the new one, whole.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, url: &str, text: &str) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.0)?;
        let (path, part) = (self.file(url), self.file(url).with_extension("part"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(part, path)
    }

    fn file(&self, url: &str) -> PathBuf {
        let digest: [u8; 32] = Sha256::digest(url).into();
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.0.join(format!("{name}.txt"))
    }
}
