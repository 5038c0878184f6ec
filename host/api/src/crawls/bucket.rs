//! Exports of a run to a bucket: POST /v1/crawls/{id}/export, GET /v1/crawls/{id}/exports,
//! GET /v1/crawls/{id}/exports/{export} and POST /v1/crawls/{id}/exports/{export}/cancel.

use axum::Json;
use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse as _, Response};
use chrono::{DateTime, Utc};
use http::request::Parts;
use http::{HeaderValue, StatusCode, header};
use orbweaver_core::ids::{ExportId, ProjectId, RunId};
use orbweaver_crawl::export::{BlobUrl, BucketRequest, ExportFormat, SecretProblem, open_secret};
use orbweaver_store::exports::{BucketExport, ExportCreated, NewExport};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::export::{check_body, check_include, check_status, parse_include};
use super::path::{self, RunPath, no_run};
use crate::actors::runs::answer::{Failure, Status};
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, BodyErrors, CommonErrors, ErrorBody};
use crate::input::Payload;
use crate::validate;

/// Most queued and running exports of a project.
const MAX_ACTIVE: u32 = 100;
/// Seconds after which one of them may have ended.
const RETRY_AFTER: u64 = 30;
/// Most exports in a list.
const MAX_LISTED: u32 = 100;

/// An export to a bucket of an S3-compatible store.
#[derive(Deserialize, ToSchema)]
#[schema(
    as = BucketExportRequest,
    example = json!({
        "to": "s3://my-bucket/crawls?endpoint=https://s3.example.com&region=eu-central-1",
        "credentials": {"access_key_id": "s3-id", "secret_access_key": "s3-secret"},
        "format": "parquet", "include": "title,depth,markdown",
    })
)]
pub(super) struct ExportRequest {
    /// `s3://BUCKET/PREFIX?endpoint=URL&region=NAME&style=path|virtual`; without `endpoint` a bucket
    /// of Amazon's. The object is `PREFIX/crawl-ID.EXTENSION`; one of that name is replaced.
    #[schema(max_length = 2048, pattern = "^[Ss]3://")]
    to: String,
    credentials: CredentialNames,
    /// The form.
    #[schema(default = "ndjson")]
    format: Option<ExportFormat>,
    /// Fields to add to each page, separated by commas, as in `GET /v1/crawls/{id}/export`.
    #[schema(
        pattern = "^ *(title|final_url|depth|content_type|content_hash|elapsed_ms|redirects|inlinks|markdown|article|html|metadata|signals|extensions|extracted)?( *, *(title|final_url|depth|content_type|content_hash|elapsed_ms|redirects|inlinks|markdown|article|html|metadata|signals|extensions|extracted)?)* *$",
        example = "title,depth,markdown"
    )]
    include: Option<String>,
    /// Markdown without navigation, footer and sidebars.
    #[schema(default = false)]
    only_main_content: Option<bool>,
    /// Only pages with this HTTP status.
    #[schema(minimum = 100, maximum = 999)]
    status: Option<u16>,
}

/// Names of the project's secrets (`PUT /v1/secrets/{name}`) that have the access key. Their `hosts` must
/// have the bucket's origin.
#[derive(Deserialize, ToSchema)]
#[schema(as = BucketCredentials)]
pub(super) struct CredentialNames {
    /// The secret with the id of the access key.
    #[schema(pattern = "^[a-z0-9_-]{1,64}$")]
    access_key_id: String,
    /// The secret with the access key's secret.
    #[schema(pattern = "^[a-z0-9_-]{1,64}$")]
    secret_access_key: String,
    /// The secret with the token of a temporary key.
    #[schema(pattern = "^[a-z0-9_-]{1,64}$")]
    session_token: Option<String>,
}

