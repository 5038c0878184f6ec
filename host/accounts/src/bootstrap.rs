//! The first start on an empty database.

use orbweaver_store::{KeyHash, NewKey, NewProject, Store, StoreError};

use super::key;
use crate::clock::Clock;
use crate::secret::Secret;

/// Name of the first project.
pub const PROJECT: &str = "default";
/// Tier of the first project.
pub const TIER: &str = "self_hosted";

/// Result of the first start.
#[derive(Debug)]
pub enum FirstStart {
    /// The project was created with a fresh key, which must be shown now.
    Fresh(Secret),
    /// The project was created with the configured key.
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
) -> anyhow::Result<Option<FirstStart>> {
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
            hash: KeyHash::digest(key.expose()),
            prefix: key::shown(key.expose()),
            label: Some("first key"),
        },
        actor: "start",
    };
    match store.create_project(&project, clock.now()).await {
        Ok(_) => Ok(Some(match configured {
            Some(_) => FirstStart::Configured,
            None => FirstStart::Fresh(key),
        })),
        // Another node created it first.
        Err(StoreError::Exists(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
