//! Wikipedia: summaries and searches from its REST APIs, in every language.

use orbweaver_sdk::{Call, Error};
use orbweaver_sites::{ListParams, encode, json, parts, text_of, unknown_path};
use serde::{Deserialize, Serialize};

orbweaver_sdk::fetcher! { fetch: fetch }

/// One article.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Article {
    page_id: u64,
    title: String,
    url: String,
    description: Option<String>,
    extract: Option<String>,
    language: String,
    image: Option<String>,
    updated_at: Option<String>,
}

#[derive(Deserialize)]
struct Summary {
    pageid: u64,
    title: String,
    description: Option<String>,
    extract: Option<String>,
    lang: String,
    timestamp: Option<String>,
    thumbnail: Option<Thumbnail>,
    originalimage: Option<Thumbnail>,
    content_urls: Urls,
}

#[derive(Deserialize)]
struct Thumbnail {
    #[serde(alias = "url")]
    source: String,
}

#[derive(Deserialize)]
struct Urls {
    desktop: Desktop,
}

#[derive(Deserialize)]
struct Desktop {
    page: String,
}

#[derive(Deserialize)]
struct Found {
    pages: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    id: u64,
    key: String,
    title: String,
    excerpt: Option<String>,
    description: Option<String>,
    thumbnail: Option<Thumbnail>,
}

/// Runs one call.
pub async fn fetch(call: Call<ListParams>) -> Result<Vec<Article>, Error> {
    let host = host(&call.domain)?;
    match parts(&call.path).as_slice() {
        ["search"] => search(&host, &call.params).await,
        // A title may contain slashes.
        ["wiki", title @ ..] if !title.is_empty() => article(&host, &title.join("/")).await,
        _ => Err(unknown_path(&call.path, &["wiki/{title}", "search"])),
    }
}

/// The language's host, in lower case.
fn host(domain: &str) -> Result<String, Error> {
    let host = domain.to_ascii_lowercase();
    let is_language = host.strip_suffix(".wikipedia.org").is_some_and(|language| {
        !language.is_empty()
            && language
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
    });
    if is_language {
        Ok(host)
    } else {
        Err(Error::invalid(
            "domain: must be the Wikipedia of a language, such as en.wikipedia.org",
        ))
    }
}

async fn article(host: &str, title: &str) -> Result<Vec<Article>, Error> {
    let title = encode(&title.replace(' ', "_"));
    let summary: Summary =
        json(&format!("https://{host}/api/rest_v1/page/summary/{title}")).await?;
    Ok(vec![Article {
        page_id: summary.pageid,
        title: summary.title,
        url: summary.content_urls.desktop.page,
        description: summary.description,
        extract: summary.extract,
        language: summary.lang,
        image: summary
            .originalimage
            .or(summary.thumbnail)
            .map(|image| image.source),
        updated_at: summary.timestamp,
    }])
}

async fn search(host: &str, params: &ListParams) -> Result<Vec<Article>, Error> {
    let url = format!(
        "https://{host}/w/rest.php/v1/search/page?q={}&limit={}",
        encode(params.query()?),
        params.limit(20, 100)
    );
    let found: Found = json(&url).await?;
    let language = host.split('.').next().unwrap_or_default();
    let article = |hit: Hit| Article {
        page_id: hit.id,
        url: format!("https://{host}/wiki/{}", encode(&hit.key)),
        title: hit.title,
        description: hit.description,
        extract: hit.excerpt.as_deref().map(text_of),
        language: language.to_owned(),
        // Without a scheme, for use on pages of both schemes.
        image: hit.thumbnail.map(|image| {
            if image.source.starts_with("//") {
                format!("https:{}", image.source)
            } else {
                image.source
            }
        }),
        updated_at: None,
    };
    Ok(found.pages.into_iter().map(article).collect())
}
