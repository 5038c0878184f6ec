//! Files of a folder whose writing was not finished. An object is written to `NAME#NUMBER` and
//! renamed at its end; such names are not listed, so nobody else finds what a process left that
//! was killed.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::SystemTime;

/// Deletes those of a folder that were last written before a time; returns how many. The folder may
/// be absent.
pub(crate) fn remove(folder: &Path, before: SystemTime) -> io::Result<u64> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(is_unfinished) {
            continue;
        }
        // It may have been finished meanwhile.
        match remove_old(&entry.path(), before) {
            Ok(is_removed) => removed += u64::from(is_removed),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(removed)
}

fn remove_old(file: &Path, before: SystemTime) -> io::Result<bool> {
    let found = fs::symlink_metadata(file)?;
    if !found.is_file() || found.modified()? >= before {
        return Ok(false);
    }
    fs::remove_file(file)?;
    Ok(true)
}

/// Whether a file has the name of an object that is being written.
fn is_unfinished(name: &str) -> bool {
    name.rsplit_once('#').is_some_and(|(object, number)| {
        !object.is_empty() && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_end_in_a_number_are_unfinished() {
        for name in ["a.warc#1", "orbweaver-database#12", "a#b#3"] {
            assert!(is_unfinished(name), "{name}");
        }
        for name in ["a.warc", "a.warc#", "#1", "a.warc#1x", "a1", "a#1.warc"] {
            assert!(!is_unfinished(name), "{name}");
        }
    }
}
