//! `orbweaver mcp`: the tools in this process, or those of a service.

mod bridge;
mod exchange;
mod message;

use std::process::ExitCode;

use clap::Args;
use orbweaver_core::ids::KeyId;
use orbweaver_store::Principal;

use super::Common;
use super::remote::Place;
use crate::config::{Role, load};
use crate::listen::open_files;
use crate::serve::StopSignals;
use crate::{serve, service, telemetry};
use orbweaver_accounts::bootstrap;
use orbweaver_accounts::clock::Clock;

/// The prefix that stands for this caller, who has no key.
const LOCAL: &str = "local";

/// Serve the tools of an agent over standard input and output (Model Context Protocol): after
/// `orbweaver login`, or with --server, those of that service, else those of this process.
///
/// In this process, crawls that are not done when standard input ends go on at the next start, or
/// in a server that works on the same data folder. At a service they go on there.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    orbweaver mcp\n  \
    orbweaver mcp --server https://crawl.example.com\n  \
    orbweaver mcp --local --data-dir ~/.local/share/orbweaver\n\n\
    A client's configuration:\n  \
    {\"mcpServers\": {\"orbweaver\": {\"command\": \"orbweaver\", \"args\": [\"mcp\"]}}}\n\n\
    A server has the same tools at its address /mcp, with a key as the bearer token.")]
pub(super) struct Mcp {
    #[command(flatten)]
    place: Place,
    /// The project that calls are made for, in this process [default: default].
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

impl Mcp {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        // Before all else: without a handler, the signals do nothing to the first process of a container.
        let mut stop = StopSignals::listen()?;
        if let Some(service) = self.place.service(common)? {
            if self.project.is_some() {
                anyhow::bail!(
                    "--project has no effect at {}: the key says whose calls they are",
                    service.address()
                );
            }
            bridge::run(service, stop).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let name = self.project.as_deref().unwrap_or(bootstrap::PROJECT);
        let mut flags = common.flags();
        flags.set("roles", Some(["worker", "scheduler"]));
        let config = load(common.config.as_deref(), flags)?.config;
        debug_assert!(!config.roles.contains(&Role::Api));
        // Logs go to standard error: standard output belongs to the protocol.
        telemetry::start_logs(&config.log)?;
        open_files::raise();
        let service = tokio::select! {
            service = service::build(config, Clock::system(), None) => service?,
            () = stop.next() => return Ok(ExitCode::SUCCESS),
        };
        bootstrap::project_alone(&service.store, &service.clock).await?;
        let project = super::project_named(&service.store, name).await?;
        let principal = Principal {
            project: project.id,
            project_name: project.name,
            key: KeyId(0),
            prefix: LOCAL.to_owned(),
            tier: project.tier,
            administrator: project.administrator,
            proxy_url: project.proxy_url,
            cloud_mode: project.cloud_mode,
            expires_at: None,
            suspended: project.suspended_at.is_some(),
        };
        anyhow::ensure!(!principal.suspended, "project {name} is suspended");
        let app = service.app().clone();
        let running = serve::start(service).await?;
        let done = tokio::select! {
            done = orbweaver_api::serve_stdio(app, principal) => done,
            () = stop.next() => Ok(()),
        };
        running.stop().await;
        done?;
        Ok(ExitCode::SUCCESS)
    }
}
