//! The interface `crawl-data`.

use wasmtime::component::Resource;

use super::bindings::actor::orbweaver::plugin::crawl_data;
use super::bindings::extractor::orbweaver::plugin::types;
use super::errors::told;
use crate::capability::failure::CallFailure;
use crate::capability::pages::HostPage;
use crate::host::crawl_data::PageRow;
use crate::state::State;

type GuestResult<T> = wasmtime::Result<Result<T, types::Error>>;

impl crawl_data::Host for State {
    async fn get_run(&mut self, id: i64) -> GuestResult<crawl_data::Run> {
        let run = self.capabilities()?.crawl_data.run(id).await;
        Ok(run
            .map_err(|error| told(&self.meter, error))
            .map(|run| crawl_data::Run {
                id: run.id,
                url: run.url,
                status: match run.failed {
                    true => crawl_data::RunStatus::Failed,
                    false => crawl_data::RunStatus::Done,
                },
                page_count: run.page_count,
            }))
    }

    async fn pages(
        &mut self,
        run: i64,
        after: Option<i64>,
        limit: u32,
    ) -> GuestResult<Vec<crawl_data::PageRow>> {
        let capabilities = self.capabilities()?;
        let rows = capabilities.crawl_data.pages(run, after, limit).await;
        let row = |row: PageRow| crawl_data::PageRow {
            id: row.id,
            url: row.url,
            status: row.status,
            bytes: row.bytes,
        };
        match rows {
            Ok(rows) => Ok(Ok(rows.into_inner().into_iter().map(row).collect())),
            Err(CallFailure::Refused(error)) => Ok(Err(told(&self.meter, error))),
            Err(CallFailure::Stopped(reason)) => Err(reason.into()),
        }
    }

    async fn links(
        &mut self,
        run: i64,
        after: Option<i64>,
        pages: u32,
    ) -> GuestResult<crawl_data::LinkColumns> {
        let capabilities = self.capabilities()?;
        match capabilities.crawl_data.links(run, after, pages).await {
            Ok(links) => {
                let links = links.into_inner();
                Ok(Ok(crawl_data::LinkColumns {
                    from_page: links.from_page,
                    to_page: links.to_page,
                    anchor: links.anchor,
                    nofollow: links.nofollow,
                    anchors: links.anchors,
                    next: links.next,
                }))
            }
            Err(CallFailure::Refused(error)) => Ok(Err(told(&self.meter, error))),
            Err(CallFailure::Stopped(reason)) => Err(reason.into()),
        }
    }

    async fn open(&mut self, page: i64) -> GuestResult<Resource<HostPage>> {
        let page = self.capabilities()?.crawl_data.open_page(page).await;
        self.answer(page)
    }
}
