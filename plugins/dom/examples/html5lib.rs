//! Runs html5lib's tree-construction cases: every `.dat` file of a folder, for example of a checkout of
//! <https://github.com/html5lib/html5lib-tests>.
//!
//! `cargo run -p orbweaver-dom --features write --example html5lib -- FOLDER`

#[path = "../tests/support/dat.rs"]
mod dat;

use std::path::PathBuf;
use std::process::ExitCode;

/// Where the tree differs from the standard's on purpose, by what such a page contains.
const KNOWN: &[(&str, &str)] = &[(
    "<selectedcontent",
    "the chosen option's contents are not repeated in <selectedcontent>: its text is there once",
)];

fn files(folder: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.retain(|path| path.extension().is_some_and(|e| e == "dat"));
    files.sort();
    Ok(files)
}

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: html5lib FOLDER");
        return ExitCode::from(2);
    };
    let files = match files(&folder) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("{folder}: {error}");
            return ExitCode::from(2);
        }
    };
    let (mut passed, mut failed, mut fragments, mut script_off) = (0, 0, 0, 0);
    let mut known = [0; KNOWN.len()];
    for file in files {
        let bytes = std::fs::read(&file).unwrap_or_default();
        for case in dat::cases(&String::from_utf8_lossy(&bytes)) {
            if case.is_fragment {
                fragments += 1;
                continue;
            }
            if case.is_script_off {
                script_off += 1;
                continue;
            }
            let snapshot = orbweaver_dom::parse(&case.html);
            let tree = snapshot
                .view()
                .map(|view| dat::dump(&view))
                .unwrap_or_default();
            if tree == case.tree {
                passed += 1;
                continue;
            }
            if let Some(reason) = KNOWN.iter().position(|(mark, _)| case.html.contains(mark)) {
                known[reason] += 1;
                continue;
            }
            failed += 1;
            println!(
                "{}: {:?}\n--- expected\n{}\n--- got\n{tree}\n",
                file.display(),
                case.html,
                case.tree
            );
        }
    }
    println!("{passed} passed, {failed} failed");
    println!("left out: {fragments} fragments; {script_off} that hold without scripts only");
    for ((_, reason), count) in KNOWN.iter().zip(known) {
        println!("differ: {count}, {reason}");
    }
    ExitCode::from(u8::from(failed > 0))
}
