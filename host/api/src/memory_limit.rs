//! Memory that the bodies of requests, or of answers, hold together: a bound for all clients, and a
//! share of it for each.
//!
//! A request that already holds memory never waits for more: at the limit it is refused. Large bodies
//! leave a quarter of the bound to small ones, so that a few clients at their limit do not lock out the
//! others.

mod answers;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use orbweaver_accounts::customer_address::customer;
use orbweaver_core::ids::ProjectId;
use orbweaver_pipeline::ScanError;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::ApiError;
use crate::scope::Scope;

pub use answers::HeldAnswer;
pub(crate) use answers::{LISTED_PAGE, answered, grow, reserve, reserve_list};

/// A body of at most so many bytes is small.
pub(crate) const SMALL: u64 = 64 << 10;
/// Seconds after which there may be room again.
const RETRY_AFTER: u64 = 5;

/// Whose memory it is: the project's, of a request without a key the address's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// A project.
    Project(ProjectId),
    /// An IPv4 address or an IPv6 network.
    Address(IpAddr),
    /// A caller without an address, such as a program on this machine.
    Local,
}

impl Holder {
    /// Of a request, as far as it is known.
    pub(crate) fn of(scope: &Scope) -> Self {
        match (scope.principal(), scope.client_ip()) {
            (Some(principal), _) => Self::Project(principal.project),
            (None, Some(ip)) => Self::Address(customer(ip)),
            (None, None) => Self::Local,
        }
    }
}

/// A bound on memory. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The setting of the bound.
    setting: &'static str,
    /// What holds it.
    what: &'static str,
    /// In bytes; 0 is no bound.
    most: u64,
    table: Mutex<Table>,
    /// Told when memory is given back.
    freed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    used: u64,
    holders: HashMap<Holder, u64>,
}

/// There is no room; says whose memory is used up.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Full(String);

impl From<Full> for ScanError {
    fn from(Full(message): Full) -> Self {
        Self::Busy {
            message,
            retry_after: RETRY_AFTER,
        }
    }
}

impl From<Full> for ApiError {
    fn from(Full(message): Full) -> Self {
        Self::rate_limited(message, RETRY_AFTER)
    }
}

impl Memory {
    /// For the bodies of requests; `mib` is `http.request_memory_mib`.
    pub fn of_requests(mib: u64) -> Self {
        Self::new("http.request_memory_mib", "bodies of requests", mib)
    }

    /// For answers, while they are made and until they are read; `mib` is `http.answer_memory_mib`.
    pub fn of_answers(mib: u64) -> Self {
        Self::new("http.answer_memory_mib", "answers not yet read", mib)
    }

    fn new(setting: &'static str, what: &'static str, mib: u64) -> Self {
        Self(Arc::new(Inner {
            setting,
            what,
            most: mib.saturating_mul(1 << 20),
            table: Mutex::default(),
            freed: Notify::new(),
        }))
    }

    /// Memory of this holder, of which it has none yet.
    pub(crate) fn held(&self, holder: Holder) -> Held {
        Held {
            memory: self.clone(),
            holder,
            bytes: 0,
        }
    }
}

/// Memory that somebody holds; given back when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    memory: Memory,
    holder: Holder,
    bytes: u64,
}

impl Held {
    /// Takes so many bytes more.
    ///
    /// # Errors
    /// Where there is no room for them.
    pub(crate) fn grow(&mut self, more: u64) -> Result<(), Full> {
        let mut table = self.memory.0.table.lock();
        self.check(&table, more)?;
        if more > 0 {
            table.used += more;
            *table.holders.entry(self.holder).or_default() += more;
            self.bytes += more;
        }
        Ok(())
    }

    /// Waits up to `patience` for `more` bytes. Only for callers that hold no memory yet.
    ///
    /// # Errors
    /// Where there is no room for them within `patience`.
    pub(crate) async fn grow_within(&mut self, patience: Duration, more: u64) -> Result<(), Full> {
        let memory = self.memory.clone();
        let growing = async {
            loop {
                // Made first, so that nothing given back after a refusal is missed.
                let freed = memory.0.freed.notified();
                if self.grow(more).is_ok() {
                    return;
                }
                freed.await;
            }
        };
        match tokio::time::timeout(patience, growing).await {
            Ok(()) => Ok(()),
            Err(_) => self.grow(more),
        }
    }

