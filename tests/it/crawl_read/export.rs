//! Exports of a run's pages.

use std::collections::HashSet;
use std::io::Read as _;

use flate2::bufread::DeflateDecoder;
use flate2::read::MultiGzDecoder;
use orbweaver_core::ids::RunId;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{get, leaf};
use crate::support::runs::{SEED, Written, begin, done, end, ended, without_workers, write};
use crate::support::site::ARTICLE;
use crate::support::{Client, Service};

/// Every name of `include`.
pub(super) const ALL: &str = "title,final_url,depth,content_type,content_hash,elapsed_ms,redirects,inlinks,\
                   markdown,article,html,metadata,signals,extensions";

async fn lines(client: &Client, run: RunId, query: &str) -> Vec<Value> {
    let answer = get(client, run, &format!("/export?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let text = answer.text();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A run of an article, a page that links to it twice, and an error page.
pub(super) async fn three(service: &Service) -> RunId {
    let mut article = Written::new("", ARTICLE, &["a", "missing"]);
    article.title = Some("=HYPERLINK(\"https://evil.example/\")".to_owned());
    let linking = Written::new("a", "<title>A</title><h1>A</h1>", &["", "", "a"]);
    let mut missing = Written::new("missing", "<h1>Missing</h1>", &[]);
    missing.status = 404;
    done(service, &[article, linking, missing]).await
}

#[tokio::test]
async fn lines_have_the_fields_that_are_asked_for() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let run = three(&service).await;
        let plain = lines(&client, run, "").await;
        assert_eq!(plain.len(), 3);
        assert_eq!(plain[0].as_object().unwrap().len(), 5);
        let whole = lines(&client, run, &format!("include={ALL}")).await;
        let page = &whole[0];
        assert_eq!(page["url"], SEED);
        assert_eq!((&page["depth"], &whole[1]["depth"]), (&json!(0), &json!(1)));
        assert_eq!(page["content_type"], "text/html; charset=utf-8");
        assert_eq!(
            (&page["elapsed_ms"], &page["redirects"]),
            (&json!(12), &json!([]))
        );
        // A page counts once, however often it links, and not for itself.
        let inlinks: Vec<_> = whole.iter().map(|page| &page["inlinks"]).collect();
        assert_eq!(inlinks, [&json!(1), &json!(1), &json!(1)]);
        assert!(
            page["markdown"]
                .as_str()
                .unwrap()
                .contains("# How orb weavers build")
        );
        assert!(page["markdown"].as_str().unwrap().contains("Menu entry"));
        assert!(
            page["article_text"]
                .as_str()
                .unwrap()
                .contains("bridge thread")
        );
        assert!(page["article_html"].as_str().unwrap().contains("<p>"));
        assert_eq!(page["html"], ARTICLE);
        assert_eq!(page["metadata"]["title"], "How orb weavers build");
        assert_eq!(page["signals"]["lang"], "en");
        assert_eq!(page["extensions"], Value::Null);
        assert!(page["content_hash"].is_string() && page["final_url"] == SEED);
        // The same as the page alone has.
        let path = format!("/v1/pages/{}?format=full", page["id"]);
        let alone = client.get(&path).await.ok();
        for member in [
            "markdown",
            "article_text",
            "article_html",
            "metadata",
            "signals",
            "html",
        ] {
            assert_eq!(alone[member], page[member], "{member}");
        }
        let main = lines(
            &client,
            run,
            "include=markdown&only_main_content=true&limit=1",
        )
        .await;
        assert!(!main[0]["markdown"].as_str().unwrap().contains("Menu entry"));
        let path = format!(
            "/v1/pages/{}?format=markdown&only_main_content=true",
            page["id"]
        );
        assert_eq!(
            client.get(&path).await.ok()["markdown"],
            main[0]["markdown"]
        );
        // The list of pages has the same fields, in its own shape.
        let listed = get(&client, run, "/pages?include=depth,inlinks&limit=2")
            .await
            .ok();
        assert_eq!(listed["next_offset"], 2);
        let items = listed["items"].as_array().unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!(items[1].as_object().unwrap().len(), 7);
        assert_eq!(items[1]["inlinks"], 1);
    }
}

#[tokio::test]
async fn csv_has_a_column_per_field_and_no_formula() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let run = three(&service).await;
    let query = "/export?format=csv&include=article,title,depth";
    let answer = get(&client, run, query).await;
    assert_eq!(
        answer.header("content-type"),
        Some("text/csv; charset=utf-8")
    );
    let name = format!("attachment; filename=\"crawl-{run}.csv\"");
    assert_eq!(answer.header("content-disposition"), Some(name.as_str()));
    let text = answer.text();
    let first = text.lines().next().unwrap();
    let names = "id,url,status,bytes,fetched_at,title,depth,article_text,article_html";
    assert_eq!(first, names);
    // Doubled quotes are those of the format.
    assert!(
        text.contains(",\"'=HYPERLINK(\"\"https://evil.example/\"\")\",0,"),
        "{text}"
    );
    let paged = get(&client, run, "/pages?format=csv&include=title&status=404").await;
    let text = paged.text();
    assert_eq!(text.lines().count(), 2, "{text}");
    let none = get(&client, run, "/export?format=csv&status=500&include=title")
        .await
        .text();
    assert_eq!(none, "id,url,status,bytes,fetched_at,title\n");
}

