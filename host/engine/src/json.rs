//! JSON that was checked once, where it came out of a plugin.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::output::readable;
use crate::text::clean;

/// A plugin's answer: JSON text, without white space around it, nested no deeper than `serde_json`
/// reads. It is written into an answer as it is, without another check. A clone shares the text.
#[derive(Clone)]
pub struct Json(Arc<RawValue>);

impl Json {
    /// Checks a text: its syntax, its depth, and that its strings and numbers have values.
    ///
    /// # Errors
    /// Why it is not JSON, or that it is nested too deep.
    pub(crate) fn checked(text: String) -> Result<Self, String> {
        let json = Self::joined(text)?;
        readable(&json)?;
        Ok(json)
    }

    /// A text that was put together from checked ones.
    ///
    /// # Errors
    /// When it is not JSON all the same.
    pub(crate) fn joined(text: String) -> Result<Self, String> {
        let json = RawValue::from_string(text).map_err(|error| clean(&error.to_string(), 500))?;
        Ok(Self(Arc::from(json)))
    }

    /// `null`.
    pub fn null() -> Self {
        Self(Arc::from(RawValue::NULL.to_owned()))
    }

    /// For an answer that `serde_json` writes.
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// The same, to share.
    pub fn into_shared(self) -> Arc<RawValue> {
        self.0
    }
}

impl Deref for Json {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.get()
    }
}

/// A copy.
impl From<Json> for String {
    fn from(json: Json) -> Self {
        json.0.get().to_owned()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Equal texts; `1` and `1.0` are two.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Json {}

impl PartialEq<&str> for Json {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
