//! The upstream provider, over its documented HTTP API: JSON bodies, a bearer key, pages as
//! `[{url, status, content, error, costs: {total_cost}}]`.
//!
//! The provider's own limits (402: no credit, 429: too many requests) are reported as failures
//! of this backend, never as limits of the client.

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_core::ids::ProjectId;
use orbweaver_fetch::{Fetcher, Headers, Method, Request, Response, Timings};
use serde::Deserialize;
use serde_json::{Value, json};

use super::backend::{Backend, Capabilities, Job, Loaded, NO_VENDOR, WaitPoint};
use super::money::micros;
use crate::config::CloudConfig;
use crate::error::{FailureKind, ScanError};

/// A search result of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchHit {
    /// URL of the result.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Its content, if the provider includes it.
    pub content: Option<String>,
    /// Cost in millionths of a US dollar, if the provider reports it.
    pub cost_micros: Option<u64>,
}

/// Client of the provider; also a backend.
pub struct Vendor {
    fetcher: Fetcher,
    account: Option<(SafeUrl, Secret)>,
    timeout: Duration,
    page_micros: u64,
}

#[derive(Deserialize)]
struct PageItem {
    url: Option<String>,
    status: Option<u16>,
    content: Option<Value>,
    error: Option<Value>,
    costs: Option<Costs>,
}

#[derive(Deserialize)]
struct Costs {
    total_cost: Option<f64>,
}

impl PageItem {
    /// The page's content.
    ///
    /// # Errors
    /// Why there is none.
    fn take_content(&mut self) -> Result<String, ScanError> {
        match (self.content.take(), &self.error) {
            (Some(Value::String(content)), error)
                if !content.is_empty() || !matches!(error, Some(Value::String(_))) =>
            {
                Ok(content)
            }
            (None | Some(Value::String(_)), Some(Value::String(error))) => {
                Err(failed(format!("the upstream provider failed: {error}")))
            }
            _ => Err(failed(
                "the upstream provider's answer is malformed: no content",
            )),
        }
    }
}

#[derive(Deserialize)]
struct HitItem {
    url: String,
    title: Option<String>,
    description: Option<String>,
    content: Option<String>,
    costs: Option<Costs>,
}

impl Vendor {
    pub(super) fn new(fetcher: Fetcher, config: &CloudConfig) -> Self {
        Self {
            fetcher,
            account: config.vendor_url.clone().zip(config.vendor_key.clone()),
            timeout: config.vendor_timeout_ms.as_duration(),
            page_micros: micros(config.prices.vendor_page),
        }
    }

    /// Whether a provider is configured.
    pub fn is_configured(&self) -> bool {
        self.account.is_some()
    }

