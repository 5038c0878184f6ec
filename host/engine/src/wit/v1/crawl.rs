//! The interface `crawl`.

use super::bindings::hook::orbweaver::plugin::crawl;
use crate::state::State;

impl crawl::Host for State {
    fn run_id(&mut self) -> wasmtime::Result<Option<i64>> {
        self.meter.check_if_overdue()?;
        Ok(self.crawl_run)
    }
}
