//! What this crate's functions work with.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use orbweaver_fetch::Fetcher;
use orbweaver_store::Store;

use crate::auth::Keys;
use crate::clock::Clock;
use crate::config::{BillingConfig, SignupConfig};
use crate::mail::mailer::Mailer;
use crate::quota::Quota;
use crate::seal::Seal;
use crate::usage::Usage;

/// Projects, keys, quota and money of this process. Cheap to clone.
#[derive(Clone)]
pub struct Accounts(Arc<AccountsParts>);

/// What [`Accounts`] are made of.
pub struct AccountsParts {
    /// The database.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// The way to the challenge's verifier and the payment provider.
    pub fetcher: Fetcher,
    /// Keys, and the projects that they speak for.
    pub keys: Keys,
    /// What projects may still use.
    pub quota: Quota,
    /// What projects used.
    pub usage: Usage,
    /// The way to the mail server.
    pub mailer: Mailer,
    /// The instance's own secret.
    pub seal: Seal,
    /// `[signup]`.
    pub signup: SignupConfig,
    /// `[billing]`.
    pub billing: BillingConfig,
}

impl From<AccountsParts> for Accounts {
    fn from(parts: AccountsParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for Accounts {
    type Target = AccountsParts;

    fn deref(&self) -> &AccountsParts {
        &self.0
    }
}

impl fmt::Debug for Accounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Accounts")
    }
}
