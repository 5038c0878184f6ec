//! Running the service: listening, background work, and stopping in good order.

use std::net::SocketAddr;

use anyhow::Context as _;
use tokio::task::JoinSet;

use orbweaver_accounts::mail;
use orbweaver_actors::plugins;
use orbweaver_api::{self as api, Entry};
use orbweaver_crawl::{self as crawl, Crawls, Seat, cleanup, scheduler, webhooks};
use orbweaver_pipeline::search_index;

use crate::config::Role;
use crate::housekeeping;
use crate::listen::{Server, Settings, tls};
use crate::probe;
use crate::service::Service;

/// A service that listens.
#[derive(Debug)]
pub struct Running {
    /// Where; with the port that was chosen if 0 was asked for. None without the role api.
    pub address: Option<SocketAddr>,
    /// Where metrics are, if they have a port of their own.
    pub metrics_address: Option<SocketAddr>,
    service: Service,
    background: JoinSet<()>,
    workers: JoinSet<()>,
    servers: Vec<Server>,
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
    let (mut address, mut metrics_address, mut servers) = (None, None, Vec::new());
    if roles.contains(&Role::Api) {
        let certificate = config.tls_cert.as_ref().zip(config.tls_key.as_ref());
        let settings = Settings {
            http: &config.http,
            trusted_proxies: config.trusted_proxies.clone(),
            tls: certificate
                .map(|(cert, key)| tls::acceptor(cert, key))
                .transpose()?,
        };
        let server = Server::start(config.listen, settings, entry).with_context(|| {
            let at = config.listen;
            format!("cannot listen on {at}; is the port taken? name another with --listen")
        })?;
        address = Some(server.address);
        servers.push(server);
    }
    if let Some(at) = config.metrics.listen {
        let settings = Settings {
            http: &config.http,
            trusted_proxies: Vec::new(),
            tls: None,
        };
        let server = Server::start(at, settings, api::metrics_service(app.clone()))
            .with_context(|| format!("metrics.listen: cannot listen on {at}"))?;
        tracing::info!(address = %server.address, "metrics are at /metrics");
        metrics_address = Some(server.address);
        servers.push(server);
    }
    let mut background = JoinSet::new();
    background.spawn(probe::run());
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

impl Running {
    /// The service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Stops accepting, lets running requests finish for as long as the configuration says,
    /// ends the background work and writes what is queued.
    pub async fn stop(mut self) {
        let grace = self.service.config().http.shutdown_ms.as_duration();
        for server in &self.servers {
            server.begin_stop();
        }
        self.service.crawls.live.stop();
        self.service.crawls.webhooks.stop();
        let servers = self.servers.into_iter();
        futures::future::join_all(servers.map(|server| server.stopped(grace))).await;
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
