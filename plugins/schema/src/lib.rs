//! JSON Schema for extracted data: the keywords that generators of schemas write (Pydantic, Zod,
//! OpenAPI), of drafts 7 to 2020-12.
//!
//! A schema comes from a caller, so all work is bounded: references are resolved inside the
//! document only, patterns take linear time, and one validation takes at most
//! [`MAX_STEPS`] steps, whatever its references multiply. A keyword that is not supported is an
//! error of the schema and not silently ignored.
//!
//! ```
//! use orbweaver_schema::Schema;
//! use serde_json::json;
//! let document = json!({"type": "object", "properties": {"price": {"type": "number"}}});
//! let schema = Schema::new(&document).unwrap();
//! let violations = schema.validate(&json!({"price": "a lot"}));
//! assert_eq!(violations[0].to_string(), "price: must be of type number");
//! ```

mod document;
mod formats;
mod part;
mod validate;

use std::fmt;

use serde_json::Value;

pub use part::{Part, Types};
pub use validate::{MAX_STEPS, MAX_VIOLATIONS};

/// A schema that was checked.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'s> {
    root: &'s Value,
}

impl<'s> Schema<'s> {
    /// Checks a schema.
    ///
    /// # Errors
    /// The first keyword that is wrong or not supported.
    pub fn new(root: &'s Value) -> Result<Self, Violation> {
        document::check(root)?;
        Ok(Self { root })
    }

    /// The whole schema.
    pub fn root(&self) -> Part<'s> {
        Part::new(self.root, self.root)
    }

    /// What of the value breaks the schema, at most [`MAX_VIOLATIONS`].
    pub fn validate(&self, value: &Value) -> Vec<Violation> {
        validate::validate(self.root, value)
    }
}

/// A place in a document and the rule that it breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the place, such as `reviews[2].stars`; empty for the whole document.
    pub path: String,
    /// The rule, such as `must be of type number`.
    pub rule: String,
}

impl Violation {
    pub(crate) fn new(path: &str, rule: impl fmt::Display) -> Self {
        Self {
            path: path.to_owned(),
            rule: rule.to_string(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.rule)
        } else {
            write!(f, "{}: {}", self.path, self.rule)
        }
    }
}

impl std::error::Error for Violation {}

/// Appends a member's name to a path and returns the length to cut it back to.
pub(crate) fn push_member(path: &mut String, name: &str) -> usize {
    let before = path.len();
    if before > 0 {
        path.push('.');
    }
    path.extend(name.chars().filter(|c| !c.is_control()).take(100));
    before
}

/// Appends an index to a path and returns the length to cut it back to.
pub(crate) fn push_index(path: &mut String, index: usize) -> usize {
    let before = path.len();
    path.push_str(&format!("[{index}]"));
    before
}
