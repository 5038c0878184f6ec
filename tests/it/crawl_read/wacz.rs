//! Exports as WACZ.

use std::collections::HashMap;
use std::io::Read as _;

use flate2::bufread::DeflateDecoder;
use flate2::read::GzDecoder;
use rawzip::CompressionMethod;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{get, leaf};
use crate::support::runs::{SEED, done, without_workers};

/// The files of an archive.
fn files(bytes: &[u8]) -> HashMap<String, Vec<u8>> {
    let archive = rawzip::ZipArchive::from_slice(bytes).expect("an archive");
    let mut entries = archive.entries();
    let mut files = HashMap::new();
    while let Some(entry) = entries.next_entry().expect("an entry") {
        let name = entry
            .file_path()
            .try_normalize()
            .expect("a name")
            .as_ref()
            .to_owned();
        let local = archive.get_entry(entry.wayfinder()).expect("a file");
        let mut content = Vec::new();
        let is_stored = entry.compression_method() == CompressionMethod::STORE;
        let read = match is_stored {
            true => local
                .verifying_reader(local.data())
                .read_to_end(&mut content),
            false => {
                let inflated = DeflateDecoder::new(local.data());
                local.verifying_reader(inflated).read_to_end(&mut content)
            }
        };
        read.expect("its content");
        files.insert(name, content);
    }
    files
}

fn hash(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}

#[tokio::test]
async fn a_wacz_has_records_an_index_and_a_list_of_pages() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let mut titled = leaf("a");
    titled.title = Some("Title of a".to_owned());
    let run = done(&service, &[leaf("b?y=2&x=1"), titled]).await;
    let answer = get(&client, run, "/export?format=wacz").await;
    assert_eq!(answer.header("content-type"), Some("application/wacz"));
    let files = files(&answer.body);
    let about: Value = serde_json::from_slice(&files["datapackage.json"]).expect("JSON");
    assert_eq!(about["wacz_version"], "1.1.1");
    let digest: Value = serde_json::from_slice(&files["datapackage-digest.json"]).expect("JSON");
    assert_eq!(digest["hash"], hash(&files["datapackage.json"]));
    let resources = about["resources"].as_array().expect("a list");
    assert_eq!(resources.len(), 3);
    for resource in resources {
        let file = &files[resource["path"].as_str().expect("a path")];
        assert_eq!(resource["hash"], hash(file), "{resource}");
        assert_eq!(resource["bytes"], file.len());
    }
    let mut index = String::new();
    let packed = &files["indexes/index.cdx.gz"][..];
    GzDecoder::new(packed)
        .read_to_string(&mut index)
        .expect("text");
    let lines: Vec<&str> = index.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines.is_sorted() && lines[0].starts_with("127.0.0.1:8081)/a 20260301120000 {"),
        "{index}"
    );
    assert!(
        lines[1].starts_with("127.0.0.1:8081)/b?x=1&y=2 "),
        "{index}"
    );
    // Each entry leads to its response.
    for line in lines {
        let entry: Value =
            serde_json::from_str(line.splitn(3, ' ').nth(2).expect("JSON")).expect("JSON");
        let number = |name: &str| {
            entry[name]
                .as_str()
                .expect("text")
                .parse::<usize>()
                .expect("a number")
        };
        let file = &files[&format!("archive/{}", entry["filename"].as_str().expect("a name"))];
        let record = &file[number("offset")..number("offset") + number("length")];
        let mut text = String::new();
        GzDecoder::new(record)
            .read_to_string(&mut text)
            .expect("a record");
        let url = entry["url"].as_str().expect("a URL");
        assert!(text.contains("WARC-Type: response\r\n"), "{text}");
        assert!(
            text.contains(&format!("WARC-Target-URI: {url}\r\n")),
            "{text}"
        );
        assert_eq!(
            (&entry["status"], &entry["mime"]),
            (&Value::from("200"), &Value::from("text/html"))
        );
    }
    let pages = String::from_utf8(files["pages/pages.jsonl"].clone()).expect("text");
    let pages: Vec<Value> = pages
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(pages[0]["format"], "json-pages-1.0");
    assert_eq!(pages[1]["url"], format!("{SEED}b?y=2&x=1"));
    assert_eq!(
        (&pages[2]["title"], &pages[2]["ts"]),
        (
            &Value::from("Title of a"),
            &Value::from("2026-03-01T12:00:00Z")
        )
    );
}
