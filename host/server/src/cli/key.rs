//! `orbweaver key`; can be used while the service runs.

use std::process::ExitCode;

use anyhow::bail;
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use orbweaver_store::{ApiKey, KeyState, Revoked, Store};

use super::Common;
use super::out::{out, shown};
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::new_key::FreshKey;

/// Create, list and revoke a project's keys. Can be used while the service runs.
#[derive(Subcommand)]
pub(super) enum Key {
    /// Create another key and print it.
    #[command(after_help = "Example:\n  orbweaver key issue shop --label ci")]
    Issue(Issue),
    /// List the keys by their prefixes.
    List(List),
    /// Revoke a key; every node refuses it within a second.
    #[command(after_help = "Example:\n  orbweaver key revoke shop orb_AbCd1234")]
    Revoke(Revoke),
}

#[derive(Args)]
pub(super) struct Issue {
    /// The project.
    project: String,
    /// Label of the key.
    #[arg(long)]
    label: Option<String>,
}

#[derive(Args)]
pub(super) struct List {
    /// The project.
    project: String,
    /// Also list who created, rotated and revoked keys, and when.
    #[arg(long)]
    history: bool,
}

#[derive(Args)]
pub(super) struct Revoke {
    /// The project.
    project: String,
    /// The key's first 12 characters.
    prefix: String,
}

impl Key {
    pub(super) async fn run(self, common: &Common) -> anyhow::Result<ExitCode> {
        let loaded = common.load()?;
        loaded.config.create_data_dir()?;
        let store = Store::open(&loaded.config.store_options()).await?;
        let now = Clock::system().now();
        let done = match self {
            Self::Issue(issue) => issue.run(&store, now).await,
            Self::List(list) => list.run(&store, now).await,
            Self::Revoke(revoke) => revoke.run(&store, now).await,
        };
        store.close().await;
        done.map(|()| ExitCode::SUCCESS)
    }
}

impl Issue {
    async fn run(self, store: &Store, now: DateTime<Utc>) -> anyhow::Result<()> {
        let project = super::project_named(store, &self.project).await?;
        let key = FreshKey::generate()?;
        let row = key.row(self.label.as_deref());
        store.add_key(project.id, &row, super::ACTOR, now).await?;
        eprintln!("New key of project {}, shown only now:", self.project);
        out!("{}", key.expose())?;
        Ok(())
    }
}

impl List {
    async fn run(self, store: &Store, now: DateTime<Utc>) -> anyhow::Result<()> {
        let project = super::project_named(store, &self.project).await?;
        out!(
            "{:<14} {:<9} {:<20} {:<20} {:<20} LABEL",
            "PREFIX",
            "STATE",
            "CREATED",
            "LAST USED",
            "ENDS"
        )?;
        for key in store.keys(project.id).await? {
            let state = match key.state(now) {
                KeyState::Active => "active",
                KeyState::Expired => "expired",
                KeyState::Revoked => "revoked",
            };
            out!(
                "{:<14} {state:<9} {:<20} {:<20} {:<20} {}",
                key.prefix,
                time(Some(key.created_at)),
                time(key.last_used_at),
                time(key.revoked_at.or(key.expires_at)),
                shown(key.label.as_deref().unwrap_or("-")),
            )?;
        }
        if self.history {
            out!("\n{:<20} {:<14} {:<9} BY", "WHEN", "PREFIX", "WHAT")?;
            for event in store.key_events(project.id).await? {
                out!(
                    "{:<20} {:<14} {:<9} {}",
                    time(Some(event.at)),
                    event.prefix,
                    event.action,
                    event.actor
                )?;
            }
        }
        Ok(())
    }
}

impl Revoke {
    async fn run(self, store: &Store, now: DateTime<Utc>) -> anyhow::Result<()> {
        let project = super::project_named(store, &self.project).await?;
        match store
            .revoke_key(project.id, &self.prefix, super::ACTOR, now)
            .await?
        {
            Revoked::Yes => {
                eprintln!("Key {} is revoked.", self.prefix);
                let keys = store.keys(project.id).await?;
                if let Some(others) = active_namesakes(&keys, &self.prefix, now) {
                    eprintln!("Still active with the same label: {others}.");
                }
                Ok(())
            }
            Revoked::LastActive => bail!(
                "{} is the last active key of project {}; create another first, or suspend the \
                 project",
                self.prefix,
                self.project
            ),
            Revoked::Unknown => bail!(
                "project {} has no key {}; `orbweaver key list {}` shows them",
                self.project,
                self.prefix,
                self.project
            ),
        }
    }
}

fn time(time: Option<DateTime<Utc>>) -> String {
    time.map_or_else(
        || "-".to_owned(),
        |time| time.format("%Y-%m-%d %H:%M:%S").to_string(),
    )
}

/// The prefixes of active keys that have the label of the one just revoked: whoever takes one for the other
/// would believe that none of that label is left. `None` without any.
fn active_namesakes(keys: &[ApiKey], revoked: &str, now: DateTime<Utc>) -> Option<String> {
    let label = keys
        .iter()
        .find(|key| key.prefix == revoked)?
        .label
        .as_deref();
    let is_namesake =
        |key: &&ApiKey| key.label.as_deref() == label && key.state(now) == KeyState::Active;
    let prefixes: Vec<&str> = keys
        .iter()
        .filter(is_namesake)
        .map(|key| key.prefix.as_str())
        .collect();
    (label.is_some() && !prefixes.is_empty()).then(|| prefixes.join(", "))
}

#[cfg(test)]
mod tests {
    use orbweaver_core::ids::KeyId;

    use super::*;

    #[test]
    fn active_keys_with_the_label_of_a_revoked_one_are_named() {
        let now = DateTime::<Utc>::UNIX_EPOCH;
        let key = |id, prefix: &str, label: Option<&str>, is_revoked: bool| ApiKey {
            id: KeyId(id),
            prefix: prefix.to_owned(),
            label: label.map(str::to_owned),
            created_at: now,
            last_used_at: None,
            revoked_at: is_revoked.then_some(now),
            expires_at: None,
        };
        let keys = [
            key(1, "a", Some("ci"), true),
            key(2, "b", Some("ci"), false),
            key(3, "c", Some("ci"), true),
            key(4, "d", Some("ci"), false),
            key(5, "e", Some("shop"), true),
            key(6, "f", None, true),
            key(7, "g", None, false),
        ];
        assert_eq!(active_namesakes(&keys, "a", now).as_deref(), Some("b, d"));
        for alone in ["e", "f", "unknown"] {
            assert_eq!(active_namesakes(&keys, alone, now), None, "{alone}");
        }
    }
}
