//! The request budget that HTTP, rendering and stored pages share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

use super::failure::CallFailure;
use super::pages::HostPage;
use crate::error::{CodedError, ErrorCode};
use crate::limits::Limits;
use crate::memory::{MemoryBudget, MemoryCharge};
use crate::page::Page;

/// Limits on number, bytes and concurrency of one call's requests.
pub(crate) struct RequestBudget {
    max_requests: u32,
    max_mib: u64,
    max_concurrency: u32,
    made: AtomicU32,
    bytes_left: AtomicU64,
    slots: Semaphore,
    memory: Arc<MemoryBudget>,
}

impl RequestBudget {
    pub fn new(limits: &Limits, memory: Arc<MemoryBudget>) -> Self {
        let max_concurrency = limits.concurrency.max(1);
        Self {
            max_requests: limits.fetches,
            max_mib: limits.fetch_mib,
            max_concurrency,
            made: AtomicU32::new(0),
            bytes_left: AtomicU64::new(limits.fetch_bytes()),
            slots: Semaphore::new(max_concurrency as usize),
            memory,
        }
    }

    /// Number of requests counted so far.
    pub fn made(&self) -> u32 {
        self.made.load(Ordering::Relaxed).min(self.max_requests)
    }

    /// Counts one request, and the bytes of its body like those of answers.
    ///
    /// # Errors
    /// `budget` if the number is exhausted, or if the bytes are more than are left.
    pub fn count(&self, body: usize) -> Result<(), CodedError> {
        let left = |left: u64| left.checked_sub(body as u64);
        let counted = self
            .bytes_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        if counted.is_err() {
            return Err(CodedError::new(
                ErrorCode::Budget,
                format!(
                    "the body is longer than what is left of the budget of {} MiB to fetch and to send",
                    self.max_mib
                ),
            ));
        }
        if self.made.fetch_add(1, Ordering::Relaxed) >= self.max_requests {
            self.made.store(self.max_requests, Ordering::Relaxed);
            return Err(CodedError::new(
                ErrorCode::Budget,
                format!("the budget of {} requests is exhausted", self.max_requests),
            ));
        }
        Ok(())
    }

    /// Waits until fewer requests than the limit are in progress.
    pub(crate) async fn slot(&self) -> Result<SemaphorePermit<'_>, CodedError> {
        self.slots
            .acquire()
            .await
            .map_err(|_| CodedError::new(ErrorCode::Cancelled, "the call is being stopped"))
    }

    /// Bytes that may still be fetched. Requests in progress count when they end, so together they
    /// can exceed the budget by one page each.
    ///
    /// # Errors
    /// `budget` if none are left.
    pub fn bytes_left(&self) -> Result<u64, CodedError> {
        match self.bytes_left.load(Ordering::Relaxed) {
            0 => Err(CodedError::new(
                ErrorCode::Budget,
                format!("the budget of {} MiB to fetch is exhausted", self.max_mib),
            )),
            left => Ok(left),
        }
    }

    /// Counts an answer's bytes, and charges the page to the call's memory while the guest holds
    /// it.
    ///
    /// # Errors
    /// [`CallFailure::Stopped`] if the page exceeds the call's memory.
    pub fn receive(&self, page: Arc<Page>) -> Result<HostPage, CallFailure> {
        let bytes = page.parts().body.len() as u64;
        let left = |left: u64| Some(left.saturating_sub(bytes));
        // The closure always returns `Some`, so the update cannot fail.
        let _ = self
            .bytes_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        Ok(HostPage::charged(page, &self.memory)?)
    }

    /// Charges data that a guest passed with a request, until the request has ended.
    ///
    /// # Errors
    /// [`CallFailure::Stopped`] if it exceeds the call's memory.
    pub fn hold(&self, bytes: usize) -> Result<MemoryCharge, CallFailure> {
        Ok(self.memory.charge(bytes as u64)?)
    }

    /// How many requests of a list to send in parallel; 0 requests the limit.
    pub fn width(&self, asked: u32) -> usize {
        let limit = self.max_concurrency;
        (if asked == 0 { limit } else { asked.min(limit) }) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LimitsConfig;
    use crate::page::PageParts;

    #[test]
    fn what_is_sent_counts_like_what_is_fetched() {
        let limits = Limits {
            fetch_mib: 1,
            fetches: 5,
            ..LimitsConfig::default().actor.default
        };
        let requests = RequestBudget::new(&limits, MemoryBudget::new(8 << 20));
        requests.count(600 << 10).unwrap();
        let refused = requests.count(600 << 10).unwrap_err();
        assert_eq!(refused.code, ErrorCode::Budget);
        assert_eq!(requests.made(), 1, "it is not sent");
        let page = Page::new(PageParts {
            body: vec![0; 424 << 10].into(),
            ..PageParts::default()
        });
        drop(requests.receive(page).unwrap());
        assert_eq!(requests.bytes_left().unwrap_err().code, ErrorCode::Budget);
        assert!(requests.count(1).is_err());
        // The one who waits for its turn says that nothing may be fetched.
        requests.count(0).unwrap();
    }
}
