//! `orbweaver serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::Common;
use super::doctor;
use super::out::{OutError, out};
use crate::config::{Config, PROGRAM, load};
use crate::insecure_settings::insecure_settings;
use crate::listen::open_files;
use crate::serve::{Running, StopSignals};
use crate::service::Service;
use crate::traces::Traces;
use crate::{serve, service, telemetry};
use orbweaver_accounts::bootstrap::{self, FirstStart};
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::secret::Secret;

/// Serve the API. The first start on an empty database creates project `default` and
/// prints its key.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    orbweaver serve\n  \
    orbweaver serve --listen 0.0.0.0:8080 --data-dir /var/lib/orbweaver\n  \
    orbweaver serve --database-url postgres://orbweaver:…@db/orbweaver --roles api")]
pub(super) struct Serve {
    /// Address and port to listen on [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Certificate chain (PEM), to serve HTTPS directly.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key (PEM) of the certificate.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Roles of this process [default: api,worker,scheduler].
    #[arg(long, value_name = "ROLES", value_delimiter = ',')]
    roles: Option<Vec<String>>,
}

impl Serve {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        // Before all else: without a handler, the signals do nothing to the first process of a container.
        let mut stop = StopSignals::listen()?;
        let mut flags = common.flags();
        flags.set("listen", self.listen);
        flags.set("tls_cert", self.tls_cert);
        flags.set("tls_key", self.tls_key);
        flags.set("roles", self.roles);
        let loaded = load(common.config.as_deref(), flags)?;
        let mut config = loaded.config;
        // Without /proc, as in some chroots, uploads are compiled in this process.
        config.plugins.compiler = Some(PathBuf::from(PROGRAM)).filter(|program| program.exists());
        let traces = Traces::from_env()?;
        match &traces {
            None => telemetry::start_logs(&config.log)?,
            Some(traces) => telemetry::start_logs_and_traces(&config.log, traces)?,
        }
        for misnamed in loaded.misnamed {
            tracing::warn!(variable = misnamed.variable, "{misnamed}");
        }
        let metrics = telemetry::start_metrics()?;
        open_files::raise();
        let service = tokio::select! {
            service = service::build(config, Clock::system(), Some(metrics)) => Some(service?),
            () = stop.next() => None,
        };
        match service {
            None => tracing::info!("stopped while starting"),
            Some(service) => {
                // Not given up for a signal: a key that was made must be shown.
                let running = start(service).await?;
                stop.next().await;
                tracing::info!("stopping");
                running.stop().await;
            }
        }
        if let Some(traces) = traces {
            tokio::task::spawn_blocking(|| traces.stop()).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Makes the first key if there is none, and serves.
async fn start(service: Service) -> anyhow::Result<Running> {
    let first = bootstrap::run(
        &service.store,
        &service.clock,
        service.config().bootstrap_key.as_ref(),
    )
    .await?;
    // The service runs even if standard output is closed.
    if let Some(FirstStart::Fresh(key)) = &first {
        let _ = show_key(key);
    }
    for setting in insecure_settings(service.config()) {
        tracing::warn!(setting = setting.name, "{}", setting.message);
    }
    let running = serve::start(service).await?;
    tokio::spawn(warn_of_plugins(running.service().clone()));
    let _ = greet(running.service().config(), running.address, first.as_ref());
    Ok(running)
}

/// Warns if pages will lack what every page is asked for, once all plugins are loaded: the service starts
/// without a plugin too, because the folder is watched and plugins may be uploaded.
async fn warn_of_plugins(service: Service) {
    let engine = &service.pipeline.engine;
    engine.await_all().await;
    let place = doctor::plugin_place(service.config());
    if let Some(why) = doctor::unprovided(engine, &place) {
        tracing::warn!("{why}; until then, these fields of scans and crawls are null");
    }
}

/// Shows the key at once: no later start shows it, and this one may still fail.
fn show_key(key: &Secret) -> Result<(), OutError> {
    out!("Created project `default`. Its key, shown only now:\n")?;
    out!("    {}\n", key.expose())
}

/// Sets the umask, so that only this user can access files that the process creates.
pub(super) fn close_umask() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
}

fn greet(
    config: &Config,
    address: Option<SocketAddr>,
    first: Option<&FirstStart>,
) -> Result<(), OutError> {
    let Some(address) = address else {
        out!(
            "Orbweaver {} runs without an API.",
            env!("CARGO_PKG_VERSION")
        )?;
        return Ok(());
    };
    let scheme = if config.tls_cert.is_some() {
        "https"
    } else {
        "http"
    };
    out!(
        "Orbweaver {} listens on {scheme}://{address}",
        env!("CARGO_PKG_VERSION")
    )?;
    out!("API reference: {scheme}://{address}/docs")?;
    let key = match first {
        None => return Ok(()),
        Some(FirstStart::Configured) => "$ORBWEAVER_BOOTSTRAP_KEY",
        Some(FirstStart::Fresh(key)) => key.expose(),
    };
    out!("\nTry it:\n")?;
    out!("    curl -s {scheme}://{address}/v1/scan \\")?;
    out!("      -H 'Content-Type: application/json' \\")?;
    out!("      -H \"Authorization: Bearer {key}\" \\")?;
    out!("      -d '{{\"url\":\"https://example.com/\"}}'")
}