    /// Holds so many bytes in all, more or fewer than before.
    ///
    /// # Errors
    /// Where there is no room for more; then it holds what it held.
    pub(crate) fn resize(&mut self, bytes: u64) -> Result<(), Full> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            return self.grow(more);
        }
        self.give_back(self.bytes - bytes);
        Ok(())
    }

    fn give_back(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut table = self.memory.0.table.lock();
        table.used = table.used.saturating_sub(bytes);
        let rest = table.holders.get_mut(&self.holder).map(|own| {
            *own = own.saturating_sub(bytes);
            *own
        });
        if rest == Some(0) {
            table.holders.remove(&self.holder);
        }
        self.bytes = self.bytes.saturating_sub(bytes);
        drop(table);
        self.memory.0.freed.notify_waiters();
    }

    /// Whether there is room for so many bytes more.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn would_grow(&self, more: u64) -> Result<(), Full> {
        self.check(&self.memory.0.table.lock(), more)
    }

    fn check(&self, table: &Table, more: u64) -> Result<(), Full> {
        let Inner {
            setting,
            what,
            most,
            ..
        } = &*self.memory.0;
        if *most == 0 {
            return Ok(());
        }
        let is_large = self.bytes.saturating_add(more) > SMALL;
        let (all, share) = match is_large {
            true => (most - most / 4, most / 3),
            false => (*most, most / 2),
        };
        let own = table.holders.get(&self.holder).copied().unwrap_or(0);
        // One body is never too large for its share: the limits of single bodies say what is.
        if own > self.bytes && own.saturating_add(more) > share {
            let whose = match self.holder {
                Holder::Project(_) => "this project's requests",
                Holder::Address(_) => "requests from this address",
                Holder::Local => "requests of this program",
            };
            let share = mib(share);
            return Err(Full(format!(
                "{whose} hold their share of the memory for {what}: {share} MiB of what {setting} \
                 allows"
            )));
        }
        if table.used > self.bytes && table.used.saturating_add(more) > all {
            let all = mib(all);
            return Err(Full(format!(
                "the memory for {what} is used up: {all} MiB of what {setting} allows"
            )));
        }
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

/// Whole MiB, at least 1.
fn mib(bytes: u64) -> u64 {
    (bytes >> 20).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn project(id: i64) -> Holder {
        Holder::Project(ProjectId(id))
    }

    #[test]
    fn a_holder_has_a_third_and_gets_it_back() {
        let memory = Memory::of_requests(16);
        let mut first = memory.held(project(1));
        first.grow(3 * MIB).expect("room");
        let mut second = memory.held(project(1));
        let refused = second.grow(3 * MIB).expect_err("over the share");
        assert!(
            refused
                .0
                .starts_with("this project's requests hold their share"),
            "{refused:?}"
        );
        memory
            .held(project(2))
            .grow(2 * MIB)
            .expect("a share of its own");
        drop(first);
        second.grow(3 * MIB).expect("given back");
    }

    #[test]
    fn one_body_may_be_larger_than_a_share() {
        let memory = Memory::of_requests(4);
        let mut held = memory.held(project(1));
        for _ in 0..3 {
            held.grow(MIB).expect("the only one");
        }
        memory.held(project(1)).grow(MIB).expect_err("a second one");
    }

    #[test]
    fn small_bodies_have_room_when_large_ones_have_none() {
        let memory = Memory::of_requests(16);
        let mut large: Vec<Held> = (1..=3).map(|id| memory.held(project(id))).collect();
        for held in &mut large {
            held.grow(4 * MIB).expect("its share");
        }
        let mut more = memory.held(project(4));
        assert!(more.grow(MIB).is_err());
        more.grow(SMALL).expect("a small one");
        let mut small = memory.held(project(1));
        small.grow(SMALL).expect("a small one beside a large one");
        let mut many: Vec<Held> = Vec::new();
        let refused = loop {
            let mut held = memory.held(project(5));
            match held.grow(SMALL) {
                Ok(()) => many.push(held),
                Err(full) => break full,
            }
        };
        assert!(
            refused.0.starts_with("the memory for bodies of requests"),
            "{refused:?}"
        );
    }

    #[test]
    fn what_is_made_takes_what_it_has_become() {
        let memory = Memory::of_answers(16);
        let mut held = memory.held(project(1));
        held.grow(5 * MIB).expect("room");
        held.resize(2 * MIB).expect("less");
        let mut other = memory.held(project(1));
        other.grow(3 * MIB).expect("what was given back");
        held.resize(3 * MIB).expect_err("over the share");
        drop(other);
        held.resize(3 * MIB).expect("room again");
        assert_eq!(memory.0.table.lock().used, 3 * MIB);
    }

    #[tokio::test]
    async fn what_is_not_begun_waits_for_room() {
        let memory = Memory::of_answers(16);
        let mut first = memory.held(project(1));
        first.grow(5 * MIB).expect("room");
        let mut second = memory.held(project(1));
        let refused = second.grow_within(Duration::ZERO, 2 * MIB).await;
        refused.expect_err("the first one is there");
        let mut waiting = Box::pin(second.grow_within(Duration::MAX, 2 * MIB));
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        first.resize(4 * MIB).expect("less");
        assert!(futures::poll!(waiting.as_mut()).is_pending());
        drop(first);
        waiting.await.expect("room");
    }

    #[test]
    fn nothing_is_left_behind() {
        let memory = Memory::of_answers(1);
        let mut held = memory.held(Holder::Local);
        held.grow(0).expect("nothing");
        held.grow(5).expect("room");
        drop(held);
        let table = memory.0.table.lock();
        assert_eq!((table.used, table.holders.len()), (0, 0));
    }

    #[test]
    fn a_bound_of_0_is_off() {
        let memory = Memory::of_answers(0);
        let mut held: Vec<Held> = (0..4).map(|_| memory.held(project(1))).collect();
        for held in &mut held {
            held.grow(1 << 40).expect("no bound");
        }
    }
}
