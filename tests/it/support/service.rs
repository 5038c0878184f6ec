//! The whole service on a port and a database of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};
use orbweaver_accounts::bootstrap;
use orbweaver_accounts::clock::{Clock, ManualClock};
use orbweaver_accounts::secret::{SafeUrl, Secret};
use orbweaver_engine::Engine;
use orbweaver_fetch::{Resolver, SystemResolver};
use orbweaver_server::config::Config;
use orbweaver_server::serve::{self, Running};
use orbweaver_server::service::{self as assembled, Service as Assembled};
use orbweaver_server::telemetry::{self, PrometheusHandle};
use orbweaver_store::{NewUsage, UsageDay};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::{Client, database};

/// The first key: well-formed, and of no use elsewhere.
pub const KEY: &str = "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A running service.
pub struct Service {
    pub address: SocketAddr,
    pub app: Assembled,
    pub clock: ManualClock,
    pub metrics: Option<SocketAddr>,
    running: Running,
    config: Config,
    resolver: Arc<dyn Resolver>,
    _data: TempDir,
}

impl Service {
    /// Starts it on SQLite.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts it on PostgreSQL.
    pub async fn on_postgres() -> Self {
        Self::on_postgres_with(|_| {}).await
    }

    /// Starts it on PostgreSQL with a changed configuration.
    pub async fn on_postgres_with(change: impl FnOnce(&mut Config)) -> Self {
        let url = database::postgres();
        Self::with(|config| {
            config.database_url = Some(SafeUrl::new(url));
            change(config);
        })
        .await
    }

    /// Starts it on SQLite, with the system's clock.
    pub async fn on_system_clock() -> Self {
        let (config, data) = Self::config();
        let (_, manual) = Clock::manual(start());
        Self::run(
            config,
            Clock::system(),
            manual,
            data,
            Arc::new(SystemResolver),
        )
        .await
    }

