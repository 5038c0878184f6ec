//! The `auto` backend: tries this host, its browser, proxy pools and the provider, cheapest first.

use std::sync::Arc;

use orbweaver_core::content::{self, Kind};
use orbweaver_core::ids::ProjectId;
use orbweaver_engine::PageParts;
use orbweaver_fetch::{INCOMPLETE, Response};
use orbweaver_store::Store;
use orbweaver_store::crawl::PreviousPage;

use super::backend::{Backend as _, Choice, Job, Loaded, NO_BROWSER, NO_UNBLOCKER, WaitPoint};
use super::client::Cloud;
use super::detect::{Verdict, judge, judge_stored};
use crate::blocking::blocking_of;
use crate::document::{Document, lacking};
use crate::error::{FailureKind, ScanError};

/// A backend and the job to give it.
struct Step {
    choice: Choice,
    job: Job,
}

impl Step {
    /// Name for messages: the backend, how it loads, and the pool.
    fn name(&self, backend: &str) -> String {
        let by = if self.job.render.is_some() {
            "browser"
        } else {
            "http"
        };
        match self.job.pool.filter(|_| self.choice == Choice::Proxy) {
            Some(pool) => format!("{backend} {by} ({})", pool.as_str()),
            None => format!("{backend} {by}"),
        }
    }
}

impl Cloud {
    /// Tries one backend after the other until one returns a page that is neither a challenge
    /// nor an empty shell, or fails as every other one would. If none returns such a page, the
    /// last page is the answer. Its cost is that of all pages that were loaded for it.
    pub(super) async fn auto(&self, project: ProjectId, job: &Job) -> Result<Loaded, ScanError> {
        let mut best: Option<Loaded> = None;
        let before = job.spent.micros();
        let spent = || job.spent.micros().saturating_sub(before);
        let mut first_error = None;
        let mut needs_browser = job.render.is_some();
        let mut tried: Vec<String> = Vec::new();
        for step in self.steps(job) {
            // Only a browser can fill a shell, so other backends are skipped.
            let useless = needs_browser && step.job.render.is_none();
            if useless || self.backend(step.choice).missing(&step.job).is_some() {
                continue;
            }
            let backend = self.backend(step.choice).name();
            let step_name = step.name(backend);
            match self.load_from(project, step.choice, &step.job).await {
                Ok(mut loaded) => {
                    loaded.cost_micros = spent();
                    let verdict = loaded.verdict().await?;
                    tried.push(format!("{step_name}: {verdict}"));
                    loaded.reason = Some(tried.join("; "));
                    tracing::info!(
                        cloud.backend = backend,
                        cloud.rendered = loaded.rendered,
                        cloud.pool = loaded.pool.map(|pool| pool.as_str()),
                        cloud.status = loaded.response.status,
                        cloud.verdict = %verdict,
                        "a backend answered"
                    );
                    if verdict == Verdict::Good {
                        return Ok(loaded);
                    }
                    needs_browser |= matches!(verdict, Verdict::Shell(_));
                    best = Some(loaded);
                }
                // The guard's refusal applies to every backend.
                Err(
                    error @ (ScanError::Refused(_)
                    | ScanError::Unavailable(_)
                    | ScanError::Internal(_)),
                ) => return Err(error),
                Err(error) => {
                    tracing::info!(cloud.backend = backend, cloud.verdict = %error, "a backend failed");
                    tried.push(format!("{step_name}: {error}"));
                    if is_final(&error) {
                        first_error = Some(error);
                        break;
                    }
                    first_error.get_or_insert(error);
                }
            }
        }
        match (best, first_error) {
            (Some(mut loaded), _) => {
                loaded.cost_micros = spent();
                let reason = tried.join("; ");
                tracing::info!(
                    cloud.backend = loaded.backend,
                    cloud.tried = %reason,
                    "no backend got past the challenge"
                );
                loaded.reason = Some(reason);
                Ok(loaded)
            }
            (None, Some(error)) => Err(error),
            (None, None) => Err(ScanError::NotConfigured(NO_BROWSER.into())),
        }
    }

    fn steps(&self, job: &Job) -> Vec<Step> {
        let browser = Job {
            render: job.render.or(Some(WaitPoint::NetworkIdle)),
            ..job.clone()
        };
        let through = |choice, job: &Job| Step {
            choice,
            job: job.clone(),
        };
        let mut steps = Vec::new();
        // This host cannot choose a country.
        if job.country.is_none() {
            if job.render.is_none() {
                steps.push(through(Choice::Local, job));
            }
            steps.push(through(Choice::Local, &browser));
        }
        for pool in self.pools().cheapest(job) {
            for kind in [job, &browser] {
                if kind.render.is_none() || job.render.is_some() || self.has_browser() {
                    let job = Job {
                        pool: Some(pool),
                        ..kind.clone()
                    };
                    steps.push(through(Choice::Proxy, &job));
                }
                if job.render.is_some() {
                    break;
                }
            }
        }
        steps.push(through(Choice::Vendor, &browser));
        steps
    }

