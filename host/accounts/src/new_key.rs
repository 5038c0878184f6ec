//! A newly generated key.

use orbweaver_store::{KeyHash, NewKey};

use super::key;
use crate::secret::Secret;

/// A newly generated key; its type keeps it from being printed by accident.
#[derive(Debug)]
pub struct FreshKey(Secret);

impl FreshKey {
    /// Generates a key from the system's random source.
    ///
    /// # Errors
    /// When the system has no random source.
    pub fn generate() -> Result<Self, getrandom::Error> {
        key::generate().map(|key| Self(Secret::new(key)))
    }

    /// The key itself; to be shown once.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The visible prefix, as listings show it.
    pub fn prefix(&self) -> &str {
        key::shown(self.expose())
    }

    /// The row to store: hash and prefix, never the key.
    pub fn row<'a>(&'a self, label: Option<&'a str>) -> NewKey<'a> {
        NewKey {
            hash: KeyHash::digest(self.expose()),
            prefix: self.prefix(),
            label,
        }
    }
}
