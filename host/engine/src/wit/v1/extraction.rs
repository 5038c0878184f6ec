//! The interfaces `extraction` and `extraction-sync`.

use std::sync::Arc;

use orbweaver_dom::Limits;
use wasmtime::component::{Accessor, HasSelf, Resource};

use super::bindings::actor::orbweaver::plugin::{extraction, extraction_sync};
use super::bindings::extractor::orbweaver::plugin::types;
use super::errors::told;
use crate::capability::Capabilities;
use crate::capability::pages::{HostPage, parse};
use crate::meter::Meter;
use crate::page::Page;
use crate::state::State;

type Answer = wasmtime::Result<Result<String, types::Error>>;

/// What an extraction needs of its caller. Extractors read the snapshot, and the guest's handle keeps
/// it alive: its memory and the time of its parse are this guest's.
struct Given {
    capabilities: Arc<Capabilities>,
    meter: Arc<Meter>,
    page: Arc<Page>,
    limits: Limits,
}

impl State {
    fn given(&mut self, page: &Resource<HostPage>) -> wasmtime::Result<Given> {
        let capabilities = self.capabilities()?;
        let held = self.table.get_mut(page)?;
        let limits = held.reserve_parse()?;
        Ok(Given {
            capabilities,
            limits,
            page: Arc::clone(held.page()),
            meter: Arc::clone(&self.meter),
        })
    }
}

impl Given {
    async fn extract(self, role: &str, options: &str) -> Answer {
        parse(&self.page, self.limits, &self.meter).await?;
        let extraction = &self.capabilities.extraction;
        let answer = extraction.extract(role, self.page, options).await;
        Ok(answer.map_err(|error| told(&self.meter, error)))
    }
}

impl extraction::Host for State {}

impl extraction::HostWithStore<State> for HasSelf<State> {
    async fn extract(
        accessor: &Accessor<State, Self>,
        role: String,
        page: Resource<HostPage>,
        options: String,
    ) -> Answer {
        let given = accessor.with(|mut access| access.get().given(&page))?;
        let answer = given.extract(&role, &options).await;
        accessor.with(|mut access| {
            access
                .get()
                .table
                .get_mut(&page)?
                .recharge()
                .map_err(wasmtime::Error::from)
        })?;
        answer
    }
}

impl extraction_sync::Host for State {
    async fn extract(&mut self, role: String, page: Resource<HostPage>, options: String) -> Answer {
        let answer = self.given(&page)?.extract(&role, &options).await;
        self.table.get_mut(&page)?.recharge()?;
        answer
    }
}
