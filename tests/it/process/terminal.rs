//! What strangers say (a component of itself, a page, a service) is text on a terminal: it hides nothing and
//! clears nothing.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use orbweaver_engine::manifest;

use super::{command, run};
use crate::support::fixture;

/// A component with these lines in its manifest.
fn component(lines: &str) -> Vec<u8> {
    let bytes = std::fs::read(fixture("spin-actor")).expect("a fixture");
    let text = format!("name = \"free\"\nkind = \"actor\"\napi = \"1.0.0\"\n{lines}");
    manifest::embed(&bytes, &text).expect("a component")
}

#[test]
fn a_manifest_does_not_control_the_terminal() {
    let data = tempfile::tempdir().expect("a folder");
    let folder = data.path().join("plugins");
    std::fs::create_dir(&folder).expect("a folder");
    let file = folder.join("actor-free.wasm");
    let path = file.to_str().expect("a path").to_owned();
    std::fs::write(folder.join("extract-\u{1b}[2J.wasm"), b"nothing").expect("a file");
    let inspected = |lines: &str| {
        std::fs::write(&file, component(lines)).expect("a file");
        ["inspect", "check"].map(|verb| {
            let output = run(&data, &["plugin", verb, &path]);
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8(said).expect("text");
            assert!(
                !said.contains('\u{1b}') && !said.contains('\u{202e}'),
                "{said:?}"
            );
            assert!(!said.contains("\nforged"), "{said}");
            said
        })
    };
    for (lines, field) in [
        ("version = \"1\\u001b[8m\"", "version: "),
        (
            "version = \"1\"\ndescription = \"\\u001b[2J\\u202e\\nforged: nothing\"",
            "description: ",
        ),
        (
            "version = \"1\"\n[permissions]\nsecrets = [\"a\\u001b[1A\\u001b[2K\"]",
            "permissions.secrets[0]: ",
        ),
        ("version = \"1\"\n\"\\u001b[2J\\nforged\" = 1", "\\u{1b}[2J"),
    ] {
        for said in inspected(lines) {
            assert!(said.contains(field), "{said}");
        }
    }
    // A description may have line ends, which start no line of the output.
    for said in inspected("version = \"1\"\ndescription = \"Good.\\nforged: nothing\"") {
        assert!(said.contains("free"), "{said}");
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

#[test]
fn the_text_of_a_link_does_not_control_the_terminal() {
    let data = tempfile::tempdir().expect("a folder");
    let page = data.path().join("page.html");
    let html = "<a href='/a'>one\u{1b}[2J \u{9b}8m<b>two</b></a>";
    std::fs::write(&page, format!("<meta charset=utf-8>{html}")).expect("a file");
    let output = run(
        &data,
        &["scan", &page.to_string_lossy(), "--format", "links"],
    );
    let said = String::from_utf8(output.stdout).expect("text");
    assert_eq!(said.trim_end(), "https://example.com/a\tone[2J 8mtwo");
}

#[test]
fn the_error_of_a_service_does_not_control_the_terminal() {
    let data = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("a connection");
        // An answer before the request is an error of the exchange.
        let head = BufReader::new(connection.try_clone().expect("a handle")).lines();
        let is_more = |line: &std::io::Result<String>| line.as_ref().is_ok_and(|l| !l.is_empty());
        head.take_while(is_more).for_each(drop);
        let body = r#"{"error":{"code":"X","message":"no\u001b[2J\u202e"}}"#;
        let _ = write!(
            connection,
            "HTTP/1.1 422 X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        // A connection that is closed with unread bytes is reset, and the answer may be lost.
        let _ = std::io::copy(&mut connection, &mut std::io::sink());
    });
    let output = command(&data)
        .args(["scan", "http://example.com/", "--server", &address])
        .args(["--key", "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(
        said.contains("answers 422: no\\u{1b}[2J\\u{202e}"),
        "{said:?}"
    );
}