/// The files of a ZIP archive, their checksums verified.
fn unzipped(bytes: &[u8]) -> Vec<(String, String)> {
    let archive = rawzip::ZipArchive::from_slice(bytes).unwrap();
    let mut entries = archive.entries();
    let mut files = Vec::new();
    while let Some(entry) = entries.next_entry().unwrap() {
        let name = entry
            .file_path()
            .try_normalize()
            .unwrap()
            .as_ref()
            .to_owned();
        let local = archive.get_entry(entry.wayfinder()).unwrap();
        let inflated = DeflateDecoder::new(local.data());
        let mut text = String::new();
        local
            .verifying_reader(inflated)
            .read_to_string(&mut text)
            .unwrap();
        files.push((name, text));
    }
    files
}

#[tokio::test]
async fn a_zip_has_a_markdown_file_per_page_and_an_index() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let mut pages: Vec<Written> = [
        "",
        "docs/",
        "docs/A?x",
        "docs/a?x",
        "%2e%2e/%2e%2e%2fetc%2fpasswd",
        "con",
        "index.csv",
    ]
    .iter()
    .map(|path| Written::new(path, ARTICLE, &[]))
    .collect();
    pages[1].title = Some("How orb weavers build".to_owned());
    pages.push(Written {
        status: 404,
        ..Written::new("gone", "<h1>Gone</h1>", &[])
    });
    let run = done(&service, &pages).await;
    let answer = get(&client, run, "/export?format=zip&include=depth").await;
    assert_eq!(answer.header("content-type"), Some("application/zip"));
    let files = unzipped(&answer.body);
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 8, "{names:?}");
    let lower: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
    assert_eq!(lower.len(), names.len(), "{names:?}");
    for name in &names {
        let parts: Vec<&str> = name.split('/').collect();
        assert!(
            parts
                .iter()
                .all(|part| !part.is_empty() && !part.starts_with('.')),
            "{name}"
        );
    }
    let file = |name: &str| {
        let found = files.iter().find(|(known, _)| known == name);
        found.map(|(_, text)| text.as_str()).expect(name)
    };
    let text = file("127.0.0.1_8081/docs/index.md");
    assert!(
        text.starts_with(&format!("---\nurl: \"{SEED}docs/\"\n")),
        "{text}"
    );
    assert!(text.contains("# How orb weavers build"), "{text}");
    let index = file("index.csv");
    let rows: Vec<&str> = index.lines().collect();
    assert_eq!(rows[0], "file,id,url,status,bytes,fetched_at,title,depth");
    assert_eq!(rows.len(), 9, "{index}");
    assert!(
        rows[8].starts_with(','),
        "an error page has no file: {}",
        rows[8]
    );
    assert!(rows[2].contains(",How orb weavers build,"), "{}", rows[2]);
    for row in &rows[1..8] {
        assert!(
            names
                .iter()
                .any(|name| row.starts_with(&format!("{name},"))),
            "{row}"
        );
    }
}

/// A record of a WARC file: header fields and block.
type Record = (Vec<(String, String)>, Vec<u8>);

/// The records of a WARC file.
fn records(file: &[u8]) -> Vec<Record> {
    let mut bytes = Vec::new();
    MultiGzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[..];
    let mut records = Vec::new();
    while !rest.is_empty() {
        let end = rest
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let head = std::str::from_utf8(&rest[..end]).unwrap();
        let mut lines = head.split("\r\n");
        assert_eq!(lines.next(), Some("WARC/1.1"));
        let fields: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let length: usize = field(&fields, "Content-Length").parse().unwrap();
        let block = rest[end + 4..end + 4 + length].to_vec();
        assert_eq!(&rest[end + 4 + length..end + 8 + length], b"\r\n\r\n");
        rest = &rest[end + 8 + length..];
        let digest = format!("sha256:{}", hex::encode(Sha256::digest(&block)));
        assert_eq!(field(&fields, "WARC-Block-Digest"), digest);
        records.push((fields, block));
    }
    records
}

fn field<'a>(fields: &'a [(String, String)], name: &str) -> &'a str {
    let found = fields.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).unwrap_or_default()
}

