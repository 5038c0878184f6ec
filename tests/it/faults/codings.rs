//! Faults 8 to 12: content codings.

use orbweaver_origin::{BOMB_BYTES, Reply};
use serde_json::json;

use super::support::Faulty;

#[tokio::test]
async fn fault_08_bombs_of_every_coding() {
    let faulty = Faulty::start().await;
    // Other tests run in this process, so only what comes on top counts (proc(5), clear_refs).
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = peak_memory();
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let path = format!("/fault/bomb/{coding}");
        assert_eq!(faulty.failure(&path).await, "too_large", "{coding}");
    }
    // A bomb is decoded up to the limit only: a few complete ones would show here.
    let peak = peak_memory();
    assert!(peak < before + BOMB_BYTES, "{before}, then {peak} bytes");
    faulty.is_well().await;
}

/// The peak memory of this process, in bytes.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.unwrap().trim().split(' ').next().unwrap();
    kibibytes.parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn fault_09_nested_codings() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/nested").await, "decode");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_10_plain_body_called_gzip() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/not-gzip").await, "decode");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_11_truncated_gzip_keeps_what_decoded() {
    let faulty = Faulty::start().await;
    let scan = faulty.scan("/fault/cut-gzip").await;
    let bytes = scan["bytes"].as_u64().unwrap();
    assert!(bytes > 10_000 && bytes < 60_000, "{bytes}");
    faulty.is_well().await;
}

/// The notice of a page that is shown in part.
const IN_PART: &str = "the page is incomplete: its body ended early";

#[tokio::test]
async fn fault_11_a_page_whose_body_ended_early_is_not_shown_as_whole() {
    let faulty = Faulty::start().await;
    let client = faulty.client();
    let url = faulty.origin.url("/fault/cut-gzip");
    // At once, and from the store.
    for body in [
        json!({"url": url}),
        json!({"url": url, "max_age_seconds": 600}),
        json!({"url": url, "max_age_seconds": 600}),
    ] {
        assert_eq!(faulty.scan_with(&body).await["notice"], IN_PART);
    }
    assert_eq!(faulty.origin.count("/fault/cut-gzip"), 1);
    let body = json!({"url": url, "force_backend": "local"});
    let scraped = client.post("/v1/cloud/scrape", &body).await.ok();
    assert_eq!(scraped["warnings"], json!([IN_PART]), "{scraped}");
    for store_html in [true, false] {
        let options = json!({"max_pages": 1, "store_html": store_html});
        let run = faulty.crawl("/fault/cut-gzip", options).await;
        let list = format!("/v1/crawls/{}/pages", run["id"]);
        let id = client.get(&list).await.ok()["items"][0]["id"].clone();
        let page = client.get(&format!("/v1/pages/{id}?format=signals")).await;
        assert_eq!(page.ok()["notice"], IN_PART, "{store_html}");
    }
    let good = faulty.scan("/good").await;
    assert_eq!(good.get("notice"), None, "{good}");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_12_unknown_coding() {
    let faulty = Faulty::start().await;
    assert_eq!(faulty.failure("/fault/unknown-coding").await, "decode");
    // Names that are known to be none.
    for name in ["none", "UTF-8"] {
        let page = Reply::html("<title>Not coded</title>").header("Content-Encoding", name);
        faulty.origin.set("/page", page);
        let result = faulty.scan("/page").await;
        assert_eq!(result["metadata"]["title"], "Not coded", "{name}");
    }
    faulty.is_well().await;
}