    /// The provider if configured, else proxy pools with the browser, the hardest to detect
    /// first. The cost of a page is that of all that were loaded for it.
    pub(super) async fn unblock(&self, project: ProjectId, job: &Job) -> Result<Loaded, ScanError> {
        if self.vendor().capabilities().unblock {
            return self.vendor().unblock(project, job).await;
        }
        if !self.pools().capabilities().unblock {
            return Err(ScanError::NotConfigured(NO_UNBLOCKER.into()));
        }
        let pools = self.pools().stealthiest(job);
        let before = job.spent.micros();
        let spent = || job.spent.micros().saturating_sub(before);
        let (mut best, mut last) = (None, None);
        for pool in pools {
            let job = Job {
                pool: Some(pool),
                render: job.render.or(Some(WaitPoint::Load)),
                ..job.clone()
            };
            match self.load_from(project, Choice::Proxy, &job).await {
                Ok(mut loaded) => {
                    loaded.cost_micros = spent();
                    let verdict = loaded.verdict().await?;
                    tracing::info!(
                        cloud.pool = pool.as_str(),
                        cloud.verdict = %verdict,
                        "a pool answered"
                    );
                    if !matches!(verdict, Verdict::Challenge(_)) {
                        return Ok(loaded);
                    }
                    best = Some(loaded);
                }
                Err(
                    error @ (ScanError::Refused(_)
                    | ScanError::Unavailable(_)
                    | ScanError::Internal(_)),
                ) => return Err(error),
                Err(error) => last = Some(error),
            }
        }
        match (best, last) {
            (Some(loaded), _) => Ok(Loaded {
                cost_micros: spent(),
                ..loaded
            }),
            (None, Some(error)) => Err(error),
            (None, None) => Err(ScanError::NotConfigured(
                "no proxy pool supports a country: put {country} into a URL of fetch.proxy_pools"
                    .into(),
            )),
        }
    }
}

/// Whether every other backend would fail in the same way.
fn is_final(error: &ScanError) -> bool {
    use orbweaver_fetch::Kind::{BadRedirect, Dns, Robots, TooLarge};
    matches!(
        error,
        ScanError::Fetch {
            kind: FailureKind::Fetch(Dns | BadRedirect | Robots | TooLarge),
            ..
        }
    )
}

impl Loaded {
    /// What the page lacks, if it is incomplete.
    pub fn lack(&self) -> Option<String> {
        self.response.headers.get(INCOMPLETE).map(lacking)
    }

    /// Classifies the page, on a blocking thread.
    ///
    /// # Errors
    /// When the process is shutting down.
    #[crate::boxed]
    pub async fn verdict(&self) -> Result<Verdict, ScanError> {
        verdict(&self.response, self.rendered).await
    }
}

/// Classifies a response, on a blocking thread; `rendered` says that it is a browser's.
///
/// # Errors
/// When the process is shutting down.
#[crate::boxed]
pub async fn verdict(response: &Response, rendered: bool) -> Result<Verdict, ScanError> {
    let response = response.clone();
    blocking_of(response.body.len(), move || verdict_of(&response, rendered)).await
}

/// Classifies a page that a run has stored with its body, and without a browser.
///
/// # Errors
/// When its body cannot be read, or the process is shutting down.
#[crate::boxed]
pub async fn verdict_of_stored(
    store: &Store,
    project: ProjectId,
    page: &PreviousPage,
) -> Result<Verdict, ScanError> {
    let stored = match page.blob {
        Some(blob) => store.body(project, blob).await?,
        None => None,
    };
    let missing = || ScanError::Internal("a stored body is missing".to_owned());
    let stored = stored.ok_or_else(missing)?;
    let parts = PageParts {
        url: page.final_url.clone(),
        final_url: page.final_url.clone(),
        status: page.status,
        headers: serde_json::from_str(&page.headers).unwrap_or_default(),
        ..PageParts::default()
    };
    let kind = page.kind;
    blocking_of(stored.size as usize, move || {
        let page = Document::page_of(PageParts {
            body: Arc::from(stored.unpack()?),
            ..parts
        });
        Ok::<_, ScanError>(judge_stored(page.parts(), kind))
    })
    .await?
}

fn verdict_of(response: &Response, rendered: bool) -> Verdict {
    let sniffed = content::sniff(response.content_type(), &response.body);
    let html = match sniffed.kind {
        Kind::Html => String::from_utf8_lossy(&response.body),
        Kind::Text | Kind::Document | Kind::Other => return judge(response, "", rendered),
    };
    judge(response, &html, rendered)
}
