//! GitHub: repositories, issues, releases, people and organisations from its REST API.

use orbweaver_sdk::{Call, Error};
use orbweaver_sites::{ListParams, encode, json, parts, unknown_path};
use serde::{Deserialize, Serialize};

orbweaver_sdk::fetcher! { fetch: fetch }

const API: &str = "https://api.github.com";
const PATHS: [&str; 5] = [
    "{owner}/{repository}",
    "{owner}/{repository}/issues",
    "{owner}/{repository}/releases",
    "{owner}",
    "search",
];

/// One item of an answer.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Item {
    /// A repository.
    Repository(Repository),
    /// An issue.
    Issue(Issue),
    /// A release.
    Release(Release),
    /// A person or organisation.
    Account(Account),
}

/// A repository.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Repository {
    #[serde(rename(deserialize = "full_name"))]
    name: String,
    #[serde(rename(deserialize = "html_url"))]
    url: String,
    description: Option<String>,
    homepage: Option<String>,
    language: Option<String>,
    #[serde(rename(deserialize = "stargazers_count"))]
    stars: u64,
    #[serde(rename(deserialize = "forks_count"))]
    forks: u64,
    #[serde(rename(deserialize = "open_issues_count"))]
    open_issues: u64,
    #[serde(deserialize_with = "license")]
    license: Option<String>,
    #[serde(default)]
    topics: Vec<String>,
    default_branch: String,
    archived: bool,
    fork: bool,
    created_at: String,
    updated_at: String,
    pushed_at: Option<String>,
}

/// An issue.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Issue {
    number: u64,
    title: String,
    #[serde(rename(deserialize = "html_url"))]
    url: String,
    state: String,
    #[serde(rename(deserialize = "user"), deserialize_with = "login")]
    author: Option<String>,
    #[serde(deserialize_with = "labels")]
    labels: Vec<String>,
    comments: u64,
    #[serde(rename(deserialize = "body"))]
    text: Option<String>,
    created_at: String,
    updated_at: String,
}

/// A release.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Release {
    name: Option<String>,
    #[serde(rename(deserialize = "tag_name"))]
    tag: String,
    #[serde(rename(deserialize = "html_url"))]
    url: String,
    #[serde(rename(deserialize = "author"), deserialize_with = "login")]
    author: Option<String>,
    #[serde(rename(deserialize = "body"))]
    text: Option<String>,
    prerelease: bool,
    created_at: String,
    published_at: Option<String>,
}

/// A person or organisation.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Account {
    #[serde(rename(deserialize = "login"))]
    login: String,
    name: Option<String>,
    #[serde(rename(deserialize = "html_url"))]
    url: String,
    #[serde(rename(deserialize = "bio"))]
    description: Option<String>,
    company: Option<String>,
    location: Option<String>,
    #[serde(rename(deserialize = "blog"))]
    homepage: Option<String>,
    #[serde(rename(deserialize = "public_repos"))]
    repositories: u64,
    followers: u64,
    created_at: String,
}

/// An issue of the API, which includes pull requests.
#[derive(Deserialize)]
struct Listed {
    pull_request: Option<serde::de::IgnoredAny>,
    #[serde(flatten)]
    issue: Issue,
}

impl Listed {
    fn is_issue(&self) -> bool {
        self.pull_request.is_none()
    }
}

#[derive(Deserialize)]
struct Found {
    items: Vec<Repository>,
}

/// Runs one call.
pub async fn fetch(call: Call<ListParams>) -> Result<Vec<Item>, Error> {
    let params = &call.params;
    match parts(&call.path).as_slice() {
        ["search"] => search(params).await,
        [owner] => {
            let account = json(&format!("{API}/users/{}", encode(owner))).await?;
            Ok(vec![Item::Account(account)])
        }
        [owner, name] => {
            let repository = json(&repository(owner, name)).await?;
            Ok(vec![Item::Repository(repository)])
        }
        [owner, name, "issues"] => {
            issues(&format!("{}/issues", repository(owner, name)), params).await
        }
        [owner, name, "releases"] => {
            let url = format!("{}/releases?{}", repository(owner, name), page(params));
            let releases: Vec<Release> = json(&url).await?;
            Ok(releases.into_iter().map(Item::Release).collect())
        }
        _ => Err(unknown_path(&call.path, &PATHS)),
    }
}

/// A page of the issues. GitHub lists pull requests among them, so that its own pages have any number
/// of issues: its list is read from its start, and pages are counted in issues.
async fn issues(url: &str, params: &ListParams) -> Result<Vec<Item>, Error> {
    const PER_REQUEST: usize = 100;
    // GitHub answers 60 requests an hour.
    const MAX_REQUESTS: usize = 5;
    let limit = params.limit(30, 100) as usize;
    let mut skipped = limit.saturating_mul(params.page() as usize - 1);
    let mut items = Vec::with_capacity(limit);
    for page in 1..=MAX_REQUESTS {
        let listed: Vec<Listed> = json(&format!(
            "{url}?state=open&per_page={PER_REQUEST}&page={page}"
        ))
        .await?;
        let is_last = listed.len() < PER_REQUEST;
        for Listed { issue, .. } in listed.into_iter().filter(Listed::is_issue) {
            if skipped > 0 {
                skipped -= 1;
            } else if items.len() < limit {
                items.push(Item::Issue(issue));
            }
        }
        if is_last || items.len() == limit {
            return Ok(items);
        }
    }
    // An empty list would say that there are no more.
    if items.is_empty() {
        return Err(Error::invalid(format!(
            "page: only the first {} issues and pull requests of a repository are read",
            PER_REQUEST * MAX_REQUESTS
        )));
    }
    Ok(items)
}

async fn search(params: &ListParams) -> Result<Vec<Item>, Error> {
    let query = encode(params.query()?);
    let url = format!("{API}/search/repositories?q={query}&{}", page(params));
    let found: Found = json(&url).await?;
    Ok(found.items.into_iter().map(Item::Repository).collect())
}

fn repository(owner: &str, name: &str) -> String {
    format!("{API}/repos/{}/{}", encode(owner), encode(name))
}

fn page(params: &ListParams) -> String {
    format!("per_page={}&page={}", params.limit(30, 100), params.page())
}

fn license<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct License {
        spdx_id: Option<String>,
    }
    let license = Option::<License>::deserialize(from)?;
    // GitHub's value for a license file that it does not recognise.
    Ok(license
        .and_then(|license| license.spdx_id)
        .filter(|id| id != "NOASSERTION"))
}

fn login<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct User {
        login: String,
    }
    // Null for an account that was deleted.
    Ok(Option::<User>::deserialize(from)?.map(|user| user.login))
}

fn labels<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    struct Label {
        name: String,
    }
    let labels = Vec::<Label>::deserialize(from)?;
    Ok(labels.into_iter().map(|label| label.name).collect())
}
