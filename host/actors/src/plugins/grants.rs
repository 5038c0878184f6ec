//! What an upload is granted, as it is named and as it is kept.

use orbweaver_engine::{Grants, Permissions};

/// The grants named with an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted(Vec<String>);

impl Granted {
    /// Of names such as `all`, `http=https://example.com`, `render`. None: the configuration
    /// decides, and without a word of it an upload gets what touches nothing.
    ///
    /// # Errors
    /// Which name is none, and what there is.
    pub fn parse(names: Vec<String>) -> Result<Self, String> {
        Permissions::from_names(&names)?;
        Ok(Self(names))
    }

    /// As the store kept them. What no longer parses grants nothing.
    pub(super) fn from_store(kept: Option<&str>) -> Self {
        Self(
            kept.and_then(|json| serde_json::from_str(json).ok())
                .unwrap_or_default(),
        )
    }

    /// For the store.
    pub(super) fn stored(&self) -> Option<String> {
        let json = || serde_json::Value::from(self.0.clone()).to_string();
        (!self.0.is_empty()).then(json)
    }

    /// For the engine.
    pub(super) fn for_engine(&self) -> Grants {
        if self.0.is_empty() {
            return Grants::Configured;
        }
        Permissions::from_names(&self.0).map_or_else(
            |_| Grants::Only(Permissions::upload_default()),
            Grants::Only,
        )
    }
}
