//! The values that a plugin keeps, for the time of one call, within the service's default bounds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use orbweaver_engine::{
    CallOrigin, CodedError, ErrorCode, HookHosts, Host, PluginId, StateError, StateHost, StateValue,
};
use parking_lot::Mutex;

/// Most MiB of keys and values of a project's plugins: the default of `tiers.NAME.plugins.state_mib`.
const MAX_MIB: usize = 16;
/// Most values: the default of `tiers.NAME.plugins.state_entries`.
const MAX_ENTRIES: usize = 10_000;
/// Bytes that a value counts besides itself and its key.
const OVERHEAD: usize = 64;

/// Values in memory; empty when a call begins, so that calls do not depend on each other.
#[derive(Default)]
pub(crate) struct Values(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// By key: the value, its version, and when it expires.
    values: BTreeMap<String, (StateValue, Option<Instant>)>,
    /// What all values count.
    bytes: usize,
    /// The last version given.
    version: u64,
}

impl Kept {
    fn current(&self, key: &str) -> Option<&StateValue> {
        let (value, expiry) = self.values.get(key)?;
        let is_over = expiry.is_some_and(|expiry| expiry <= Instant::now());
        (!is_over).then_some(value)
    }

    /// Writes a value, or deletes it; returns its version.
    fn put(
        &mut self,
        key: &str,
        value: Option<Vec<u8>>,
        expected: Option<u64>,
        expiry: Option<Instant>,
    ) -> Result<u64, StateError> {
        let current = self.current(key).map_or(0, |value| value.version);
        if expected.is_some_and(|expected| expected != current) {
            return Err(StateError::Conflict(current));
        }
        if let Some(value) = &value
            && !self.has_room(key, value.len())
        {
            // Expired entries make room.
            let now = Instant::now();
            self.values
                .retain(|_, (_, expiry)| expiry.is_none_or(|expiry| expiry > now));
            let sizes = self
                .values
                .iter()
                .map(|(key, kept)| size(key, kept.0.value.len()));
            self.bytes = sizes.sum();
            if !self.has_room(key, value.len()) {
                return Err(StateError::Error(full()));
            }
        }
        if let Some((old, _)) = self.values.remove(key) {
            self.bytes -= size(key, old.value.len());
        }
        self.version += 1;
        let version = self.version;
        if let Some(value) = value {
            self.bytes += size(key, value.len());
            let value = StateValue { value, version };
            self.values.insert(key.to_owned(), (value, expiry));
        }
        Ok(version)
    }

    /// Whether there is room for a value in place of the one that the key has.
    fn has_room(&self, key: &str, bytes: usize) -> bool {
        let old = self.values.get(key);
        let old_bytes = old.map_or(0, |(old, _)| size(key, old.value.len()));
        let entries = self.values.len() + usize::from(old.is_none());
        entries <= MAX_ENTRIES && self.bytes - old_bytes + size(key, bytes) <= MAX_MIB << 20
    }
}

/// What a value counts.
fn size(key: &str, bytes: usize) -> usize {
    key.len() + bytes + OVERHEAD
}

fn full() -> CodedError {
    let rule = format!(
        "the project's plugins may keep {MAX_MIB} MiB in {MAX_ENTRIES} values (settings \
         tiers.NAME.plugins.state_mib and state_entries)"
    );
    CodedError::new(ErrorCode::Quota, rule)
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
        let expiry = ttl_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
        self.0.lock().put(key, value, expected, expiry)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_bounds_of_the_service() {
        let mut kept = Kept::default();
        // 64 of them fit, if each value's row does not count.
        let value = || Some(vec![b'x'; (256 << 10) - 32]);
        let expired = Instant::now();
        assert!(kept.put("gone", value(), None, Some(expired)).is_ok());
        let fitting = (0..100)
            .map(|number| kept.put(&number.to_string(), value(), None, None))
            .take_while(Result::is_ok)
            .count();
        assert_eq!(fitting, 63);
        let error = kept.put("more", value(), None, None).unwrap_err();
        assert!(error.to_string().contains("16 MiB"), "{error}");
        assert!(
            kept.put("0", value(), None, None).is_ok(),
            "in place of the old one"
        );
        assert!(kept.put("1", None, None, None).is_ok());
        assert!(kept.put("more", value(), None, None).is_ok());
        let mut kept = Kept::default();
        let fitting = (0..20_000)
            .map(|number| kept.put(&number.to_string(), Some(Vec::new()), None, None))
            .take_while(Result::is_ok)
            .count();
        assert_eq!(fitting, 10_000);
    }
}
