//! A key that nobody has seen yet.

use orbweaver_store::{KeyHash, NewKey};

use super::key;
use crate::secret::Secret;

/// A fresh key, kept from being printed by accident.
#[derive(Debug)]
pub struct FreshKey(Secret);

impl FreshKey {
    /// From the system's randomness.
    ///
    /// # Errors
    /// When the system has none to give.
    pub fn generate() -> Result<Self, getrandom::Error> {
        key::generate().map(|key| Self(Secret::new(key)))
    }

    /// The key itself, for its one showing.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// What listings show of it.
    pub fn prefix(&self) -> &str {
        key::shown(self.expose())
    }

    /// What is stored of it.
    pub fn row<'a>(&'a self, label: Option<&'a str>) -> NewKey<'a> {
        NewKey {
            hash: KeyHash::of(self.expose()),
            prefix: self.prefix(),
            label,
        }
    }
}
