//! The values that a plugin keeps, for the time of one call.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use orbweaver_engine::{
    CallOrigin, CodedError, HookHosts, Host, PluginId, StateError, StateHost, StateValue,
};
use parking_lot::Mutex;

/// Values in memory; empty when a call begins, so that calls do not depend on each other.
#[derive(Default)]
pub(crate) struct Values(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// By key: the value, its version, and when it expires.
    values: BTreeMap<String, (StateValue, Option<Instant>)>,
    /// The last version given.
    version: u64,
}

impl Kept {
    fn current(&self, key: &str) -> Option<&StateValue> {
        let (value, expiry) = self.values.get(key)?;
        let is_over = expiry.is_some_and(|expiry| expiry <= Instant::now());
        (!is_over).then_some(value)
    }
}

impl Host for Values {
    fn state(&self) -> Option<&dyn StateHost> {
        Some(self)
    }
}

/// The values of the hook that is called.
#[derive(Default)]
pub(crate) struct HookValues(Mutex<Arc<Values>>);

impl HookValues {
    /// Forgets those of the last call.
    pub fn begin(&self) {
        *self.0.lock() = Arc::default();
    }
}

impl HookHosts for HookValues {
    fn of(&self, _caller: Option<&CallOrigin>) -> Arc<dyn Host> {
        Arc::<Values>::clone(&self.0.lock())
    }
}

#[async_trait]
impl StateHost for Values {
    async fn get(&self, _plugin: &PluginId, key: &str) -> Result<Option<StateValue>, CodedError> {
        Ok(self.0.lock().current(key).cloned())
    }

    async fn put(
        &self,
        _plugin: &PluginId,
        key: &str,
        value: Option<Vec<u8>>,
        expected: Option<u64>,
        ttl_ms: Option<u64>,
    ) -> Result<u64, StateError> {
        let mut kept = self.0.lock();
        let current = kept.current(key).map_or(0, |value| value.version);
        if expected.is_some_and(|expected| expected != current) {
            return Err(StateError::Conflict(current));
        }
        kept.version += 1;
        let version = kept.version;
        match value {
            None => {
                kept.values.remove(key);
            }
            Some(value) => {
                let expiry =
                    ttl_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
                let value = StateValue { value, version };
                kept.values.insert(key.to_owned(), (value, expiry));
            }
        }
        Ok(version)
    }

    async fn keys(
        &self,
        _plugin: &PluginId,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, CodedError> {
        let kept = self.0.lock();
        let found = kept
            .values
            .keys()
            .filter(|key| key.starts_with(prefix) && after.is_none_or(|after| key.as_str() > after))
            .filter(|key| kept.current(key).is_some());
        Ok(found.take(limit as usize).cloned().collect())
    }
}
