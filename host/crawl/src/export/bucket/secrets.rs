//! Opens secrets of a project for requests to its bucket.

use orbweaver_accounts::context::Accounts;
use orbweaver_accounts::project_secret::purpose;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::HostPatterns;
use orbweaver_store::StoreError;

/// Why a secret cannot be used. No message has a value.
#[derive(Debug, thiserror::Error)]
pub enum SecretProblem {
    /// There is none of that name.
    #[error("the project has no secret `{0}`")]
    Missing(String),
    /// The bucket's host may not receive it.
    #[error("the secret `{name}` is not for {url}; name that origin in its hosts")]
    OtherHost {
        /// Its name.
        name: String,
        /// The URL of the bucket.
        url: String,
    },
    /// It was encrypted with another key.
    #[error("the secret `{0}` was stored under another secret key of the service; store it again")]
    OtherKey(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The value of a secret that requests to `url` may use.
///
/// # Errors
/// If there is none, or if it is not for this URL.
#[crate::boxed]
pub async fn open_secret(
    accounts: &Accounts,
    project: ProjectId,
    name: &str,
    url: &str,
) -> Result<String, SecretProblem> {
    let found = accounts.store.plugin_secret(project, name).await?;
    let found = found.ok_or_else(|| SecretProblem::Missing(name.to_owned()))?;
    let hosts: Vec<String> = serde_json::from_str(&found.hosts).unwrap_or_default();
    let hosts = HostPatterns::parse(&hosts).unwrap_or_else(|_| HostPatterns::none());
    if !hosts.allows(url) {
        return Err(SecretProblem::OtherHost {
            name: name.to_owned(),
            url: url.to_owned(),
        });
    }
    let opened = accounts.seal.open(&found.sealed, &purpose(project, name));
    opened.ok_or_else(|| SecretProblem::OtherKey(name.to_owned()))
}
