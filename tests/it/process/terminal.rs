//! What a component says of itself is text on a terminal: it hides nothing and clears nothing.

use orbweaver_engine::manifest;

use super::{command, run};
use crate::support::fixture;

#[test]
fn a_manifest_does_not_control_the_terminal() {
    let data = tempfile::tempdir().expect("a folder");
    let text = r#"
name = "free"
kind = "actor"
version = "1\u001b[8m"
api = "1.0.0"
description = "Good.\u001b[2J\u202e\nforged: nothing"
[permissions]
http = ["*"]
secrets = ["a\u001b[1A\u001b[2K"]
"#;
    let bytes = std::fs::read(fixture("spin-actor")).expect("a fixture");
    let bytes = manifest::embed(&bytes, text).expect("a component");
    let folder = data.path().join("plugins");
    std::fs::create_dir(&folder).expect("a folder");
    let file = folder.join("actor-free.wasm");
    std::fs::write(&file, &bytes).expect("a file");
    std::fs::write(folder.join("extract-\u{1b}[2J.wasm"), b"nothing").expect("a file");
    let file = file.to_str().expect("a path");
    for (arguments, shown) in [
        (vec!["plugin", "inspect", file], "secret=a\\u{1b}[1A"),
        (vec!["plugin", "check", file], "1\\u{1b}[8m"),
    ] {
        let output = run(&data, &arguments);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).expect("text");
        assert!(
            !said.contains('\u{1b}') && !said.contains('\u{202e}'),
            "{said:?}"
        );
        assert!(said.contains(shown) && !said.contains("\nforged"), "{said}");
    }
    let output = command(&data)
        .args(["plugin", "list"])
        .env("ORBWEAVER_PLUGIN_DIR", &folder)
        .output()
        .expect("the program runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).expect("text");
    assert!(
        !said.contains('\u{1b}') && !said.contains('\u{202e}'),
        "{said:?}"
    );
    assert!(
        said.contains("free") && said.contains("refused: "),
        "{said}"
    );
}
