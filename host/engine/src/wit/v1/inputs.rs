//! The interface `inputs`.

use super::bindings::extractor::orbweaver::plugin::{inputs, types};
use super::errors::told;
use crate::state::State;

impl inputs::Host for State {
    fn output(&mut self, role: String) -> wasmtime::Result<Result<String, types::Error>> {
        self.meter.check_if_overdue()?;
        let output = self.inputs.get(&role);
        Ok(match output {
            Ok(json) => Ok(json.into()),
            Err(error) => Err(told(&self.meter, error)),
        })
    }
}
