//! Exports as WACZ.

use std::collections::HashMap;
use std::io::Read as _;

use flate2::bufread::DeflateDecoder;
use flate2::read::{GzDecoder, MultiGzDecoder};
use rawzip::CompressionMethod;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{get, leaf};
use crate::support::runs::{SEED, Written, done, without_workers};

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
    assert_eq!(resources.len(), 4);
    for resource in resources {
        let file = &files[resource["path"].as_str().expect("a path")];
        assert_eq!(resource["hash"], hash(file), "{resource}");
        assert_eq!(resource["bytes"], file.len());
    }
    let mut index = String::new();
    let packed = &files["indexes/index.cdx.gz"][..];
    MultiGzDecoder::new(packed)
        .read_to_string(&mut index)
        .expect("text");
    // A player finds it by the list of its blocks.
    let blocks = String::from_utf8(files["indexes/index.idx"].clone()).expect("text");
    let (meta, block) = blocks.trim_end().split_once('\n').expect("a block");
    assert_eq!(
        meta,
        r#"!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}"#
    );
    let (key, place) = block.split_once(" {").expect("a place");
    assert_eq!(key, "127.0.0.1:8081)/a 20260301120000");
    let place: Value = serde_json::from_str(&format!("{{{place}")).expect("JSON");
    let expected = json!({"offset": 0, "length": packed.len(), "filename": "index.cdx.gz"});
    assert_eq!(place, expected);
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

/// A page whose body compresses badly.
fn noisy(number: usize) -> Written {
    let mut state = number as u64 + 1;
    let mut text = format!("<title>{number}</title><p>");
    while text.len() < 256 << 10 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text.push_str(&format!("{:x} ", state >> 16));
    }
    Written::new(&format!("p/{number}"), &text, &[])
}

#[tokio::test]
async fn each_warc_file_of_a_wacz_describes_itself() {
    let service = without_workers(false, |_| {}).await;
    let pages: Vec<Written> = (0..80).map(noisy).collect();
    let run = done(&service, &pages).await;
    let answer = get(&service.client(), run, "/export?format=wacz").await;
    let files = files(&answer.body);
    let mut ids = Vec::new();
    for number in 0.. {
        let name = format!("data-{number:05}.warc.gz");
        let Some(file) = files.get(&format!("archive/{name}")) else {
            break;
        };
        let mut text = Vec::new();
        let read = MultiGzDecoder::new(&file[..]).read_to_end(&mut text);
        read.expect("records");
        let text = String::from_utf8_lossy(&text);
        let (info, records) = text.split_once("WARC-Type: response").expect("a response");
        assert!(
            info.contains(&format!("WARC-Filename: {name}\r\n")),
            "{info}"
        );
        let id = info.split_once("WARC-Record-ID: ").expect("an id").1;
        let id = id.split_once("\r\n").expect("a line").0;
        // Its records name it, and no other file's.
        assert!(records.contains(&format!("WARC-Warcinfo-ID: {id}\r\n")));
        ids.push(id.to_owned());
    }
    assert!(ids.len() > 1, "{} files", ids.len());
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
}
