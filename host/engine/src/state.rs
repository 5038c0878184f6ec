//! What a store holds: everything of one call.

use std::sync::Arc;

use wasmtime::component::{Resource, ResourceTable, ResourceTableError};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::call::HostCall;
use crate::config::Limits;
use crate::limiter::Limiter;
use crate::meter::Meter;
use crate::page::Page;
use crate::plugin_log::PluginLog;

/// The host's side of the WIT resource `page`. (Public for the generated bindings; its
/// module is not.)
pub struct HostPage(pub Arc<Page>);

/// Data of one store, which serves one call and is thrown away.
pub(crate) struct State {
    pub table: ResourceTable,
    pub limiter: Limiter,
    pub log: PluginLog,
    pub meter: Arc<Meter>,
    /// Of actors and fetchers.
    pub call: Option<Arc<HostCall>>,
    /// Bytes of HTML that the guest may still turn into pages.
    pub parse_bytes: u64,
    /// Made when the guest first asks: most never do.
    wasi: Option<Box<WasiCtx>>,
    plugin: Arc<str>,
    log_lines: u32,
}

impl State {
    pub fn new(
        plugin: &Arc<str>,
        limits: &Limits,
        meter: Arc<Meter>,
        call: Option<Arc<HostCall>>,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles as usize);
        Self {
            table,
            limiter: Limiter::new(limits),
            log: PluginLog::new(Arc::clone(plugin), limits.log_lines),
            meter,
            call,
            parse_bytes: limits.memory_bytes(),
            wasi: None,
            plugin: Arc::clone(plugin),
            log_lines: limits.log_lines,
        }
    }

    /// Hands a page to the guest.
    pub fn push_page(&mut self, page: Arc<Page>) -> Result<Resource<HostPage>, ResourceTableError> {
        self.table.push(HostPage(page))
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self {
            wasi,
            table,
            plugin,
            log_lines,
            ..
        } = self;
        let ctx = wasi.get_or_insert_with(|| Box::new(crate::wasi::context(plugin, *log_lines)));
        WasiCtxView { ctx, table }
    }
}
