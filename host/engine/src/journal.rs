//! What the authors of plugins get to see of calls: lines that the plugin logs, and failed calls with
//! their inputs. The server implements [`Journal`]; the engine passes on what happens, and waits for
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use orbweaver_core::ids::ProjectId;

use crate::error::PluginError;
use crate::host::job::JobContext;
use crate::host::state::PluginId;
use crate::manifest::HookPoint;
use crate::page::Page;

/// Takes what happens in calls for projects. Its functions are called by threads that run guests, so they
/// must not block.
pub trait Journal: Send + Sync + 'static {
    /// A plugin has logged a line; control characters are escaped, and its length is bounded.
    fn line(&self, call: &CallNote, level: LogLevel, message: &str);

    /// A call has failed.
    fn failed(&self, call: &CallNote, failure: FailedCall);

    /// A call has put its plugin in quarantine, prolonged that, or ended it.
    fn quarantine(&self, call: &CallNote, turn: QuarantineTurn);
}

/// What a call's end has done to the quarantine of its plugin, for the project that called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantineTurn {
    /// Calls are refused from now on, or for longer, because the last ones crashed.
    Closed {
        /// Crashes in a row.
        crashes: u32,
        /// The last of them, as [`PluginError::kind`] names it.
        error: &'static str,
        /// Time until a call is let through on trial.
        refused: Duration,
    },
    /// Calls are let through again.
    Opened,
}

/// Severity of a plugin's log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Detailed trace.
    Trace,
    /// Details for the plugin's author.
    Debug,
    /// Information for the operator.
    Info,
    /// Unexpected, but not a failure.
    Warn,
    /// A failure.
    Error,
}

/// The run that a call is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunRef {
    /// Run of a crawl.
    Crawl(i64),
    /// Run of an actor in the background.
    Actor(i64),
}

/// For whom a call is made, and as part of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOrigin {
    /// The project.
    pub project: ProjectId,
    /// Id of the request; empty if there is none.
    pub request_id: Arc<str>,
    /// The run.
    pub run: Option<RunRef>,
}

impl CallOrigin {
    /// For a project, as part of the request that the running task answers.
    pub fn new(project: ProjectId) -> Self {
        Self {
            project,
            request_id: current_request(),
            run: None,
        }
    }

    /// The same, with the request and the run that a call's host names.
    pub(crate) fn within(self, context: &JobContext) -> Self {
        Self {
            project: self.project,
            request_id: match context.request_id.is_empty() {
                true => self.request_id,
                false => context.request_id.as_str().into(),
            },
            run: context.run_id.map(RunRef::Actor).or(self.run),
        }
    }

    /// The run of a crawl that the call is part of.
    pub(crate) fn crawl_run(&self) -> Option<i64> {
        match self.run {
            Some(RunRef::Crawl(id)) => Some(id),
            Some(RunRef::Actor(_)) | None => None,
        }
    }
}

/// For whom a call is made; `None`: for no project.
pub(crate) type Caller = Option<Arc<CallOrigin>>;

/// The project of a caller.
pub(crate) fn project_of(caller: &Caller) -> Option<ProjectId> {
    caller.as_ref().map(|origin| origin.project)
}

/// A plugin's identity and version, as notes have it.
#[derive(Debug)]
pub struct PluginFacts {
    /// Its identity.
    pub id: PluginId,
    /// Its manifest's version.
    pub version: String,
    /// SHA-256 of the component, lower-case hex.
    pub digest: String,
}

/// Whose call it is.
#[derive(Clone, Debug)]
pub struct CallNote {
    /// The plugin.
    pub plugin: Arc<PluginFacts>,
    /// For whom it is called.
    pub origin: Arc<CallOrigin>,
}

/// A failed call.
#[derive(Debug)]
pub struct FailedCall {
    /// What was called, with its input.
    pub input: CallInput,
    /// How it failed.
    pub error: PluginError,
    /// CPU time.
    pub cpu: Duration,
    /// Wall time.
    pub wall: Duration,
    /// Largest memory, in bytes.
    pub memory: u64,
}

/// The input of a call.
#[derive(Debug)]
pub enum CallInput {
    /// A role of an extractor.
    Role {
        /// The page.
        page: Arc<Page>,
        /// The role.
        role: String,
        /// Options as a JSON object.
        options: String,
    },
    /// An actor.
    Actor {
        /// Its input as JSON.
        input: String,
    },
    /// A fetcher.
    Fetcher {
        /// The domain.
        domain: String,
        /// The path after the domain.
        path: String,
        /// Parameters as JSON.
        params: String,
    },
    /// A function of a hook.
    Hook {
        /// The function; of a page the first that failed.
        point: HookPoint,
        /// The hook's configuration as JSON.
        config: Arc<str>,
        /// The URL of the page or request, or the run's.
        url: String,
        /// The page, for the functions that get one.
        page: Option<Arc<Page>>,
    },
}

/// Passes on what happens in one call.
#[derive(Clone)]
pub(crate) struct Reporter(Option<Arc<Reporting>>);

struct Reporting {
    note: CallNote,
    journal: Arc<dyn Journal>,
}

impl std::fmt::Debug for Reporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reporter")
    }
}

impl Reporter {
    /// Reports to nobody.
    pub const NONE: Self = Self(None);

    /// Reports of a call, if there is a journal and the call is made for a project.
    pub fn new(
        journal: Option<&Arc<dyn Journal>>,
        plugin: &Arc<PluginFacts>,
        caller: &Caller,
    ) -> Self {
        let Some((origin, journal)) = caller.as_ref().zip(journal) else {
            return Self::NONE;
        };
        Self(Some(Arc::new(Reporting {
            note: CallNote {
                plugin: Arc::clone(plugin),
                origin: Arc::clone(origin),
            },
            journal: Arc::clone(journal),
        })))
    }

    /// A line that the plugin logged.
    pub fn line(&self, level: LogLevel, message: &str) {
        if let Some(reporting) = &self.0 {
            reporting.journal.line(&reporting.note, level, message);
        }
    }

    /// A failed call. Calls that were not made, or that the host or the caller ended, are no failures of
    /// the plugin.
    pub fn failed(&self, failure: impl FnOnce() -> FailedCall, error: &PluginError) {
        let is_plugins = !matches!(
            error,
            PluginError::NotFound { .. }
                | PluginError::NotLoaded { .. }
                | PluginError::Engine(_)
                | PluginError::Quarantined { .. }
        );
        if let Some(reporting) = self.0.as_ref().filter(|_| is_plugins) {
            reporting.journal.failed(&reporting.note, failure());
        }
    }

    /// A turn of the plugin's quarantine.
    pub fn quarantine(&self, turn: QuarantineTurn) {
        if let Some(reporting) = &self.0 {
            reporting.journal.quarantine(&reporting.note, turn);
        }
    }
}

/// The origin of an actor's call, which its host knows best.
pub(crate) fn with_context(caller: Caller, context: &JobContext) -> Caller {
    let origin = caller?;
    Some(Arc::new(CallOrigin::clone(&origin).within(context)))
}

tokio::task_local! {
    /// Id of the request that the running task answers.
    static REQUEST: Arc<str>;
}

/// Answers a request: handles of the engine that are made in this future note its id with their calls. A
/// task that the future starts needs a scope of its own.
pub async fn within_request<F: Future>(id: Arc<str>, future: F) -> F::Output {
    REQUEST.scope(id, future).await
}

/// Id of the request that the running task answers; empty if it answers none.
pub fn current_request() -> Arc<str> {
    REQUEST.try_with(Arc::clone).unwrap_or_else(|_| "".into())
}
