//! Values that plugins keep between calls, in the database.

mod turns;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::TimeDelta;
use orbweaver_accounts::clock::Clock;
use orbweaver_accounts::quota::Quota;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{
    CallOrigin, CodedError, ErrorCode, HookHosts, Host, NoHost, PluginId, StateError, StateHost,
    StateValue,
};
use orbweaver_store::{StateBounds, StateKeys, StateOwner, StateWrite, StateWritten, Store};

use turns::CallTurns;
pub use turns::StateTurns;

/// The values of all plugins for one project, as one call uses them.
pub(crate) struct ProjectValues {
    values: PluginValues,
    project: ProjectId,
    turns: CallTurns,
}

impl Host for ProjectValues {
    fn state(&self) -> Option<&dyn StateHost> {
        Some(self)
    }
}

/// The values of plugins for all projects; gives the hooks of a project's crawls theirs.
#[derive(Clone)]
pub struct PluginValues {
    /// The database.
    pub store: Store,
    /// The clock.
    pub clock: Clock,
    /// The caps of projects.
    pub quota: Quota,
    /// The turns of calls that change the same value.
    pub turns: StateTurns,
}

impl PluginValues {
    /// For one call on behalf of a project.
    pub(crate) fn of_call(&self, project: ProjectId) -> ProjectValues {
        ProjectValues {
            values: self.clone(),
            project,
            turns: CallTurns::new(self.turns.clone()),
        }
    }
}

impl fmt::Debug for PluginValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PluginValues")
    }
}

impl HookHosts for PluginValues {
    fn of(&self, caller: Option<&CallOrigin>) -> Arc<dyn Host> {
        match caller {
            Some(caller) => Arc::new(self.of_call(caller.project)),
            None => Arc::new(NoHost),
        }
    }
}

#[async_trait]
impl StateHost for ProjectValues {
    async fn get(&self, plugin: &PluginId, key: &str) -> Result<Option<StateValue>, CodedError> {
        let owner = self.owner(plugin);
        self.turns.before_read(&owner, key).await;
        let entry = self
            .values
            .store
            .plugin_state(&owner, key, self.values.clock.now())
            .await
            .map_err(|error| failed(&error))?;
        Ok(entry.map(|entry| StateValue {
            value: entry.value,
            version: u64::try_from(entry.version).unwrap_or_default(),
        }))
    }

    async fn put(
        &self,
        plugin: &PluginId,
        key: &str,
        value: Option<Vec<u8>>,
        expected: Option<u64>,
        ttl_ms: Option<u64>,
    ) -> Result<u64, StateError> {
        let owner = self.owner(plugin);
        let turn = match expected {
            Some(_) => Some(self.turns.before_write(&owner, key).await),
            None => {
                self.turns.before_any_write();
                None
            }
        };
        let caps = self
            .values
            .quota
            .caps(owner.project)
            .await
            .map_err(|error| failed(&error))?
            .plugins;
        let now = self.values.clock.now();
        let ttl = ttl_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        let expires_at = ttl
            .and_then(TimeDelta::try_milliseconds)
            .and_then(|ttl| now.checked_add_signed(ttl));
        let write = StateWrite {
            key,
            value: value.as_deref(),
            // No version is so large: the write then finds another one.
            expected: expected.map(|version| i64::try_from(version).unwrap_or(i64::MAX)),
            expires_at,
            now,
        };
        let bounds = StateBounds {
            bytes: caps.state_mib.saturating_mul(1 << 20),
            entries: caps.state_entries,
        };
        let store = &self.values.store;
        let written = store.write_plugin_state(&owner, &write, bounds).await;
        if let Some(turn) = turn {
            turn.end(matches!(written, Ok(StateWritten::Conflict(_))));
        }
        match written.map_err(|error| failed(&error))? {
            StateWritten::Written(version) => Ok(u64::try_from(version).unwrap_or_default()),
            StateWritten::Conflict(version) => Err(StateError::Conflict(
                u64::try_from(version).unwrap_or_default(),
            )),
            StateWritten::Gone => Err(StateError::Error(CodedError::failed(
                "the plugin was deleted: no values are kept for it any more",
            ))),
            StateWritten::Full => Err(StateError::Error(CodedError::new(
                ErrorCode::Quota,
                format!(
                    "the project's plugins may keep {} MiB in {} values (settings \
                     tiers.NAME.plugins.state_mib and state_entries)",
                    caps.state_mib, caps.state_entries
                ),
            ))),
        }
    }

    async fn keys(
        &self,
        plugin: &PluginId,
        prefix: &str,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<String>, CodedError> {
        let before = end_of(prefix);
        let range = StateKeys {
            from: prefix,
            after: after.unwrap_or_default(),
            before: &before,
            limit,
        };
        let owner = self.owner(plugin);
        let keys = self
            .values
            .store
            .plugin_state_keys(&owner, &range, self.values.clock.now());
        keys.await.map_err(|error| failed(&error))
    }
}

impl ProjectValues {
    fn owner(&self, plugin: &PluginId) -> StateOwner {
        StateOwner {
            project: self.project,
            own: plugin.own,
            kind: plugin.kind.as_str().to_owned(),
            name: plugin.name.clone(),
        }
    }
}

/// The first text behind all those that begin with `prefix`; empty if there is none.
fn end_of(prefix: &str) -> String {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = match last {
            // The code points of UTF-16 surrogates are no characters.
            '\u{d7ff}' => Some('\u{e000}'),
            last => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            chars.push(next);
            return chars.into_iter().collect();
        }
    }
    String::new()
}

fn failed(error: &dyn std::fmt::Display) -> CodedError {
    tracing::error!(%error, "cannot read or write the state of a plugin");
    CodedError::failed("the host failed")
}

#[cfg(test)]
mod tests {
    use super::end_of;

    #[test]
    fn the_end_of_a_prefix_is_behind_all_its_texts() {
        for (prefix, end) in [
            ("", ""),
            ("a", "b"),
            ("a\u{10ffff}", "b"),
            ("\u{d7ff}", "\u{e000}"),
            ("\u{10ffff}", ""),
            ("page:é", "page:ê"),
        ] {
            assert_eq!(end_of(prefix), end, "{prefix:?}");
        }
    }
}
