//! Fetcher, plugins and what is remembered of their answers: all that turns a URL or a body
//! into content, without a database.

use std::sync::Arc;

use anyhow::Context as _;
use orbweaver_engine::{Engine, EngineConfig};
use orbweaver_fetch::{FetchConfig, Fetcher, Resolver, SystemResolver};

use crate::answers::Answers;
use crate::config::ScanConfig;
use crate::results::ResultCache;
use crate::site::Policies;

/// What a [`Pipeline`] is made from.
#[derive(Clone, Debug)]
pub struct PipelineSettings {
    /// `[fetch]`, with all networks that the guard lets through.
    pub fetch: FetchConfig,
    /// `[plugins]`, with the folders of plugins and of compiled code.
    pub plugins: EngineConfig,
    /// `[scan]`.
    pub scan: ScanConfig,
    /// Plugins are loaded in the background, and whoever needs one waits for it.
    pub load_behind: bool,
}

/// The way of a page through fetcher and plugins. Cheap to clone.
#[derive(Clone)]
pub struct Pipeline {
    /// The only way out.
    pub fetcher: Fetcher,
    /// The plugins.
    pub engine: Engine,
    pub(crate) results: ResultCache,
    pub(crate) answers: Answers,
    pub(crate) policies: Policies,
    /// Extractors that run for every page.
    pub(crate) extras: Arc<[String]>,
}

impl Pipeline {
    /// As the settings say, plugins loaded and their folder watched. A plugin that is refused
    /// is logged and does not keep the others from serving.
    ///
    /// # Errors
    /// A setting that cannot be used.
    pub async fn start(settings: PipelineSettings) -> anyhow::Result<Self> {
        Self::with_resolver(settings, Arc::new(SystemResolver)).await
    }

    /// As [`start`](Self::start), with names resolved by `resolver`. Its answers are judged
    /// as the system's are.
    ///
    /// # Errors
    /// As [`start`](Self::start).
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
                tracing::error!(file = %file.display(), reason = %why, "a plugin is not loaded");
            }
            tracing::info!(
                plugins = report.loaded.len(),
                folder = %folder.display(),
                "plugins are loaded"
            );
            engine.watch();
        }
        // One half for what extractors returned, one for whole answers.
        let half = scan.result_cache_mib << 19;
        Ok(Self {
            fetcher,
            engine,
            results: ResultCache::new(half),
            answers: Answers::new(half),
            policies: Policies::default(),
            extras: scan.extractors.into(),
        })
    }

    /// Extractors that run for every page, by role.
    pub fn extras(&self) -> &[String] {
        &self.extras
    }
}
