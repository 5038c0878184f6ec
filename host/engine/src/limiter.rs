//! Limits on linear memories and tables of one call.

use std::sync::Arc;

use wasmtime::ResourceLimiter;

use crate::error::Limit;
use crate::inspect::MAX_MADE_MEMORIES;
use crate::limits::Limits;
use crate::memory::MemoryBudget;
use crate::meter::Meter;

/// Refuses growth beyond the call's budget (the guest gets -1) and remembers the refusal: a guest
/// out of memory usually traps with `unreachable`, which does not show the cause.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory: Arc<MemoryBudget>,
    meter: Arc<Meter>,
    table_budget: u64,
    table: u64,
    refused: Option<Limit>,
}

/// Most core instances of one store, over all modules of a component; an interpreter has about forty.
const MAX_INSTANCES: usize = 256;
/// Most tables of one store; each module of a compiled language has one or two.
const MAX_TABLES: usize = 64;

impl Limiter {
    pub fn new(limits: &Limits, memory: Arc<MemoryBudget>, meter: Arc<Meter>) -> Self {
        Self {
            memory,
            meter,
            table_budget: limits.table_elements,
            table: 0,
            refused: None,
        }
    }

    /// Checks this meter from now on.
    pub fn set_meter(&mut self, meter: Arc<Meter>) {
        self.meter = meter;
    }

    /// The limit that was exceeded last, if any.
    pub fn refused(&self) -> Option<Limit> {
        self.refused
    }

    fn refuse_memory(&mut self) {
        self.refused = Some(Limit::Memory(self.memory.limit()));
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.meter.check_if_overdue()?;
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        // The budget covers all memories of the call together.
        let more = (desired as u64).saturating_sub(current as u64);
        if self.memory.grow(more).is_err() {
            self.refuse_memory();
            return Ok(false);
        }
        // The guest made do with less.
        self.refused = None;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        // `memory_growing` is not called for growth beyond the memory's maximum, so check the time
        // budget here.
        self.meter.check_if_overdue()?;
        self.refuse_memory();
        Ok(())
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let more = (desired as u64).saturating_sub(current as u64);
        let total = self.table.saturating_add(more);
        if total > self.table_budget {
            self.refused = Some(Limit::Table(self.table_budget));
            return Ok(false);
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.table = total;
        Ok(true)
    }

    fn table_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.refused = Some(Limit::Table(self.table_budget));
        Ok(())
    }

    fn instances(&self) -> usize {
        MAX_INSTANCES
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }

    /// More are refused before they are made (`inspect`).
    fn memories(&self) -> usize {
        usize::try_from(MAX_MADE_MEMORIES).unwrap_or(usize::MAX)
    }
}
