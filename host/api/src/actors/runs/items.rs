//! GET /v1/actors/{name}/runs/{id}/items.

use axum::response::Response;
use orbweaver_core::ids::{JobId, ProjectId};
use orbweaver_store::{Store, StoreError};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::path::{self, ActorRunPath};
use crate::context::Ctx;
use crate::crawls::listing::{self, Params, Source};
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input::Query;

/// Items in the order in which the actor emitted them.
#[derive(ToSchema)]
#[schema(as = ActorRunItems)]
#[expect(dead_code, reason = "a schema, never constructed")]
struct Items {
    /// Each is any JSON, as the actor gave it.
    #[schema(value_type = Vec<Value>)]
    items: Vec<()>,
    /// Null on the last page.
    next_offset: Option<u64>,
}

/// The items that a run has emitted; streamed.
///
/// They are readable while it runs, within about a second. If its process dies, its items are
/// dropped and begin anew with the next attempt: those of a run that has ended are exactly those
/// of its last attempt, each once. CSV has the columns `position` and `item` (as JSON).
#[utoipa::path(
    get,
    path = "/v1/actors/{name}/runs/{id}/items",
    tag = "Actors",
    extensions(("x-extension" = json!(true))),
    params(
        ("name" = String, Path, description = "The actor's name"),
        ("id" = i64, Path, description = "The run"),
        Params,
    ),
    responses(
        (status = 200, description = "The items", content(
            (Items = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
        )),
        (status = 404, description = "No such run of this actor in this project", body = ErrorBody),
        CommonErrors,
    )
)]
pub(super) async fn list_items(
    ctx: Ctx,
    path: ActorRunPath,
    query: Query<Params>,
) -> Result<Response, ApiError> {
    let (offset, limit, format) = query.0.window()?;
    let job = path::run(&ctx, &path).await?;
    let items = Stored {
        store: ctx.app.store.clone(),
        project: ctx.principal.project,
        job: job.id,
        after: -1,
    };
    listing::answer(items, format, offset, limit).await
}

struct Stored {
    store: Store,
    project: ProjectId,
    job: JobId,
    after: i64,
}

/// An item as it is listed: its JSON alone.
struct Item {
    position: i64,
    data: Box<RawValue>,
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.data.serialize(serializer)
    }
}

impl Source for Stored {
    type Item = Item;
    const COLUMNS: &'static [&'static str] = &["position", "item"];
    // An item may have hundreds of kilobytes.
    const CHUNK: u32 = 100;

    async fn read(&mut self, skip: u64, limit: u32) -> Result<Vec<Item>, StoreError> {
        let items = self
            .store
            .job_items(self.project, self.job, self.after, skip, limit)
            .await?;
        let items = items.into_iter().map(|item| {
            Ok(Item {
                position: item.position,
                data: RawValue::from_string(item.data)
                    .map_err(|error| StoreError::Damaged(error.to_string()))?,
            })
        });
        items.collect()
    }

    fn keep(&mut self, items: &[Item]) {
        self.after = items.last().map_or(self.after, |item| item.position);
    }

    fn record(item: &Item) -> Vec<String> {
        vec![item.position.to_string(), item.data.get().to_owned()]
    }
}
