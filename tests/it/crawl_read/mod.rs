//! Reading what a run has stored.

mod deleting;
mod events;
mod export;
mod graph;
mod page_events;
mod pages;
mod parquet;
mod wacz;

use orbweaver_core::ids::RunId;
use serde_json::Value;

use crate::support::Client;
use crate::support::http::Answer;
use crate::support::runs::{SEED, Written};

fn leaf(path: &str) -> Written {
    Written::new(path, &format!("<title>{path}</title>"), &[])
}

async fn get(client: &Client, run: RunId, rest: &str) -> Answer {
    client.get(&format!("/v1/crawls/{run}{rest}")).await
}

fn urls(items: &Value) -> Vec<&str> {
    let items = items.as_array().expect("items");
    let urls = items
        .iter()
        .map(|item| item["url"].as_str().expect("a url"));
    urls.map(|url| url.strip_prefix(SEED).expect("a page of the run"))
        .collect()
}
