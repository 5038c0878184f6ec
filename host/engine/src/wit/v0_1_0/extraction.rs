//! The interface `extraction`.

use std::sync::Arc;

use wasmtime::component::Resource;

use super::bindings::actor::orbweaver::plugin::extraction;
use super::bindings::extractor::orbweaver::plugin::types;
use crate::capability::pages::HostPage;
use crate::state::State;

impl extraction::Host for State {
    async fn extract(
        &mut self,
        role: String,
        page: Resource<HostPage>,
        options: String,
    ) -> wasmtime::Result<Result<String, types::Error>> {
        let capabilities = self.capabilities()?;
        // The extractor parses the page, and the guest's handle keeps the snapshot in memory.
        let held = self.table.get_mut(&page)?;
        held.reserve_parse()?;
        let shared = Arc::clone(held.page());
        let answer = capabilities
            .extraction
            .extract(&role, shared, &options)
            .await;
        self.table.get_mut(&page)?.recharge()?;
        Ok(answer.map_err(types::Error::from))
    }
}
