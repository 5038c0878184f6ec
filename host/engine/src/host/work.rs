//! What the host does for a call of a plugin, besides the guest: CPU time and memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use orbweaver_dom::ParseNeed;

use crate::error::{CodedError, ErrorCode};
use crate::memory::{MemoryBudget, MemoryCharge};
use crate::meter::{measured, nanos};
use crate::page::Page;

/// CPU time of one call that other threads than the guest's spend: extractors that the call asks for, with
/// what they need, checks of their options, and links of crawls. And the call's memory, for what they make on
/// the way. Cheap to clone; all clones are one account.
#[derive(Clone, Debug)]
pub struct HostWork(Arc<Account>);

#[derive(Debug)]
struct Account {
    budget: Duration,
    /// Nanoseconds.
    spent: AtomicU64,
    /// Of the call; none outside of one.
    memory: Option<Arc<MemoryBudget>>,
}

impl HostWork {
    /// An account with this much time, none of it spent.
    pub fn new(budget: Duration) -> Self {
        Self(Arc::new(Account {
            budget,
            spent: AtomicU64::new(0),
            memory: None,
        }))
    }

    /// The account of a call with this memory.
    pub(crate) fn of_call(budget: Duration, memory: &Arc<MemoryBudget>) -> Self {
        Self(Arc::new(Account {
            budget,
            spent: AtomicU64::new(0),
            memory: Some(Arc::clone(memory)),
        }))
    }

    /// Counts CPU time. Work that has begun may exceed the budget.
    pub fn spend(&self, cpu: Duration) {
        self.0.spent.fetch_add(nanos(cpu), Ordering::Relaxed);
    }

    /// Runs CPU-bound work, and counts its time.
    pub fn measure<T>(&self, work: impl FnOnce() -> T) -> T {
        let (result, cpu) = measured(work);
        self.spend(cpu);
        result
    }

    /// CPU time so far.
    pub fn spent(&self) -> Duration {
        Duration::from_nanos(self.0.spent.load(Ordering::Relaxed))
    }

    /// Charges the HTML of a page that the host has made for the call, such as that of a converted document, and
    /// the most that its parse needs, until the charge is dropped. Charges nothing for a page that is parsed,
    /// because the guest holds it already, and nothing outside of a call.
    ///
    /// # Errors
    /// `budget` if the call's memory has less left.
    pub(crate) fn hold(&self, page: &Page) -> Result<Option<MemoryCharge>, CodedError> {
        let Some(memory) = self.0.memory.as_ref().filter(|_| page.parsed().is_none()) else {
            return Ok(None);
        };
        let html = &page.parts().html;
        let charged = memory.charge(html.len() as u64).and_then(|mut charge| {
            let need = ParseNeed::of(html).bytes;
            charge.resize(need.saturating_add(html.len() as u64))?;
            Ok(charge)
        });
        charged.map(Some).map_err(|_| {
            let why = "the call's memory does not hold the document as HTML";
            CodedError::new(ErrorCode::Budget, why)
        })
    }

    /// Whether further work may begin.
    ///
    /// # Errors
    /// `budget` if the time is spent.
    pub(crate) fn check(&self) -> Result<(), CodedError> {
        if self.spent() < self.0.budget {
            return Ok(());
        }
        Err(CodedError::new(
            ErrorCode::Budget,
            format!(
                "the budget of {} ms CPU time of the host (setting plugins.host_cpu_ms) is exhausted",
                self.0.budget.as_millis()
            ),
        ))
    }
}

/// Runs CPU-bound work, and counts its time if somebody pays for it.
pub(crate) fn measure_for<T>(account: Option<&HostWork>, work: impl FnOnce() -> T) -> T {
    match account {
        Some(account) => account.measure(work),
        None => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clones_spend_one_budget() {
        let account = HostWork::new(Duration::from_millis(10));
        account.clone().spend(Duration::from_millis(9));
        assert!(account.check().is_ok());
        account.clone().spend(Duration::from_millis(1));
        assert_eq!(account.check().unwrap_err().code, ErrorCode::Budget);
        assert_eq!(account.spent(), Duration::from_millis(10));
    }

    #[test]
    fn a_page_that_the_host_has_made_is_memory_of_the_call() {
        let memory = MemoryBudget::new(16 << 20);
        let account = HostWork::of_call(Duration::from_secs(1), &memory);
        let page = |bytes: usize| Page::from_html("https://e.org/", &"<p>x".repeat(bytes / 4));
        let held = account.hold(&page(100_000)).unwrap();
        assert!(memory.peak() > 100_000);
        drop(held);
        let refused = account.hold(&page(8 << 20)).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Budget);
        let of_guest = page(100_000);
        of_guest.snapshot();
        assert!(account.hold(&of_guest).unwrap().is_none());
        assert!(memory.charge(16 << 20).is_ok(), "nothing is held on");
    }
}
