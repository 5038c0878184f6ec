//! The capability `extraction`: checks the grant for other plugins' roles.

use std::sync::Arc;

use super::failure::{not_granted, not_offered};
use crate::error::CodedError;
use crate::grants::{EffectivePermissions, Need};
use crate::host::Host;
use crate::page::Page;

/// Access of one call to other plugins' roles.
pub(crate) struct ExtractionCapability {
    host: Arc<dyn Host>,
    grants: Arc<EffectivePermissions>,
}

impl ExtractionCapability {
    pub fn new(host: &Arc<dyn Host>, grants: &Arc<EffectivePermissions>) -> Self {
        Self {
            host: Arc::clone(host),
            grants: Arc::clone(grants),
        }
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
        extractors.extract(role, page, options).await
    }
}
