//! A long list on its way out: as one JSON object, as a line per item, or as CSV.
//!
//! One piece of it is in memory at a time, and no connection to the database is held while a
//! slow client reads.

use std::future::Future;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::header::CONTENT_TYPE;
use orbweaver_crawl::export::inert;
use orbweaver_store::StoreError;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::ApiError;
use crate::validate;

/// Most items of one list.
pub(crate) const MAX_LIMIT: u32 = 100_000;
/// Rows read and written at a time.
const CHUNK: u32 = 1_000;

/// How a list is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ListFormat)]
pub(crate) enum Format {
    /// One object with `items` and `next_offset`.
    #[default]
    Json,
    /// One item a line.
    Ndjson,
    /// A line of names, then one item a line.
    Csv,
}

/// What part of a list is wanted, and how it is written.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct Params {
    /// How many items.
    #[param(minimum = 1, maximum = 100_000, default = 100)]
    limit: Option<u32>,
    /// How many of the first to skip.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64, default = 0)]
    offset: Option<u64>,
    /// `json` (default), `ndjson` (one item a line) or `csv` (with a header row).
    #[param(inline)]
    format: Option<Format>,
}

impl Params {
    /// Offset, limit and format.
    ///
    /// # Errors
    /// A number out of its bounds, by its field.
    pub fn window(&self) -> Result<(u64, u32, Format), ApiError> {
        Ok((
            validate::offset(self.offset)?,
            validate::limit(self.limit, 100, MAX_LIMIT)?,
            self.format.unwrap_or_default(),
        ))
    }
}

impl Format {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8",
        }
    }
}

/// Where the items of a list come from, in order.
pub(crate) trait Source: Send + 'static {
    /// An item as JSON shows it.
    type Item: Serialize + Send;
    /// Names of the columns of CSV.
    const COLUMNS: &'static [&'static str];
    /// Items read and written at a time: fewer where one may be large.
    const CHUNK: u32 = CHUNK;

    /// The next items: `skip` are left out first, and at most `limit` are read.
    fn read(
        &mut self,
        skip: u64,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<Self::Item>, StoreError>> + Send;

    /// Tells the source that these are sent, and that it reads on behind them.
    fn keep(&mut self, items: &[Self::Item]);

    /// The fields of a line of CSV.
    fn record(item: &Self::Item) -> Vec<String>;
}

/// Answers with a list: `limit` items after the first `offset`.
///
/// # Errors
/// What fails before anything is sent.
pub(crate) async fn answer<S: Source>(
    source: S,
    format: Format,
    offset: u64,
    limit: u32,
) -> Result<Response, ApiError> {
    let mut listing = Listing {
        source,
        format,
        skip: offset,
        left: limit,
        next_offset: offset + u64::from(limit),
        state: State::Start,
    };
    let first = listing.next().await?;
    let rest = stream::try_unfold(listing, |mut listing| async move {
        let piece = listing.next().await.inspect_err(|error| {
            tracing::error!(%error, "listing aborted");
        })?;
        Ok::<_, StoreError>(piece.map(|piece| (piece, listing)))
    });
    let body = Body::from_stream(stream::iter(first.map(Ok)).chain(rest));
    Ok(([(CONTENT_TYPE, format.content_type())], body).into_response())
}

struct Listing<S> {
    source: S,
    format: Format,
    skip: u64,
    left: u32,
    next_offset: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Items,
    End,
}

impl<S: Source> Listing<S> {
    async fn next(&mut self) -> Result<Option<Bytes>, StoreError> {
        if self.state == State::End {
            return Ok(None);
        }
        let take = self.left.min(S::CHUNK);
        // One more than is sent tells whether there is another page.
        let mut items = self.source.read(self.skip, take + 1).await?;
        let more = items.len() > take as usize;
        items.truncate(take as usize);
        self.source.keep(&items);
        self.skip = 0;
        self.left -= take;
        let start = self.state == State::Start;
        let end = !more || self.left == 0;
        self.state = if end { State::End } else { State::Items };
        let mut out = Vec::with_capacity(items.len() * 160 + 64);
        match self.format {
            Format::Json => {
                out.extend_from_slice(if start { b"{\"items\":[" } else { b"" });
                for (index, item) in items.iter().enumerate() {
                    if !start || index > 0 {
                        out.push(b',');
                    }
                    serde_json::to_writer(&mut out, item).map_err(unwritten)?;
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
                for item in &items {
                    serde_json::to_writer(&mut out, item).map_err(unwritten)?;
                    out.push(b'\n');
                }
            }
            Format::Csv => {
                let mut lines = csv::Writer::from_writer(&mut out);
                if start {
                    lines.write_record(S::COLUMNS).map_err(unwritten)?;
                }
                for item in &items {
                    let record = S::record(item);
                    let cells = record.iter().map(|cell| inert(cell));
                    lines
                        .write_record(cells.map(|cell| cell.into_owned().into_bytes()))
                        .map_err(unwritten)?;
                }
                // Writes the lines' rest into the vector, which takes everything.
                drop(lines);
            }
        }
        Ok(Some(out.into()))
    }
}

fn unwritten(error: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged(error.to_string())
}
