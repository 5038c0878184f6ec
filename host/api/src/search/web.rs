//! Search engines that name pages: SearXNG and Brave.

use orbweaver_fetch::{Fetcher, Request};
use serde::Deserialize;
use url::Url;

use super::Teaser;
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_pipeline::ScanError;

/// Pages of results asked for at most: SearXNG gives no count.
const MAX_PAGES: usize = 5;
/// Results that Brave gives at once.
const BRAVE_COUNT: usize = 20;

#[derive(Deserialize)]
struct SearxAnswer {
    results: Vec<SearxResult>,
}

#[derive(Deserialize)]
struct SearxResult {
    url: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    content: Option<String>,
}

#[derive(Deserialize)]
struct BraveAnswer {
    web: Option<BraveWeb>,
}

#[derive(Deserialize)]
struct BraveWeb {
    results: Vec<BraveResult>,
}

#[derive(Deserialize)]
struct BraveResult {
    url: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

pub(super) async fn searxng(
    fetcher: &Fetcher,
    base: &SafeUrl,
    query: &str,
    limit: usize,
) -> Result<Vec<Teaser>, ScanError> {
    let mut found = Vec::new();
    for page in 1..=MAX_PAGES {
        let number = page.to_string();
        let url = address(
            base,
            "/search",
            &[("q", query), ("format", "json"), ("pageno", &number)],
        )?;
        let answer: SearxAnswer = ask(fetcher, "SearXNG", url, Vec::new()).await?;
        if answer.results.is_empty() {
            break;
        }
        found.extend(answer.results.into_iter().map(|result| Teaser {
            url: result.url,
            title: result.title.unwrap_or_default(),
            snippet: result.content.unwrap_or_default(),
        }));
        if found.len() >= limit {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

pub(super) async fn brave(
    fetcher: &Fetcher,
    base: &SafeUrl,
    key: &Secret,
    query: &str,
    limit: usize,
) -> Result<Vec<Teaser>, ScanError> {
    let mut found = Vec::new();
    for page in 0..limit.div_ceil(BRAVE_COUNT) {
        let (count, offset) = (BRAVE_COUNT.min(limit).to_string(), page.to_string());
        let url = address(
            base,
            "/res/v1/web/search",
            &[("q", query), ("count", &count), ("offset", &offset)],
        )?;
        let headers = vec![("x-subscription-token".to_owned(), key.expose().to_owned())];
        let answer: BraveAnswer = ask(fetcher, "Brave", url, headers).await?;
        let results = answer.web.map(|web| web.results).unwrap_or_default();
        let ends = results.len() < BRAVE_COUNT;
        found.extend(results.into_iter().map(|result| Teaser {
            url: result.url,
            title: result.title.unwrap_or_default(),
            snippet: result.description.unwrap_or_default(),
        }));
        if ends {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

fn address(base: &SafeUrl, path: &str, query: &[(&str, &str)]) -> Result<String, ScanError> {
    let text = format!("{}{path}", base.expose().trim_end_matches('/'));
    let mut url = Url::parse(&text)
        .map_err(|error| ScanError::Internal(format!("the search engine's URL: {error}")))?;
    url.query_pairs_mut().extend_pairs(query);
    Ok(url.into())
}

async fn ask<T: serde::de::DeserializeOwned>(
    fetcher: &Fetcher,
    engine: &str,
    url: String,
    mut headers: Vec<(String, String)>,
) -> Result<T, ScanError> {
    let failed = |message: String| ScanError::Fetch {
        kind: "search",
        message: format!("{engine} gives no results: {message}"),
    };
    headers.push(("accept".to_owned(), "application/json".to_owned()));
    let request = Request {
        headers,
        user_agent: Some(concat!("Orbweaver/", env!("CARGO_PKG_VERSION")).to_owned()),
        follow_redirects: false,
        ..Request::get(url)
    };
    let response = fetcher
        .fetch(request)
        .await
        .map_err(|error| failed(error.to_string()))?;
    if response.status != 200 {
        return Err(failed(format!("it answers {}", response.status)));
    }
    serde_json::from_slice(&response.body)
        .map_err(|error| failed(format!("its answer is malformed: {error}")))
}
