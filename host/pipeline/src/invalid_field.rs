//! A field of a request that breaks a rule.

use std::fmt;

use orbweaver_core::guard::{Refusal, Rule};

/// A request field that breaks a rule: `field: rule`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct InvalidField {
    /// The field's path, such as `headers.x-id` or `urls[3]`.
    pub field: String,
    /// The rule.
    pub rule: String,
    /// The guard's rule, where the guard refused the field's URL.
    pub guard: Option<Rule>,
}

impl InvalidField {
    /// Names a field and the rule that it breaks.
    pub fn new(field: &str, rule: impl fmt::Display) -> Self {
        Self {
            field: field.to_owned(),
            rule: rule.to_string(),
            guard: None,
        }
    }

    /// A field whose URL the guard refused.
    pub(crate) fn refused(field: &str, refusal: &Refusal) -> Self {
        Self {
            guard: Some(refusal.rule),
            ..Self::new(field, refusal)
        }
    }
}
