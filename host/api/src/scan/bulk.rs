//! POST /v1/scan/bulk.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::StreamExt as _;
use orbweaver_core::json_number::whole;
use orbweaver_store::{CloudMode, Principal};
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};
use utoipa::ToSchema;

use crate::answer::raw_json;
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors};
use crate::idempotency::{self, IdempotencyHeader, UsageToken};
use crate::input::{OfPages, Payload};
use crate::memory_limit;
use crate::validate;
use orbweaver_accounts::quota::QuotaError;
use orbweaver_pipeline::browsing::Browsing;
use orbweaver_pipeline::rules::{self, MAX_EXTRACTORS};
use orbweaver_pipeline::{
    self as pipeline, AnswerBudget, Bill, Content, ExtractRequest, Pipeline, ScanError, ScanResult,
    ScanSpec, sized,
};

const MAX_URLS: usize = 100;
const MAX_CONCURRENCY: u64 = 64;
/// Longest time in which pages are begun. Clients of the service wait for five minutes by default, and
/// a batch that is cut off loses its results.
const MAX_TIME: Duration = Duration::from_secs(240);

/// Pages to scan.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(example = json!({"urls": ["https://example.com/", "https://example.org/"]}))]
pub(super) struct BulkRequest {
    /// Absolute URLs; one that is none, or may not be fetched, fails alone.
    #[schema(value_type = Vec<String>, min_items = 1, max_items = 100)]
    urls: GivenUrls,
    /// Scans at once; more than 64 count as 64.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64, default = 64)]
    concurrency: Option<u64>,
    /// Skips Markdown and article.
    #[schema(default = false)]
    metadata_only: Option<bool>,
    /// Per URL: a page that the project fetched less than so many seconds ago answers.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 0, maximum = 315_360_000)]
    max_age_seconds: Option<u64>,
    /// User agent to send; by default one of current browsers.
    #[schema(max_length = 1024, pattern = "^[ -~]*$")]
    user_agent: Option<String>,
    /// Follow a `Refresh` header or a page's `meta` refresh of at most 100 seconds, at once and as a
    /// redirect.
    #[schema(default = false, extensions(("x-extension" = json!(true))))]
    follow_refresh: Option<bool>,
    /// Further extractors; their outputs are under `extensions`.
    #[schema(max_items = 16, extensions(("x-extension" = json!(true))))]
    extractors: Option<Vec<String>>,
    /// Options of extractors, by role: objects that satisfy their schemas.
    #[schema(
        value_type = Option<std::collections::HashMap<String, Object>>,
        extensions(("x-extension" = json!(true)))
    )]
    extractor_options: Option<BTreeMap<String, Value>>,
    /// Fields to extract by CSS selectors: `extracted` of the answer.
    #[schema(extensions(("x-extension" = json!(true))))]
    extract: Option<ExtractRequest>,
}

/// `urls` as it is given. Its length is checked before its items.
#[derive(Debug)]
struct GivenUrls {
    /// The first values, up to the allowed number.
    first: Vec<Value>,
    /// How many there are.
    count: usize,
}

impl GivenUrls {
    fn check(self) -> Result<Vec<String>, ApiError> {
        let rule = "must have 1 to 100 URLs";
        if self.count > MAX_URLS {
            return Err(ApiError::bad_request(format!("urls: {rule}")));
        }
        if self.count == 0 {
            return Err(ApiError::invalid("urls", rule));
        }
        let urls = self.first.into_iter().enumerate();
        urls.map(|(index, item)| match item {
            Value::String(url) => Ok(url),
            _ => Err(ApiError::invalid(
                &format!("urls[{index}]"),
                "must be a string",
            )),
        })
        .collect()
    }
}

impl<'de> Deserialize<'de> for GivenUrls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;

        impl<'de> Visitor<'de> for Items {
            type Value = GivenUrls;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an array of strings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<GivenUrls, A::Error> {
                let (mut first, mut count) = (Vec::new(), 0);
                while count < MAX_URLS
                    && let Some(item) = items.next_element()?
                {
                    first.push(item);
                    count += 1;
                }
                while items.next_element::<IgnoredAny>()?.is_some() {
                    count += 1;
                }
                Ok(GivenUrls { first, count })
            }
        }

        deserializer.deserialize_seq(Items)
    }
}

