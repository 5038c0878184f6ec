//! Crawls: runs, their pages and links, what two runs differ in.

mod batch;
mod bucket;
mod create;
mod delete;
mod diff;
mod errors;
mod events;
mod export;
mod links;
mod list;
pub(crate) mod listing;
mod one;
mod orphans;
mod page;
mod pages;
pub(super) mod path;
mod records;
mod skipped;
pub(super) mod words;

pub(super) use create::{mark_replayed, replayed};

use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::openapi::with_forms;

pub(super) fn routes() -> OpenApiRouter<App> {
    let router = OpenApiRouter::new()
        .routes(routes!(create::create_crawl, list::list_crawls))
        .routes(routes!(batch::create_batch))
        .routes(routes!(one::get_crawl, delete::delete_crawl))
        .routes(routes!(pages::list_pages))
        .routes(routes!(export::export_crawl, bucket::create_export))
        .routes(routes!(bucket::list_exports))
        .routes(routes!(bucket::get_export))
        .routes(routes!(bucket::cancel_export))
        .routes(routes!(errors::list_errors))
        .routes(routes!(skipped::list_skipped))
        .routes(routes!(records::list_records))
        .routes(routes!(links::list_links))
        .routes(routes!(orphans::list_orphans))
        .routes(routes!(diff::diff_crawls))
        .routes(routes!(events::crawl_events))
        .routes(routes!(page::get_page));
    [
        ("/v1/crawls/{id}/pages", get(pages::list_pages)),
        ("/v1/crawls/{id}/errors", get(errors::list_errors)),
        ("/v1/crawls/{id}/skipped", get(skipped::list_skipped)),
        ("/v1/crawls/{id}/records", get(records::list_records)),
    ]
    .iter()
    .fold(router, |router, (path, list)| {
        with_forms(router, path, list)
    })
}
