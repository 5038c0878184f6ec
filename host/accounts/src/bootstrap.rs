//! The first start on an empty database.

use orbweaver_store::{KeyHash, NewKey, NewProject, Store, StoreError};

use super::key;
use crate::clock::Clock;
use crate::secret::Secret;

/// Name of the first project.
pub const PROJECT: &str = "default";
/// Tier of the first project.
pub const TIER: &str = "self_hosted";

/// The creator that is recorded for them.
const ACTOR: &str = "start";

/// The project and key that the first start created.
#[derive(Debug)]
pub enum FirstStart {
    /// The project was created with a fresh key, which must be shown now.
    Fresh(Secret),
    /// The project was created with the configured key.
    Configured,
}

/// Creates project `default` if there is no project yet, and its first key if it has none.
///
/// # Errors
/// When the database or the system's randomness fails.
#[crate::boxed]
pub async fn run(
    store: &Store,
    clock: &Clock,
    configured: Option<&Secret>,
) -> anyhow::Result<Option<FirstStart>> {
    let projects = store.projects().await?;
    // The command line may have made it: that needs no key.
    let first = projects.iter().find(|project| project.name == PROJECT);
    let keyless = match first {
        None if projects.is_empty() => None,
        Some(first) if store.keys(first.id).await?.is_empty() => Some(first.id),
        _ => return Ok(None),
    };
    let key = match configured {
        Some(key) => key.clone(),
        None => Secret::new(key::generate()?),
    };
    let row = NewKey {
        hash: KeyHash::digest(key.expose()),
        prefix: key::shown(key.expose()),
        label: Some("first key"),
    };
    let made = match keyless {
        Some(project) => store
            .add_key(project, &row, ACTOR, clock.now())
            .await
            .map(drop),
        None => {
            let project = NewProject {
                name: PROJECT,
                tier: TIER,
                key: row,
                actor: ACTOR,
            };
            store.create_project(&project, clock.now()).await.map(drop)
        }
    };
    match made {
        Ok(()) => Ok(Some(match configured {
            Some(_) => FirstStart::Configured,
            None => FirstStart::Fresh(key),
        })),
        // Another node created it first.
        Err(StoreError::Exists(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Creates project `default`, without a key, if there is no project yet: the command line works
/// on the database itself. The first start of the service makes its key.
///
/// # Errors
/// When the database fails.
#[crate::boxed]
pub async fn project_alone(store: &Store, clock: &Clock) -> anyhow::Result<()> {
    if !store.projects().await?.is_empty() {
        return Ok(());
    }
    match store.create_project_alone(PROJECT, TIER, clock.now()).await {
        // Another process was faster.
        Ok(_) | Err(StoreError::Exists(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