/// One item per URL, in the order of the request.
#[derive(Serialize, ToSchema)]
pub(super) struct BulkResult<'a> {
    items: Vec<BulkItem<'a>>,
}

#[derive(Serialize, ToSchema)]
struct BulkItem<'a> {
    /// The URL as the request has it.
    url: &'a str,
    /// Whether there is a result.
    ok: bool,
    /// The result; present if `ok` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false, value_type = Option<ScanResult>)]
    result: Option<&'a RawValue>,
    /// The error; present if `ok` is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    error: Option<String>,
}

/// A batch that passed validation.
struct Batch {
    urls: Vec<String>,
    concurrency: usize,
    spec: ScanSpec,
}

impl BulkRequest {
    async fn check(self, pipeline: &Pipeline) -> Result<Batch, ApiError> {
        let urls = self.urls.check()?;
        rules::concurrency(self.concurrency)?;
        let concurrency = self.concurrency.unwrap_or(MAX_CONCURRENCY);
        validate::user_agent(self.user_agent.as_deref())?;
        validate::max_age(self.max_age_seconds)?;
        let extractors = self.extractors.unwrap_or_default();
        for name in extractors.iter().take(MAX_EXTRACTORS) {
            pipeline.engine.await_role(name).await;
        }
        validate::extractors(pipeline, &extractors)?;
        let content = Content {
            metadata_only: self.metadata_only.unwrap_or(false),
            extractors,
            extract: pipeline.check_extract(self.extract).await?,
            ..Content::default()
        };
        let options = self.extractor_options.unwrap_or_default();
        let content = validate::with_options(pipeline, content, options).await?;
        Ok(Batch {
            urls,
            concurrency: usize::try_from(concurrency.min(MAX_CONCURRENCY)).unwrap_or(1),
            spec: ScanSpec {
                url: String::new(),
                user_agent: self.user_agent,
                max_age_seconds: self.max_age_seconds,
                // A batch has no mode of its own and is billed as standard pages.
                cloud_mode: CloudMode::None,
                follow_refresh: self.follow_refresh.unwrap_or(false),
                content,
                browsing: Browsing::default(),
            },
        })
    }
}

