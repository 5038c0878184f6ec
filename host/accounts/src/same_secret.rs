//! Whether this node has the secret (`secret_key`) of the other nodes on its database.

use anyhow::bail;
use orbweaver_store::Store;

use crate::project_secret::purpose;
use crate::seal::Seal;

/// Name of the setting that holds the id of the secret that nodes are configured with.
const SETTING: &str = "secret_key.id";

/// Refuses a secret other than that of the other nodes on a PostgreSQL database, or one that does not open
/// what is stored there: such a node would serve, and fail wherever a project's secret is needed. On SQLite,
/// where no other node has the right one, a warning. The first node that is configured with one states it
/// for all.
///
/// # Errors
/// Says what differs, and what to do.
#[crate::boxed]
pub async fn check(store: &Store, seal: &Seal, is_configured: bool) -> anyhow::Result<()> {
    compare(store, seal, is_configured).await?;
    if store.is_shared() && is_configured {
        // Of two nodes that begin together, one states it.
        is_stated(&store.first_setting(SETTING, seal.id()).await?, seal)?;
    }
    Ok(())
}

/// As [`check`], without stating anything.
///
/// # Errors
/// As [`check`].
#[crate::boxed]
pub async fn compare(store: &Store, seal: &Seal, is_configured: bool) -> anyhow::Result<()> {
    let opens = match store.newest_plugin_secret().await? {
        None => true,
        Some((project, name, sealed)) => seal.open(&sealed, &purpose(project, &name)).is_some(),
    };
    if !store.is_shared() {
        if !opens {
            tracing::warn!(
                "secret_key, or secret.key in the data folder, is not the one that the projects' secrets were \
                 stored with; they cannot be read until it is set again, or they are stored again"
            );
        }
        return Ok(());
    }
    if !opens {
        bail!(
            "secret_key: the secrets of projects in this database were stored with another one; set the \
             secret_key of the other nodes, or copy their secret.key into the data folder. If it is lost, \
             delete the secrets: DELETE FROM plugin_secrets"
        );
    }
    match store.setting(SETTING).await? {
        Some(stated) if is_configured => is_stated(&stated, seal),
        _ => Ok(()),
    }
}

fn is_stated(stated: &str, seal: &Seal) -> anyhow::Result<()> {
    if stated != seal.id() {
        bail!(
            "secret_key: the other nodes of this database have another one; set theirs. To change it for all, \
             stop them first, and: DELETE FROM settings WHERE name = '{SETTING}'"
        );
    }
    Ok(())
}
