//! crates.io: crates, versions and searches from its API.

use orbweaver_sdk::{Call, Error};
use orbweaver_sites::{ListParams, encode, json, parts, unknown_path};
use serde::{Deserialize, Serialize};

orbweaver_sdk::fetcher! { fetch: fetch }

const API: &str = "https://crates.io/api/v1";

/// A crate, or one of its versions.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Item {
    name: String,
    version: String,
    url: String,
    description: Option<String>,
    license: Option<String>,
    downloads: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    recent_downloads: Option<u64>,
    homepage: Option<String>,
    repository: Option<String>,
    documentation: Option<String>,
    keywords: Vec<String>,
    categories: Vec<String>,
    created_at: String,
    updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    yanked: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rust_version: Option<String>,
}

#[derive(Deserialize)]
struct Whole {
    #[serde(rename = "crate")]
    about: About,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Found {
    crates: Vec<About>,
}

#[derive(Deserialize)]
struct About {
    name: String,
    description: Option<String>,
    homepage: Option<String>,
    repository: Option<String>,
    documentation: Option<String>,
    downloads: u64,
    recent_downloads: Option<u64>,
    max_version: String,
    max_stable_version: Option<String>,
    keywords: Option<Vec<String>>,
    categories: Option<Vec<String>>,
    created_at: String,
    updated_at: String,
}

#[derive(Deserialize)]
struct Version {
    num: String,
    license: Option<String>,
    downloads: u64,
    yanked: bool,
    rust_version: Option<String>,
    created_at: String,
    updated_at: String,
}

/// Runs one call.
pub async fn fetch(call: Call<ListParams>) -> Result<Vec<Item>, Error> {
    let params = &call.params;
    match parts(&call.path).as_slice() {
        ["search"] => search(params).await,
        ["crates", name] => {
            let whole: Whole = json(&format!("{API}/crates/{}", encode(name))).await?;
            let mut item = Item::from(whole.about);
            let newest = whole
                .versions
                .iter()
                .find(|version| version.num == item.version);
            item.license = newest.and_then(|version| version.license.clone());
            item.rust_version = newest.and_then(|version| version.rust_version.clone());
            Ok(vec![item])
        }
        ["crates", name, "versions"] => versions(name, params).await,
        _ => Err(unknown_path(
            &call.path,
            &["crates/{name}", "crates/{name}/versions", "search"],
        )),
    }
}

async fn versions(name: &str, params: &ListParams) -> Result<Vec<Item>, Error> {
    let whole: Whole = json(&format!("{API}/crates/{}", encode(name))).await?;
    let limit = params.limit(30, 100) as usize;
    let skipped = limit.saturating_mul(params.page() as usize - 1);
    let name = whole.about.name;
    let item = |version: Version| Item {
        url: format!("https://crates.io/crates/{name}/{}", version.num),
        name: name.clone(),
        version: version.num,
        license: version.license,
        downloads: version.downloads,
        yanked: Some(version.yanked),
        rust_version: version.rust_version,
        created_at: version.created_at,
        updated_at: version.updated_at,
        ..Item::default()
    };
    Ok(whole
        .versions
        .into_iter()
        .skip(skipped)
        .take(limit)
        .map(item)
        .collect())
}

async fn search(params: &ListParams) -> Result<Vec<Item>, Error> {
    let url = format!(
        "{API}/crates?q={}&per_page={}&page={}",
        encode(params.query()?),
        params.limit(30, 100),
        params.page()
    );
    let found: Found = json(&url).await?;
    Ok(found.crates.into_iter().map(Item::from).collect())
}

impl From<About> for Item {
    fn from(about: About) -> Self {
        Self {
            url: format!("https://crates.io/crates/{}", about.name),
            name: about.name,
            version: about.max_stable_version.unwrap_or(about.max_version),
            description: about.description.map(|text| text.trim().to_owned()),
            downloads: about.downloads,
            recent_downloads: about.recent_downloads,
            homepage: about.homepage,
            repository: about.repository,
            documentation: about.documentation,
            keywords: about.keywords.unwrap_or_default(),
            categories: about.categories.unwrap_or_default(),
            created_at: about.created_at,
            updated_at: about.updated_at,
            ..Self::default()
        }
    }
}
