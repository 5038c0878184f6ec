//! The capability `extraction`: checks the grant of another plugin's role.

use std::sync::Arc;

use super::failure::{not_granted, not_offered};
use crate::error::HostError;
use crate::grants::EffectivePermissions;
use crate::host::Host;
use crate::page::Page;

/// Other plugins' roles of one call.
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

    /// A role's answer for a page.
    #[crate::boxed]
    pub async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
    ) -> Result<String, HostError> {
        if !self.grants.extract.allows(role) {
            return Err(not_granted(&format!("extract={role}")));
        }
        let extractors = self
            .host
            .extraction()
            .ok_or_else(|| not_offered("extractors"))?;
        extractors.extract(role, page, options).await
    }
}
