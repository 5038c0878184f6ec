//! The interfaces `extraction` and `extraction-sync`, linked by hand: an answer is charged to the call until
//! it is in the guest's memory.

use std::sync::Arc;

use orbweaver_core::json_values;
use orbweaver_dom::Limits;
use wasmtime::component::{Accessor, Linker, Resource};

use super::bindings::VERSION;
use super::bindings::extractor::orbweaver::plugin::types;
use super::errors::told;
use crate::capability::Capabilities;
use crate::capability::failure::CallFailure;
use crate::capability::pages::{HostPage, ParseTurn, parse};
use crate::error::CodedError;
use crate::memory::{Charged, MemoryCharge};
use crate::meter::Meter;
use crate::page::Page;
use crate::state::State;

type Answer = wasmtime::Result<Result<Charged<String>, types::Error>>;

/// Role, page and options.
type Arguments = (String, Resource<HostPage>, String);

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
        match extraction.extract(role, self.page, options).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(CallFailure::Refused(error)) => Ok(Err(told(&self.meter, error))),
            Err(CallFailure::Stopped(reason)) => Err(reason.into()),
        }
    }
}

async fn extract(accessor: &Accessor<State>, (role, page, options): Arguments) -> Answer {
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

async fn extract_alone(state: &mut State, (role, page, options): Arguments) -> Answer {
    let given = state.given(&page, &role, &options)?;
    let answer = given.extract(role, options).await;
    state.table.get_mut(&page)?.recharge()?;
    answer
}

/// Links both interfaces.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker
        .instance(&format!("orbweaver:plugin/extraction@{VERSION}"))?
        .func_wrap_concurrent("extract", |accessor: &Accessor<State>, given: Arguments| {
            Box::pin(async move { extract(accessor, given).await.map(|answer| (answer,)) })
        })?;
    linker
        .instance(&format!("orbweaver:plugin/extraction-sync@{VERSION}"))?
        .func_wrap_async("extract", |mut store, given: Arguments| {
            Box::new(async move {
                let answer = extract_alone(store.data_mut(), given).await;
                answer.map(|answer| (answer,))
            })
        })
}
