//! Outputs of other roles for plugins whose manifest needs them, and the order in which roles run.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::error::{CodedError, ErrorCode, PluginError};
use crate::extract::{RoleCall, RoleResult};
use crate::journal::CallOrigin;
use crate::json::Json;
use crate::plugin::Plugin;
use crate::registry::{Registry, Visible};

/// Options of a call that names none: of a role that another one needs, too.
pub(crate) const NO_OPTIONS: &str = "{}";

/// The outputs of the roles that a plugin needs, for one page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs(Arc<BTreeMap<String, Result<Json, PluginError>>>);

impl Inputs {
    /// Those of `outputs` that the plugin needs.
    pub fn of(plugin: &Plugin, outputs: &Outputs) -> Self {
        let missing = || Err(PluginError::Engine("the output was lost".to_owned()));
        let needs = plugin.manifest.needs.iter();
        Self(Arc::new(
            needs
                .map(|role| {
                    let output = outputs.0.get(role).cloned();
                    (role.clone(), output.unwrap_or_else(missing))
                })
                .collect(),
        ))
    }

    /// Whether one of them failed, or was made from one that failed.
    pub fn are_partial(&self) -> bool {
        let mut outputs = self.0.values();
        outputs.any(|output| output.as_ref().is_ok_and(Json::is_partial) || output.is_err())
    }

    /// The output of a role.
    ///
    /// # Errors
    /// `not-granted` if the manifest does not need the role; `failed` if the role failed on this page.
    pub fn get(&self, role: &str) -> Result<Json, CodedError> {
        match self.0.get(role) {
            Some(Ok(json)) => Ok(json.clone()),
            Some(Err(error)) => Err(CodedError::failed(format!(
                "the role {role} failed: {error}"
            ))),
            None => Err(CodedError::new(
                ErrorCode::NotGranted,
                format!("the manifest does not list {role} in `needs`"),
            )),
        }
    }
}

/// Outputs of needed roles for one page; each is made once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs(HashMap<String, Result<Json, PluginError>>);

impl Outputs {
    /// Keeps the output of a role.
    pub fn insert(&mut self, role: String, output: Result<Json, PluginError>) {
        self.0.insert(role, output);
    }

    /// Keeps the outputs of roles, by their index.
    pub fn extend(&mut self, roles: &[String], results: Vec<(usize, RoleResult)>) {
        for (place, result) in results {
            if let Some(role) = roles.get(place) {
                self.insert(role.clone(), result);
            }
        }
    }

    /// The output of a role, if it was made.
    pub fn get(&self, role: &str) -> Option<&Result<Json, PluginError>> {
        self.0.get(role)
    }
}

/// The roles to run for a list of calls.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Needed roles by rank: those of a rank need only roles of lower ones.
    pub ranks: Vec<Vec<String>>,
    /// Roles that can't be had, and why.
    pub broken: Vec<(String, PluginError)>,
}

impl Plan {
    /// The roles that these calls need, without the calls' own.
    pub fn of(visible: Visible<'_>, calls: &[RoleCall]) -> Self {
        let roles = calls.iter().filter_map(|call| visible.role(&call.role));
        Self::of_plugins(visible, roles.map(|(plugin, _)| plugin))
    }

    /// The roles that these plugins need.
    pub fn of_plugins<'a>(
        visible: Visible<'a>,
        plugins: impl IntoIterator<Item = &'a Arc<Plugin>>,
    ) -> Self {
        let mut walk = Walk {
            visible,
            ranks: HashMap::new(),
            path: Vec::new(),
        };
        for plugin in plugins {
            for role in &plugin.manifest.needs {
                // The error of a role is kept in `ranks`.
                let _ = walk.rank(role);
            }
        }
        let mut plan = Self::default();
        for (role, rank) in walk.ranks {
            match rank {
                Ok(rank) => {
                    if plan.ranks.len() <= rank {
                        plan.ranks.resize_with(rank + 1, Vec::new);
                    }
                    if let Some(roles) = plan.ranks.get_mut(rank) {
                        roles.push(role);
                    }
                }
                Err(error) => plan.broken.push((role, error)),
            }
        }
        plan
    }
}

/// Why this plugin can't join the others: one of its roles would be part of a circular dependency.
pub(crate) fn circle(registry: &Registry, plugin: &Arc<Plugin>) -> Option<String> {
    let caller = plugin.owner().map(|owner| Arc::new(CallOrigin::new(owner)));
    let visible = Visible::new(registry, &caller);
    let plan = Plan::of_plugins(visible, [plugin]);
    plan.broken.into_iter().find_map(|(_, error)| match error {
        PluginError::Reported(why) => Some(why.message),
        _ => None,
    })
}

struct Walk<'a> {
    visible: Visible<'a>,
    ranks: HashMap<String, Result<usize, PluginError>>,
    /// The roles from the first one to the one that is looked at.
    path: Vec<String>,
}

impl Walk<'_> {
    /// The rank of a role: one more than the highest of those that it needs. A manifest lists few
    /// roles, and a circle ends the walk, so that it is as deep as there are plugins at most.
    fn rank(&mut self, role: &str) -> Result<usize, PluginError> {
        if let Some(known) = self.ranks.get(role) {
            return known.clone();
        }
        if let Some(at) = self.path.iter().position(|open| open == role) {
            let circle: Vec<&str> = self.path.iter().skip(at).map(String::as_str).collect();
            return Err(PluginError::Reported(CodedError::failed(format!(
                "needs: circular dependency: {} → {role}",
                circle.join(" → ")
            ))));
        }
        let Some((plugin, _)) = self.visible.role(role) else {
            let error = self.visible.missing_role(role);
            self.ranks.insert(role.to_owned(), Err(error.clone()));
            return Err(error);
        };
        let needs = plugin.manifest.needs.clone();
        self.path.push(role.to_owned());
        let mut rank = Ok(0);
        for need in &needs {
            match self.rank(need) {
                Ok(below) => {
                    rank = rank.map(|rank: usize| rank.max(below + 1));
                }
                Err(error @ PluginError::Reported(_)) => rank = Err(error),
                // The role runs, and is told that this output is not there.
                Err(_) => {}
            }
        }
        self.path.pop();
        self.ranks.insert(role.to_owned(), rank.clone());
        rank
    }
}
