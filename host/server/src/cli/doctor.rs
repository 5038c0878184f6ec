//! `orbweaver doctor`.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use orbweaver_engine::{Engine, has_bundle};
use orbweaver_store::{Store, StoreError};

use super::out::out;
use super::{Common, ready};
use crate::blobs;
use crate::config::{Config, PROGRAM};
use crate::insecure_settings::insecure_settings;
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::same_secret;
use orbweaver_accounts::seal::Seal;
use orbweaver_pipeline::Pipeline;

/// Report what is missing on this machine and how to get it, and which settings are insecure.
/// Like `serve`, it creates the data folder, brings the database's tables up to date and keeps compiled
/// plugins; it changes nothing else. Can be used while the service runs. Exits with code 1 if
/// something that `serve` needs is missing.
#[derive(Args)]
pub(super) struct Doctor {}

struct Finding {
    what: &'static str,
    state: State,
    says: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    /// Optional; a feature is not available without it.
    Less,
    /// Works, but strangers may use it.
    Open,
    /// `serve` does not work with it.
    Bad,
}

impl Doctor {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let loaded = common.load()?;
        let config = loaded.config;
        let mut findings = vec![
            data_dir(&config),
            database(&config).await,
            replicas(&config).await,
            bodies(&config).await,
            plugins(&config).await,
            address(&config).await,
            browser(&config),
            tls(&config),
        ];
        let misnamed = loaded.misnamed.iter();
        findings.extend(misnamed.map(|it| {
            let says = format!("{}: {it}", it.variable);
            finding("variable", State::Less, says)
        }));
        let insecure = insecure_settings(&config).into_iter();
        findings.extend(insecure.map(|it| finding(it.name, State::Open, it.message)));
        for Finding { what, state, says } in &findings {
            let mark = match state {
                State::Good => "ok",
                State::Less => "less",
                State::Open => "OPEN",
                State::Bad => "BAD",
            };
            out!("{mark:<5} {what:<12} {says}")?;
        }
        let bad = findings.iter().any(|finding| finding.state == State::Bad);
        Ok(if bad {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }
}

fn finding(what: &'static str, state: State, says: impl Into<String>) -> Finding {
    Finding {
        what,
        state,
        says: says.into(),
    }
}

fn data_dir(config: &Config) -> Finding {
    let what = "data folder";
    let probe = config.data_dir.join(".doctor");
    let done = config.create_data_dir().and_then(|()| {
        std::fs::write(&probe, b"")?;
        Ok(std::fs::remove_file(&probe)?)
    });
    match done {
        Ok(()) => finding(what, State::Good, config.data_dir.display().to_string()),
        Err(error) => finding(what, State::Bad, format!("{error:#}")),
    }
}

async fn database(config: &Config) -> Finding {
    let what = "database";
    match Store::open(&config.store_options()).await {
        Ok(store) => {
            let projects = store.projects().await.map_or(0, |projects| projects.len());
            let kind = store.kind();
            let secret = has_its_secret(config, &store).await;
            let written = store.try_write().await;
            store.close().await;
            match secret.and(written.context("it cannot be written to")) {
                Ok(()) => finding(
                    what,
                    State::Good,
                    format!("{kind}, up to date, {projects} projects"),
                ),
                Err(error) => finding(what, State::Bad, format!("{error:#}")),
            }
        }
        Err(error) => finding(what, State::Bad, error.to_string()),
    }
}

/// Whether `serve` starts on this database with the secret that it has.
async fn has_its_secret(config: &Config, store: &Store) -> anyhow::Result<()> {
    let seal = Seal::load(config.secret_key.as_ref(), &config.data_dir)?;
    same_secret::compare(store, &seal, config.secret_key.is_some()).await
}

/// Replicas of the database. The service works without them.
async fn replicas(config: &Config) -> Finding {
    let what = "replicas";
    if config.database.replica_urls.is_empty() {
        return finding(what, State::Good, "none; the database answers all reads");
    }
    let states = match Store::open(&config.store_options()).await {
        Ok(store) => {
            let states = store.replicas().await;
            store.close().await;
            states
        }
        Err(error) => Err(error),
    };
    let states = match states {
        Ok(states) => states,
        Err(error) => return finding(what, State::Less, error.to_string()),
    };
    let all_follow = states.iter().all(|state| state.problem().is_none());
    let urls = config.database.replica_urls.iter();
    let says: Vec<String> = urls
        .zip(&states)
        .map(|(url, state)| format!("{url}: {state}"))
        .collect();
    let state = if all_follow { State::Good } else { State::Less };
    finding(what, state, says.join("; "))
}

/// Where bodies of pages are kept. Only reads, so a new bucket stays unmarked.
async fn bodies(config: &Config) -> Finding {
    let what = "bodies";
    let Some(url) = &config.blobs else {
        return finding(what, State::Good, "in the database");
    };
    let blobs = match blobs::open(config, &Clock::system()) {
        Ok(Some(blobs)) => blobs,
        Ok(None) => return finding(what, State::Good, "in the database"),
        Err(error) => return finding(what, State::Bad, format!("{error:#}")),
    };
    let judged = match Store::open(&config.store_options()).await {
        Ok(store) => {
            let judged = store.judge_blobs(&blobs).await.map(drop);
            store.close().await;
            judged
        }
        // The finding of the database says why. Listing also finds that the bucket does not exist.
        Err(_) => blobs.list(None, 1).await.map(drop).map_err(Into::into),
    };
    match judged {
        Ok(()) => finding(what, State::Good, format!("in {url}")),
        Err(StoreError::Open(why)) => finding(what, State::Bad, why),
        Err(error) => finding(what, State::Bad, format!("{url}: {error}")),
    }
}

async fn plugins(config: &Config) -> Finding {
    let what = "plugins";
    let place = plugin_place(config);
    let engine = match Pipeline::start(config.pipeline()).await {
        Ok(pipeline) => pipeline.engine,
        Err(error) => return finding(what, State::Bad, format!("{error:#}")),
    };
    let refused = engine.refused();
    let said = refused
        .iter()
        .map(|(file, why)| format!("{} failed to load: {why}", file.display()));
    let said: Vec<String> = said.collect();
    if !said.is_empty() {
        return finding(what, State::Bad, said.join("; "));
    }
    // Set to a plugin that is not there, a role silently has another one.
    let serves =
        |role: &str, name: &str| engine.role(role).is_some_and(|plugin| plugin.name == name);
    let mut unserved = config.plugins.roles.iter();
    if let Some((role, name)) = unserved.find(|(role, name)| !serves(role, name)) {
        let why = format!("plugins.roles.{role}: no plugin `{name}` provides this role");
        return finding(what, State::Bad, why);
    }
    match unprovided(&engine, &place) {
        None => {
            let count = engine.plugins().len();
            finding(what, State::Good, format!("{count} in {place}"))
        }
        Some(why) => finding(what, State::Bad, why),
    }
}

/// Says which of the roles that every page is asked for no plugin has, and how to get one; none where
/// all have a plugin. `place` is where plugins are loaded from.
pub(super) fn unprovided(engine: &Engine, place: &str) -> Option<String> {
    let missing: Vec<&str> = ["markdown", "article", "metadata", "signals", "links"]
        .into_iter()
        .filter(|role| engine.role(role).is_none())
        .collect();
    let roles = missing.join(", ");
    (!missing.is_empty()).then(|| {
        format!(
            "no plugin in {place} provides {roles}; `cargo xtask plugins` builds them into \
             target/plugins, and --plugin-dir (ORBWEAVER_PLUGIN_DIR) names the folder that has them"
        )
    })
}

/// Where plugins are loaded from, for messages.
pub(super) fn plugin_place(config: &Config) -> String {
    let folder = config.plugin_dir();
    let folder = folder.map(|folder| folder.display().to_string());
    match (folder, has_bundle(Path::new(PROGRAM))) {
        (Some(folder), true) => format!("the program and {folder}"),
        (Some(folder), false) => folder,
        (None, _) => "the program".to_owned(),
    }
}

async fn address(config: &Config) -> Finding {
    let (what, address) = ("listen", config.listen);
    let error = match TcpListener::bind(address) {
        Ok(_) => return finding(what, State::Good, format!("{address} is free")),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::AddrInUse if config.tls_cert.is_some() => finding(
            what,
            State::Less,
            format!("{address} is in use, by the service or, behind TLS, by another program"),
        ),
        ErrorKind::AddrInUse if ready::is_served(config).await => {
            finding(what, State::Good, format!("the service runs at {address}"))
        }
        _ => finding(
            what,
            State::Bad,
            format!("cannot listen on {address}: {error}; choose another with --listen"),
        ),
    }
}

fn browser(config: &Config) -> Finding {
    let what = "browser";
    let found = orbweaver_fetch::find_browser(config.browser.as_deref());
    match found {
        Some(program) => finding(what, State::Good, program.display().to_string()),
        None => finding(
            what,
            State::Less,
            "not found, so pages cannot be rendered; \
             `apt-get install chromium-headless-shell` (Debian), or set one with --browser",
        ),
    }
}

fn tls(config: &Config) -> Finding {
    let what = "tls";
    match (&config.tls_cert, &config.tls_key) {
        (Some(cert), Some(key)) => match [cert, key].into_iter().find(|file| !file.is_file()) {
            Some(file) => finding(what, State::Bad, format!("{} is missing", file.display())),
            None => finding(what, State::Good, "served here"),
        },
        _ => finding(what, State::Good, "off; a proxy in front terminates it"),
    }
}
