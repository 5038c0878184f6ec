//! GET /v1/crawls/{id}/errors.

use std::collections::{HashMap, HashSet};

use axum::response::Response;
use chrono::{DateTime, SecondsFormat, Utc};
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_store::crawl::{FailurePlace, NoteKind, RunFailure};
use orbweaver_store::{Store, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use super::listing::{self, Params, Source};
use super::path::{self, RunPath};
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;

/// Referrers told of one URL.
const MAX_REFERRERS: usize = 10;
/// Rows read at once for the keys whose referrers are looked for.
const KEYS: u32 = 1_000;

/// URLs in the order in which they were discovered.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct FailedUrls {
    items: Vec<FailedItem>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

/// A URL that gave no answer.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedUrl)]
pub(super) struct FailedItem {
    /// The URL as the link to it was written, resolved.
    url: String,
    /// What failed: `plugin` for a plugin that failed on the page, else `dns`, `connect`, `tls`,
    /// `proxy`, `timeout`, `slow`, `too_large`,
    /// `header_too_large`, `incomplete_body`, `decode`, `bad_redirect`, `protocol`, `reset`,
    /// `refused`, `invalid_request`, `browser`, `internal`; `robots` where robots.txt could not be
    /// had, which disallows everything; `sitemap` for a sitemap that answers an error, or with
    /// something else, or that is read in part.
    kind: String,
    /// The cause, for people.
    message: String,
    /// The plugin that failed, of kind `plugin`: a hook's name, or an extractor's role.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, nullable = false)]
    plugin: Option<String>,
    /// How often it was tried.
    attempts: u32,
    /// When it was tried for the last time.
    last_at: DateTime<Utc>,
    /// The first page of the run that links to it; null for the seed, for what a sitemap
    /// lists, and for where a redirect leads.
    referrer: Option<String>,
    /// The first pages of the run that link to it, at most 10.
    referrers: Vec<String>,
    #[serde(skip)]
    place: FailurePlace,
}

/// URLs of a run that gave no answer, with the cause, and where they are linked; streamed.
///
/// They are what `error_count` counts. A page whatever its HTTP status is no error: it is
/// listed with the pages. A sitemap that answers, but cannot be read, is listed, kind `sitemap`, and
/// not counted. After them come the pages on which plugins failed, kind `plugin`, each once for each
/// plugin, at most 10,000 (with what hooks left out); `plugin_error_count` counts all.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/errors",
    tag = "Crawls",
    extensions(("x-extension" = json!(true))),
    params(("id" = i64, Path, description = "The run"), Params),
    responses(
        (status = 200, description = "The URLs", content(
            (FailedUrls = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
        )),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_errors(
    ctx: Ctx,
    RunPath(id): RunPath,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let (offset, limit, format) = query.0.window()?;
    let run = path::run(&ctx, id).await?;
    let mut errors = Errors {
        store: ctx.app.store.clone(),
        project: ctx.principal.project,
        run: run.id,
        after: FailurePlace::START,
        referrers: HashMap::new(),
    };
    errors.find_referrers(offset, limit).await?;
    listing::answer(errors, format, offset, limit).await
}

struct Errors {
    store: Store,
    project: ProjectId,
    run: RunId,
    after: FailurePlace,
    /// Pages that link to the URLs of this answer, by the hash of the URL.
    referrers: HashMap<u64, Vec<PageId>>,
}

impl Errors {
    /// Looks through the run's links once for all URLs of the answer.
    async fn find_referrers(&mut self, offset: u64, limit: u32) -> Result<(), StoreError> {
        let (mut after, mut skip, mut left) = (FailurePlace::START, offset, limit);
        let mut wanted = HashSet::new();
        while left > 0 {
            let rows = self
                .store
                .run_failures(self.project, self.run, after, skip, left.min(KEYS))
                .await?;
            let Some(last) = rows.last() else { break };
            after = last.place();
            skip = 0;
            left -= u32::try_from(rows.len()).unwrap_or(left).min(left);
            wanted.extend(rows.iter().map(RunFailure::key_hash));
        }
        self.referrers = self
            .store
            .run_referrers(self.project, self.run, &wanted, MAX_REFERRERS)
            .await?;
        Ok(())
    }

    fn item(&self, row: RunFailure, urls: &HashMap<PageId, String>) -> FailedItem {
        let pages = self.referrers.get(&row.key_hash()).into_iter().flatten();
        let referrers: Vec<String> = pages.filter_map(|page| urls.get(page).cloned()).collect();
        let (referrer, place) = (referrers.first().cloned(), row.place());
        match row {
            RunFailure::Url(failed) => FailedItem {
                url: failed.url,
                kind: failed.kind,
                message: failed.message,
                plugin: None,
                attempts: failed.attempts,
                last_at: failed.failed_at,
                referrer,
                referrers,
                place,
            },
            RunFailure::Plugin(note) => FailedItem {
                url: note.url,
                kind: NoteKind::Plugin.as_str().to_owned(),
                message: note.message,
                plugin: Some(note.plugin),
                attempts: 1,
                last_at: note.noted_at,
                referrer,
                referrers,
                place,
            },
        }
    }
}

impl Source for Errors {
    type Item = FailedItem;
    const COLUMNS: &'static [&'static str] =
        &["url", "kind", "message", "attempts", "last_at", "referrer"];

    async fn read(&mut self, skip: u64, limit: u32) -> Result<Vec<FailedItem>, StoreError> {
        let rows = self
            .store
            .run_failures(self.project, self.run, self.after, skip, limit)
            .await?;
        let mut pages: Vec<PageId> = rows
            .iter()
            .filter_map(|row| self.referrers.get(&row.key_hash()))
            .flatten()
            .copied()
            .collect();
        pages.sort_unstable();
        pages.dedup();
        let urls = self
            .store
            .run_page_urls(self.project, self.run, &pages)
            .await?;
        Ok(rows.into_iter().map(|row| self.item(row, &urls)).collect())
    }

    fn keep(&mut self, items: &[FailedItem]) {
        self.after = items.last().map_or(self.after, |item| item.place);
    }

    fn record(item: &FailedItem) -> Vec<String> {
        vec![
            item.url.clone(),
            item.kind.clone(),
            item.message.clone(),
            item.attempts.to_string(),
            item.last_at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
            item.referrer.clone().unwrap_or_default(),
        ]
    }
}
