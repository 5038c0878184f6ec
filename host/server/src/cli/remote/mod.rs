//! Commands that run at a service instead of in this process: which service, and how it is asked.

mod login;
mod saved;
mod service;

pub(super) use login::{Login, Logout};
pub(super) use service::{Failure, Service};

use clap::Args;
use saved::Saved;

use super::Common;

/// A service that is named on the command line or in the environment.
#[derive(Args, Clone, Default)]
pub(super) struct Server {
    /// Address of a running service, if not that of `orbweaver login`.
    #[arg(long, value_name = "URL", env = "ORBWEAVER_SERVER")]
    server: Option<String>,
    /// Key for the service of --server or ORBWEAVER_SERVER [env: ORBWEAVER_KEY]. A login has its own.
    #[arg(long, value_name = "KEY", requires = "server")]
    key: Option<String>,
}

impl Server {
    /// Whether a service is named.
    pub(super) const fn is_given(&self) -> bool {
        self.server.is_some()
    }

    /// The service: the one that is named, else that of the login.
    ///
    /// # Errors
    /// If there is neither, or the login cannot be read.
    pub(super) fn service(&self) -> anyhow::Result<Service> {
        match self.service_or_none()? {
            Some(service) => Ok(service),
            None => anyhow::bail!(
                "no service given; set --server URL (such as http://127.0.0.1:8080) or run \
                 `orbweaver login URL`"
            ),
        }
    }

    fn service_or_none(&self) -> anyhow::Result<Option<Service>> {
        if let Some(server) = &self.server {
            return Service::new(server, self.key.clone().or_else(key_of_environment)).map(Some);
        }
        // The environment's key may be another service's: the login's gets only its own.
        Saved::read()?
            .map(|saved| Service::new(&saved.server, Some(saved.key)))
            .transpose()
    }
}

/// ORBWEAVER_KEY, which clients in other languages read, too: without a service it is no mistake.
fn key_of_environment() -> Option<String> {
    std::env::var("ORBWEAVER_KEY")
        .ok()
        .filter(|key| !key.is_empty())
}

/// Where a command runs.
#[derive(Args)]
pub(super) struct Place {
    #[command(flatten)]
    server: Server,
    /// Run in this process, though `orbweaver login` or ORBWEAVER_SERVER names a service.
    #[arg(long)]
    local: bool,
}

impl Place {
    /// The service to run at; `None`: in this process.
    ///
    /// # Errors
    /// If the login cannot be read, or an option is for this process alone.
    pub(super) fn service(&self, common: &Common) -> anyhow::Result<Option<Service>> {
        if self.local {
            return Ok(None);
        }
        let Some(service) = self.server.service_or_none()? else {
            return Ok(None);
        };
        if let Some(option) = common.option_of_this_process() {
            anyhow::bail!(
                "{option} has no effect at {}; --local runs the command in this process",
                service.address()
            );
        }
        Ok(Some(service))
    }
}
