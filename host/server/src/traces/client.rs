//! Sends batches of spans to the collector.

use std::fmt;
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::SpanExporter as Otlp;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use orbweaver_fetch::{FetchConfig, Fetcher, Request};
use tokio::runtime::Handle;

/// HTTP client of the OTLP exporter: the guarded fetcher, with every address allowed, because the
/// operator configures the collector, usually in the operator's own network.
pub(super) struct Client {
    fetcher: Fetcher,
    timeout: Duration,
    runtime: Handle,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client for one collector; call within a Tokio runtime.
    ///
    /// # Errors
    /// When the endpoint is not an http or https URL.
    pub(super) fn new(endpoint: &str, timeout: Duration) -> anyhow::Result<Self> {
        let everywhere = ["0.0.0.0/0", "::/0"].into_iter().map(str::parse);
        let fetcher = Fetcher::new(FetchConfig {
            allow_nets: everywhere.collect::<Result<_, _>>()?,
            ..FetchConfig::default()
        })?;
        fetcher.judge(endpoint).with_context(|| {
            "OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an \
             http or https URL"
        })?;
        Ok(Self {
            fetcher,
            timeout,
            runtime: Handle::current(),
        })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let mut headers = Vec::with_capacity(head.headers.len());
        for (name, value) in &head.headers {
            headers.push((name.as_str().to_owned(), value.to_str()?.to_owned()));
        }
        let request = Request {
            headers,
            body: Some(body),
            user_agent: Some(concat!("orbweaver/", env!("CARGO_PKG_VERSION")).to_owned()),
            follow_redirects: false,
            ..Request::new(head.method, head.uri.to_string()).patient(self.timeout)
        };
        let fetcher = self.fetcher.clone();
        // The exporter's thread has no Tokio runtime.
        let sent = self
            .runtime
            .spawn(async move { fetcher.fetch(request).await });
        let answer = sent.await?.map_err(|error| {
            // The exporter does not log the reason.
            tracing::warn!(%error, "cannot reach the trace collector");
            error
        })?;
        let mut response = http::Response::builder().status(answer.status);
        if let Some(wait) = answer.headers.get("retry-after") {
            response = response.header(http::header::RETRY_AFTER, wait);
        }
        Ok(response.body(answer.body)?)
    }
}

/// The exporter, with a warning for each batch that the collector does not accept. Such a batch is
/// lost, so that traces neither block the service nor fill its memory.
#[derive(Debug)]
pub(super) struct Warning(pub(super) Otlp);

impl SpanExporter for Warning {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        self.0
            .export(batch)
            .await
            .inspect_err(|error| tracing::warn!(spans, %error, "lost traces"))
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.0.shutdown()
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}
