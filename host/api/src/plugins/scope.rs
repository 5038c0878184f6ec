//! Whose plugins a request is about: the instance's or the caller's project's.

use orbweaver_accounts::tiers::PluginCaps;
use orbweaver_actors::plugins::{UploadError, kind};
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{Engine, Kind, PluginInfo};
use orbweaver_store::PluginKey;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::name;
use crate::context::Ctx;
use crate::error::ApiError;
use crate::validate::shown;

/// The query of requests about plugins.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ScopeParams {
    /// `instance`: the plugins of all projects, for administrator's keys only. `project`: those of
    /// the caller's project alone. By default `instance` for an administrator's key, else
    /// `project`.
    #[param(value_type = Option<ScopeWord>, inline, example = "project")]
    scope: Option<String>,
}

/// The values of `scope`.
#[derive(ToSchema)]
#[schema(as = PluginScope, rename_all = "lowercase")]
#[expect(dead_code, reason = "a schema, never constructed")]
pub(super) enum ScopeWord {
    /// The plugins of all projects.
    Instance,
    /// Those of the caller's project.
    Project,
}

impl ScopeParams {
    /// Checks the query; see [`Scope::check`].
    pub(super) async fn check(&self, ctx: &Ctx) -> Result<Scope, ApiError> {
        Scope::check(ctx, self.scope.as_deref()).await
    }
}

/// Whose plugins a request is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope {
    /// The instance's.
    Instance,
    /// A project's, within the caps of its tier.
    Project(ProjectId, PluginCaps),
}

impl Scope {
    /// Checks the parameter `scope`, and whether the caller may manage the plugins meant.
    pub(super) async fn check(ctx: &Ctx, given: Option<&str>) -> Result<Self, ApiError> {
        let administrator = ctx.principal.administrator;
        match given {
            None if administrator => Ok(Self::Instance),
            Some("instance") if administrator => Ok(Self::Instance),
            Some("instance") => Err(ApiError::forbidden(
                "the instance's plugins are managed with a key of the administrator's project, \
                 which is the first one",
            )),
            None | Some("project") => {
                let project = ctx.principal.project;
                let caps = ctx.app.accounts.quota.caps(project).await?.plugins;
                if caps.may_install() {
                    return Ok(Self::Project(project, caps));
                }
                let tier = &ctx.principal.tier;
                Err(ApiError::forbidden(format!(
                    "plugins are managed with a key of the administrator's project, which is the \
                     first one; a project of tier {tier} may install plugins of its own when \
                     tiers.{tier}.plugins.count is set"
                )))
            }
            Some(_) => Err(ApiError::invalid("scope", "must be instance or project")),
        }
    }

    /// The owner in the database.
    pub(super) fn owner(self) -> Option<ProjectId> {
        match self {
            Self::Instance => None,
            Self::Project(project, _) => Some(project),
        }
    }

    /// The engine's handle that sees these plugins.
    pub(super) fn engine(self, ctx: &Ctx) -> Engine {
        let engine = &ctx.app.pipeline.engine;
        match self {
            Self::Instance => engine.clone(),
            Self::Project(project, _) => engine.of_project(project),
        }
    }

    /// The plugin that serves and that `{name}` stands for: of the instance, wherever it comes from, or
    /// of the project alone.
    pub(super) async fn served(self, ctx: &Ctx, given: &str) -> Result<PluginInfo, ApiError> {
        let engine = self.engine(ctx);
        engine.await_all().await;
        let plugins = match self {
            Self::Instance => engine.plugins(),
            Self::Project(..) => engine.own_plugins(),
        };
        let named = plugins
            .iter()
            .map(|plugin| (plugin.kind, plugin.name.clone()));
        let found = name::find(given, &named.collect::<Vec<_>>());
        let found = found.map_err(|rule| ApiError::invalid("name", rule))?;
        let is_it = |plugin: &PluginInfo| {
            found
                .as_ref()
                .is_some_and(|(kind, name)| plugin.kind == *kind && plugin.name == *name)
        };
        plugins.into_iter().find(is_it).ok_or_else(|| {
            let mut problems = self.problems(ctx).into_iter();
            let problem = problems.find(|(kind, name, _)| name::means(given, *kind, name));
            let given = shown(given);
            if let Some((kind, _, reason)) = problem {
                return ApiError::not_found(format!(
                    "the uploaded {kind} `{given}` could not be loaded: {reason}"
                ));
            }
            ApiError::not_found(match self {
                Self::Instance => {
                    format!("no plugin `{given}` of the instance is loaded (a project's own: scope=project)")
                }
                Self::Project(..) => format!("the project has no plugin `{given}` of its own"),
            })
        })
    }

    /// The uploads of these that this node could not load, and why.
    pub(super) fn problems(self, ctx: &Ctx) -> Vec<(Kind, String, String)> {
        let problems = ctx.app.actors.overlay.problems(self.owner());
        let of_kind =
            |(key, reason): (PluginKey, String)| Some((kind(&key.kind)?, key.name, reason));
        problems.into_iter().filter_map(of_kind).collect()
    }

    /// The uploaded plugin that `{name}` stands for.
    pub(super) async fn find(self, ctx: &Ctx, given: &str) -> Result<PluginKey, ApiError> {
        let uploads = ctx.app.store.plugins_of(self.owner()).await?;
        let uploads: Vec<_> = uploads
            .into_iter()
            .filter_map(|upload| Some((kind(&upload.key.kind)?, upload.key.name)))
            .collect();
        let found = name::find(given, &uploads).map_err(|rule| ApiError::invalid("name", rule))?;
        let Some((kind, name)) = found else {
            let given = shown(given);
            return Err(ApiError::not_found(match self {
                Self::Instance => format!(
                    "no plugin `{given}` was uploaded; plugins of the folder go with their file"
                ),
                Self::Project(..) => format!("the project has no plugin `{given}` of its own"),
            }));
        };
        Ok(PluginKey {
            project: self.owner(),
            kind: kind.as_str().to_owned(),
            name,
        })
    }
}

/// Seconds after which a project that has too many plugins may try again: no time makes room, so it
/// is only a pause.
const FULL_RETRY_SECONDS: u64 = 60;

impl From<UploadError> for ApiError {
    fn from(error: UploadError) -> Self {
        match error {
            UploadError::Load(error) => Self::invalid("body", error),
            UploadError::Full(why) => Self::rate_limited(why, FULL_RETRY_SECONDS),
            UploadError::Busy(busy) => busy.into(),
            UploadError::Gone => Self::not_found(error.to_string()),
            UploadError::Store(error) => error.into(),
            UploadError::Panicked | UploadError::Stopped => Self::internal(&error),
        }
    }
}
