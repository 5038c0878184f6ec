//! The interface `rendering`.

use wasmtime::component::{Accessor, HasSelf, Resource};

use super::bindings::actor::orbweaver::plugin::{rendering, requests};
use super::bindings::extractor::orbweaver::plugin::types;
use crate::capability::pages::HostPage;
use crate::host::rendering::WaitFor;
use crate::state::State;

impl rendering::Host for State {}

impl rendering::HostWithStore<State> for HasSelf<State> {
    async fn render(
        accessor: &Accessor<State, Self>,
        request: requests::RenderRequest,
    ) -> wasmtime::Result<Result<Resource<HostPage>, types::Error>> {
        let capabilities = accessor.with(|mut access| access.get().capabilities())?;
        let wait_for = request.wait_for.into();
        let page = capabilities.rendering.render(&request.url, wait_for).await;
        accessor.with(|mut access| access.get().answer(page))
    }
}

impl From<requests::WaitFor> for WaitFor {
    fn from(wait_for: requests::WaitFor) -> Self {
        match wait_for {
            requests::WaitFor::Load => Self::Load,
            requests::WaitFor::DomContentLoaded => Self::DomContentLoaded,
            requests::WaitFor::NetworkIdle => Self::NetworkIdle,
        }
    }
}
