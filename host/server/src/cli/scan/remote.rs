//! `orbweaver scan` at a service.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::{Format, Scan, line};
use crate::cli::remote::Service;

impl Scan {
    /// The page as the service sees it, in the chosen format.
    pub(super) async fn at(&self, service: &Service) -> anyhow::Result<String> {
        let format = self.format();
        let mut body = json!({ "url": self.source });
        let mut set = |name: &str, value: Value| {
            if let Some(body) = body.as_object_mut() {
                body.insert(name.to_owned(), value);
            }
        };
        if let Some(agent) = &self.user_agent {
            set("user_agent", json!(agent));
        }
        if self.only_main_content {
            set("only_main_content", json!(true));
        }
        if self.include_links || format == Format::Links {
            set("include_links", json!(true));
        }
        if self.follow_refresh {
            set("follow_refresh", json!(true));
        }
        if format == Format::StructuredData {
            set("extractors", json!(["structured-data"]));
        }
        let answer = service.post("/v1/scan", &body).await?;
        let status = answer.get("status").and_then(Value::as_u64);
        let status = status.context("the answer is not a scan's result")?;
        if self.fail && status >= 400 {
            bail!("{} answers with status {status}", self.source);
        }
        let member = |name: &str| answer.get(name).filter(|value| !value.is_null());
        let role = format.role().unwrap_or_default();
        let failed = answer.get("errors").and_then(Value::as_array);
        let mut failed = failed.into_iter().flatten();
        let failed = failed.find(|error| error.get("role").and_then(Value::as_str) == Some(role));
        if let Some(message) = failed.and_then(|error| error.get("message")) {
            bail!("{role}: {}", message.as_str().unwrap_or_default());
        }
        let found = match format {
            Format::Json => Some(&answer),
            Format::Markdown => member("markdown"),
            Format::Article => member("article"),
            Format::ArticleHtml => member("article_html"),
            Format::Metadata => member("metadata"),
            Format::Signals => member("signals"),
            Format::Links => member("links"),
            Format::StructuredData => answer
                .pointer("/extensions/structured-data")
                .filter(|value| !value.is_null()),
        };
        let Some(found) = found else {
            let notice = member("notice").and_then(Value::as_str);
            return Err(self.has_no(role, notice));
        };
        Ok(match (format, found) {
            (Format::Links, Value::Array(links)) => {
                links.iter().map(line).collect::<Vec<_>>().join("\n")
            }
            (_, Value::String(text)) => text.clone(),
            (Format::Json, value) => value.to_string(),
            (_, value) => serde_json::to_string_pretty(value)?,
        })
    }
}
