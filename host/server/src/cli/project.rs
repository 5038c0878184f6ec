//! `orbweaver project`; can be used while the service runs.

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use orbweaver_fetch::ProxyUrl;
use orbweaver_store::{CloudMode, KeyHash, NewKey, NewProject, ProjectChange, Store, StoreError};

use super::Common;
use super::out::out;
use orbweaver_accounts::bootstrap;
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::key;
use orbweaver_accounts::project_name::is_project_name;
use orbweaver_accounts::secret::redact_url;

use crate::config::Config;

/// Create, list and change projects. Can be used while the service runs.
#[derive(Subcommand)]
pub(super) enum ProjectCommand {
    /// Create a project and print its first key.
    #[command(after_help = "Example:\n  orbweaver project create shop --tier pro")]
    Create(Create),
    /// List the projects.
    List,
    /// Change a project.
    #[command(after_help = "Examples:\n  \
        orbweaver project set shop --tier agency\n  \
        orbweaver project set shop --proxy-url http://user:password@proxy.example:3128\n  \
        orbweaver project set shop --no-proxy")]
    Set(Set),
    /// Move a project to another tier; takes effect at once.
    #[command(after_help = "Example:\n  orbweaver project set-tier shop agency")]
    SetTier(SetTier),
    /// Suspend a project: its keys are answered 403, and its chargeable work stops.
    Suspend(Named),
    /// End a project's suspension.
    Resume(Named),
}

#[derive(Args)]
pub(super) struct SetTier {
    /// The project.
    name: String,
    /// A configured tier: free, pro, agency, studio, self_hosted, or one of your own.
    tier: String,
}

#[derive(Args)]
pub(super) struct Named {
    /// The project.
    name: String,
}

#[derive(Args)]
pub(super) struct Create {
    /// Name: 1 to 64 letters, digits, underscores and hyphens.
    name: String,
    /// Tier, which sets the project's caps.
    #[arg(long, default_value = "self_hosted")]
    tier: String,
}

#[derive(Args)]
pub(super) struct Set {
    /// The project.
    name: String,
    /// Tier, which sets the project's caps; takes effect at once.
    #[arg(long)]
    tier: Option<String>,
    /// Default proxy for the project's requests: http, https or socks5.
    #[arg(long, value_name = "URL", conflicts_with = "no_proxy")]
    proxy_url: Option<String>,
    /// Remove the default proxy.
    #[arg(long)]
    no_proxy: bool,
    /// Default cloud mode of scans: none, auto, unblocker, browser.
    #[arg(long, value_name = "MODE")]
    cloud_mode: Option<CloudMode>,
}

impl ProjectCommand {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let loaded = common.load()?;
        loaded.config.create_data_dir()?;
        let tier = match &self {
            Self::Create(create) => Some(create.tier.as_str()),
            Self::Set(set) => set.tier.as_deref(),
            Self::SetTier(set) => Some(set.tier.as_str()),
            Self::List | Self::Suspend(_) | Self::Resume(_) => None,
        };
        if let Some(problem) = tier.and_then(|tier| unknown_tier(&loaded.config, tier)) {
            eprintln!("orbweaver: {problem}");
            return Ok(ExitCode::from(super::USAGE));
        }
        let store = Store::open(&loaded.config.store_options()).await?;
        let done = match self {
            Self::Create(create) => create.run(&store).await,
            Self::List => list(&store).await,
            Self::Set(set) => set.run(&store).await,
            Self::SetTier(set) => set.run(&store).await,
            Self::Suspend(named) => suspend(&store, &named.name, true).await,
            Self::Resume(named) => suspend(&store, &named.name, false).await,
        };
        store.close().await;
        done.map(|()| ExitCode::SUCCESS)
    }
}

