//! Pages that a guest holds, charged to its call's memory.

use std::sync::Arc;

use crate::error::StopReason;
use crate::memory::{MemoryBudget, MemoryCharge};
use crate::meter::{Meter, measured};
use crate::page::Page;

/// Bytes that a parse is expected to need for each byte of HTML: its tree and the snapshot.
/// They are reserved before it begins; afterwards the snapshot's real size counts.
const PARSE_FACTOR: u64 = 4;

/// The host's side of the WIT resource `page`. Dropping it gives the memory back. (Public for
/// the generated bindings; its module is not.)
pub struct HostPage {
    page: Arc<Page>,
    /// None for a page that the host gave to the guest: the caller's, the same for all roles.
    charge: Option<MemoryCharge>,
}

impl HostPage {
    /// A page that the guest did not ask for: it costs the guest nothing.
    pub(crate) fn given(page: Arc<Page>) -> Self {
        Self { page, charge: None }
    }

    /// A page that the guest asked for.
    ///
    /// # Errors
    /// [`StopReason::Limit`] if the call's memory does not hold it.
    pub(crate) fn charged(page: Arc<Page>, memory: &Arc<MemoryBudget>) -> Result<Self, StopReason> {
        let charge = memory.charge(page.held_bytes())?;
        Ok(Self {
            page,
            charge: Some(charge),
        })
    }

    /// The page itself.
    pub(crate) fn page(&self) -> &Arc<Page> {
        &self.page
    }

    /// Reserves what a parse needs, where none has been made yet.
    ///
    /// # Errors
    /// [`StopReason::Limit`] if the call's memory does not hold it.
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

    /// Charges what the page holds now, its snapshot included.
    ///
    /// # Errors
    /// [`StopReason::Limit`] if the call's memory does not hold it.
    pub(crate) fn recharge(&mut self) -> Result<(), StopReason> {
        match &mut self.charge {
            Some(charge) => charge.resize(self.page.held_bytes()),
            None => Ok(()),
        }
    }
}

/// Parses a page on a thread that may be busy for long, and counts its time as the guest's.
///
/// # Errors
/// [`StopReason::Limit`] if the call's CPU time is used up.
pub(crate) async fn parse(page: &Arc<Page>, meter: &Meter) -> Result<(), StopReason> {
    if page.parsed().is_some() {
        return Ok(());
    }
    let parsing = Arc::clone(page);
    let parsed = tokio::task::spawn_blocking(move || measured(|| drop(parsing.snapshot().clone())));
    match parsed.await {
        Ok(((), cpu)) => meter.charge(cpu),
        // The parser panicked, or the engine shuts down: nobody reads the result.
        Err(_) => Err(StopReason::Cancelled),
    }
}
