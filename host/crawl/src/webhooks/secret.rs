//! The secret that signs a project's webhooks.

use chrono::{DateTime, Utc};
use orbweaver_accounts::random;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::Store;

/// Name of the project's secret in the store.
const SECRET: &str = "webhook";

/// The project's secret, created on first use: 32 random bytes.
///
/// # Errors
/// If the database fails, or no random bytes are available.
#[crate::boxed]
pub async fn secret(
    store: &Store,
    project: ProjectId,
    now: DateTime<Utc>,
) -> anyhow::Result<Vec<u8>> {
    let fresh: [u8; 32] = random::bytes()?;
    Ok(store.project_secret(project, SECRET, &fresh, now).await?)
}