/// An export of a run to a bucket.
#[derive(Serialize, ToSchema)]
#[schema(as = BucketExport)]
pub(super) struct ExportAnswer {
    #[schema(value_type = i64)]
    id: ExportId,
    /// The run.
    #[schema(value_type = i64)]
    crawl_id: RunId,
    status: Status,
    /// `to` of the request.
    to: String,
    /// The object: `s3://BUCKET/PREFIX/crawl-ID.EXTENSION`. It is there when the export is `done`, and
    /// never in part.
    object: String,
    format: ExportFormat,
    /// Pages written by the last attempt.
    pages: u64,
    /// Bytes that the bucket has of the last attempt.
    bytes: u64,
    /// How often it was begun: more than once if its process died or the bucket failed.
    attempts: u32,
    enqueued_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    /// Why it failed; of a running one, why the last attempt did.
    error: Option<Failure>,
}

/// Exports of a run, newest first.
#[derive(Serialize, ToSchema)]
#[schema(as = BucketExports)]
pub(super) struct ExportList {
    items: Vec<ExportAnswer>,
}

/// `{id}` of a run and `{export}` of one of its exports.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExportPath {
    run: RunId,
    export: ExportId,
}

impl FromRequestParts<App> for ExportPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Path((run, export)) = Path::<(String, String)>::from_request_parts(parts, app)
            .await
            .map_err(|_| no_export())?;
        Ok(Self {
            run: run.parse().map_err(|_| no_export())?,
            export: export.parse().map_err(|_| no_export())?,
        })
    }
}

fn no_export() -> ApiError {
    ApiError::not_found("there is no such export of this crawl in this project")
}

impl TryFrom<BucketExport> for ExportAnswer {
    type Error = ApiError;

    fn try_from(export: BucketExport) -> Result<Self, ApiError> {
        let request: BucketRequest =
            serde_json::from_str(&export.request).map_err(|error| ApiError::internal(&error))?;
        let object = request.to.object(&request.name(export.run));
        Ok(Self {
            id: export.id,
            crawl_id: export.run,
            status: export.status.into(),
            to: request.to.as_str().to_owned(),
            object: object.unwrap_or_default(),
            format: request.format,
            pages: export.pages,
            bytes: export.bytes,
            attempts: export.attempts,
            enqueued_at: export.enqueued_at,
            started_at: export.started_at,
            finished_at: export.finished_at,
            error: export
                .error
                .map(|(code, message)| Failure { code, message }),
        })
    }
}

/// Writes the pages of a run to a bucket, in the background.
///
/// The answer comes at once; the export is followed by its id. The object appears when it is
/// complete. If the process dies, the export is made again from the start; if the bucket fails, too,
/// five times at most. A project's exports are made one after the other.
#[utoipa::path(
    post,
    path = "/v1/crawls/{id}/export",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(("id" = i64, Path, description = "The run")),
    request_body = ExportRequest,
    responses(
        (status = 202, description = "The export is queued", body = ExportAnswer,
            headers(("Location" = String, description = "Where to follow it"))),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
        BodyErrors,
    )
)]
pub(super) async fn create_export(
    ctx: Ctx,
    RunPath(id): RunPath,
    payload: Payload<ExportRequest>,
) -> Result<Response, ApiError> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    let run = path::run(&ctx, id).await?;
    let request = checked(&ctx, project, payload.value).await?;
    let spec = request
        .spec()
        .map_err(|error| ApiError::invalid("include", error))?;
    check_include(&spec)?;
    check_body(&run, &spec, "include")?;
    let request = serde_json::to_string(&request).map_err(|error| ApiError::internal(&error))?;
    let export = NewExport {
        project,
        run: id,
        request: &request,
        request_id: ctx.scope.id(),
        enqueued_at: app.clock.now(),
        most_active: MAX_ACTIVE,
    };
    let export = match app.store.create_export(&export).await? {
        ExportCreated::New(export) => *export,
        ExportCreated::NoRun => return Err(no_run()),
        ExportCreated::QueueFull => {
            let rule = format!("the project has {MAX_ACTIVE} queued and running exports, the most");
            return Err(ApiError::rate_limited(rule, RETRY_AFTER));
        }
    };
    app.crawls.bucket_exports.wake();
    let location = format!("/v1/crawls/{id}/exports/{}", export.id);
    let location = HeaderValue::try_from(location).map_err(|error| ApiError::internal(&error))?;
    let answer = ExportAnswer::try_from(export)?;
    let mut response = (StatusCode::ACCEPTED, Json(answer)).into_response();
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

