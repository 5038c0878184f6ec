//! npm: packages and searches from the registry, download counts from its API.

use std::collections::BTreeMap;

use orbweaver_sdk::{Call, Error};
use orbweaver_sites::{ListParams, encode, json, parts, unknown_path};
use serde::{Deserialize, Deserializer, Serialize};

orbweaver_sdk::fetcher! { fetch: fetch }

const REGISTRY: &str = "https://registry.npmjs.org";
const DOWNLOADS: &str = "https://api.npmjs.org/downloads/point/last-week";

/// One version of a package.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Package {
    name: String,
    version: String,
    url: String,
    description: Option<String>,
    license: Option<String>,
    homepage: Option<String>,
    repository: Option<String>,
    keywords: Vec<String>,
    author: Option<String>,
    dependencies: BTreeMap<String, String>,
    /// Unpacked size in bytes.
    size: Option<u64>,
    downloads_last_week: Option<u64>,
    deprecated: Option<String>,
    updated_at: Option<String>,
}

#[derive(Deserialize)]
struct Manifest {
    name: String,
    version: String,
    description: Option<String>,
    #[serde(default, deserialize_with = "license")]
    license: Option<String>,
    #[serde(default, deserialize_with = "word")]
    homepage: Option<String>,
    #[serde(default, deserialize_with = "word")]
    repository: Option<String>,
    #[serde(default, deserialize_with = "words")]
    keywords: Vec<String>,
    #[serde(default, deserialize_with = "word")]
    author: Option<String>,
    #[serde(default)]
    dependencies: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "word")]
    deprecated: Option<String>,
    dist: Dist,
}

#[derive(Deserialize)]
struct Dist {
    #[serde(rename = "unpackedSize")]
    unpacked_size: Option<u64>,
}

#[derive(Deserialize)]
struct Count {
    downloads: u64,
}

#[derive(Deserialize)]
struct Found {
    objects: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    package: Listed,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    version: String,
    description: Option<String>,
    #[serde(default, deserialize_with = "license")]
    license: Option<String>,
    #[serde(default, deserialize_with = "words")]
    keywords: Vec<String>,
    date: Option<String>,
    #[serde(default)]
    links: Links,
    publisher: Option<Publisher>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Links {
    homepage: Option<String>,
    repository: Option<String>,
}

#[derive(Deserialize)]
struct Publisher {
    username: String,
}

/// Runs one call.
pub async fn fetch(call: Call<ListParams>) -> Result<Vec<Package>, Error> {
    match parts(&call.path).as_slice() {
        ["search"] => search(&call.params).await,
        ["package", name] => package(name, "latest").await,
        ["package", scope, name] if scope.starts_with('@') => {
            package(&format!("{scope}/{name}"), "latest").await
        }
        ["package", name, "v", version] => package(name, version).await,
        ["package", scope, name, "v", version] if scope.starts_with('@') => {
            package(&format!("{scope}/{name}"), version).await
        }
        _ => Err(unknown_path(
            &call.path,
            &["package/{name}", "package/{name}/v/{version}", "search"],
        )),
    }
}

async fn package(name: &str, version: &str) -> Result<Vec<Package>, Error> {
    let url = format!("{REGISTRY}/{}/{}", encode(name), encode(version));
    let manifest: Manifest = json(&url).await?;
    let count = json::<Count>(&format!("{DOWNLOADS}/{}", encode(name))).await;
    // A package published today has no counts yet.
    let downloads = match count {
        Ok(count) => Some(count.downloads),
        Err(error) if error.is_invalid() => None,
        Err(error) => return Err(error),
    };
    Ok(vec![Package {
        url: page(&manifest.name),
        name: manifest.name,
        version: manifest.version,
        description: manifest.description,
        license: manifest.license,
        homepage: manifest.homepage,
        repository: manifest.repository,
        keywords: manifest.keywords,
        author: manifest.author,
        dependencies: manifest.dependencies,
        size: manifest.dist.unpacked_size,
        downloads_last_week: downloads,
        deprecated: manifest.deprecated,
        updated_at: None,
    }])
}

async fn search(params: &ListParams) -> Result<Vec<Package>, Error> {
    let limit = params.limit(30, 100);
    let url = format!(
        "{REGISTRY}/-/v1/search?text={}&size={limit}&from={}",
        encode(params.query()?),
        u64::from(limit) * u64::from(params.page() - 1)
    );
    let found: Found = json(&url).await?;
    let package = |hit: Hit| {
        let listed = hit.package;
        Package {
            url: page(&listed.name),
            name: listed.name,
            version: listed.version,
            description: listed.description,
            license: listed.license,
            homepage: listed.links.homepage,
            repository: listed.links.repository,
            keywords: listed.keywords,
            author: listed.publisher.map(|publisher| publisher.username),
            updated_at: listed.date,
            ..Package::default()
        }
    };
    Ok(found.objects.into_iter().map(package).collect())
}

fn page(name: &str) -> String {
    format!("https://www.npmjs.com/package/{name}")
}

/// A value that authors write as a string, as an object, or not at all.
#[derive(Deserialize)]
#[serde(untagged)]
enum Loose {
    Word(String),
    Object {
        name: Option<String>,
        url: Option<String>,
        #[serde(rename = "type")]
        kind: Option<String>,
    },
    Other(serde::de::IgnoredAny),
}

/// A person's name, a repository's URL.
fn word<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Loose>::deserialize(from)? {
        Some(Loose::Word(word)) => Some(word),
        Some(Loose::Object { name, url, .. }) => name.or(url),
        Some(Loose::Other(_)) | None => None,
    })
}

/// `"MIT"`, or in the old form `{"type": "MIT", "url": …}`.
fn license<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Loose>::deserialize(from)? {
        Some(Loose::Word(word)) => Some(word),
        Some(Loose::Object { kind, name, .. }) => kind.or(name),
        Some(Loose::Other(_)) | None => None,
    })
}

fn words<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum List {
        Words(Vec<String>),
        Word(String),
        Other(serde::de::IgnoredAny),
    }
    Ok(match List::deserialize(from)? {
        List::Words(words) => words,
        List::Word(word) => vec![word],
        List::Other(_) => Vec::new(),
    })
}
