//! Pages that a guest holds, charged to its call's memory budget.

use std::sync::Arc;

use orbweaver_dom::{Limits, ParseNeed};
use tokio::sync::Mutex;

use crate::error::{CodedError, StopReason};
use crate::host_tasks::HostTasks;
use crate::memory::{MemoryBudget, MemoryCharge};
use crate::meter::Meter;
use crate::page::Page;

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

    /// Reserves what a parse needs at its peak, where none has been made yet, and says within
    /// which limits it is to stay. Afterwards the snapshot's real size counts.
    ///
    /// # Errors
    /// [`StopReason::Limit`] if the call's memory does not hold it.
    pub(crate) fn reserve_parse(&mut self) -> Result<Limits, StopReason> {
        let Some(charge) = &mut self.charge else {
            return Ok(Limits::default());
        };
        if self.page.parsed().is_some() {
            return Ok(Limits::default());
        }
        let html = &self.page.parts().html;
        // If even the least need exceeds the budget, it is refused without a look at the page.
        charge.resize(self.page.held_bytes().saturating_add(html.len() as u64))?;
        let need = ParseNeed::of(html);
        charge.resize(self.page.held_bytes().saturating_add(need.bytes))?;
        Ok(need.limits)
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

/// One parse of a call at a time: those that an asynchronous guest begins beside it wait here,
/// without a turn that other calls need.
pub(crate) type ParseTurn = Arc<Mutex<()>>;

/// Parses a page on a blocking thread, and counts the time as CPU time of the guest.
///
/// # Errors
/// [`StopReason::Limit`] if the call's CPU time is used up.
pub(crate) async fn parse(
    page: &Arc<Page>,
    limits: Limits,
    meter: &Arc<Meter>,
    turn: &ParseTurn,
) -> Result<(), StopReason> {
    if page.parsed().is_some() {
        return Ok(());
    }
    let tasks = HostTasks::current();
    let (here, parsing) = (tasks.clone(), Arc::clone(page));
    let (turn, spender) = (Arc::clone(turn), Arc::clone(meter));
    let work = async move {
        let turn = turn.lock_owned().await;
        if parsing.parsed().is_some() {
            return Ok(Ok(()));
        }
        let parse = move || {
            // Held by the work itself, as a turn is.
            let _turn = turn;
            drop(Arc::clone(parsing.snapshot_within(&limits)));
        };
        Ok::<_, CodedError>(here.blocking(&spender, parse).await)
    };
    let parsed = tasks.run(meter, work).await;
    parsed.map_err(|_| StopReason::Cancelled)??;
    meter.check()
}

/// Does work on a blocking thread, and counts its time as CPU time of the guest, also if the guest
/// does not wait for it.
///
/// # Errors
/// [`StopReason::Limit`] if the call's CPU time is used up.
pub(crate) async fn off_thread<T: Send + 'static>(
    meter: &Arc<Meter>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StopReason> {
    let result = HostTasks::current().blocking(meter, work).await?;
    meter.check()?;
    Ok(result)
}
