//! Traces to an OpenTelemetry collector, configured by OpenTelemetry's standard variables:
//! `OTEL_EXPORTER_OTLP_ENDPOINT` turns them on; `OTEL_EXPORTER_OTLP_HEADERS` and
//! `_TIMEOUT`, their `_TRACES_` forms, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`,
//! `OTEL_TRACES_SAMPLER` and `OTEL_BSP_…` work as specified. The protocol is OTLP over HTTP in
//! JSON, which collectors usually accept on port 4318.

mod client;

use std::fmt;
use std::str::FromStr as _;
use std::time::Duration;

use anyhow::{Context as _, bail};
use http::{HeaderName, HeaderValue};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

use client::{Client, Warning};

/// Default service name.
const SERVICE: &str = "orbweaver";
/// Longest wait at shutdown for the last spans to be sent.
const FLUSH: Duration = Duration::from_secs(1);

/// A running exporter.
pub struct Traces(SdkTracerProvider);

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The exporter's headers contain keys.
        f.debug_struct("Traces").finish_non_exhaustive()
    }
}

impl Traces {
    /// Starts the exporter configured by the environment; `None` if no collector is configured.
    /// Call within a Tokio runtime.
    ///
    /// # Errors
    /// Names the invalid variable and the reason.
    pub fn from_env() -> anyhow::Result<Option<Self>> {
        Self::configured(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn configured(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Self>> {
        let is = |name: &str, word: &str| {
            variable(name).is_some_and(|value| value.eq_ignore_ascii_case(word))
        };
        if is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none") {
            return Ok(None);
        }
        let Some(endpoint) = endpoint(&variable) else {
            return Ok(None);
        };
        // The variable for traces overrides the one for all signals.
        let either = |suffix: &str| {
            let traces = format!("OTEL_EXPORTER_OTLP_TRACES_{suffix}");
            let all = format!("OTEL_EXPORTER_OTLP_{suffix}");
            variable(&traces)
                .map(|value| (traces, value))
                .or_else(|| variable(&all).map(|value| (all, value)))
        };
        if let Some((name, word)) = either("PROTOCOL")
            && !word.starts_with("http/")
        {
            bail!("{name}: `{word}` is not supported; use http/json and the collector's port 4318");
        }
        let timeout = match either("TIMEOUT") {
            None => Duration::from_secs(10),
            Some((name, text)) => Duration::from_millis(
                text.parse()
                    .with_context(|| format!("{name}: `{text}` is not a number of milliseconds"))?,
            ),
        };
        let headers = match either("HEADERS") {
            None => Vec::new(),
            Some((name, text)) => headers(&text).with_context(|| name)?,
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(&endpoint, timeout)?)
            .with_endpoint(endpoint)
            .with_headers(headers.into_iter().collect())
            .with_timeout(timeout)
            .with_protocol(Protocol::HttpJson)
            .build()?;
        let names_service = variable("OTEL_SERVICE_NAME").is_some()
            || variable("OTEL_RESOURCE_ATTRIBUTES")
                .is_some_and(|pairs| pairs.contains("service.name="));
        let mut resource = Resource::builder()
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        if !names_service {
            resource = resource.with_service_name(SERVICE);
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(Warning(exporter))
            .with_resource(resource.build())
            .build();
        Ok(Some(Self(provider)))
    }

    /// The layer that turns `tracing` spans into traces.
    pub(crate) fn layer<S>(&self) -> OpenTelemetryLayer<S, Tracer>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer().with_tracer(self.0.tracer(SERVICE))
    }

    /// Sends the queued spans, waiting at most one second. Blocks.
    pub fn stop(self) {
        if let Err(error) = self.0.shutdown_with_timeout(FLUSH) {
            tracing::warn!(%error, "the last traces may be lost");
        }
    }
}

/// URL that traces are sent to: the variable for traces unchanged, else the general one with
/// the path for traces appended.
fn endpoint(variable: &impl Fn(&str) -> Option<String>) -> Option<String> {
    variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").or_else(|| {
        let base = variable("OTEL_EXPORTER_OTLP_ENDPOINT")?;
        Some(format!("{}/v1/traces", base.trim_end_matches('/')))
    })
}

/// `name=value,name=value`, values percent-encoded.
fn headers(text: &str) -> anyhow::Result<Vec<(String, String)>> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    pairs
        .map(|pair| {
            // The pair is not quoted, because it may contain a key.
            let (name, value) = pair
                .split_once('=')
                .context("must be comma-separated name=value pairs")?;
            let name = HeaderName::from_str(name.trim())?;
            let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8()?;
            HeaderValue::from_str(&value)?;
            Ok((name.as_str().to_owned(), value.into_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(pairs: &[(&str, &str)]) -> anyhow::Result<Option<Traces>> {
        Traces::configured(|name| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[tokio::test]
    async fn an_endpoint_switches_traces_on() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/");
        assert!(configured(&[]).unwrap().is_none());
        assert!(configured(&[base]).unwrap().is_some());
        assert!(
            configured(&[base, ("OTEL_SDK_DISABLED", "true")])
                .unwrap()
                .is_none()
        );
        let of = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs.to_vec();
            endpoint(&move |name: &str| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[base]).unwrap(), "http://127.0.0.1:4318/v1/traces");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/x");
        assert_eq!(of(&[base, own]).unwrap(), "http://c/x");
    }

    #[tokio::test]
    async fn an_invalid_variable_is_reported() {
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "key"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a key=value"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "key=line%0Abreak"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317"),
        ] {
            let error = configured(&[base, (name, value)]).unwrap_err();
            assert!(format!("{error:#}").contains(name), "{error:#}");
        }
    }

    #[test]
    fn headers_are_pairs() {
        let pairs = headers("Api-Key=a%20b, x=1,").unwrap();
        let expected = [("api-key", "a b"), ("x", "1")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(pairs, expected);
    }
}
