//! Running the service: listening, background work, and stopping in good order.

use std::net::SocketAddr;

use anyhow::Context as _;
use axum_server::Handle;
use axum_server::accept::NoDelayAcceptor;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use hyper_util::rt::TokioTimer;
use tokio::task::{JoinHandle, JoinSet};

use orbweaver_accounts::mail;
use orbweaver_actors::plugins;
use orbweaver_api::{self as api, Entry};
use orbweaver_crawl::{self as crawl, Crawls, Seat, cleanup, scheduler, webhooks};
use orbweaver_pipeline::search_index;

use crate::config::{Config, Role};
use crate::housekeeping;
use crate::service::Service;

/// A service that listens.
#[derive(Debug)]
pub struct Running {
    /// Where; with the port that was chosen if 0 was asked for. None without the role api.
    pub address: Option<SocketAddr>,
    /// Where metrics are, if they have a port of their own.
    pub metrics_address: Option<SocketAddr>,
    service: Service,
    handle: Handle<SocketAddr>,
    background: JoinSet<()>,
    workers: JoinSet<()>,
    servers: Vec<JoinHandle<std::io::Result<()>>>,
}

/// Binds and serves; returns once requests are answered.
///
/// # Errors
/// When an address is taken, or certificate and key do not load.
pub async fn start(service: Service) -> anyhow::Result<Running> {
    let entry = api::service(service.app().clone());
    start_with(service, entry).await
}

/// As [`start`], with another service than the whole one.
///
/// # Errors
/// As [`start`].
pub async fn start_with(service: Service, entry: Entry) -> anyhow::Result<Running> {
    let (app, config) = (service.app(), service.config());
    let roles = &config.roles;
    let handle = Handle::new();
    let (mut address, mut metrics_address, mut servers) = (None, None, Vec::new());
    if roles.contains(&Role::Api) {
        let tls = tls(config).await?;
        let (at, server) =
            listen(config, config.listen, tls, &handle, entry).with_context(|| {
                let at = config.listen;
                format!("cannot listen on {at}; is the port taken? name another with --listen")
            })?;
        address = Some(at);
        servers.push(server);
    }
    if let Some(at) = config.metrics.listen {
        let entry = api::metrics_service(app.clone());
        let (at, server) = listen(config, at, None, &handle, entry)
            .with_context(|| format!("metrics.listen: cannot listen on {at}"))?;
        tracing::info!(address = %at, "metrics are at /metrics");
        metrics_address = Some(at);
        servers.push(server);
    }
    let mut background = JoinSet::new();
    background.spawn(housekeeping::run(service.clone()));
    background.spawn(cleanup::run(app.crawls.clone()));
    if roles.contains(&Role::Worker) {
        background.spawn(search_index::run(app.store.clone()));
    }
    background.spawn(mail::run(app.accounts.clone()));
    background.spawn(plugins::watch(app.actors.clone()));
    if let Some(blocklist) = service.take_blocklist() {
        background.spawn(blocklist.run());
    }
    if roles.contains(&Role::Scheduler) {
        background.spawn(scheduler::run(app.crawls.clone()));
    }
    let mut workers = JoinSet::new();
    if roles.contains(&Role::Worker) {
        workers.spawn(work(app.crawls.clone()));
    }
    Ok(Running {
        address,
        metrics_address,
        service,
        handle,
        background,
        workers,
        servers,
    })
}

/// Works on runs and delivers webhooks, once the worker's seat is ours.
async fn work(crawls: Crawls) {
    let told = |seat| match seat {
        Seat::Ours => {}
        Seat::Others(process) => tracing::warn!(
            process,
            "another process works on this database file: this one answers requests, and works \
             once the other has ended; several that work at once need PostgreSQL"
        ),
    };
    let Some(_seat) = crawl::seat(&crawls.store, &crawls.live, told).await else {
        return;
    };
    let mut tasks = JoinSet::new();
    tasks.spawn(crawl::work(crawls.clone()));
    tasks.spawn(webhooks::work(crawls));
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a worker ended badly");
        }
    }
}

async fn tls(config: &Config) -> anyhow::Result<Option<RustlsConfig>> {
    let (Some(cert), Some(key)) = (&config.tls_cert, &config.tls_key) else {
        return Ok(None);
    };
    // Fails only where a provider was chosen before, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let loaded = RustlsConfig::from_pem_file(cert, key).await;
    loaded
        .map(Some)
        .with_context(|| format!("cannot load {} and {}", cert.display(), key.display()))
}

type Server = JoinHandle<std::io::Result<()>>;

fn listen(
    config: &Config,
    at: SocketAddr,
    tls: Option<RustlsConfig>,
    handle: &Handle<SocketAddr>,
    service: Entry,
) -> std::io::Result<(SocketAddr, Server)> {
    let listener = std::net::TcpListener::bind(at)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let mut server = axum_server::from_tcp(listener)?
        .handle(handle.clone())
        .acceptor(NoDelayAcceptor);
    server
        .http_builder()
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(config.http.header_timeout_ms.as_duration())
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(256);
    let task = match tls {
        Some(tls) => {
            let server = server.map(|tcp| RustlsAcceptor::new(tls).acceptor(tcp));
            tokio::spawn(server.serve(service))
        }
        None => tokio::spawn(server.serve(service)),
    };
    Ok((address, task))
}

impl Running {
    /// The service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Stops accepting, lets running requests finish for as long as the configuration says,
    /// ends the background work and writes what is queued.
    pub async fn stop(mut self) {
        let grace = self.service.config().http.shutdown_ms.as_duration();
        self.handle.graceful_shutdown(Some(grace));
        self.service.crawls.live.stop();
        self.service.crawls.webhooks.stop();
        for server in self.servers {
            if !matches!(server.await, Ok(Ok(()))) {
                tracing::warn!("a server did not end well");
            }
        }
        while let Some(ended) = self.workers.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a worker ended badly");
            }
        }
        self.background.shutdown().await;
        self.service.cloud.renderer().shutdown().await;
        self.service.store.close().await;
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