#[tokio::test]
async fn warc_records_have_the_stored_responses() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let run = three(&service).await;
    let answer = get(&client, run, "/export?format=warc").await;
    assert_eq!(answer.header("content-type"), Some("application/gzip"));
    let all = records(&answer.body);
    let kinds: Vec<&str> = all
        .iter()
        .map(|(fields, _)| field(fields, "WARC-Type"))
        .collect();
    let page = ["response", "metadata"];
    assert_eq!(kinds, [&["warcinfo"][..], &page, &page, &page].concat());
    let info = String::from_utf8(all[0].1.clone()).unwrap();
    assert!(info.contains("reconstructed: "), "{info}");
    let (fields, block) = &all[1];
    assert_eq!(field(fields, "WARC-Target-URI"), SEED);
    assert_eq!(field(fields, "WARC-Date"), "2026-03-01T12:00:00Z");
    let http = String::from_utf8(block.clone()).unwrap();
    let expected = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\r\n\
         {ARTICLE}",
        ARTICLE.len()
    );
    assert_eq!(http, expected);
    let about = String::from_utf8(all[4].1.clone()).unwrap();
    assert!(
        about.starts_with("hopsFromSeed: L\r\nfetchTimeMs: 12\r\n"),
        "{about}"
    );
    assert!(String::from_utf8_lossy(&all[5].1).starts_with("HTTP/1.1 404 Not Found\r\n"));
    // Ids are unique, and the same in the next export.
    let ids: Vec<&str> = all
        .iter()
        .map(|(fields, _)| field(fields, "WARC-Record-ID"))
        .collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    let again = records(&get(&client, run, "/export?format=warc").await.body);
    assert_eq!(field(&again[3].0, "WARC-Record-ID"), ids[3]);
}

#[tokio::test]
async fn an_export_continues_behind_the_page_where_it_broke_off() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let pages: Vec<Written> = (0..2_101).map(|n| leaf(&format!("p/{n}"))).collect();
        let leased = begin(&service).await;
        for (at, piece) in (0..).step_by(500).zip(pages.chunks(500)) {
            write(&service, &leased, at, piece).await;
        }
        let run = end(&service, &leased).await;
        let whole = lines(&client, run, "include=depth").await;
        assert_eq!(whole.len(), 2_101);
        let (mut joined, mut after) = (Vec::new(), json!(0));
        loop {
            let piece = lines(
                &client,
                run,
                &format!("include=depth&limit=997&after={after}"),
            )
            .await;
            let Some(last) = piece.last() else { break };
            after = last["id"].clone();
            joined.extend(piece);
        }
        assert_eq!(joined, whole);
        let json = get(&client, run, "/export?format=json&limit=1000&offset=1000")
            .await
            .ok();
        assert_eq!(json["next_offset"], 2_000);
        assert_eq!(json["items"].as_array().unwrap().len(), 1_000);
        let last = get(&client, run, "/export?format=json&limit=1000&offset=1101")
            .await
            .ok();
        assert_eq!(last["next_offset"], Value::Null);
        assert_eq!(last["items"][999]["id"], whole[2_100]["id"]);
        let none = get(&client, run, "/export?format=json&offset=5000")
            .await
            .ok();
        assert_eq!(none, json!({"items": [], "next_offset": null}));
    }
}

#[tokio::test]
async fn content_of_pages_stored_without_html_is_refused() {
    let service = Service::start().await;
    let client = service.client();
    let origin = orbweaver_origin::Origin::start().await.expect("a site");
    origin.set(
        "/",
        orbweaver_origin::Reply::html("<title>T</title><p>text"),
    );
    let crawl = json!({"url": origin.url("/"), "store_html": false, "delay_ms": 0});
    let id = client.post("/v1/crawls", &crawl).await.json()["id"]
        .as_i64()
        .unwrap();
    let run = RunId(id);
    ended(&service, run).await;
    for (query, field) in [
        ("include=markdown", "include"),
        ("include=title,html", "include"),
        ("format=zip", "format"),
        ("format=parquet&include=html", "include"),
        ("format=warc", "format"),
    ] {
        let said = get(&client, run, &format!("/export?{query}")).await;
        let said = said.error(422, "INVALID_INPUT");
        assert!(said.starts_with(&format!("{field}: ")), "{query}: {said}");
    }
    let kept = lines(&client, run, "include=title,metadata,signals").await;
    assert_eq!(kept[0]["title"], "T");
    assert_eq!(kept[0]["metadata"]["title"], "T");
    assert_eq!(kept[0]["signals"]["title"], "T");
}

#[tokio::test]
async fn invalid_parameters_of_an_export_are_named() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let run = three(&service).await;
    for (query, field) in [
        ("format=xml", "format"),
        ("include=markdown,titel", "include"),
        ("format=parquet&include=markdown,titel", "include"),
        ("format=warc&include=title", "include"),
        ("format=wacz&include=title", "include"),
        ("limit=0", "limit"),
        ("limit=100001", "limit"),
        ("after=-1", "after"),
        ("offset=x", "offset"),
        ("status=99", "status"),
    ] {
        let said = get(&client, run, &format!("/export?{query}")).await;
        let said = said.error(422, "INVALID_INPUT");
        assert!(said.starts_with(&format!("{field}: ")), "{query}: {said}");
    }
    let theirs = service.other_project("other").await;
    get(&theirs, run, "/export").await.error(404, "NOT_FOUND");
}
