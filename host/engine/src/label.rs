//! A plugin as the log names it.

use std::ops::Deref;
use std::sync::Arc;

use orbweaver_core::ids::ProjectId;

use crate::kind::Kind;

/// `KIND:NAME`, and `KIND:NAME@PROJECT` for a project's own. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    text: Arc<str>,
    is_own: bool,
}

impl Label {
    pub fn new(kind: Kind, name: &str, owner: Option<ProjectId>) -> Self {
        let text = match owner {
            None => format!("{kind}:{name}"),
            Some(project) => format!("{kind}:{name}@{project}"),
        };
        Self {
            text: text.into(),
            is_own: owner.is_some(),
        }
    }

    /// Whether the plugin is a project's own. What it writes is its author's to read, from the journal: in the
    /// operator's log it is a detail, of which projects can make any amount.
    pub fn is_own(&self) -> bool {
        self.is_own
    }
}

impl Deref for Label {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}
