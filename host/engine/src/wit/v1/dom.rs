//! The interface `dom`: on worker threads for extractors and hooks of the pool, and for tasks, whose
//! long searches run on another thread.

use std::sync::Arc;

use wasmtime::component::Resource;

use super::bindings::actor::orbweaver::plugin::dom as of_tasks;
use super::bindings::extractor::orbweaver::plugin::dom as of_pool;
use super::bindings::extractor::orbweaver::plugin::types;
use crate::capability::pages::{HostPage, off_thread, parse};
use crate::document::{self, Read, Search};
use crate::error::CodedError;
use crate::page::Page;
use crate::state::State;

type Answer<T> = wasmtime::Result<Result<T, types::Error>>;

fn answer<T>(result: Result<T, CodedError>) -> Answer<T> {
    Ok(result.map_err(types::Error::from))
}

impl State {
    /// The page of a guest on a worker thread, which parses it.
    fn page_here(&self, page: &Resource<HostPage>) -> wasmtime::Result<Arc<Page>> {
        // No signal ends a guest that is in the host: see `interrupt`.
        self.meter.check_if_overdue()?;
        Ok(Arc::clone(self.table.get(page)?.page()))
    }

    /// The page of a task, parsed.
    async fn parsed_page(&mut self, page: &Resource<HostPage>) -> wasmtime::Result<Arc<Page>> {
        self.meter.check_if_overdue()?;
        let held = self.table.get_mut(page)?;
        let limits = held.reserve_parse()?;
        let shared = Arc::clone(held.page());
        parse(&shared, limits, &self.meter, &self.parsing).await?;
        self.table.get_mut(page)?.recharge()?;
        Ok(shared)
    }

    /// Reads a page, on another thread if it is large.
    async fn read<T: Send + 'static>(
        &mut self,
        page: &Resource<HostPage>,
        read: impl FnOnce(&Page) -> Result<T, CodedError> + Send + 'static,
    ) -> Answer<T> {
        let page = self.parsed_page(page).await?;
        if document::is_quick(&page) {
            return answer(read(&page));
        }
        answer(off_thread(&self.meter, move || read(&page)).await?)
    }

    async fn search(&mut self, page: &Resource<HostPage>, search: Search) -> Answer<Vec<u32>> {
        let page = self.parsed_page(page).await?;
        match search.run_quickly(&page) {
            Ok(Some(found)) => Ok(Ok(found)),
            Ok(None) => answer(off_thread(&self.meter, move || search.run(&page)).await?),
            Err(error) => answer(Err(error)),
        }
    }
}

impl of_pool::Host for State {
    fn select(&mut self, page: Resource<HostPage>, css: String, limit: u32) -> Answer<Vec<u32>> {
        let page = self.page_here(&page)?;
        answer(Search::new(&css, None, limit).and_then(|search| search.run(&page)))
    }

    fn select_in(
        &mut self,
        page: Resource<HostPage>,
        root: u32,
        css: String,
        limit: u32,
    ) -> Answer<Vec<u32>> {
        let page = self.page_here(&page)?;
        answer(Search::new(&css, Some(root), limit).and_then(|search| search.run(&page)))
    }

    fn name(&mut self, page: Resource<HostPage>, element: u32) -> Answer<String> {
        answer(Read::Name.of(&*self.page_here(&page)?, element))
    }

    fn text(&mut self, page: Resource<HostPage>, element: u32) -> Answer<String> {
        answer(Read::Text.of(&*self.page_here(&page)?, element))
    }

    fn text_content(&mut self, page: Resource<HostPage>, element: u32) -> Answer<String> {
        answer(Read::TextContent.of(&*self.page_here(&page)?, element))
    }

    fn attr(
        &mut self,
        page: Resource<HostPage>,
        element: u32,
        name: String,
    ) -> Answer<Option<String>> {
        answer(document::attr(&*self.page_here(&page)?, element, &name))
    }

