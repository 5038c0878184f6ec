//! Lists the sources of the Rust SDK, so that the program can write them beside a new plugin.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What a plugin in Rust is built from, relative to the repository.
const SOURCES: [&str; 6] = [
    "plugins/Cargo.toml",
    "plugins/dom",
    "plugins/markup",
    "plugins/sdk",
    "plugins/urls",
    "wit",
];

/// Folders of the sources that only this repository's own checks use.
const LEFT_OUT: [&str; 4] = ["benches", "examples", "target", "tests"];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
        collect(&root.join(source), &mut files)?;
    }
    // Beside the WIT are its documentation and its test vectors.
    let wit = root.join("wit");
    files
        .retain(|file| !file.starts_with(&wit) || file.extension().is_some_and(|end| end == "wit"));
    files.sort();
    let mut code = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        let _ = writeln!(code, "({:?}, include_str!({file:?})),", name);
    }
    code.push(']');
    let out = env::var_os("OUT_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    fs::write(out.join("sdk_files.rs"), code)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_left_out = LEFT_OUT.iter().any(|left| name == *left);
        if !is_left_out && !name.to_string_lossy().starts_with('.') {
            collect(&entry.path(), files)?;
        }
    }
    Ok(())
}
