//! Memory and tables of one call.

use wasmtime::ResourceLimiter;

use crate::config::Limits;
use crate::error::Limit;

/// Refuses growth beyond the call's budget (the guest sees -1) and remembers that it did:
/// a guest that runs out of memory usually traps with `unreachable`, which alone says
/// nothing.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_budget: u64,
    table_budget: u64,
    memory: u64,
    table: u64,
    refused: Option<Limit>,
}

/// Memories, tables and core instances of one store: a component's modules together.
const MAX_PER_STORE: usize = 1_000;

impl Limiter {
    pub fn new(limits: &Limits) -> Self {
        Self {
            memory_budget: limits.memory_bytes(),
            table_budget: limits.table_elements,
            memory: 0,
            table: 0,
            refused: None,
        }
    }

    /// Bytes of all memories together: the most there were, as they never shrink.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The budget whose excess was refused, if one was.
    pub fn refused(&self) -> Option<Limit> {
        self.refused
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // The budget is for all memories of the call together.
        let more = (desired as u64).saturating_sub(current as u64);
        let total = self.memory.saturating_add(more);
        if total > self.memory_budget {
            self.refused = Some(Limit::Memory(self.memory_budget));
            return Ok(false);
        }
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        self.memory = total;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.refused = Some(Limit::Memory(self.memory_budget));
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
        MAX_PER_STORE
    }

    fn tables(&self) -> usize {
        MAX_PER_STORE
    }

    fn memories(&self) -> usize {
        MAX_PER_STORE
    }
}
