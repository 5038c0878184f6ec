//! The context that this crate's functions work with.

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

/// Projects, keys, quota and payment of this process. Cheap to clone.
#[derive(Clone)]
pub struct Accounts(Arc<AccountsParts>);

/// The parts of [`Accounts`].
pub struct AccountsParts {
    /// The database.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// Fetches from the challenge's verifier and the payment provider.
    pub fetcher: Fetcher,
    /// Authenticates bearer keys.
    pub keys: Keys,
    /// Reserves pages within the caps.
    pub quota: Quota,
    /// Reads what projects have used.
    pub usage: Usage,
    /// Sends mail.
    pub mailer: Mailer,
    /// Seals and signs with the instance's own secret.
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
