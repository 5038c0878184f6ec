//! JSON that was checked once, where it came out of a plugin.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::output::{MAX_DEPTH, depth};
use crate::text::clean;

/// A plugin's answer: JSON text, at most 127 levels deep, without white space around it. It can be
/// written into an answer as it is; nobody needs to check it again.
#[derive(Clone)]
pub struct Json(Box<RawValue>);

impl Json {
    /// Checks a text, in one pass over its syntax and one over its brackets.
    ///
    /// # Errors
    /// Why it is not JSON, or that it is nested too deep.
    pub(crate) fn checked(text: String) -> Result<Self, String> {
        let json = Self::joined(text)?;
        if depth(json.as_bytes()) > MAX_DEPTH {
            return Err(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        Ok(json)
    }

    /// A text that was put together from checked ones.
    ///
    /// # Errors
    /// When it is not JSON all the same.
    pub(crate) fn joined(text: String) -> Result<Self, String> {
        let json = RawValue::from_string(text).map_err(|error| clean(&error.to_string(), 500))?;
        Ok(Self(json))
    }

    /// `null`.
    pub(crate) fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// For an answer that `serde_json` writes.
    pub fn into_raw(self) -> Box<RawValue> {
        self.0
    }

    /// The same, to share.
    pub fn into_shared(self) -> Arc<RawValue> {
        Arc::from(self.0)
    }
}

/// A copy.
impl From<&RawValue> for Json {
    fn from(json: &RawValue) -> Self {
        Self(json.to_owned())
    }
}

impl Deref for Json {
    type Target = str;

    fn deref(&self) -> &str {
        self.0.get()
    }
}

impl From<Json> for String {
    fn from(json: Json) -> Self {
        Box::<str>::from(json.0).into_string()
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

impl PartialEq<str> for Json {
    fn eq(&self, other: &str) -> bool {
        &**self == other
    }
}

impl PartialEq<&str> for Json {
    fn eq(&self, other: &&str) -> bool {
        &**self == *other
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