/// Scans up to a hundred pages; one that fails does not fail the others.
///
/// Each URL is billed one page, cached or failed too. URLs past the project's cap fail one by
/// one, unbilled, and so do those for which an answer of 64 MiB (setting `http.max_answer_bytes`)
/// has no room, and those whose turn comes after four minutes (or four fifths of
/// `http.request_timeout_ms`, where that is less).
#[utoipa::path(
    post,
    path = "/v1/scan/bulk",
    tag = "Scan",
    params(IdempotencyHeader),
    request_body = BulkRequest,
    responses(
        (status = 200, description = "One item per URL, in order", body = BulkResult),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn scan_bulk(
    ctx: Ctx,
    payload: Payload<BulkRequest, OfPages>,
) -> Result<Response, ApiError> {
    let digest = payload.digest();
    let batch = payload.value.check(&ctx.pipeline()).await?;
    let (app, principal) = (ctx.app.clone(), ctx.principal.clone());
    // The answer has them, too, whatever becomes of them.
    let urls: usize = batch.urls.iter().map(String::len).sum();
    memory_limit::grow(&app.answer_memory, &ctx.scope, urls as u64)?;
    let (memory, scope) = (app.answer_memory.clone(), ctx.scope.clone());
    let count = move |bytes| {
        let grown = memory_limit::grow(&memory, &scope, bytes as u64);
        grown.map_err(|full| ScanError::NoRoom(full.to_string()))
    };
    let most = app.settings.max_answer_bytes;
    let time = MAX_TIME.min(app.settings.request_timeout / 5 * 4);
    let room = AnswerBudget::new(most, "http.max_answer_bytes", count).within(time);
    Ok(idempotency::once(&ctx, &digest, |token| async move {
        match run(app, principal, batch, Arc::new(room), token).await {
            Ok(answer) => raw_json(answer),
            Err(error) => error.into_response(),
        }
    })
    .await)
}

/// A page's place in the request, its URL, and its answer.
type Scanned = (usize, String, Result<Bytes, ScanError>);

async fn run(
    app: App,
    principal: Arc<Principal>,
    batch: Batch,
    room: Arc<AnswerBudget>,
    token: UsageToken,
) -> Result<Bytes, ApiError> {
    let Batch {
        urls,
        concurrency,
        spec,
    } = batch;
    let tokens: Vec<String> = (0..urls.len()).map(|index| token.part(index)).collect();
    let project = principal.project;
    let shares = app.accounts.quota.reserve_each(project, &tokens).await?;
    // A page that was begun may wait long for a plugin or a model: the others' answers do not.
    let end = Instant::now() + app.settings.request_timeout / 10 * 9;
    let mut results: Vec<Scanned> =
        futures::stream::iter(urls.into_iter().zip(tokens).zip(shares).enumerate())
            .map(|(index, ((url, token), share))| {
                let (app, principal) = (app.clone(), Arc::clone(&principal));
                let room = Arc::clone(&room);
                let spec = ScanSpec {
                    url,
                    ..spec.clone()
                };
                async move {
                    let bill = share.map(|reserved| Bill {
                        token,
                        call: "bulk",
                        always: true,
                        reserved: Some(reserved),
                        room: Some(room),
                    });
                    let result = match bill {
                        Ok(bill) => {
                            let scan = pipeline::scan(&app.scans, &principal, &spec, bill);
                            let late = |_| Err(not_finished());
                            timeout_at(end, Box::pin(scan)).await.unwrap_or_else(late)
                        }
                        Err(cap) => Err(QuotaError::Capped(cap).into()),
                    };
                    (index, spec.url, result)
                }
            })
            .buffer_unordered(concurrency)
            .collect()
            .await;
    results.sort_unstable_by_key(|(index, ..)| *index);
    let size = |result: &Result<Bytes, ScanError>| result.as_ref().map_or(256, Bytes::len);
    let size: usize = results.iter().map(|(.., result)| size(result) + 64).sum();
    let written = sized(size, move || written(&results, size)).await?;
    written.map_err(|error| ApiError::internal(&error))
}

/// The failure of a page that the rest of its batch does not wait for.
fn not_finished() -> ScanError {
    ScanError::Busy {
        message: "not finished before the request's time was over".to_owned(),
        retry_after: 1,
    }
}

/// The answer, of about `size` bytes.
fn written(results: &[Scanned], size: usize) -> Result<Bytes, serde_json::Error> {
    let items = results.iter().map(|(index, url, result)| match result {
        Ok(json) => Ok(BulkItem {
            url,
            ok: true,
            result: Some(serde_json::from_slice(json)?),
            error: None,
        }),
        Err(error) => Ok(BulkItem {
            url,
            ok: false,
            result: None,
            error: Some(sanitised(*index, error)),
        }),
    });
    let items: Result<Vec<BulkItem<'_>>, serde_json::Error> = items.collect();
    let mut answer = Vec::with_capacity(size);
    serde_json::to_writer(&mut answer, &BulkResult { items: items? })?;
    Ok(answer.into())
}

/// What a caller may know of a failure.
fn sanitised(index: usize, error: &ScanError) -> String {
    match error {
        ScanError::Refused(why) => format!("SSRF check failed for urls[{index}]: {why}"),
        ScanError::Field(error) => error.to_string(),
        ScanError::Fetch { kind, message } => format!("fetch failed ({kind}): {message}"),
        ScanError::NotConfigured(what) => what.clone().into_owned(),
        ScanError::Busy { message, .. } | ScanError::Plugin(message) => message.clone(),
        ScanError::NoRoom(message) => {
            format!("{message}: this page is not billed, and a request of its own returns it")
        }
        ScanError::Quota(error) => error.to_string(),
        ScanError::Unavailable(cause) => {
            tracing::error!(error = %cause, "a scan of a batch failed");
            error.to_string()
        }
        ScanError::Internal(cause) => {
            tracing::error!(error = %cause, "a scan of a batch failed");
            "internal error".to_owned()
        }
    }
}
