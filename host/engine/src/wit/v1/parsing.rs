//! The interface `parsing`.

use wasmtime::component::Resource;

use super::bindings::actor::orbweaver::plugin::parsing;
use crate::capability::pages::HostPage;
use crate::page::Page;
use crate::state::State;

impl parsing::Host for State {
    fn from_html(&mut self, url: String, html: String) -> wasmtime::Result<Resource<HostPage>> {
        let page = HostPage::charged(Page::from_html(&url, &html), &self.memory)?;
        Ok(self.push_page(page)?)
    }
}
