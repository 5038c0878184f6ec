//! What settings structs of several crates share: how a list is written, and how a value
//! that breaks a rule is reported.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A setting that breaks a rule: which, and what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {rule}")]
pub struct InvalidSetting {
    /// The setting's path, such as `http.shutdown_ms`.
    pub setting: &'static str,
    /// What it must be.
    pub rule: String,
}

impl InvalidSetting {
    /// A setting and the rule that it breaks.
    pub fn new(setting: &'static str, rule: impl Into<String>) -> Self {
        Self {
            setting,
            rule: rule.into(),
        }
    }

    /// Checks that a rule holds.
    ///
    /// # Errors
    /// The setting and the rule, where it does not.
    pub fn unless(holds: bool, setting: &'static str, rule: impl Into<String>) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self::new(setting, rule))
        }
    }
}

/// Reads a list of words: a list, or one string with commas, because environment variables
/// have no lists.
///
/// # Errors
/// When the value is neither.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        List(Vec<String>),
        Commas(String),
    }
    Ok(match Either::deserialize(deserializer)? {
        Either::List(list) => list,
        Either::Commas(text) => split(&text).map(str::to_owned).collect(),
    })
}

/// As [`list`], of whole numbers.
///
/// # Errors
/// When the value is no list of whole numbers.
pub fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        List(Vec<u32>),
        One(u32),
        Commas(String),
    }
    let wrong = || D::Error::custom("must be a list of whole numbers");
    match Either::deserialize(deserializer).map_err(|_| wrong())? {
        Either::List(list) => Ok(list),
        Either::One(number) => Ok(vec![number]),
        Either::Commas(text) => split(&text)
            .map(|item| item.parse().map_err(|_| wrong()))
            .collect(),
    }
}

fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}
