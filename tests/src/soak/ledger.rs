//! The audit of a soak, for crawls that others start.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::audit::{self, Project};
use super::client::Whereabouts;
use super::create_project;
use super::receiver::Receiver;
use crate::program::Launch;

/// Projects, their crawls and the webhooks of these.
#[derive(Debug)]
pub struct Ledger {
    receiver: Receiver,
    accounts: Vec<Account>,
}

#[derive(Debug)]
struct Account {
    name: String,
    key: String,
    /// Each run with the pages that it must have.
    runs: Vec<(i64, usize)>,
}

impl Ledger {
    /// Creates so many projects of one server, without caps, and listens for their webhooks.
    ///
    /// # Errors
    /// One is refused.
    pub fn open(
        launch: &Launch,
        data: &Path,
        database: Option<&str>,
        projects: usize,
    ) -> Result<Self> {
        let accounts = (0..projects)
            .map(|number| {
                let name = format!("ledger-{number}");
                let key = create_project(launch, data, database, &name, "self_hosted")?;
                let runs = Vec::new();
                Ok(Account { name, key, runs })
            })
            .collect::<Result<_>>()?;
        let receiver = Receiver::start()?;
        Ok(Self { receiver, accounts })
    }

    /// A project's key.
    ///
    /// # Errors
    /// There are fewer projects.
    pub fn key(&self, project: usize) -> Result<&str> {
        let account = self.accounts.get(project).context("no such project")?;
        Ok(&account.key)
    }

    /// Where webhooks of a project's crawls have to go.
    ///
    /// # Errors
    /// There are fewer projects.
    pub fn webhook(&self, project: usize) -> Result<String> {
        let account = self.accounts.get(project).context("no such project")?;
        Ok(self.receiver.url(&account.name))
    }

    /// Notes a project's run and the number of its pages.
    ///
    /// # Errors
    /// There are fewer projects.
    pub fn note(&mut self, project: usize, run: i64, pages: usize) -> Result<()> {
        let account = self.accounts.get_mut(project).context("no such project")?;
        account.runs.push((run, pages));
        Ok(())
    }

    /// What is not as it should be, one line each: runs that are lost, not whole, or have a page twice,
    /// pages that are not billed once, webhooks that did not come, and what other projects see.
    ///
    /// # Errors
    /// The server at this address does not answer.
    pub fn broken(&self, server: SocketAddr) -> Result<Vec<String>> {
        let at = Whereabouts::default();
        at.set(Some(server));
        let projects: Vec<Project<'_>> = self
            .accounts
            .iter()
            .map(|account| Project {
                name: &account.name,
                key: &account.key,
                cap: None,
                scans: Some(0),
                runs: account
                    .runs
                    .iter()
                    .map(|(run, pages)| (*run, Some(*pages)))
                    .collect(),
            })
            .collect();
        audit::broken(&projects, &at, &self.receiver)
    }
}
