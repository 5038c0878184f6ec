//! The host's check of a component, without compiling or running it.

use serde::Serialize;

use crate::config::EngineConfig;
use crate::error::LoadError;
use crate::grants::{EffectivePermissions, Permissions};
use crate::imports;
use crate::inspect::Inspection;

/// What the host would say of a component that gets every permission that it requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Why it would be refused; `None` if nothing static speaks against it.
    pub refused: Option<String>,
    /// Requested limits above the configured maximum, one line each.
    pub limits_cut: Vec<String>,
}

/// Checks imports, exports, kind and sizes as loading does.
pub(crate) fn verdict(config: &EngineConfig, found: &Inspection) -> Verdict {
    let range = config.limits.for_kind(found.manifest.kind);
    Verdict {
        refused: refusal(config, found)
            .err()
            .map(|error| error.cleaned().to_string()),
        limits_cut: found.manifest.limits.cut(range),
    }
}

fn refusal(config: &EngineConfig, found: &Inspection) -> Result<(), LoadError> {
    let manifest = &found.manifest;
    let grants = EffectivePermissions::new(&manifest.permissions, &Permissions::all())
        .map_err(|error| LoadError::Manifest(format!("permissions: {error}")))?;
    imports::check(found, &grants)?;
    let limits = manifest
        .limits
        .within(config.limits.for_kind(manifest.kind));
    found
        .shape
        .fits(limits.memory_bytes(), limits.table_elements)
}