    fn attrs(&mut self, page: Resource<HostPage>, element: u32) -> Answer<Vec<of_pool::Attribute>> {
        let attrs = document::attrs(&*self.page_here(&page)?, element);
        let attribute = |(name, value)| of_pool::Attribute { name, value };
        answer(attrs.map(|attrs| attrs.into_iter().map(attribute).collect()))
    }

    fn html(&mut self, page: Resource<HostPage>, element: u32) -> Answer<String> {
        answer(Read::Html.of(&*self.page_here(&page)?, element))
    }

    fn parent(&mut self, page: Resource<HostPage>, element: u32) -> Answer<Option<u32>> {
        answer(document::parent(&*self.page_here(&page)?, element))
    }

    fn children(&mut self, page: Resource<HostPage>, element: u32) -> Answer<Vec<u32>> {
        answer(document::children(&*self.page_here(&page)?, element))
    }

    fn resolve(
        &mut self,
        page: Resource<HostPage>,
        href: String,
    ) -> wasmtime::Result<Option<String>> {
        Ok(self.page_here(&page)?.resolve(&href))
    }
}

impl of_tasks::Host for State {
    async fn select(
        &mut self,
        page: Resource<HostPage>,
        css: String,
        limit: u32,
    ) -> Answer<Vec<u32>> {
        match Search::new(&css, None, limit) {
            Ok(search) => self.search(&page, search).await,
            Err(error) => answer(Err(error)),
        }
    }

    async fn select_in(
        &mut self,
        page: Resource<HostPage>,
        root: u32,
        css: String,
        limit: u32,
    ) -> Answer<Vec<u32>> {
        match Search::new(&css, Some(root), limit) {
            Ok(search) => self.search(&page, search).await,
            Err(error) => answer(Err(error)),
        }
    }

    async fn name(&mut self, page: Resource<HostPage>, element: u32) -> Answer<String> {
        let page = self.parsed_page(&page).await?;
        answer(Read::Name.of(&page, element))
    }

    async fn text(&mut self, page: Resource<HostPage>, element: u32) -> Answer<String> {
        self.read(&page, move |page| Read::Text.of(page, element))
            .await
    }

    async fn text_content(&mut self, page: Resource<HostPage>, element: u32) -> Answer<String> {
        self.read(&page, move |page| Read::TextContent.of(page, element))
            .await
    }

    async fn attr(
        &mut self,
        page: Resource<HostPage>,
        element: u32,
        name: String,
    ) -> Answer<Option<String>> {
        let page = self.parsed_page(&page).await?;
        answer(document::attr(&page, element, &name))
    }

    async fn attrs(
        &mut self,
        page: Resource<HostPage>,
        element: u32,
    ) -> Answer<Vec<of_tasks::Attribute>> {
        let page = self.parsed_page(&page).await?;
        let attribute = |(name, value)| of_tasks::Attribute { name, value };
        let attrs = document::attrs(&page, element);
        answer(attrs.map(|attrs| attrs.into_iter().map(attribute).collect()))
    }

    async fn html(&mut self, page: Resource<HostPage>, element: u32) -> Answer<String> {
        self.read(&page, move |page| Read::Html.of(page, element))
            .await
    }

    async fn parent(&mut self, page: Resource<HostPage>, element: u32) -> Answer<Option<u32>> {
        let page = self.parsed_page(&page).await?;
        answer(document::parent(&page, element))
    }

    async fn children(&mut self, page: Resource<HostPage>, element: u32) -> Answer<Vec<u32>> {
        self.read(&page, move |page| document::children(page, element))
            .await
    }

    async fn resolve(
        &mut self,
        page: Resource<HostPage>,
        href: String,
    ) -> wasmtime::Result<Option<String>> {
        let page = self.parsed_page(&page).await?;
        if document::is_quick(&page) {
            return Ok(page.resolve(&href));
        }
        Ok(off_thread(&self.meter, move || page.resolve(&href)).await?)
    }
}
