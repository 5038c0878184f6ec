//! Fetcher, plugins and their result caches: everything that turns a URL or a body into
//! content, without a database.

use std::sync::Arc;

use anyhow::Context as _;
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::{Engine, EngineConfig, PluginRef};
use orbweaver_fetch::{FetchConfig, Fetcher, Resolver, SystemResolver};

use crate::config::ScanConfig;
use crate::extractor_cache::ResultCache;
use crate::kept_answers::Answers;
use crate::search_index::Backlog;
use crate::site::Policies;

/// Settings of a [`Pipeline`].
#[derive(Clone, Debug)]
pub struct PipelineSettings {
    /// `[fetch]`, including all networks that the guard allows.
    pub fetch: FetchConfig,
    /// `[plugins]`, including the folders of plugins and of compiled code.
    pub plugins: EngineConfig,
    /// `[scan]`.
    pub scan: ScanConfig,
    /// Whether plugins are loaded in the background; calls wait for those that they need.
    pub load_behind: bool,
}

/// Fetches pages and runs plugins on them. Cheap to clone.
#[derive(Clone)]
pub struct Pipeline {
    /// The only component that sends requests.
    pub fetcher: Fetcher,
    /// Runs the plugins.
    pub engine: Engine,
    pub(crate) results: ResultCache,
    /// Results of plugins of projects, which must not displace those of the instance's.
    pub(crate) own_results: ResultCache,
    pub(crate) answers: Answers,
    pub(crate) policies: Policies,
    /// Extractors that run for every page.
    pub(crate) extras: Arc<[String]>,
    /// Decides which crawled pages are indexed later.
    pub index_backlog: Arc<Backlog>,
}

impl Pipeline {
    /// Starts with these settings: loads the plugins and watches their folder. A plugin that
    /// fails to load is logged; the others still serve.
    ///
    /// # Errors
    /// When a setting cannot be used.
    #[crate::boxed]
    pub async fn start(settings: PipelineSettings) -> anyhow::Result<Self> {
        Self::with_resolver(settings, Arc::new(SystemResolver)).await
    }

    /// Same as [`start`](Self::start), but `resolver` resolves names. The guard checks its
    /// answers like those of the system's resolver.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    #[crate::boxed]
    pub async fn with_resolver(
        settings: PipelineSettings,
        resolver: Arc<dyn Resolver>,
    ) -> anyhow::Result<Self> {
        let PipelineSettings {
            fetch,
            plugins,
            scan,
            load_behind,
        } = settings;
        let folder = plugins.plugin_dir.clone().unwrap_or_default();
        let fetcher = Fetcher::with_resolver(fetch, resolver).context("fetch")?;
        let engine = Engine::new(plugins)?;
        if load_behind {
            engine.load_dir_behind();
        } else {
            let report = engine.load_dir().await;
            for (file, why) in &report.refused {
                tracing::error!(file = %file.display(), reason = %why, "a plugin failed to load");
            }
            tracing::info!(
                plugins = report.loaded.len(),
                folder = %folder.display(),
                "plugins loaded"
            );
            engine.watch();
        }
        // One half for results of extractors (a quarter of it for those of projects), one half for
        // complete answers.
        let half = scan.result_cache_mib << 19;
        Ok(Self {
            fetcher,
            engine,
            results: ResultCache::new(half - half / 4),
            own_results: ResultCache::new(half / 4),
            answers: Answers::new(half),
            policies: Policies::default(),
            extras: scan.extractors.into(),
            index_backlog: Arc::default(),
        })
    }

    /// The same pipeline for a project: with its plugins, which come first, and with requests that
    /// count as its own.
    #[must_use]
    pub fn of_project(&self, project: ProjectId) -> Self {
        Self {
            engine: self.engine.of_project(project),
            fetcher: self.fetcher.of_project(project),
            ..self.clone()
        }
    }

    /// The cache for results of a plugin.
    pub(crate) fn results_of(&self, plugin: &PluginRef) -> &ResultCache {
        match plugin.project {
            None => &self.results,
            Some(_) => &self.own_results,
        }
    }

    /// Bytes held by each cache, the memory that is kept for the next guests among them. What was
    /// displaced or has expired is freed before, which otherwise only happens when a cache is used.
    #[crate::boxed]
    pub async fn cached_bytes(&self) -> Vec<(&'static str, u64)> {
        let files = self.fetcher.site_files().held_bytes().await;
        let own = [
            ("answers", self.answers.held_bytes()),
            ("extractor_results", self.results.held_bytes()),
            (
                "extractor_results_of_projects",
                self.own_results.held_bytes(),
            ),
            ("robots_policies", self.policies.held_bytes().await),
            ("guest_memories", self.engine.spare_bytes() as u64),
        ];
        own.into_iter().chain(files).collect()
    }

    /// Roles of the extractors that run for every page.
    pub fn extras(&self) -> &[String] {
        &self.extras
    }
}
