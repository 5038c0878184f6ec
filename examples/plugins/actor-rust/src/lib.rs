//! An actor in Rust: fetches the given pages concurrently and returns their facts.

use orbweaver_sdk::dom::tag;
use orbweaver_sdk::{Code, Error, Page, extract, http, join_all, log, text};
use serde::{Deserialize, Serialize};

#[derive(Deserialize)]
struct Input {
    urls: Vec<String>,
}

#[derive(Serialize)]
struct Output {
    items: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    url: String,
    status: u16,
    bytes: u64,
    title: Option<String>,
    heading: Option<String>,
}

/// The field used of the `metadata` role's answer.
#[derive(Deserialize)]
struct Metadata {
    title: Option<String>,
}

/// The page's title; `None` if this actor has no permission to run extractors.
async fn title(page: &Page<'_>) -> Result<Option<String>, Error> {
    match extract("metadata", page, "{}").await {
        Ok(json) => Ok(serde_json::from_str::<Metadata>(&json)?.title),
        Err(error) if error.code() == Code::NotGranted => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text of the page's first heading.
fn heading(page: &Page<'_>) -> Result<Option<String>, Error> {
    let mut headings = page.view()?.tagged(|id| id == tag::H1);
    Ok(headings.next().map(text::line))
}

async fn visit(url: String) -> Result<Item, Error> {
    let page = http::fetch(http::Request::get(&url)).await?;
    Ok(Item {
        status: page.status(),
        bytes: page.size(),
        title: title(&page).await?,
        heading: heading(&page)?,
        url,
    })
}

async fn run(input: Input) -> Result<Output, Error> {
    let items = join_all(input.urls.into_iter().map(visit)).await;
    let items = items.into_iter().collect::<Result<Vec<_>, _>>()?;
    log::info(&format!("{} pages fetched", items.len()));
    Ok(Output { items })
}

orbweaver_sdk::actor! { run: run }
