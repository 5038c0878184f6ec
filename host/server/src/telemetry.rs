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

/// Starts logging to standard error. Answers and listings go to standard output.
///
/// # Errors
/// When the filter does not parse, or logging was started before.
pub fn start_logs(config: &LogConfig) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.filter)
        .with_context(|| format!("log.filter: `{}` is no filter", config.filter))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match config.format {
        LogFormat::Pretty => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}

/// As [`start_logs`], and every request's and job's span goes to a collector besides. What
/// is traced does not depend on what is logged.
///
/// # Errors
/// As [`start_logs`].
pub fn start_logs_and_traces(config: &LogConfig, traces: &Traces) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.filter)
        .with_context(|| format!("log.filter: `{}` is no filter", config.filter))?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let lines = match config.format {
        LogFormat::Pretty => lines.with_filter(filter).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_filter(filter).boxed(),
    };
    // Our own spans: those of the exporter's client would feed themselves.
    let ours = Targets::new().with_target("orbweaver", tracing::Level::INFO);
    tracing_subscriber::registry()
        .with(lines)
        .with(traces.layer().with_filter(ours))
        .try_init()
        .map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}

/// Bounds of the histograms of seconds: from a cached answer to a slow site.
const SECONDS: [f64; 12] = [
    0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0,
];

/// Starts collecting metrics in this process.
///
/// # Errors
/// When a recorder was installed before.
pub fn start_metrics() -> anyhow::Result<PrometheusHandle> {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
        .and_then(PrometheusBuilder::install_recorder)
        .context("cannot start collecting metrics")
}
