//! GET /v1/robots-policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::response::Response;
use orbweaver_core::robots::{ContentSignal, ai_crawlers, ai_policy};
use orbweaver_core::user_agent;
use orbweaver_fetch::{Personal, RobotsAnswer, TextFile};
use serde::{Deserialize, Serialize};
use url::Url;
use utoipa::{IntoParams, ToSchema};

use crate::answer::large_json;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;
use crate::validate;
use orbweaver_pipeline::cloud::backend::project_proxy;
use orbweaver_pipeline::{JUDGE_COST, ScanError, blocking_of};

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// Any URL of the site.
    #[param(format = "uri", example = "https://example.com/")]
    url: String,
    /// Sent as user agent, and added to the policy. Its product token is judged:
    /// `FooBot` of `FooBot/2.1` and of `Mozilla/5.0 (compatible; FooBot/2.1)`.
    #[param(max_length = 1024, pattern = "^[ -~]*$")]
    user_agent: Option<String>,
}

/// What a site allows crawlers.
#[derive(Serialize, ToSchema)]
pub(super) struct RobotsPolicy {
    /// The URL of the request.
    url: String,
    /// robots.txt; null where there is none.
    robots_txt: Option<String>,
    /// llms.txt; null where there is none.
    #[schema(value_type = Option<String>)]
    llms_txt: TextFile,
    /// Crawler to `allowed`, `partial` or `disallowed`.
    ai_bot_policy: BTreeMap<String, String>,
    /// The `Content-Signal` lines that hold for `user_agent`, or for every crawler.
    #[schema(extensions(("x-extension" = json!(true))))]
    content_signals: Vec<Signal>,
}

/// A `Content-Signal` line: what content may be used for.
#[derive(Serialize, ToSchema)]
pub(super) struct Signal {
    /// The path prefix that it is about; null for the whole site.
    path: Option<String>,
    /// Purpose, such as `ai-train`, to the site's answer, such as `no`.
    signals: BTreeMap<String, String>,
}

impl From<ContentSignal> for Signal {
    fn from(line: ContentSignal) -> Self {
        Self {
            path: line.path,
            signals: line.signals,
        }
    }
}

/// robots.txt, llms.txt and what they mean for AI crawlers; cached per host for an hour.
///
/// Not billed.
#[utoipa::path(
    get,
    path = "/v1/robots-policy",
    tag = "Robots",
    params(Params),
    responses(
        (status = 200, description = "The site's policy", body = RobotsPolicy),
        (status = 502, description = "The site could not be reached", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn robots_policy(ctx: Ctx, query: Query<Params>) -> Result<Response, ApiError> {
    let Params {
        url,
        user_agent: agent,
    } = query.0;
    validate::url(&ctx.app, "url", &url)?;
    validate::user_agent(agent.as_deref())?;
    let parsed = Url::parse(&url).map_err(|error| ApiError::invalid("url", error))?;
    let fetcher = &ctx.pipeline().fetcher;
    fetcher
        .judge_resolved(&url)
        .await
        .map_err(|error| ApiError::from(ScanError::from(error)))?;
    let files = fetcher.site_files();
    let own = Personal::by(project_proxy(&ctx.principal)?);
    let agent = agent
        .as_deref()
        .filter(|agent| !user_agent::is_rotated(Some(agent)));
    let (robots, llms_txt) = tokio::join!(
        async {
            match agent {
                Some(agent) => files.robots_as(fetcher, &parsed, agent, &own).await,
                None => files.robots_for(fetcher, &parsed, &own, false).await.answer,
            }
        },
        files.llms_txt_for(fetcher, &parsed, &own)
    );
    let agent = agent.map(str::to_owned);
    let texts = [robots.text.as_deref(), llms_txt.as_deref()];
    let bytes = texts.into_iter().flatten().map(str::len).sum::<usize>();
    // Wildcards of a whole robots.txt against every known crawler: a second of work at worst.
    let work = bytes.saturating_mul(JUDGE_COST);
    let judge = move || answer(url, &robots, llms_txt, agent.as_deref());
    large_json(bytes, blocking_of(work, judge).await??).await
}

fn answer(
    url: String,
    robots: &Arc<RobotsAnswer>,
    llms_txt: TextFile,
    agent: Option<&str>,
) -> Result<RobotsPolicy, ApiError> {
    if robots.status.is_none() {
        let why = robots
            .error
            .as_ref()
            .map_or_else(|| "no answer".to_owned(), ToString::to_string);
        return Err(ApiError::fetch_failed(format!(
            "robots.txt could not be fetched: {why}"
        )));
    }
    let bots = ai_crawlers().iter().map(String::as_str).chain(agent);
    Ok(RobotsPolicy {
        url,
        robots_txt: robots.text.clone(),
        llms_txt,
        ai_bot_policy: ai_policy(&robots.robots, bots),
        content_signals: robots
            .robots
            .rules_for(agent.unwrap_or("*"))
            .signals
            .into_iter()
            .map(Signal::from)
            .collect(),
    })
}
