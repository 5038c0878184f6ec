//! The interface `state`.

use super::bindings::actor::orbweaver::plugin::state;
use super::bindings::extractor::orbweaver::plugin::types;
use super::errors::told;
use crate::host::state::StateError;
use crate::meter::Meter;
use crate::state::State;

type Read<T> = wasmtime::Result<Result<T, types::Error>>;
type Written<T> = wasmtime::Result<Result<T, state::Failure>>;

impl state::Host for State {
    async fn get(&mut self, key: String) -> Read<Option<state::Entry>> {
        let value = self.capabilities()?.state.get(&key).await;
        let entry = |value: Option<crate::host::state::StateValue>| {
            value.map(|value| state::Entry {
                value: value.value,
                version: value.version,
            })
        };
        Ok(value.map(entry).map_err(|error| told(&self.meter, error)))
    }

    async fn put(
        &mut self,
        key: String,
        value: Vec<u8>,
        expected: Option<u64>,
        ttl_ms: Option<u64>,
    ) -> Written<u64> {
        let capabilities = self.capabilities()?;
        let written = capabilities.state.put(&key, value, expected, ttl_ms).await;
        Ok(written.map_err(|error| failure(&self.meter, error)))
    }

    async fn delete(&mut self, key: String, expected: Option<u64>) -> Written<()> {
        let capabilities = self.capabilities()?;
        let deleted = capabilities.state.delete(&key, expected).await;
        Ok(deleted.map_err(|error| failure(&self.meter, error)))
    }

    async fn keys(
        &mut self,
        prefix: String,
        after: Option<String>,
        limit: u32,
    ) -> Read<Vec<String>> {
        let capabilities = self.capabilities()?;
        let keys = capabilities
            .state
            .keys(&prefix, after.as_deref(), limit)
            .await;
        Ok(keys.map_err(|error| told(&self.meter, error)))
    }
}

fn failure(meter: &Meter, error: StateError) -> state::Failure {
    match error {
        StateError::Conflict(version) => state::Failure::Conflict(version),
        StateError::Error(error) => state::Failure::Error(told(meter, error)),
    }
}
