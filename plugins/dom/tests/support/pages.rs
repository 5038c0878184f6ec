//! The pages of a folder: `.html` and `.html.gz`.

use std::io::{self, Read};
use std::path::Path;

/// Every page of a folder, by name. Bytes that are not UTF-8 become U+FFFD.
pub fn read_folder(folder: &Path) -> io::Result<Vec<(String, String)>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let bytes = if name.ends_with(".html.gz") {
            let mut bytes = Vec::new();
            flate2::read::MultiGzDecoder::new(std::fs::File::open(&path)?)
                .read_to_end(&mut bytes)?;
            bytes
        } else if name.ends_with(".html") {
            std::fs::read(&path)?
        } else {
            continue;
        };
        pages.push((name, String::from_utf8_lossy(&bytes).into_owned()));
    }
    pages.sort();
    Ok(pages)
}
