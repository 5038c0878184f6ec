//! Removal of uploaded plugins, with what they have kept and logged.

use orbweaver_store::{PluginKey, StateOwner, StoreError};

use super::overlay::unload;
use crate::context::Actors;

/// Removes an upload with all its versions from every node, and what a project's own plugin has kept;
/// what it replaced serves again. False if there is no such upload. Goes on when the caller does not wait
/// any longer: what calls that still ran have kept goes after the plugin.
///
/// # Errors
/// When the database fails.
#[crate::boxed]
pub async fn remove(actors: &Actors, key: &PluginKey) -> Result<bool, StoreError> {
    let (actors, key) = (actors.clone(), key.clone());
    let done = tokio::spawn(async move { remove_in_turn(&actors, &key).await });
    done.await.unwrap_or(Err(StoreError::Fault))
}

async fn remove_in_turn(actors: &Actors, key: &PluginKey) -> Result<bool, StoreError> {
    let _turn = actors.overlay.turn(key).await;
    // What it has kept goes first: after a crash in between, the plugin is still there to remove.
    // A call that still runs may write until the plugin is deleted, so it goes once more at the end.
    forget_state(actors, key).await?;
    forget_records(actors, key).await?;
    let removed = actors.store.delete_plugin(key).await?;
    if removed {
        unload(actors, key);
        forget_state(actors, key).await?;
        actors.journal.written().await;
        forget_records(actors, key).await?;
        tracing::info!(
            plugin = key.name,
            kind = key.kind,
            "uploaded plugin removed"
        );
    }
    Ok(removed)
}

/// Deletes what a project's own plugin has kept.
async fn forget_state(actors: &Actors, key: &PluginKey) -> Result<(), StoreError> {
    let Some(project) = key.project else {
        return Ok(());
    };
    let owner = StateOwner {
        project,
        own: true,
        kind: key.kind.clone(),
        name: key.name.clone(),
    };
    actors.store.delete_plugin_state(&owner).await
}

/// Deletes what a plugin has logged, and its failed calls.
async fn forget_records(actors: &Actors, key: &PluginKey) -> Result<(), StoreError> {
    let store = &actors.store;
    store
        .delete_plugin_records(key.project, &key.kind, &key.name)
        .await
}
