//! Fields and code shared by the cloud endpoints.

use bytes::Bytes;
use orbweaver_core::country::is_iso2;
use orbweaver_fetch::{CUT, NoPicture};
use orbweaver_store::Amount;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::context::Ctx;
use crate::error::ApiError;
use crate::idempotency::UsageToken;
use crate::memory_limit;
use crate::scope::Scope;
use orbweaver_accounts::quota::Reservation;
use orbweaver_pipeline::cloud::backend::{Choice, Job, Loaded, project_proxy};
use orbweaver_pipeline::convert::Format;
use orbweaver_pipeline::{AnswerBudget, Charge, Document, Pipeline, ScanError, blocking_of};

/// How text is returned where there is no CommonMark apart from Markdown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TextFormat {
    /// Markdown with links.
    #[default]
    Markdown,
    /// Plain text.
    Text,
    /// The HTML as it came.
    Raw,
}

impl From<TextFormat> for Format {
    fn from(word: TextFormat) -> Self {
        match word {
            TextFormat::Markdown => Self::Markdown,
            TextFormat::Text => Self::Text,
            TextFormat::Raw => Self::Raw,
        }
    }
}

/// An ISO-2 country code, in upper case.
pub fn country(field: &str, code: Option<String>) -> Result<Option<String>, ApiError> {
    match code {
        Some(code) if is_iso2(&code) => Ok(Some(code.to_ascii_uppercase())),
        Some(_) => Err(ApiError::invalid(
            field,
            "must be a two-letter country code (ISO 3166-1)",
        )),
        None => Ok(None),
    }
}

/// A number within bounds, or its default.
pub fn within(field: &str, number: Option<u64>, default: u64, max: u64) -> Result<u64, ApiError> {
    match number {
        None => Ok(default),
        Some(number) if (1..=max).contains(&number) => Ok(number),
        Some(_) => Err(ApiError::invalid(
            field,
            format!("must be between 1 and {max}"),
        )),
    }
}

/// A request that passed validation, about to be worked on: whose it is, and under what it
/// is billed.
pub struct Work {
    /// The service.
    pub app: App,
    /// Whose request it is.
    pub principal: std::sync::Arc<orbweaver_store::Principal>,
    /// Under what its parts are billed.
    pub token: UsageToken,
    /// Which call, for the books.
    pub call: &'static str,
    /// The request.
    pub scope: Scope,
    /// When work began.
    pub started: std::time::Instant,
}

impl Work {
    /// The work of a request.
    pub fn new(ctx: &Ctx, token: UsageToken, call: &'static str) -> Self {
        Self {
            app: ctx.app.clone(),
            principal: ctx.principal.clone(),
            token,
            call,
            scope: ctx.scope.clone(),
            started: std::time::Instant::now(),
        }
    }

    /// The pipeline with the plugins of the request's project.
    pub fn pipeline(&self) -> Pipeline {
        self.app.pipeline.of_project(self.principal.project)
    }

    /// Milliseconds so far.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Sets aside one cloud page.
    ///
    /// # Errors
    /// The cap that is reached.
    pub async fn reserve(&self) -> Result<Reservation, ApiError> {
        let (quota, project) = (&self.app.accounts.quota, self.principal.project);
        let reserved = quota
            .reserve_for(project, Amount::cloud(1), &self.token.whole())
            .await;
        Ok(reserved.map_err(ScanError::from)?)
    }

    /// The charge of the whole work, with what is set aside for it.
    pub fn charge(&self, reserved: Reservation, amount: Amount) -> Charge {
        let token = self.token.whole();
        Charge::new(&self.app.store, reserved, token, self.call, amount)
    }

    /// The room for an answer that is made of one or more results. Each takes the memory for itself and
    /// its JSON.
    pub fn room(&self) -> AnswerBudget {
        let (memory, scope) = (self.app.answer_memory.clone(), self.scope.clone());
        let count = move |bytes| Ok(memory_limit::grow(&memory, &scope, 2 * bytes as u64)?);
        let most = self.app.settings.max_answer_bytes;
        AnswerBudget::new(most, "http.max_answer_bytes", count)
    }

    /// Takes the memory for an answer with so many bytes of content, and for its JSON.
    ///
    /// # Errors
    /// 429 where there is none.
    pub fn hold(&self, bytes: usize) -> Result<(), ApiError> {
        let whole = 2 * bytes as u64;
        Ok(memory_limit::grow(
            &self.app.answer_memory,
            &self.scope,
            whole,
        )?)
    }

    /// Loads a page, and bills it as one cloud page once its response is there and the answer has the
    /// memory for it.
    ///
    /// # Errors
    /// A cap, what is not configured, why there is no response, or that there is no memory; then no
    /// page is billed, but what was paid.
    pub async fn load(&self, choice: Choice, mut job: Job) -> Result<Loaded, ApiError> {
        let mut charge = self.charge(self.reserve().await?, Amount::cloud(1));
        job.proxy = project_proxy(&self.principal)?;
        job.spent = charge.spent.clone();
        let loaded = match self.load_and_hold(choice, &job).await {
            Ok(loaded) => loaded,
            Err(error) => {
                charge.bill_in_vain().await?;
                return Err(error);
            }
        };
        charge.bill().await?;
        if loaded.is_cut {
            self.scope.warn(CUT);
        }
        if let Some(lack) = loaded.lack() {
            self.scope.warn(lack);
        }
        Ok(loaded)
    }

    async fn load_and_hold(&self, choice: Choice, job: &Job) -> Result<Loaded, ApiError> {
        let cloud = &self.app.cloud;
        let loaded = cloud.load(self.principal.project, choice, job).await?;
        if job.picture {
            picture(&loaded)?;
        }
        let pictures = loaded.picture.iter().flatten().chain(&loaded.screenshots);
        let pictures: usize = pictures.map(Bytes::len).sum();
        self.hold(loaded.response.body.len() + pictures)?;
        Ok(loaded)
    }

    /// A loaded page as a document; the page's body, hash and text are worked out.
    ///
    /// # Errors
    /// When the process is stopping.
    pub async fn document(&self, loaded: Loaded) -> Result<Document, ApiError> {
        let at = self.app.clock.now();
        let bytes = loaded.response.body.len();
        let read = move || Document::from_response(loaded.response, at);
        let (document, _) = blocking_of(bytes, read).await?;
        Ok(document)
    }
}

/// The picture of a page that was loaded with one.
///
/// # Errors
/// Why there is none.
pub fn picture(loaded: &Loaded) -> Result<&Bytes, ApiError> {
    match &loaded.picture {
        Some(Ok(picture)) => Ok(picture),
        Some(Err(NoPicture::Field(rule))) => Err(ApiError::breaks(rule.clone())),
        Some(Err(NoPicture::Failed(why))) => {
            Err(ApiError::fetch_failed(format!("no screenshot: {why}")))
        }
        None => Err(ApiError::fetch_failed("the backend returned no screenshot")),
    }
}
