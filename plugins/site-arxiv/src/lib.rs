//! arXiv: papers, categories and searches from its Atom API.

mod atom;

use orbweaver_sdk::{Call, Error};
use orbweaver_sites::{ListParams, encode, get, no_longer_fits, parts, shown, unknown_path};
use serde::Serialize;

orbweaver_sdk::fetcher! { fetch: fetch }

const API: &str = "https://export.arxiv.org/api/query";

/// One paper.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Paper {
    id: String,
    title: String,
    authors: Vec<String>,
    #[serde(rename = "abstract")]
    summary: String,
    primary_category: Option<String>,
    categories: Vec<String>,
    url: String,
    pdf_url: Option<String>,
    doi: Option<String>,
    journal: Option<String>,
    comment: Option<String>,
    published_at: String,
    updated_at: String,
}

/// Runs one call.
pub async fn fetch(call: Call<ListParams>) -> Result<Vec<Paper>, Error> {
    let params = &call.params;
    match parts(&call.path).as_slice() {
        // Old identifiers contain a slash: hep-th/9901001.
        ["abs" | "pdf", id @ ..] if !id.is_empty() => {
            let id = id.join("/");
            let papers = papers(&format!("{API}?id_list={}", encode(&id))).await?;
            if papers.is_empty() {
                return Err(Error::invalid(format!(
                    "path: arXiv has no paper {}",
                    shown(&id)
                )));
            }
            Ok(papers)
        }
        ["list", category] | ["list", category, ..] => {
            let query = format!("cat:{}", encode(category));
            let order = "sortBy=submittedDate&sortOrder=descending";
            papers(&format!(
                "{API}?search_query={query}&{order}&{}",
                page(params)
            ))
            .await
        }
        ["search"] => {
            let query = format!("all:{}", encode(params.query()?));
            papers(&format!("{API}?search_query={query}&{}", page(params))).await
        }
        _ => Err(unknown_path(
            &call.path,
            &["abs/{id}", "list/{category}", "search"],
        )),
    }
}

fn page(params: &ListParams) -> String {
    let limit = params.limit(30, 100);
    let start = u64::from(limit) * u64::from(params.page() - 1);
    format!("start={start}&max_results={limit}")
}

async fn papers(url: &str) -> Result<Vec<Paper>, Error> {
    let answer = get(url).await?;
    let body = answer.body();
    let text =
        std::str::from_utf8(&body).map_err(|error| no_longer_fits(url, &error.to_string()))?;
    let papers = atom::papers(text).map_err(|what| no_longer_fits(url, &what))?;
    // Errors are entries too.
    if let Some(error) = papers.iter().find(|paper| paper.title == "Error") {
        return Err(Error::invalid(format!(
            "path: arXiv says: {}",
            error.summary
        )));
    }
    Ok(papers)
}