impl Create {
    async fn run(self, store: &Store) -> anyhow::Result<()> {
        if !is_project_name(&self.name) {
            bail!("the name must be 1 to 64 letters, digits, underscores and hyphens");
        }
        let clock = Clock::system();
        if self.name != bootstrap::PROJECT {
            // The first project of a database is the administrator's, which this one is not. The service's
            // first start makes the administrator's key.
            bootstrap::project_alone(store, &clock).await?;
        }
        let key = key::generate()?;
        let project = NewProject {
            name: &self.name,
            tier: &self.tier,
            key: NewKey {
                hash: KeyHash::digest(&key),
                prefix: key::shown(&key),
                label: None,
            },
            actor: super::ACTOR,
        };
        match store.create_project(&project, clock.now()).await {
            Ok(_) => {}
            Err(StoreError::Exists(_)) => {
                bail!(
                    "a project named {} already exists; choose another name",
                    self.name
                )
            }
            Err(error) => return Err(error.into()),
        }
        eprintln!(
            "Created project {} on tier {}. Its key, shown only now:",
            self.name, self.tier
        );
        out!("{key}")?;
        Ok(())
    }
}

async fn list(store: &Store) -> anyhow::Result<()> {
    out!(
        "{:<32} {:<12} {:<10} {:<10} {:<20} PROXY",
        "NAME",
        "TIER",
        "STATE",
        "CLOUD MODE",
        "CREATED"
    )?;
    for project in store.projects().await? {
        let name = if project.administrator {
            format!("{} (administrator)", project.name)
        } else {
            project.name
        };
        out!(
            "{name:<32} {:<12} {:<10} {:<10} {:<20} {}",
            project.tier,
            if project.suspended_at.is_some() {
                "suspended"
            } else {
                "active"
            },
            project.cloud_mode,
            project.created_at.format("%Y-%m-%d %H:%M:%S"),
            project
                .proxy_url
                .as_deref()
                .map_or_else(|| "-".to_owned(), redact_url),
        )?;
    }
    Ok(())
}

impl Set {
    async fn run(self, store: &Store) -> anyhow::Result<()> {
        let project = super::project_named(store, &self.name).await?;
        let change = ProjectChange {
            tier: self.tier.as_deref(),
            proxy_url: match (&self.proxy_url, self.no_proxy) {
                (Some(url), _) => Some(Some(proxy(url)?)),
                (None, true) => Some(None),
                (None, false) => None,
            },
            cloud_mode: self.cloud_mode,
        };
        if self.tier.is_none() && change.proxy_url.is_none() && self.cloud_mode.is_none() {
            bail!("nothing to change; give --tier, --proxy-url, --no-proxy or --cloud-mode");
        }
        store.change_project(project.id, &change).await?;
        eprintln!("Changed project {}.", self.name);
        Ok(())
    }
}

impl SetTier {
    async fn run(self, store: &Store) -> anyhow::Result<()> {
        let project = super::project_named(store, &self.name).await?;
        let change = ProjectChange {
            tier: Some(&self.tier),
            ..ProjectChange::default()
        };
        store.change_project(project.id, &change).await?;
        eprintln!("Project {} is now on tier {}.", self.name, self.tier);
        Ok(())
    }
}

async fn suspend(store: &Store, name: &str, suspended: bool) -> anyhow::Result<()> {
    let project = super::project_named(store, name).await?;
    let since = suspended.then(|| Clock::system().now());
    store.suspend_project(project.id, since).await?;
    let state = if suspended { "suspended" } else { "active" };
    eprintln!("Project {name} is now {state}.");
    Ok(())
}

fn unknown_tier(config: &Config, tier: &str) -> Option<String> {
    if config.tiers.contains_key(tier) {
        return None;
    }
    let known: Vec<&str> = config.tiers.keys().map(String::as_str).collect();
    Some(format!(
        "tier {tier} does not exist; configured: {}",
        known.join(", ")
    ))
}

fn proxy(url: &str) -> anyhow::Result<&str> {
    match url.parse::<ProxyUrl>() {
        Ok(_) => Ok(url),
        Err(rule) => bail!("--proxy-url: {rule}"),
    }
}