    /// Starts it with a changed configuration.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        Self::with_resolver(Arc::new(SystemResolver), change).await
    }

    /// Starts it with names resolved by the test.
    pub async fn with_resolver(
        resolver: Arc<dyn Resolver>,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let (mut config, data) = Self::config();
        change(&mut config);
        let (clock, manual) = Clock::manual(start());
        Self::run(config, clock, manual, data, resolver).await
    }

    fn config() -> (Config, TempDir) {
        let data = tempfile::tempdir().expect("a folder");
        let mut config = Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: data.path().to_owned(),
            plugin_dir: Some(plugin_dir()),
            allow_nets: vec!["127.0.0.0/8".parse().expect("a network")],
            bootstrap_key: Some(Secret::new(KEY)),
            ..Config::default()
        };
        // Plugins are compiled once for all tests and test runs.
        config.plugins.cache_dir =
            Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled-plugins"));
        (config, data)
    }

    async fn run(
        config: Config,
        clock: Clock,
        manual: ManualClock,
        data: TempDir,
        resolver: Arc<dyn Resolver>,
    ) -> Self {
        compiled().await;
        let app = assembled::build_with(
            config.clone(),
            clock,
            Some(metrics()),
            Arc::clone(&resolver),
        )
        .await
        .expect("the service's parts");
        bootstrap::run(&app.store, &app.clock, app.config().bootstrap_key.as_ref())
            .await
            .expect("the first project");
        let running = serve::start(app.clone())
            .await
            .expect("a listening service");
        Self {
            address: running.address.expect("an API"),
            app,
            clock: manual,
            metrics: running.metrics_address,
            running,
            config,
            resolver,
            _data: data,
        }
    }

    /// Another process of the same service: same database, same clock.
    pub async fn node(&self) -> Self {
        self.node_with(|_| {}).await
    }

    /// As [`node`](Self::node), with a changed configuration.
    pub async fn node_with(&self, change: impl FnOnce(&mut Config)) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let mut config = self.config.clone();
        change(&mut config);
        config.database_url = Some(self.config.database_url());
        config.data_dir = data.path().to_owned();
        let resolver = Arc::clone(&self.resolver);
        Self::run(
            config,
            self.app.clock.clone(),
            self.clock.clone(),
            data,
            resolver,
        )
        .await
    }

    /// Stops the service, as SIGTERM does.
    pub async fn stop(self) {
        self.running.stop().await;
    }

    /// Stops the service and starts it again on the same database, with its clock unchanged.
    pub async fn restart(self) -> Self {
        let (clock, manual) = (self.app.clock.clone(), self.clock.clone());
        self.running.stop().await;
        Self::run(self.config, clock, manual, self._data, self.resolver).await
    }

    /// Its data folder.
    pub fn data(&self) -> &Path {
        self._data.path()
    }

    /// A client with the first key.
    pub fn client(&self) -> Client {
        Client::new(self.address, Some(KEY))
    }

    /// A client without a key.
    pub fn stranger(&self) -> Client {
        Client::new(self.address, None)
    }

    /// A client of another project.
    pub async fn other_project(&self, name: &str) -> Client {
        use orbweaver_accounts::key;
        use orbweaver_store::{KeyHash, NewKey, NewProject};

        let secret = key::generate().expect("randomness");
        let project = NewProject {
            name,
            tier: "free",
            key: NewKey {
                hash: KeyHash::digest(&secret),
                prefix: key::shown(&secret),
                label: None,
            },
            actor: "cli",
        };
        self.app
            .store
            .create_project(&project, self.app.clock.now())
            .await
            .expect("a project");
        Client::new(self.address, Some(&secret))
    }

    /// Bills a call with so many pages and cloud pages to a project now, as if it had made it.
    pub async fn has_used(&self, project: &str, pages: u64, cloud_pages: u64) {
        let store = &self.app.store;
        let project = store.project_named(project).await.expect("a database");
        let used = NewUsage {
            project: project.expect("a project").id,
            token: format!("used before: {pages} and {cloud_pages}"),
            call: "scan",
            pages,
            cloud_pages,
            cost_micros: 0,
            at: self.app.clock.now(),
            reservation: None,
        };
        store.bill(used).await.expect("a database");
    }

    /// Pages and cloud pages billed to the first project so far.
    pub async fn billed(&self) -> (u64, u64) {
        let days = self.usage_days().await;
        (
            days.iter().map(|day| day.pages).sum(),
            days.iter().map(|day| day.cloud_pages).sum(),
        )
    }

    /// Costs billed to the first project so far, in millionths of a dollar.
    pub async fn billed_micros(&self) -> u64 {
        let days = self.usage_days().await;
        days.iter().map(|day| day.cost_micros).sum()
    }

    async fn usage_days(&self) -> Vec<UsageDay> {
        let store = &self.app.store;
        let project = store.project_named("default").await.expect("a database");
        let project = project.expect("the first project").id;
        let days = store.usage_days(project, start().date_naive()).await;
        days.expect("a database")
    }
}

/// Compiles the built plugins before the first service starts. Otherwise each of the first
/// services compiles all of them, and so many live at the same time that the process has more
/// mappings than the system allows (`vm.max_map_count`).
async fn compiled() {
    static COMPILED: OnceCell<()> = OnceCell::const_new();
    let compile = async || {
        let (config, _data) = Service::config();
        let engine = Engine::new(config.pipeline().plugins).expect("an engine");
        engine.load_dir().await;
    };
    COMPILED.get_or_init(compile).await;
}

/// A process can have only one recorder.
fn metrics() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE
        .get_or_init(|| telemetry::start_metrics().expect("the first recorder"))
        .clone()
}

fn start() -> DateTime<Utc> {
    "2026-03-01T12:00:00Z".parse().expect("a time")
}

/// The folder of built plugins. `cargo xtask test` builds them and sets the variable.
pub fn plugin_dir() -> PathBuf {
    std::env::var_os("ORBWEAVER_PLUGIN_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/plugins"),
        PathBuf::from,
    )
}

/// A component that only tests load. `cargo xtask test` builds them and sets the variable.
pub fn fixture(name: &str) -> PathBuf {
    let folder = std::env::var_os("ORBWEAVER_FIXTURES").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/fixtures"),
        PathBuf::from,
    );
    folder.join(format!("{name}.wasm"))
}
