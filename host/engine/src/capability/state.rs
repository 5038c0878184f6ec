//! The capability `state`: checks the grant, keys and sizes, and counts the operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::failure::{not_granted, not_offered};
use crate::error::{CodedError, ErrorCode};
use crate::grants::{EffectivePermissions, Need};
use crate::host::Host;
use crate::host::state::{PluginId, StateError, StateHost, StateValue};
use crate::host_tasks::HostTasks;
use crate::kind::Kind;
use crate::meter::Meter;

/// Longest key in bytes.
const MAX_KEY_BYTES: usize = 256;
/// Longest value in bytes.
const MAX_VALUE_BYTES: usize = 256 << 10;
/// Most keys of one list.
const MAX_KEYS: u32 = 1_000;
/// Longest time to live: ten years.
const MAX_TTL_MS: u64 = 10 * 365 * 24 * 60 * 60 * 1_000;
/// Operations of one call: each is a transaction of the database.
const MAX_OPERATIONS: u32 = 10_000;
/// Operations of a hook for one page, or one request: the crawl waits for them.
const MAX_HOOK_OPERATIONS: u32 = 1_000;

/// Access of one call to the plugin's values.
pub(crate) struct StateCapability {
    host: Arc<dyn Host>,
    grants: Arc<EffectivePermissions>,
    plugin: Arc<PluginId>,
    operations: AtomicU32,
    max_operations: u32,
    meter: Arc<Meter>,
}

impl StateCapability {
    pub fn new(
        host: &Arc<dyn Host>,
        grants: &Arc<EffectivePermissions>,
        plugin: PluginId,
        meter: &Arc<Meter>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            grants: Arc::clone(grants),
            max_operations: match plugin.kind {
                Kind::Hook => MAX_HOOK_OPERATIONS,
                Kind::Actor | Kind::Fetcher | Kind::Extractor => MAX_OPERATIONS,
            },
            plugin: Arc::new(plugin),
            operations: AtomicU32::new(0),
            meter: Arc::clone(meter),
        }
    }

    /// A value; `None` if there is none.
    #[crate::boxed]
    pub async fn get(&self, key: &str) -> Result<Option<StateValue>, CodedError> {
        self.check_granted()?;
        check_key(key)?;
        let (call, key) = (self.to_host(), key.to_owned());
        let work = async move { call.state()?.get(&call.plugin, &key).await };
        HostTasks::current().run(&self.meter, work).await
    }

    /// Writes a value; returns its version.
    #[crate::boxed]
    pub async fn put(
        &self,
        key: &str,
        value: Vec<u8>,
        expected: Option<u64>,
        ttl_ms: Option<u64>,
    ) -> Result<u64, StateError> {
        self.check_granted()?;
        check_key(key)?;
        if value.len() > MAX_VALUE_BYTES {
            let rule = format!("value: must have at most {MAX_VALUE_BYTES} bytes");
            return Err(CodedError::invalid(rule).into());
        }
        if ttl_ms.is_some_and(|ms| ms == 0 || ms > MAX_TTL_MS) {
            let rule = format!("ttl-ms: must be between 1 and {MAX_TTL_MS}");
            return Err(CodedError::invalid(rule).into());
        }
        self.write(key, Some(value), expected, ttl_ms).await
    }

    /// Deletes a value.
    #[crate::boxed]
    pub async fn delete(&self, key: &str, expected: Option<u64>) -> Result<(), StateError> {
        self.check_granted()?;
        check_key(key)?;
        self.write(key, None, expected, None).await?;
        Ok(())
    }

    async fn write(
        &self,
        key: &str,
        value: Option<Vec<u8>>,
        expected: Option<u64>,
        ttl_ms: Option<u64>,
    ) -> Result<u64, StateError> {
        let (call, key) = (self.to_host(), key.to_owned());
        let work = async move {
            let state = call.state()?;
            state.put(&call.plugin, &key, value, expected, ttl_ms).await
        };
        HostTasks::current().run(&self.meter, work).await
    }

    /// Keys with a prefix behind `after`.
    #[crate::boxed]
    pub async fn keys(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, CodedError> {
        self.check_granted()?;
        for (field, text) in [("prefix", prefix), ("after", after.unwrap_or_default())] {
            if text.len() > MAX_KEY_BYTES || text.chars().any(char::is_control) {
                return Err(CodedError::invalid(format!(
                    "{field}: must have at most {MAX_KEY_BYTES} bytes and no control characters"
                )));
            }
        }
        if limit == 0 {
            return Ok(Vec::new());
        }
        let limit = limit.min(MAX_KEYS);
        let (call, prefix) = (self.to_host(), prefix.to_owned());
        let after = after.map(str::to_owned);
        let work = async move {
            let state = call.state()?;
            state
                .keys(&call.plugin, &prefix, after.as_deref(), limit)
                .await
        };
        HostTasks::current().run(&self.meter, work).await
    }

    fn to_host(&self) -> HostCall {
        HostCall {
            host: Arc::clone(&self.host),
            plugin: Arc::clone(&self.plugin),
        }
    }

    /// Counts one operation.
    fn check_granted(&self) -> Result<(), CodedError> {
        if !self.grants.state {
            return Err(not_granted(&self.grants, Need::State));
        }
        let max = self.max_operations;
        if self.operations.fetch_add(1, Ordering::Relaxed) >= max {
            self.operations.store(max, Ordering::Relaxed);
            return Err(CodedError::new(
                ErrorCode::Budget,
                format!("the budget of {max} operations on state is exhausted"),
            ));
        }
        match self.host.state() {
            Some(_) => Ok(()),
            None => Err(not_offered("state")),
        }
    }
}

/// What an operation needs in its task.
struct HostCall {
    host: Arc<dyn Host>,
    plugin: Arc<PluginId>,
}

impl HostCall {
    fn state(&self) -> Result<&dyn StateHost, CodedError> {
        self.host.state().ok_or_else(|| not_offered("state"))
    }
}

fn check_key(key: &str) -> Result<(), CodedError> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES || key.chars().any(char::is_control) {
        return Err(CodedError::invalid(format!(
            "key: must have 1 to {MAX_KEY_BYTES} bytes and no control characters"
        )));
    }
    Ok(())
}