    async fn call(
        &self,
        fetcher: &Fetcher,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, ScanError> {
        let (base, key) = self
            .account
            .as_ref()
            .ok_or(ScanError::NotConfigured(NO_VENDOR.into()))?;
        let request = Request {
            headers: vec![
                (
                    "authorization".to_owned(),
                    format!("Bearer {}", key.expose()),
                ),
                ("content-type".to_owned(), "application/json".to_owned()),
                ("accept".to_owned(), "application/json".to_owned()),
            ],
            user_agent: Some(concat!("Orbweaver/", env!("CARGO_PKG_VERSION")).to_owned()),
            body: body.map(|body| Bytes::from(body.to_string())),
            follow_redirects: false,
            ..Request::new(
                method,
                format!("{}{path}", base.expose().trim_end_matches('/')),
            )
            .patient(self.timeout)
        };
        let response = fetcher
            .fetch(request)
            .await
            .map_err(|error| failed(format!("the upstream provider gave no answer: {error}")))?;
        match response.status {
            200..=299 => serde_json::from_slice(&response.body).map_err(|error| {
                failed(format!(
                    "the upstream provider's answer is malformed: {error}"
                ))
            }),
            402 => Err(failed("the upstream provider has no credit left (402)")),
            429 => Err(failed(
                "the upstream provider answered: too many requests (429)",
            )),
            401 | 403 => Err(failed("the upstream provider rejects cloud.vendor_key")),
            status => Err(failed(format!(
                "the upstream provider answered with status {status}"
            ))),
        }
    }

    async fn page(&self, project: ProjectId, path: &str, job: &Job) -> Result<Loaded, ScanError> {
        let mut body = json!({
            "url": job.url,
            "limit": 1,
            "return_format": "raw",
            "request": if job.render.is_some() { "browser" } else { "http" },
        });
        if let Some(object) = body.as_object_mut() {
            if let Some(country) = &job.country {
                object.insert(
                    "country_code".to_owned(),
                    json!(country.to_ascii_lowercase()),
                );
            }
            if job.render == Some(WaitPoint::NetworkIdle) {
                object.insert(
                    "wait_for".to_owned(),
                    json!({"idle_network": {"timeout": {"secs": 30}}}),
                );
            }
            if let Some(agent) = &job.user_agent {
                object.insert("user_agent".to_owned(), json!(agent));
            }
        }
        let fetcher = self.fetcher.of_project(project);
        let asked = job.spent.under_way(|| self.page_micros);
        let answer = self.call(&fetcher, Method::POST, path, Some(body)).await;
        asked.end();
        let mut item = first(answer?)?;
        let content = item.take_content();
        let reported = item.costs.and_then(|costs| costs.total_cost).map(micros);
        // A failure costs what the provider says, and a page of which it says nothing its price.
        let cost_micros = match &content {
            Ok(_) => reported.unwrap_or(self.page_micros),
            Err(_) => reported.unwrap_or(0),
        };
        job.spent.add(cost_micros);
        let body = Bytes::from(content?);
        Ok(Loaded {
            response: Response {
                url: job.url.clone(),
                final_url: item
                    .url
                    .filter(|url| self.fetcher.judge(url).is_ok())
                    .unwrap_or_else(|| job.url.clone()),
                status: item.status.unwrap_or(200),
                headers: [(
                    "content-type".to_owned(),
                    "text/html; charset=utf-8".to_owned(),
                )]
                .into_iter()
                .collect::<Headers>(),
                redirects: Vec::new(),
                raw: None,
                truncated: false,
                wire_bytes: body.len() as u64,
                body,
                timings: Timings::default(),
                remote_addr: None,
            },
            backend: self.name(),
            rendered: job.render.is_some(),
            pool: None,
            cost_micros,
            picture: None,
            screenshots: Vec::new(),
            is_cut: false,
            reason: None,
        })
    }

    /// Loads a page with the provider's unblocker.
    pub(super) async fn unblock(&self, project: ProjectId, job: &Job) -> Result<Loaded, ScanError> {
        self.page(project, "/unblocker", job).await
    }

    /// Searches the web; results have content where the provider includes it: HTML if it is to be
    /// `raw`, else Markdown.
    #[crate::boxed]
    pub async fn search(
        &self,
        query: &str,
        limit: usize,
        raw: bool,
    ) -> Result<Vec<SearchHit>, ScanError> {
        let body = json!({
            "search": query,
            "num": limit,
            "search_limit": limit,
            "fetch_page_content": true,
            "return_format": if raw { "raw" } else { "markdown" },
        });
        let answer = self
            .call(&self.fetcher, Method::POST, "/search", Some(body))
            .await?;
        let items = match answer {
            Value::Array(items) => items,
            Value::Object(mut object) => {
                let found = object
                    .remove("content")
                    .or_else(|| object.remove("results"));
                match found {
                    Some(Value::Array(items)) => items,
                    _ => {
                        return Err(failed(
                            "the upstream provider's answer is malformed: no results",
                        ));
                    }
                }
            }
            _ => {
                return Err(failed(
                    "the upstream provider's answer is malformed: no list",
                ));
            }
        };
        items
            .into_iter()
            .take(limit)
            .map(|item| {
                let item: HitItem = serde_json::from_value(item).map_err(|error| {
                    failed(format!(
                        "the upstream provider's answer is malformed: {error}"
                    ))
                })?;
                Ok(SearchHit {
                    url: item.url,
                    title: item.title.unwrap_or_default(),
                    content: item
                        .content
                        .or(item.description)
                        .filter(|text| !text.is_empty()),
                    cost_micros: item.costs.and_then(|costs| costs.total_cost).map(micros),
                })
            })
            .collect()
    }

    /// Balance in US dollars: ten thousand credits are one dollar.
    #[crate::boxed]
    pub async fn balance(&self) -> Result<f64, ScanError> {
        let answer = self
            .call(&self.fetcher, Method::GET, "/data/credits", None)
            .await?;
        let credits = answer
            .get("credits")
            .or_else(|| answer.get("data").and_then(|data| data.get("credits")))
            .and_then(Value::as_f64);
        credits
            .map(|credits| credits / 10_000.0)
            .ok_or_else(|| failed("the upstream provider's answer is malformed: no credits"))
    }
}

#[async_trait]
impl Backend for Vendor {
    fn name(&self) -> &'static str {
        "vendor"
    }

    fn capabilities(&self) -> Capabilities {
        let available = self.is_configured();
        Capabilities {
            available,
            render: available,
            picture: false,
            country: available,
            unblock: available,
        }
    }

    fn missing(&self, job: &Job) -> Option<Cow<'static, str>> {
        if !self.is_configured() {
            return Some(NO_VENDOR.into());
        }
        job.picture
            .then_some("pictures need a browser on this host: name one with --browser".into())
    }

    async fn load(&self, project: ProjectId, job: &Job) -> Result<Loaded, ScanError> {
        self.page(project, "/scrape", job).await
    }
}

fn first(answer: Value) -> Result<PageItem, ScanError> {
    let item = match answer {
        Value::Array(items) => items.into_iter().next(),
        object @ Value::Object(_) => Some(object),
        _ => None,
    };
    let item =
        item.ok_or_else(|| failed("the upstream provider's answer is malformed: it is empty"))?;
    serde_json::from_value(item).map_err(|error| {
        failed(format!(
            "the upstream provider's answer is malformed: {error}"
        ))
    })
}

/// Failure of the backend, answered 502.
fn failed(message: impl Into<String>) -> ScanError {
    ScanError::Fetch {
        kind: FailureKind::Vendor,
        message: message.into(),
    }
}
