//! Search: SearXNG, the provider or Brave where one is configured; else full text over the
//! project's own stored pages.

mod stored;
mod web;

use futures::StreamExt as _;
use orbweaver_core::markdown::plain_text;
use orbweaver_store::Principal;

use crate::app::App;
use orbweaver_pipeline::cloud::backend::{Choice, Job, project_proxy};
use orbweaver_pipeline::cloud::{Spent, micros};
use orbweaver_pipeline::convert::Format;
use orbweaver_pipeline::{AnswerBudget, Document, ScanError, blocking_of, sized};

/// Results whose pages are fetched at once.
const FETCHES: usize = 8;

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// Where it is.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its content in the format asked for.
    pub content: String,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
}

/// A result of an engine that tells little of the page.
struct Teaser {
    url: String,
    title: String,
    snippet: String,
}

/// Searches, best first; at most `limit` results. One whose content `room` has no room for has what the
/// engine says of it instead. What the search costs is added to `spent`, also if nobody waits for its end.
///
/// # Errors
/// Why the configured engine gives no results.
pub async fn search(
    app: &App,
    principal: &Principal,
    query: &str,
    limit: usize,
    format: Format,
    room: &AnswerBudget,
    spent: &Spent,
) -> Result<Vec<SearchResult>, ScanError> {
    let config = &app.settings.cloud;
    let fetcher = &app.pipeline.fetcher;
    if let Some(base) = &config.searxng_url {
        let teasers = web::searxng(fetcher, base, query, limit).await?;
        return Ok(fetched(app, principal, teasers, format, 0, room).await);
    }
    let vendor = app.cloud.vendor();
    if vendor.is_configured() {
        let price = micros(config.prices.vendor_search);
        let asked = spent.under_way(|| price);
        let hits = vendor.search(query, limit, format == Format::Raw).await;
        asked.end();
        let hits = hits?;
        let shares = shares(price, hits.len());
        let priced: Vec<_> = hits.into_iter().zip(shares).collect();
        let all = priced
            .iter()
            .map(|(hit, share)| hit.cost_micros.unwrap_or(*share))
            .sum();
        spent.add(if priced.is_empty() { price } else { all });
        let mut results = Vec::with_capacity(priced.len());
        for (hit, share) in priced {
            let content = told(hit.content.unwrap_or_default(), format).await?;
            results.push(SearchResult {
                url: hit.url,
                title: hit.title,
                content: fitting(room, content, String::new()),
                cost_micros: hit.cost_micros.unwrap_or(share),
            });
        }
        return Ok(results);
    }
    if let Some(key) = &config.brave_key {
        let price = micros(config.prices.brave_search);
        let asked = spent.under_way(|| price);
        let teasers = web::brave(fetcher, &config.brave_url, key, query, limit).await;
        asked.end();
        let teasers = teasers?;
        spent.add(price);
        return Ok(fetched(app, principal, teasers, format, price, room).await);
    }
    stored::search(app, principal, query, limit, format, room).await
}

/// What the provider says of a page, in the format asked for.
async fn told(content: String, format: Format) -> Result<String, ScanError> {
    match format {
        Format::Text => sized(content.len(), move || plain_text(&content)).await,
        Format::Markdown | Format::Commonmark | Format::Raw => Ok(content),
    }
}

/// The content, if there is room for it, else what is there `instead`.
fn fitting(room: &AnswerBudget, content: String, instead: String) -> String {
    match room.take(content.len()) {
        Ok(()) => content,
        Err(_) => instead,
    }
}

/// Each result's share of a search's price; together they are the price.
fn shares(micros: u64, results: usize) -> impl Iterator<Item = u64> {
    let results = results as u64;
    (0..results).map(move |at| micros / results + u64::from(at < micros % results))
}

/// The pages behind results, fetched by this host; where one can't be had, what the engine
/// said of it.
async fn fetched(
    app: &App,
    principal: &Principal,
    teasers: Vec<Teaser>,
    format: Format,
    price_micros: u64,
    room: &AnswerBudget,
) -> Vec<SearchResult> {
    let shares = shares(price_micros, teasers.len());
    futures::stream::iter(teasers.into_iter().zip(shares))
        .map(|(teaser, cost_micros)| async move {
            let content = content(app, principal, &teaser.url, format).await;
            SearchResult {
                content: match content {
                    Ok(content) if !content.trim().is_empty() => {
                        fitting(room, content, teaser.snippet)
                    }
                    _ => teaser.snippet,
                },
                url: teaser.url,
                title: teaser.title,
                cost_micros,
            }
        })
        .buffered(FETCHES)
        .collect()
        .await
}

async fn content(
    app: &App,
    principal: &Principal,
    url: &str,
    format: Format,
) -> Result<String, ScanError> {
    let job = Job {
        url: url.to_owned(),
        proxy: project_proxy(principal)?,
        ..Job::default()
    };
    let loaded = app
        .cloud
        .load(principal.project, Choice::Local, &job)
        .await?;
    if loaded.response.status != 200 {
        return Ok(String::new());
    }
    let at = app.clock.now();
    let bytes = loaded.response.body.len();
    let read = move || Document::from_response(loaded.response, at);
    let (mut document, _) = blocking_of(bytes, read).await?;
    let pipeline = app.pipeline.of_project(principal.project);
    pipeline.convert(&mut document, format, true).await
}
