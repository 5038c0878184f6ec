//! Running the service: listening, background work, and stopping in good order.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use hyper_util::rt::TokioTimer;

use crate::app::App;
use crate::config::Role;
use crate::{api, housekeeping};

/// A service that listens.
#[derive(Debug)]
pub struct Running {
    /// Where; with the port that was chosen if 0 was asked for. None without the role api.
    pub address: Option<SocketAddr>,
    /// Where metrics are, if they have a port of their own.
    pub metrics_address: Option<SocketAddr>,
    app: App,
    handle: Handle<SocketAddr>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
    server: Option<tokio::task::JoinHandle<std::io::Result<()>>>,
}

/// Binds and serves; returns once requests are answered.
///
/// # Errors
/// When an address is taken, or certificate and key do not load.
pub async fn start(app: App) -> anyhow::Result<Running> {
    let roles = app.config.roles()?;
    let handle = Handle::new();
    let mut tasks = vec![tokio::spawn(housekeeping::run(app.clone()))];
    let (mut address, mut server) = (None, None);
    if roles.contains(&Role::Api) {
        let (at, task) = listen(&app, handle.clone()).await?;
        address = Some(at);
        server = Some(task);
    }
    let mut metrics_address = None;
    if let Some(at) = app.config.metrics.listen {
        let listener = tokio::net::TcpListener::bind(at)
            .await
            .with_context(|| format!("metrics.listen: cannot listen on {at}"))?;
        let at = listener.local_addr()?;
        tracing::info!(address = %at, "metrics are at /metrics");
        metrics_address = Some(at);
        let router = api::metrics_router(app.clone());
        tasks.push(tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::error!(%error, "the metrics listener ended");
            }
        }));
    }
    Ok(Running {
        address,
        metrics_address,
        app,
        handle,
        tasks,
        server,
    })
}

async fn listen(
    app: &App,
    handle: Handle<SocketAddr>,
) -> anyhow::Result<(SocketAddr, tokio::task::JoinHandle<std::io::Result<()>>)> {
    let config = &app.config;
    let listener = std::net::TcpListener::bind(config.listen).with_context(|| {
        format!(
            "cannot listen on {}; is the port taken? name another with --listen",
            config.listen
        )
    })?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let header_timeout = Duration::from_millis(config.http.header_timeout_ms);
    let service = api::router(app.clone()).into_make_service_with_connect_info::<SocketAddr>();
    let mut server = axum_server::from_tcp(listener)?
        .handle(handle)
        .acceptor(NoDelayAcceptor);
    server
        .http_builder()
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256);
    let task = match (&config.tls_cert, &config.tls_key) {
        (Some(cert), Some(key)) => {
            // Fails only where a provider was chosen before, which serves as well.
            let _ = rustls::crypto::ring::default_provider().install_default();
            let tls = RustlsConfig::from_pem_file(cert, key)
                .await
                .with_context(|| format!("cannot load {} and {}", cert.display(), key.display()))?;
            let server = server.map(|tcp| RustlsAcceptor::new(tls).acceptor(tcp));
            tokio::spawn(server.serve(service))
        }
        _ => tokio::spawn(server.serve(service)),
    };
    Ok((address, task))
}

impl Running {
    /// The service's parts.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Stops accepting, lets running requests finish for as long as the configuration says,
    /// ends the background work and writes what is queued.
    pub async fn stop(self) {
        let grace = Duration::from_millis(self.app.config.http.shutdown_ms);
        self.handle.graceful_shutdown(Some(grace));
        if let Some(server) = self.server
            && !matches!(server.await, Ok(Ok(())))
        {
            tracing::warn!("the server did not end well");
        }
        for task in self.tasks {
            task.abort();
        }
        self.app.store.close().await;
    }
}

/// Waits for SIGTERM or SIGINT.
///
/// # Errors
/// When the signals cannot be listened for.
pub async fn stop_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
