//! Data of a store: the state of one call.

use std::sync::Arc;

use wasmtime::component::{Resource, ResourceTable, ResourceTableError};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::capability::Capabilities;
use crate::capability::log::PluginLog;
use crate::capability::pages::HostPage;
use crate::capability::pages::ParseTurn;
use crate::classify::classify;
use crate::error::PluginError;
use crate::inputs::Inputs;
use crate::journal::Reporter;
use crate::label::Label;
use crate::limiter::Limiter;
use crate::limits::Limits;
use crate::memory::MemoryBudget;
use crate::meter::Meter;
use crate::text::clean;
use crate::wasi::console::LastWords;

/// Longest message of a trap that a caller gets, in bytes.
const MAX_TRAP_BYTES: usize = 600;

/// Data of one store, which serves one call and is then dropped.
pub(crate) struct State {
    pub table: ResourceTable,
    pub limiter: Limiter,
    pub log: PluginLog,
    pub meter: Arc<Meter>,
    /// Memory of the guest and of the data that the host holds for it.
    pub memory: Arc<MemoryBudget>,
    /// Capabilities of an actor, a fetcher or a hook with state; `None` for others.
    pub capabilities: Option<Arc<Capabilities>>,
    /// The turns of the call's parses on other threads.
    pub parsing: ParseTurn,
    /// Outputs of other roles that the plugin needs.
    pub inputs: Inputs,
    /// The crawl's run that the call is part of.
    pub crawl_run: Option<i64>,
    /// Created on first use, because most guests never use it.
    wasi: Option<Box<WasiCtx>>,
    plugin: Label,
    log_lines: u32,
    last_words: LastWords,
    reporter: Reporter,
}

impl State {
    pub fn new(
        plugin: &Label,
        limits: &Limits,
        meter: Arc<Meter>,
        memory: Arc<MemoryBudget>,
        capabilities: Option<Arc<Capabilities>>,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles as usize);
        Self {
            table,
            limiter: Limiter::new(limits, Arc::clone(&memory), Arc::clone(&meter)),
            log: PluginLog::new(plugin.clone(), limits.log_lines),
            meter,
            memory,
            capabilities,
            parsing: ParseTurn::default(),
            inputs: Inputs::default(),
            crawl_run: None,
            wasi: None,
            plugin: plugin.clone(),
            log_lines: limits.log_lines,
            last_words: LastWords::default(),
            reporter: Reporter::NONE,
        }
    }

    /// The typed error of a failed call; of a trap with what the guest wrote last to standard
    /// error, such as the message of its panic.
    pub fn failure(&self, error: &wasmtime::Error, limits: &Limits) -> PluginError {
        match classify(&self.plugin, error, &self.limiter, limits) {
            PluginError::Trap(trap) => {
                let words = self.last_words.message();
                let told = if words.is_empty() {
                    trap
                } else {
                    format!("{trap}: {words}")
                };
                PluginError::Trap(clean(&told, MAX_TRAP_BYTES))
            }
            other => other,
        }
    }

    /// Reports what the guest logs.
    pub fn report_to(&mut self, reporter: Reporter) {
        self.log.report_to(reporter.clone());
        self.reporter = reporter;
    }

    /// Makes this the meter of the next call of the same guest.
    pub fn set_meter(&mut self, meter: Arc<Meter>) {
        self.limiter.set_meter(Arc::clone(&meter));
        self.meter = meter;
    }

    /// Makes the guest work for another plugin, which has the same limits.
    pub fn work_for(&mut self, plugin: &Label, inputs: &Inputs, reporter: &Reporter) {
        self.plugin = plugin.clone();
        self.inputs = inputs.clone();
        self.log = PluginLog::new(plugin.clone(), self.log_lines);
        self.last_words = LastWords::default();
        self.wasi = None;
        self.report_to(reporter.clone());
    }

    /// Passes a page to the guest.
    pub fn push_page(&mut self, page: HostPage) -> Result<Resource<HostPage>, ResourceTableError> {
        self.table.push(page)
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let Self {
            wasi,
            table,
            plugin,
            log_lines,
            last_words,
            reporter,
            ..
        } = self;
        let ctx = wasi.get_or_insert_with(|| {
            Box::new(crate::wasi::console::context(
                plugin, *log_lines, last_words, reporter,
            ))
        });
        WasiCtxView { ctx, table }
    }
}
