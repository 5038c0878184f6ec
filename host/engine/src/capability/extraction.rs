//! The capability `extraction`: checks the grant for other plugins' roles, and bounds what they take.

use std::sync::Arc;

use tokio::sync::{Semaphore, SemaphorePermit};

use super::failure::{not_granted, not_offered};
use crate::error::{CodedError, ErrorCode};
use crate::grants::{EffectivePermissions, Need};
use crate::host::Host;
use crate::host::work::HostWork;
use crate::page::Page;

/// Extractions of one call at the same time; further ones wait. Those under way may exceed the call's
/// budget of time together.
const MAX_AT_ONCE: usize = 8;

/// Access of one call to other plugins' roles.
pub(crate) struct ExtractionCapability {
    host: Arc<dyn Host>,
    grants: Arc<EffectivePermissions>,
    account: HostWork,
    turns: Semaphore,
}

impl ExtractionCapability {
    pub fn new(
        host: &Arc<dyn Host>,
        grants: &Arc<EffectivePermissions>,
        account: &HostWork,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            grants: Arc::clone(grants),
            account: account.clone(),
            turns: Semaphore::new(MAX_AT_ONCE),
        }
    }

    /// Waits until fewer extractions are under way than a call may have. Only for guests that go on
    /// meanwhile: one that is stopped until the answer has but one, and the others of its call, which
    /// stand still with it, would never end.
    pub(crate) async fn turn(&self) -> Result<SemaphorePermit<'_>, CodedError> {
        let turn = self.turns.acquire().await;
        turn.map_err(|_| CodedError::new(ErrorCode::Cancelled, "the call is being stopped"))
    }

    /// Runs a role on a page.
    #[crate::boxed]
    pub async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
    ) -> Result<String, CodedError> {
        if !self.grants.extract.allows(role) {
            return Err(not_granted(&self.grants, Need::Extract(role)));
        }
        let extractors = self
            .host
            .extraction()
            .ok_or_else(|| not_offered("extractors"))?;
        self.account.check()?;
        extractors.extract(role, page, options, &self.account).await
    }
}
