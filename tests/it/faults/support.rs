//! A service, and a server with faults that it must survive.

use std::collections::BTreeMap;

use orbweaver_fetch::FetchConfig;
use orbweaver_origin::{Origin, Reply};
use orbweaver_server::config::Config;
use serde_json::{Value, json};

use crate::support::{Client, Service};

/// A page that the service must be able to scan after each fault.
pub const GOOD: &str = "<!doctype html><title>Good</title><p>All is well here.";

/// A service with limits short enough for tests, and a faulty origin.
pub struct Faulty {
    pub service: Service,
    pub origin: Origin,
}

impl Faulty {
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// As [`start`](Self::start), with a changed configuration of the fetch.
    pub async fn with(change: impl FnOnce(&mut FetchConfig)) -> Self {
        Self::with_config(|config| change(&mut config.fetch)).await
    }

    pub async fn with_config(change: impl FnOnce(&mut Config)) -> Self {
        let origin = Origin::start().await.unwrap();
        origin.set("/good", Reply::html(GOOD));
        let service = Service::with(|config| {
            config.fetch.limits.max_body_bytes = 4 << 20;
            change(config);
        })
        .await;
        Self { service, origin }
    }

    pub fn client(&self) -> Client {
        self.service.client()
    }

    /// The result of scanning a path.
    pub async fn scan(&self, path: &str) -> Value {
        self.scan_with(&json!({"url": self.origin.url(path)})).await
    }

    pub async fn scan_with(&self, body: &Value) -> Value {
        self.client().post("/v1/scan", body).await.ok()
    }

    /// The failure's code when a path is scanned in bulk together with a good page, which must
    /// not be affected.
    pub async fn failure(&self, path: &str) -> String {
        self.failure_of(&self.origin.url(path)).await
    }

    pub async fn failure_of(&self, url: &str) -> String {
        let urls = [url.to_owned(), self.origin.url("/good")];
        let answer = self
            .client()
            .post(
                "/v1/scan/bulk",
                &json!({"urls": urls, "metadata_only": true}),
            )
            .await
            .ok();
        let items = answer["items"].as_array().unwrap();
        assert_eq!(items[1]["result"]["metadata"]["title"], "Good", "{url}");
        let error = items[0]["error"]
            .as_str()
            .unwrap_or_else(|| panic!("{url} succeeded: {}", items[0]));
        error
            .strip_prefix("fetch failed (")
            .and_then(|rest| rest.split_once("): "))
            .map_or_else(|| panic!("{error}"), |(kind, _)| kind.to_owned())
    }

    /// A single scan fails with 502; returns its message.
    pub async fn refused(&self, path: &str) -> String {
        self.client()
            .post("/v1/scan", &json!({"url": self.origin.url(path)}))
            .await
            .error(502, "FETCH_FAILED")
    }

    /// Crawls from a path, without delay, to the end; returns the run.
    pub async fn crawl(&self, path: &str, options: Value) -> Value {
        let mut body = json!({"url": self.origin.url(path), "delay_ms": 0});
        for (name, value) in options.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = self.client().post("/v1/crawls", &body).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        let path = format!("/v1/crawls/{}", answer.json()["id"]);
        self.client()
            .until(&path, |answer| answer.ok()["finished_at"].is_string())
            .await
            .ok()
    }

    /// The page rows of a run: path and status.
    pub async fn rows(&self, run: &Value) -> BTreeMap<String, u64> {
        let path = format!("/v1/crawls/{}/pages?limit=10000", run["id"]);
        let pages = self.client().get(&path).await.ok();
        let base = self.origin.url("");
        let mut rows = BTreeMap::new();
        for row in pages["items"].as_array().unwrap() {
            let url = row["url"].as_str().unwrap();
            let path = url.strip_prefix(&base).unwrap_or(url).to_owned();
            let again = rows.insert(path, row["status"].as_u64().unwrap());
            assert_eq!(again, None, "{url} has two rows");
        }
        rows
    }

    /// The host is ready and a good page can be scanned.
    pub async fn is_well(&self) {
        assert_eq!(self.service.stranger().get("/v1/ready").await.status, 200);
        let good = self.scan("/good").await;
        assert_eq!(good["metadata"]["title"], "Good");
        assert_eq!(good["errors"], json!([]));
    }
}
