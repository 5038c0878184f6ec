//! Pages that a guest holds, charged to its call's memory budget.

use std::sync::Arc;

use crate::error::StopReason;
use crate::memory::{MemoryBudget, MemoryCharge};
use crate::meter::{Meter, measured};
use crate::page::Page;

/// Estimated bytes that a parse needs per byte of HTML, for tree and snapshot. They are reserved
/// before the parse; afterwards the snapshot's real size counts.
const PARSE_FACTOR: u64 = 4;

/// The host side of the WIT resource `page`. Dropping it releases its memory. (Public only for the
/// generated bindings; its module is private.)
pub struct HostPage {
    page: Arc<Page>,
    /// `None` for the page passed to the guest as an argument, which all roles share.
    charge: Option<MemoryCharge>,
}

impl HostPage {
    /// A page passed to the guest as an argument: not charged.
    pub(crate) fn given(page: Arc<Page>) -> Self {
        Self { page, charge: None }
    }

    /// A page that the guest requested: charged.
    ///
    /// # Errors
    /// [`StopReason::Limit`] if it exceeds the call's memory.
    pub(crate) fn charged(page: Arc<Page>, memory: &Arc<MemoryBudget>) -> Result<Self, StopReason> {
        let charge = memory.charge(page.held_bytes())?;
        Ok(Self {
            page,
            charge: Some(charge),
        })
    }

    /// The shared page.
    pub(crate) fn page(&self) -> &Arc<Page> {
        &self.page
    }

    /// Reserves memory for a parse, unless the page is already parsed.
    ///
    /// # Errors
    /// [`StopReason::Limit`] if it exceeds the call's memory.
    pub(crate) fn reserve_parse(&mut self) -> Result<(), StopReason> {
        let Some(charge) = &mut self.charge else {
            return Ok(());
        };
        let parse = match self.page.parsed() {
            Some(_) => 0,
            None => (self.page.parts().html.len() as u64).saturating_mul(PARSE_FACTOR),
        };
        charge.resize(self.page.held_bytes().saturating_add(parse))
    }

    /// Charges the current size of the page, including its snapshot.
    ///
    /// # Errors
    /// [`StopReason::Limit`] if it exceeds the call's memory.
    pub(crate) fn recharge(&mut self) -> Result<(), StopReason> {
        match &mut self.charge {
            Some(charge) => charge.resize(self.page.held_bytes()),
            None => Ok(()),
        }
    }
}

/// Parses a page on a blocking thread, and counts the time as CPU time of the guest.
///
/// # Errors
/// [`StopReason::Limit`] if the call's CPU time is exhausted.
pub(crate) async fn parse(page: &Arc<Page>, meter: &Meter) -> Result<(), StopReason> {
    if page.parsed().is_some() {
        return Ok(());
    }
    let parsing = Arc::clone(page);
    let parsed = tokio::task::spawn_blocking(move || measured(|| drop(parsing.snapshot().clone())));
    match parsed.await {
        Ok(((), cpu)) => meter.charge(cpu),
        // The parser panicked, or the engine is shutting down: nobody reads the result.
        Err(_) => Err(StopReason::Cancelled),
    }
}
