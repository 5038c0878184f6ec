//! Runs the service: listening, background work, and graceful shutdown.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::timeout;

use orbweaver_accounts::context::Accounts;
use orbweaver_accounts::mail;
use orbweaver_actors::{Actors, jobs, plugins};
use orbweaver_api::{self as api, Entry};
use orbweaver_crawl::{
    self as crawl, Crawls, WorkerLockHolder, cleanup, export, scheduler, webhooks,
};
use orbweaver_pipeline::search_index;

use crate::config::Role;
use crate::housekeeping;
use crate::listen::{Server, Settings, tls};
use crate::probe;
use crate::service::Service;
use crate::supervise::supervised;

/// The longest that workers take to hand their work back, while the database answers.
const HAND_BACK: Duration = Duration::from_secs(8);
/// Time for what comes after that: the browser's end, and the last writes.
const LAST_WRITES: Duration = Duration::from_millis(1_500);

/// A running service.
#[derive(Debug)]
pub struct Running {
    /// Its address, with the actual port if port 0 was requested. `None` without the role api.
    pub address: Option<SocketAddr>,
    /// Address of the metrics, if they have their own port.
    pub metrics_address: Option<SocketAddr>,
    service: Service,
    background: JoinSet<()>,
    workers: JoinSet<()>,
    servers: Vec<Server>,
}

/// Binds and serves; returns when requests are being answered.
///
/// # Errors
/// When an address is in use, or certificate and key fail to load.
pub async fn start(service: Service) -> anyhow::Result<Running> {
    let entry = api::service(service.app().clone());
    start_with(service, entry).await
}

/// Same as [`start`], with a given request handler instead of the default one.
///
/// # Errors
/// Same as [`start`].
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
            format!("cannot listen on {at}; is the port taken? choose another with --listen")
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
        tracing::info!(address = %server.address, "serving metrics at /metrics");
        metrics_address = Some(server.address);
        servers.push(server);
    }
    let mut background = JoinSet::new();
    background.spawn(probe::run());
    let whole = service.clone();
    background.spawn(supervised("housekeeping", move || {
        housekeeping::run(whole.clone())
    }));
    let crawls = app.crawls.clone();
    background.spawn(supervised("cleanup of runs", move || {
        cleanup::run(crawls.clone())
    }));
    if roles.contains(&Role::Worker) {
        let (store, pipeline) = (app.store.clone(), app.pipeline.clone());
        let clock = app.clock.clone();
        background.spawn(supervised("search index", move || {
            search_index::run(store.clone(), pipeline.clone(), clock.clone())
        }));
        let actors = app.actors.clone();
        background.spawn(supervised("cleanup of actors' runs", move || {
            jobs::clean_up(actors.clone())
        }));
    }
    let accounts = app.accounts.clone();
    background.spawn(supervised("mail", move || mail::run(accounts.clone())));
    let actors = app.actors.clone();
    background.spawn(supervised("plugins", move || {
        plugins::watch(actors.clone())
    }));
    let whole = service.clone();
    background.spawn(supervised("blocklist", move || {
        whole.clone().refresh_blocklist()
    }));
    if roles.contains(&Role::Scheduler) {
        let crawls = app.crawls.clone();
        background.spawn(supervised("scheduler", move || {
            scheduler::run(crawls.clone())
        }));
    }
    let mut workers = JoinSet::new();
    if roles.contains(&Role::Worker) {
        workers.spawn(work(
            app.crawls.clone(),
            app.actors.clone(),
            app.accounts.clone(),
        ));
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

/// Works on runs of crawls and actors and delivers webhooks, once this process holds the worker lock.
async fn work(crawls: Crawls, actors: Actors, accounts: Accounts) {
    let told = |holder| match holder {
        WorkerLockHolder::ThisProcess => {}
        WorkerLockHolder::Other(process) => tracing::warn!(
            process,
            "another process works on this database file: this one only answers requests, and \
             works on runs when the other has ended; several workers need PostgreSQL"
        ),
    };
    let Some(_lock) = crawl::wait_for_worker_lock(&crawls.store, &crawls.live, told).await else {
        return;
    };
    let mut tasks = JoinSet::new();
    let of_crawls = crawls.clone();
    tasks.spawn(supervised("crawls", move || crawl::work(of_crawls.clone())));
    let of_webhooks = crawls.clone();
    tasks.spawn(supervised("webhooks", move || {
        webhooks::work(of_webhooks.clone())
    }));
    tasks.spawn(supervised("exports", move || {
        export::bucket_work(crawls.clone(), accounts.clone())
    }));
    tasks.spawn(supervised("actors", move || jobs::work(actors.clone())));
    tasks.join_all().await;
}

impl Running {
    /// The service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Stops accepting, lets running requests finish within the configured time, ends the
    /// background work and writes queued data. Where the database does not answer, the rest is given up: leases
    /// and claims end by themselves, and whoever has sent the signal waits no longer.
    pub async fn stop(self) {
        let grace = self.service.config().http.shutdown_ms.as_duration();
        let most = grace.max(HAND_BACK) + LAST_WRITES;
        if timeout(most, self.stop_in_order(grace)).await.is_err() {
            tracing::warn!(
                "not everything was handed back and written in time, as if the database did not \
                 answer; leases end by themselves"
            );
        }
    }

    async fn stop_in_order(mut self, grace: Duration) {
        for server in &self.servers {
            server.begin_stop();
        }
        self.service.crawls.live.stop();
        self.service.crawls.webhooks.stop();
        self.service.crawls.bucket_exports.stop();
        self.service.actors.jobs.stop();
        let servers = self.servers.into_iter();
        futures::future::join_all(servers.map(|server| server.stopped(grace))).await;
        while let Some(ended) = self.workers.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a worker failed");
            }
        }
        self.background.shutdown().await;
        self.service.cloud.renderer().shutdown().await;
        self.service.store.close().await;
    }
}

/// SIGTERM and SIGINT, from now on: one that comes between two waits is not lost.
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Begins to listen. From then on, the signals no longer end the process by themselves.
    ///
    /// # Errors
    /// When the signal handlers cannot be installed.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
