//! The interface `rendering`.

use wasmtime::component::{Accessor, HasSelf, Resource};

use super::bindings::actor::orbweaver::plugin::rendering;
use super::bindings::extractor::orbweaver::plugin::types;
use crate::capability::pages::HostPage;
use crate::host::rendering::WaitFor;
use crate::state::State;

impl rendering::Host for State {}

impl rendering::HostWithStore<State> for HasSelf<State> {
    async fn render(
        accessor: &Accessor<State, Self>,
        url: String,
        wait_for: rendering::WaitFor,
    ) -> wasmtime::Result<Result<Resource<HostPage>, types::Error>> {
        let capabilities = accessor.with(|mut access| access.get().capabilities())?;
        let wait_for = match wait_for {
            rendering::WaitFor::Load => WaitFor::Load,
            rendering::WaitFor::DomContentLoaded => WaitFor::DomContentLoaded,
            rendering::WaitFor::NetworkIdle => WaitFor::NetworkIdle,
        };
        let page = capabilities.rendering.render(&url, wait_for).await;
        accessor.with(|mut access| access.get().answer(page))
    }
}
