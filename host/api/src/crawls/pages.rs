//! GET /v1/crawls/{id}/pages.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use chrono::{DateTime, SecondsFormat, Utc};
use futures::stream;
use http::header::CONTENT_TYPE;
use orbweaver_core::ids::{PageId, ProjectId, RunId};
use orbweaver_store::StoreError;
use orbweaver_store::crawl::{PageItem, PageRange};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::path::{self, RunPath};
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;
use crate::validate;

pub(super) const MAX_LIMIT: u32 = 100_000;
/// Rows read and written at a time.
const CHUNK: u32 = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Params {
    /// How many pages.
    #[param(minimum = 1, maximum = 100_000, default = 100)]
    limit: Option<u32>,
    /// How many of the first to skip.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64, default = 0)]
    offset: Option<u64>,
    /// Only pages with this HTTP status.
    #[param(minimum = 100, maximum = 999)]
    status: Option<u16>,
    /// `json` (default), `ndjson` (one page a line) or `csv` (header
    /// `id,url,status,bytes,fetched_at`).
    #[param(inline)]
    format: Option<Format>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = PagesFormat)]
enum Format {
    #[default]
    Json,
    Ndjson,
    Csv,
}

/// Pages in the order in which they were stored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct Pages {
    items: Vec<PageListItem<'static>>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

#[derive(Serialize, ToSchema)]
struct PageListItem<'a> {
    /// Global, not an index within the run.
    #[schema(value_type = i64)]
    id: PageId,
    url: &'a str,
    /// HTTP status.
    status: u16,
    /// Length of the decoded body.
    bytes: u64,
    fetched_at: DateTime<Utc>,
}

/// The pages of a run, in the order in which they were stored; streamed.
#[utoipa::path(
    get,
    path = "/v1/crawls/{id}/pages",
    tag = "Crawls",
    params(("id" = i64, Path, description = "The run"), Params),
    responses(
        (status = 200, description = "The pages", content(
            (Pages = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
        )),
        (status = 404, description = "No such run in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_pages(
    ctx: Ctx,
    RunPath(id): RunPath,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let limit = validate::limit(query.0.limit, 100, MAX_LIMIT)?;
    let offset = validate::offset(query.0.offset)?;
    if query.0.status.is_some_and(|s| !(100..=999).contains(&s)) {
        return Err(ApiError::invalid("status", "must be between 100 and 999"));
    }
    let run = path::run(&ctx, id).await?;
    let format = query.0.format.unwrap_or_default();
    let mut listing = Listing {
        app: ctx.app.clone(),
        project: ctx.principal.project,
        run: run.id,
        status: query.0.status,
        format,
        after: PageId(0),
        skip: offset,
        left: limit,
        next_offset: offset + u64::from(limit),
        state: State::Start,
    };
    // What fails before anything is sent is an error like any other.
    let first = listing.next().await?;
    let rest = stream::try_unfold(listing, |mut listing| async move {
        let piece = listing.next().await.inspect_err(|error| {
            tracing::error!(%error, "a listing breaks off");
        })?;
        Ok::<_, StoreError>(piece.map(|piece| (piece, listing)))
    });
    let body = Body::from_stream(stream::StreamExt::chain(stream::iter(first.map(Ok)), rest));
    let content_type = match format {
        Format::Json => "application/json",
        Format::Ndjson => "application/x-ndjson",
        Format::Csv => "text/csv; charset=utf-8",
    };
    Ok(([(CONTENT_TYPE, content_type)], body).into_response())
}

/// A listing on its way out. One piece of it is in memory at a time, and no connection to
/// the database is held while a slow client reads.
struct Listing {
    app: App,
    project: ProjectId,
    run: RunId,
    status: Option<u16>,
    format: Format,
    after: PageId,
    skip: u64,
    left: u32,
    next_offset: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Rows,
    End,
}

impl Listing {
    async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        if self.state == State::End {
            return Ok(None);
        }
        let take = self.left.min(CHUNK);
        // One more than is sent tells whether there is another page.
        let range = PageRange {
            status: self.status,
            after: self.after,
            offset: self.skip,
            limit: take + 1,
        };
        let mut rows = self
            .app
            .store
            .run_pages(self.project, self.run, &range)
            .await?;
        let more = rows.len() > take as usize;
        rows.truncate(take as usize);
        self.skip = 0;
        self.left -= take;
        self.after = rows.last().map_or(self.after, |row| row.id);
        let start = self.state == State::Start;
        let end = !more || self.left == 0;
        self.state = if end { State::End } else { State::Rows };
        let mut out = Vec::with_capacity(rows.len() * 160 + 64);
        match self.format {
            Format::Json => {
                out.extend_from_slice(if start { b"{\"items\":[" } else { b"" });
                for (index, row) in rows.iter().enumerate() {
                    if !start || index > 0 {
                        out.push(b',');
                    }
                    json(row, &mut out)?;
                }
                if end {
                    let next = if more {
                        self.next_offset.to_string()
                    } else {
                        "null".to_owned()
                    };
                    out.extend_from_slice(format!("],\"next_offset\":{next}}}").as_bytes());
                }
            }
            Format::Ndjson => {
                for row in &rows {
                    json(row, &mut out)?;
                    out.push(b'\n');
                }
            }
            Format::Csv => {
                let mut lines = csv::Writer::from_writer(&mut out);
                if start {
                    write_line(&mut lines, ["id", "url", "status", "bytes", "fetched_at"])?;
                }
                for row in &rows {
                    csv_line(row, &mut lines)?;
                }
                // Writes the lines' rest into the vector, which takes everything.
                drop(lines);
            }
        }
        Ok(Some(out.into()))
    }
}

fn json(row: &PageItem, out: &mut Vec<u8>) -> Result<(), StoreError> {
    let item = PageListItem {
        id: row.id,
        url: &row.url,
        status: row.status,
        bytes: row.bytes,
        fetched_at: row.fetched_at,
    };
    serde_json::to_writer(out, &item).map_err(|error| StoreError::Damaged(error.to_string()))
}

fn csv_line(row: &PageItem, out: &mut csv::Writer<&mut Vec<u8>>) -> Result<(), StoreError> {
    write_line(
        out,
        [
            row.id.to_string().as_str(),
            &row.url,
            &row.status.to_string(),
            &row.bytes.to_string(),
            &row.fetched_at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        ],
    )
}

fn write_line(out: &mut csv::Writer<&mut Vec<u8>>, fields: [&str; 5]) -> Result<(), StoreError> {
    out.write_record(fields)
        .map_err(|error| StoreError::Damaged(error.to_string()))
}