/// The request, its URL accepted by the guard and its secrets there.
async fn checked(
    ctx: &Ctx,
    project: ProjectId,
    given: ExportRequest,
) -> Result<BucketRequest, ApiError> {
    if given.to.len() > 2_048 {
        return Err(ApiError::invalid("to", "must be at most 2048 characters"));
    }
    let to: BlobUrl = given
        .to
        .parse()
        .map_err(|error| ApiError::invalid("to", error))?;
    let Some(url) = to.bucket_url() else {
        return Err(ApiError::invalid("to", "must start with s3://"));
    };
    validate::url(&ctx.app, "to", &url)?;
    let names = given.credentials;
    let named = [
        ("access_key_id", Some(&names.access_key_id)),
        ("secret_access_key", Some(&names.secret_access_key)),
        ("session_token", names.session_token.as_ref()),
    ];
    for (member, name) in named {
        let Some(name) = name else { continue };
        match open_secret(&ctx.app.accounts, project, name, &url).await {
            Ok(_) => {}
            Err(SecretProblem::Store(error)) => return Err(error.into()),
            Err(problem) => {
                let field = format!("credentials.{member}");
                return Err(ApiError::invalid(&field, problem));
            }
        }
    }
    let include = given.include.unwrap_or_default();
    parse_include(Some(&include))?;
    Ok(BucketRequest {
        to,
        access_key_id: names.access_key_id,
        secret_access_key: names.secret_access_key,
        session_token: names.session_token,
        format: given.format.unwrap_or_default(),
        include,
        main_content: given.only_main_content.unwrap_or(false),
        status: check_status(given.status)?,
    })
}

/// The exports of a run to buckets, newest first; the last hundred.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/exports",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(("id" = i64, Path, description = "The run")),
    responses(
        (status = 200, description = "The exports", body = ExportList),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_exports(
    ctx: Ctx,
    RunPath(id): RunPath,
) -> Result<Json<ExportList>, ApiError> {
    let run = path::run(&ctx, id).await?;
    let exports = ctx.app.store.exports(run.project, id, MAX_LISTED).await?;
    let items = exports.into_iter().map(ExportAnswer::try_from);
    Ok(Json(ExportList {
        items: items.collect::<Result<_, _>>()?,
    }))
}

/// An export of a run to a bucket.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/exports/{export}",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(
        ("id" = i64, Path, description = "The run"),
        ("export" = i64, Path, description = "The export"),
    ),
    responses(
        (status = 200, description = "The export", body = ExportAnswer),
        (status = 404, description = "No such export of this run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn get_export(ctx: Ctx, path: ExportPath) -> Result<Json<ExportAnswer>, ApiError> {
    let project = ctx.principal.project;
    let found = ctx.app.store.export(project, path.run, path.export).await?;
    Ok(Json(found.ok_or_else(no_export)?.try_into()?))
}

/// Cancels an export. What the bucket has of it is given up, and no object appears. An export
/// that was cancelled already stays as it is.
#[utoipa::path(
    post,
    path = "/v1/crawls/{id}/exports/{export}/cancel",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(
        ("id" = i64, Path, description = "The run"),
        ("export" = i64, Path, description = "The export"),
    ),
    responses(
        (status = 202, description = "It is cancelled, or will be", body = ExportAnswer),
        (status = 404, description = "No such export of this run in this project", body = ErrorBody),
        (status = 409, description = "It is done or has failed", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn cancel_export(ctx: Ctx, path: ExportPath) -> Result<Response, ApiError> {
    let (app, project) = (&ctx.app, ctx.principal.project);
    let now = app.clock.now();
    let cancelled = app.store.cancel_export(project, path.run, path.export, now);
    let export = cancelled.await?.ok_or_else(no_export)?;
    let answer = ExportAnswer::try_from(export)?;
    if matches!(answer.status, Status::Done | Status::Failed) {
        return Err(ApiError::conflict("the export has ended"));
    }
    app.crawls.bucket_exports.cancel(path.export);
    Ok((StatusCode::ACCEPTED, Json(answer)).into_response())
}
