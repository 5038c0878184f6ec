//! Logs and metrics.

use std::io::IsTerminal as _;

use anyhow::Context as _;
pub use metrics_exporter_prometheus::PrometheusHandle;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use crate::config::{LogConfig, LogFormat};
use crate::traces::Traces;

/// Whether the logger says on standard error that it could not write there. It does so with a macro
/// that panics if that fails, too, as on a full disk; a request would then end with its log line.
const TELLS_OF_LOST_LINES: bool = false;

/// Starts logging to standard error. Standard output is for answers and listings.
///
/// # Errors
/// When the filter is invalid, or logging was already started.
pub fn start_logs(config: &LogConfig) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.filter)
        .with_context(|| format!("log.filter: `{}` is not a valid filter", config.filter))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .log_internal_errors(TELLS_OF_LOST_LINES)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match config.format {
        LogFormat::Pretty => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}

/// Same as [`start_logs`]; also sends the span of every request and job to a collector. The log
/// filter does not affect traces.
///
/// # Errors
/// Same as [`start_logs`].
pub fn start_logs_and_traces(config: &LogConfig, traces: &Traces) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.filter)
        .with_context(|| format!("log.filter: `{}` is not a valid filter", config.filter))?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .log_internal_errors(TELLS_OF_LOST_LINES)
        .with_ansi(std::io::stderr().is_terminal());
    let lines = match config.format {
        LogFormat::Pretty => lines.with_filter(filter).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_filter(filter).boxed(),
    };
    // Only this program's spans: spans of the exporter's HTTP client would cause more spans.
    let ours = Targets::new().with_target("orbweaver", tracing::Level::INFO);
    tracing_subscriber::registry()
        .with(lines)
        .with(traces.layer().with_filter(ours))
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}

/// Histogram buckets in seconds: from a cached answer to a slow site.
const SECONDS: [f64; 12] = [
    0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0,
];

/// Starts collecting metrics in this process.
///
/// # Errors
/// When a recorder was already installed.
pub fn start_metrics() -> anyhow::Result<PrometheusHandle> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .and_then(PrometheusBuilder::install_recorder)
        .context("cannot start collecting metrics")
}
