//! CSS selectors over a view.

use std::fmt;

/// A list of CSS selectors.
#[derive(Clone, Debug)]
pub struct Selector;

/// Why a text is no selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError(String);

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SelectorError {}
