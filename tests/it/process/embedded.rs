//! A program with plugins inside, and what is packaged with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use super::{Served, command, program, run};
use crate::support::{Client, KEY, Site, plugin_dir};

/// A copy of the program with the extractor of links inside, in a folder of its own.
fn with_links_inside(folder: &TempDir) -> PathBuf {
    let plugins = folder.path().join("few");
    std::fs::create_dir(&plugins).unwrap();
    let file = "extract-links.wasm";
    std::fs::copy(plugin_dir().join(file), plugins.join(file)).unwrap();
    let output = folder.path().join("orbweaver");
    let arguments = ["--plugin-dir", &plugins.to_string_lossy(), "--output"];
    let written = command(folder)
        .args(["plugin", "embed"])
        .args(arguments)
        .arg(&output)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success(), "{said}");
    assert!(said.contains("1 plugin"), "{said}");
    output
}

/// The program with plugins inside, without any plugin folder, which compiles into `compiled`.
fn alone(program: &Path, folder: &TempDir) -> Command {
    let mut alone = Command::new(program);
    alone
        .env_clear()
        .env("ORBWEAVER_BOOTSTRAP_KEY", KEY)
        .env("ORBWEAVER_DATA_DIR", folder.path().join("data"))
        .env("ORBWEAVER_PLUGINS__CACHE_DIR", compiled(folder))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    alone
}

fn compiled(folder: &TempDir) -> PathBuf {
    folder.path().join("compiled")
}

#[test]
fn a_file_that_is_there_is_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let output = with_links_inside(&folder);
    std::fs::write(&output, "another program").unwrap();
    let embed = |more: &[&str]| {
        let mut embed = command(&folder);
        embed
            .args(["plugin", "embed", "--plugin-dir"])
            .arg(folder.path().join("few"))
            .arg("--output")
            .arg(&output)
            .args(more);
        embed.output().unwrap()
    };
    let refused = embed(&[]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("exists; --force replaces it"), "{said}");
    assert_eq!(std::fs::read(&output).unwrap(), b"another program");
    let written = embed(&["--force"]);
    let said = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success(), "{said}");
    assert!(std::fs::metadata(&output).unwrap().len() > 1_000_000);
}

#[tokio::test]
async fn a_program_with_plugins_inside_needs_no_folder_and_compiles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let with_plugins = with_links_inside(&folder);
    let site = Site::start().await;
    let served = Served::start(&mut alone(&with_plugins, &folder));
    let client = Client::new(served.address, Some(KEY));
    let listed = client.get("/v1/plugins").await.ok();
    assert_eq!(listed["items"][0]["name"], "links", "{listed}");
    assert_eq!(listed["items"][0]["source"], "embedded", "{listed}");
    let body = json!({ "url": site.url("/article"), "include_links": true });
    let scan = client.post("/v1/scan", &body).await.ok();
    assert!(scan["links"].is_array(), "{scan}");
    let files = std::fs::read_dir(compiled(&folder)).unwrap().count();
    assert_eq!(files, 0, "the code inside the program was used");

    let ready = |address: String| {
        let mut command = alone(&with_plugins, &folder);
        command.arg("ready").env("ORBWEAVER_LISTEN", address);
        command.output().unwrap()
    };
    let output = ready(served.address.to_string());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("200"),
        "{output:?}"
    );
    served.signal("TERM");
    let address = served.address.to_string();
    served.ended();
    assert_eq!(ready(address).status.code(), Some(1), "it has ended");
}

#[test]
fn damaged_plugins_inside_the_program_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let program = with_links_inside(&folder);
    let mut bytes = std::fs::read(&program).unwrap();
    // Part of the index, which is before the trailer of 56 bytes.
    let at = bytes.len() - 60;
    bytes[at] ^= 1;
    // Another process writes the program: a process that another test starts meanwhile would inherit the
    // file from this one, and a file that somebody may write to cannot be run.
    let damaged = folder.path().join("damaged");
    std::fs::write(&damaged, bytes).unwrap();
    let copied = Command::new("cp").args([&damaged, &program]).status();
    assert!(copied.unwrap().success());
    let output = alone(&program, &folder)
        .args(["plugin", "list"])
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("inside the program are damaged"), "{said}");
}

#[test]
fn completions_and_manual_pages_describe_every_command() {
    let data = tempfile::tempdir().unwrap();
    for (shell, sign) in [
        ("bash", "complete -F _orbweaver"),
        ("zsh", "#compdef orbweaver"),
        ("fish", "complete -c orbweaver"),
    ] {
        let script = run(&data, &["completions", shell]);
        assert!(script.status.success());
        let script = String::from_utf8(script.stdout).unwrap();
        assert!(script.contains(sign), "{shell}");
        assert!(script.contains("doctor"), "{shell}");
    }
    let pages = data.path().join("man");
    let written = run(&data, &["manual", &pages.to_string_lossy()]);
    assert!(written.status.success());
    for page in [
        "orbweaver.1",
        "orbweaver-serve.1",
        "orbweaver-plugin-embed.1",
    ] {
        let text = std::fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".TH"), "{page}");
    }
    let command = Command::new(program()).arg("--help").output().unwrap();
    let help = String::from_utf8(command.stdout).unwrap();
    assert!(!help.contains("manual"), "for packages only: {help}");
}
