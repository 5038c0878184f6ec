//! Crawls: runs, their pages and links, what two runs differ in.

mod batch;
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

pub(super) use create::mark_replayed;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create::create_crawl, list::list_crawls))
        .routes(routes!(batch::create_batch))
        .routes(routes!(one::get_crawl, delete::delete_crawl))
        .routes(routes!(pages::list_pages))
        .routes(routes!(export::export_crawl))
        .routes(routes!(errors::list_errors))
        .routes(routes!(skipped::list_skipped))
        .routes(routes!(records::list_records))
        .routes(routes!(links::list_links))
        .routes(routes!(orphans::list_orphans))
        .routes(routes!(diff::diff_crawls))
        .routes(routes!(events::crawl_events))
        .routes(routes!(page::get_page))
}
