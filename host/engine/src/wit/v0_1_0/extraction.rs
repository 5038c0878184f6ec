//! The interface `extraction`.

use std::sync::Arc;

use wasmtime::component::Resource;

use super::bindings::actor::orbweaver::plugin::extraction;
use super::bindings::extractor::orbweaver::plugin::types;
use crate::capability::pages::{HostPage, parse};
use crate::state::State;

impl extraction::Host for State {
    async fn extract(
        &mut self,
        role: String,
        page: Resource<HostPage>,
        options: String,
    ) -> wasmtime::Result<Result<String, types::Error>> {
        let capabilities = self.capabilities()?;
        // Extractors read the snapshot, and the guest's handle keeps it alive: its memory and
        // the time of its parse are this guest's.
        let held = self.table.get_mut(&page)?;
        let limits = held.reserve_parse()?;
        let shared = Arc::clone(held.page());
        let meter = Arc::clone(&self.meter);
        parse(&shared, limits, &meter).await?;
        let answer = capabilities
            .extraction
            .extract(&role, shared, &options)
            .await;
        self.table.get_mut(&page)?.recharge()?;
        Ok(answer.map_err(types::Error::from))
    }
}
