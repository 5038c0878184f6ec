//! Sets of names that a permission covers.

/// Roles of extractors that may be run, or names of secrets that may be used.
#[derive(Clone, Debug)]
pub(crate) enum RoleSet {
    Any,
    These(Vec<String>),
}

impl RoleSet {
    /// The names that both lists have.
    pub(super) fn both(asked: &[String], granted: &[String]) -> Self {
        let any = |list: &[String]| list.iter().any(|name| name == "*");
        match (any(asked), any(granted)) {
            (true, true) => Self::Any,
            (true, false) => Self::These(granted.to_vec()),
            (false, true) => Self::These(asked.to_vec()),
            (false, false) => {
                let both = asked.iter().filter(|name| granted.contains(name));
                Self::These(both.cloned().collect())
            }
        }
    }

    pub(super) fn listed(&self) -> Vec<String> {
        match self {
            Self::Any => vec!["*".to_owned()],
            Self::These(names) => names.clone(),
        }
    }

    pub fn allows(&self, role: &str) -> bool {
        match self {
            Self::Any => true,
            Self::These(roles) => roles.iter().any(|r| r == role),
        }
    }
}
