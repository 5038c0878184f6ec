//! Sending spans.

use std::fmt;
use std::time::Duration;

use anyhow::Context as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use orbweaver_fetch::{FetchConfig, Fetcher, Method, Request};
use tokio::runtime::Handle;

use super::otlp;

/// Posts batches to a collector. A batch that the collector does not take is lost: traces
/// must not hold up the service, or fill its memory.
pub(super) struct Exporter {
    endpoint: String,
    headers: Vec<(String, String)>,
    timeout: Duration,
    resource: Resource,
    fetcher: Fetcher,
    runtime: Handle,
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers hold keys.
        f.debug_struct("Exporter").finish_non_exhaustive()
    }
}

impl Exporter {
    pub(super) fn new(
        endpoint: String,
        mut headers: Vec<(String, String)>,
        timeout: Duration,
    ) -> anyhow::Result<Self> {
        // The operator names the collector, and it is in the operator's network.
        let everywhere = ["0.0.0.0/0", "::/0"].into_iter().map(str::parse);
        let fetcher = Fetcher::new(FetchConfig {
            allow_nets: everywhere.collect::<Result<_, _>>()?,
            ..FetchConfig::default()
        })?;
        fetcher.judge(&endpoint).with_context(|| {
            "OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an \
             http or https URL"
        })?;
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
        Ok(Self {
            endpoint,
            headers,
            timeout,
            resource: Resource::builder_empty().build(),
            fetcher,
            runtime: Handle::current(),
        })
    }
}

impl SpanExporter for Exporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let body = otlp::request(&self.resource, &batch);
        let request = Request {
            headers: self.headers.clone(),
            body: Some(body.into()),
            user_agent: Some(concat!("orbweaver/", env!("CARGO_PKG_VERSION")).to_owned()),
            follow_redirects: false,
            timeout: Some(self.timeout),
            ..Request::new(Method::POST, &self.endpoint)
        };
        let fetcher = self.fetcher.clone();
        // The processor calls from a thread of its own, which has no reactor.
        let sent = self
            .runtime
            .spawn(async move { fetcher.fetch(request).await });
        let failed = |why: String| Err(OTelSdkError::InternalFailure(why));
        match sent.await {
            Ok(Ok(answer)) if (200..300).contains(&answer.status) => Ok(()),
            Ok(Ok(answer)) => failed(format!("the collector answered {}", answer.status)),
            Ok(Err(error)) => failed(error.message),
            Err(error) => failed(error.to_string()),
        }
        .inspect_err(|error| tracing::warn!(spans = batch.len(), %error, "traces are lost"))
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.clone();
    }
}
