//! The first start on an empty database.

use orbweaver_store::{KeyHash, NewKey, NewProject, Store, StoreError};

use super::key;
use crate::clock::Clock;
use crate::secret::Secret;

/// The name of the first project.
pub const PROJECT: &str = "default";
/// Its tier.
pub const TIER: &str = "self_hosted";

/// What the first start made.
#[derive(Debug)]
pub enum First {
    /// The project is there, with a fresh key that nobody has seen.
    Fresh(Secret),
    /// The project is there, with the configured key.
    Configured,
}

/// Creates project `default` and its key if there is no project yet.
///
/// # Errors
/// When the database or the system's randomness fails.
#[crate::boxed]
pub async fn run(
    store: &Store,
    clock: &Clock,
    configured: Option<&Secret>,
) -> anyhow::Result<Option<First>> {
    if !store.projects().await?.is_empty() {
        return Ok(None);
    }
    let key = match configured {
        Some(key) => key.clone(),
        None => Secret::new(key::generate()?),
    };
    let project = NewProject {
        name: PROJECT,
        tier: TIER,
        key: NewKey {
            hash: KeyHash::of(key.expose()),
            prefix: key::shown(key.expose()),
            label: Some("first key"),
        },
        actor: "start",
    };
    match store.create_project(&project, clock.now()).await {
        Ok(_) => Ok(Some(match configured {
            Some(_) => First::Configured,
            None => First::Fresh(key),
        })),
        // Another node was faster.
        Err(StoreError::Exists(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
