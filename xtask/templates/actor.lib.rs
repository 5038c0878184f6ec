//! Fetches a page through the host and asks the host's `metadata` plugin for its title.

use orbweaver_sdk::Error;
use serde::{Deserialize, Serialize};

orbweaver_sdk::actor! { run: run }

#[derive(Deserialize)]
struct Input {
    url: String,
}

#[derive(Serialize)]
struct Output {
    status: u16,
    title: Option<String>,
}

async fn run(input: Input) -> Result<Output, Error> {
    let page = orbweaver_sdk::http::get(&input.url).await?;
    let metadata: orbweaver_sdk::serde_json::Value = orbweaver_sdk::extract("metadata", &page, "{}")?;
    Ok(Output { status: page.status(), title: metadata["title"].as_str().map(str::to_owned) })
}
