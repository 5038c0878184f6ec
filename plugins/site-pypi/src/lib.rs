//! PyPI: projects and releases from its JSON API.

use std::collections::BTreeMap;

use orbweaver_sdk::{Call, Error};
use orbweaver_sites::{ListParams, encode, json, parts, unknown_path};
use serde::{Deserialize, Serialize};

orbweaver_sdk::fetcher! { fetch: fetch }

/// One release of a project.
#[derive(Debug, PartialEq, Serialize)]
pub struct Release {
    name: String,
    version: String,
    url: String,
    summary: Option<String>,
    license: Option<String>,
    author: Option<String>,
    requires_python: Option<String>,
    requires: Vec<String>,
    urls: BTreeMap<String, String>,
    keywords: Option<String>,
    classifiers: Vec<String>,
    yanked: bool,
    files: Vec<File>,
    vulnerabilities: Vec<Vulnerability>,
}

/// A file of a release.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct File {
    filename: String,
    #[serde(rename(deserialize = "packagetype"))]
    kind: String,
    size: u64,
    url: String,
    #[serde(rename(deserialize = "upload_time_iso_8601"))]
    uploaded_at: String,
}

/// A known vulnerability of a release, whose advisory stands.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Vulnerability {
    id: String,
    #[serde(default)]
    aliases: Vec<String>,
    summary: Option<String>,
    #[serde(default)]
    fixed_in: Vec<String>,
    #[serde(rename(deserialize = "link"))]
    url: Option<String>,
    /// When its advisory was withdrawn: it is none then.
    #[serde(skip_serializing)]
    withdrawn: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    info: Info,
    urls: Vec<File>,
    #[serde(default)]
    vulnerabilities: Vec<Vulnerability>,
}

#[derive(Deserialize)]
struct Info {
    name: String,
    version: String,
    package_url: String,
    summary: Option<String>,
    license: Option<String>,
    license_expression: Option<String>,
    author: Option<String>,
    author_email: Option<String>,
    requires_python: Option<String>,
    requires_dist: Option<Vec<String>>,
    project_urls: Option<BTreeMap<String, String>>,
    home_page: Option<String>,
    keywords: Option<String>,
    #[serde(default)]
    classifiers: Vec<String>,
    #[serde(default)]
    yanked: bool,
}

/// Runs one call.
pub async fn fetch(call: Call<ListParams>) -> Result<Vec<Release>, Error> {
    let url = match parts(&call.path).as_slice() {
        ["project", name] => format!("https://pypi.org/pypi/{}/json", encode(name)),
        ["project", name, version] => {
            format!(
                "https://pypi.org/pypi/{}/{}/json",
                encode(name),
                encode(version)
            )
        }
        _ => {
            let known = ["project/{name}", "project/{name}/{version}"];
            return Err(unknown_path(&call.path, &known));
        }
    };
    let Answer {
        info,
        mut urls,
        mut vulnerabilities,
    } = json(&url).await?;
    vulnerabilities.retain(|vulnerability| vulnerability.withdrawn.is_none());
    urls.truncate(call.params.limit(100, 100) as usize);
    // Fields that a project leaves empty are empty strings.
    let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    let mut links = info.project_urls.unwrap_or_default();
    if let Some(home) = filled(info.home_page) {
        links.entry("Homepage".to_owned()).or_insert(home);
    }
    Ok(vec![Release {
        name: info.name,
        version: info.version,
        url: info.package_url,
        summary: filled(info.summary),
        license: filled(info.license_expression).or_else(|| filled(info.license)),
        author: filled(info.author).or_else(|| filled(info.author_email)),
        requires_python: filled(info.requires_python),
        requires: info.requires_dist.unwrap_or_default(),
        urls: links,
        keywords: filled(info.keywords),
        classifiers: info.classifiers,
        yanked: info.yanked,
        files: urls,
        vulnerabilities,
    }])
}
