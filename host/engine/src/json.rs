//! JSON that was checked once, where it came out of a plugin.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::inputs::Inputs;
use crate::output::readable;
use crate::text::clean;

/// A plugin's answer: JSON text, without white space around it, nested no deeper than `serde_json`
/// reads. It is written into an answer as it is, without another check. A clone shares the text.
#[derive(Clone)]
pub struct Json {
    text: Arc<RawValue>,
    is_partial: bool,
}

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
        Ok(Self::whole(json))
    }

    fn whole(text: Box<RawValue>) -> Self {
        Self {
            text: Arc::from(text),
            is_partial: false,
        }
    }

    /// `null`.
    pub fn null() -> Self {
        Self::whole(RawValue::NULL.to_owned())
    }

    /// The same, made from these inputs.
    #[must_use]
    pub(crate) fn made_from(self, inputs: &Inputs) -> Self {
        Self {
            is_partial: inputs.are_partial(),
            ..self
        }
    }

    /// Whether a role failed whose output it is made from. The next answer for the same page may be another one.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// For an answer that `serde_json` writes.
    pub fn raw(&self) -> &RawValue {
        &self.text
    }

    /// The same, to share.
    pub fn into_shared(self) -> Arc<RawValue> {
        self.text
    }
}

impl Deref for Json {
    type Target = str;

    fn deref(&self) -> &str {
        self.text.get()
    }
}

/// A copy.
impl From<Json> for String {
    fn from(json: Json) -> Self {
        json.text.get().to_owned()
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
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
