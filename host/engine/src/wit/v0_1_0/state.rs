//! The interface `state`.

use super::bindings::actor::orbweaver::plugin::state;
use crate::host::state::StateError;
use crate::state::State;
use crate::text::{MAX_MESSAGE_BYTES, clean};

type GuestResult<T> = wasmtime::Result<Result<T, state::Failure>>;

impl state::Host for State {
    async fn get(&mut self, key: String) -> GuestResult<Option<state::Entry>> {
        let value = self.capabilities()?.state.get(&key).await;
        let entry = |value: Option<crate::host::state::StateValue>| {
            value.map(|value| state::Entry {
                value: value.value,
                version: value.version,
            })
        };
        Ok(value.map(entry).map_err(state::Failure::from))
    }

    async fn put(
        &mut self,
        key: String,
        value: Vec<u8>,
        expected: Option<u64>,
        ttl_ms: Option<u64>,
    ) -> GuestResult<u64> {
        let capabilities = self.capabilities()?;
        let written = capabilities.state.put(&key, value, expected, ttl_ms).await;
        Ok(written.map_err(state::Failure::from))
    }

    async fn delete(&mut self, key: String, expected: Option<u64>) -> GuestResult<()> {
        let capabilities = self.capabilities()?;
        let deleted = capabilities.state.delete(&key, expected).await;
        Ok(deleted.map_err(state::Failure::from))
    }

    async fn keys(
        &mut self,
        prefix: String,
        after: String,
        limit: u32,
    ) -> GuestResult<Vec<String>> {
        let capabilities = self.capabilities()?;
        let keys = capabilities.state.keys(&prefix, &after, limit).await;
        Ok(keys.map_err(state::Failure::from))
    }
}

impl From<StateError> for state::Failure {
    fn from(error: StateError) -> Self {
        let clean = |text: String| clean(&text, MAX_MESSAGE_BYTES);
        match error {
            StateError::InvalidInput(text) => Self::InvalidInput(clean(text)),
            StateError::Denied(text) => Self::Denied(clean(text)),
            StateError::Conflict(version) => Self::Conflict(version),
            StateError::Full(text) => Self::Full(clean(text)),
            StateError::Failed(text) => Self::Failed(clean(text)),
        }
    }
}
