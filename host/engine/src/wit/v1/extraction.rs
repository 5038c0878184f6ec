//! The interfaces `extraction` and `extraction-sync`.

use std::sync::Arc;

use orbweaver_core::json_values;
use orbweaver_dom::Limits;
use wasmtime::component::{Accessor, HasSelf, Resource};

use super::bindings::actor::orbweaver::plugin::{extraction, extraction_sync};
use super::bindings::extractor::orbweaver::plugin::types;
use super::errors::told;
use crate::capability::Capabilities;
use crate::capability::pages::{HostPage, ParseTurn, parse};
use crate::error::CodedError;
use crate::memory::MemoryCharge;
use crate::meter::Meter;
use crate::page::Page;
use crate::state::State;

type Answer = wasmtime::Result<Result<String, types::Error>>;

/// Most bytes of an extraction's options, as of those that a request gives: a configuration, not a
/// document.
const MAX_OPTIONS: usize = 64 << 10;

/// What an extraction needs of its caller. Extractors read the snapshot, and the guest's handle keeps
/// it alive: its memory and the time of its parse are this guest's.
struct Given {
    capabilities: Arc<Capabilities>,
    meter: Arc<Meter>,
    turn: ParseTurn,
    page: Arc<Page>,
    limits: Limits,
    /// The role and the options, which the host holds twice until the answer, and the options' values: a
    /// guest may begin a thousand extractions.
    _held: MemoryCharge,
}

impl State {
    fn given(
        &mut self,
        page: &Resource<HostPage>,
        role: &str,
        options: &str,
    ) -> wasmtime::Result<Given> {
        let mut held = 2 * (role.len() as u64 + options.len() as u64);
        if options.len() <= MAX_OPTIONS {
            held += json_values::memory(options.as_bytes());
        }
        let held = self.memory.charge(held)?;
        let capabilities = self.capabilities()?;
        let of_guest = self.table.get_mut(page)?;
        let limits = of_guest.reserve_parse()?;
        Ok(Given {
            capabilities,
            limits,
            page: Arc::clone(of_guest.page()),
            meter: Arc::clone(&self.meter),
            turn: Arc::clone(&self.parsing),
            _held: held,
        })
    }
}

impl Given {
    /// Runs the role.
    async fn extract(self, role: String, options: String) -> Answer {
        if options.len() > MAX_OPTIONS {
            let error = CodedError::invalid(format!("options: at most {MAX_OPTIONS} bytes"));
            return Ok(Err(told(&self.meter, error)));
        }
        parse(&self.page, self.limits, &self.meter, &self.turn).await?;
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
        let given = accessor.with(|mut access| access.get().given(&page, &role, &options))?;
        let answer = given.extract(role, options).await;
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
        let given = self.given(&page, &role, &options)?;
        let answer = given.extract(role, options).await;
        self.table.get_mut(&page)?.recharge()?;
        answer
    }
}
