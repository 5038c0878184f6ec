//! The clock that interrupts guests. It stands still while no guest runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Interval of the checks of running guests: the resolution of time budgets.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Calls a function at every [`TICK`] while at least one [`RunningGuest`] exists, and sleeps
/// otherwise. Its thread ends when this is dropped.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
}

struct Shared {
    running: AtomicUsize,
    parked: AtomicBool,
    ticks: AtomicU64,
    closed: Mutex<bool>,
    wake: Condvar,
    /// Notified whenever the thread parks.
    stopped: Condvar,
}

/// A guest that runs on the calling thread; the clock ticks until this is dropped.
pub(crate) struct RunningGuest<'t>(&'t Shared);

impl Ticker {
    /// Starts the thread, parked. It calls `tick`, which returns the time until the next call.
    ///
    /// # Errors
    /// The operating system's error if it cannot start a thread.
    pub fn start(tick: impl Fn() -> Duration + Send + 'static) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            parked: AtomicBool::new(false),
            ticks: AtomicU64::new(0),
            closed: Mutex::new(false),
            wake: Condvar::new(),
            stopped: Condvar::new(),
        });
        let clock = Arc::clone(&shared);
        thread::Builder::new()
            .name("plugin-clock".to_owned())
            .spawn(move || {
                let mut pause = TICK;
                while clock.wait_for_guest() {
                    thread::sleep(pause);
                    pause = tick();
                    clock.ticks.fetch_add(1, Ordering::Relaxed);
                }
            })?;
        Ok(Self { shared })
    }

    /// Records that a guest runs. Wakes the clock if it is parked.
    pub fn guest(&self) -> RunningGuest<'_> {
        let shared = &*self.shared;
        // Sequentially consistent, and the clock reads both values in the opposite order: either
        // it sees this guest, or this guest sees that it is parked.
        shared.running.fetch_add(1, Ordering::SeqCst);
        if shared.parked.load(Ordering::SeqCst) {
            let _closed = shared.closed.lock();
            shared.wake.notify_one();
        }
        RunningGuest(shared)
    }

    /// Waits until the clock is parked; it does not tick again before the next guest. Returns the
    /// number of ticks so far.
    pub fn wait_until_parked(&self) -> u64 {
        let mut closed = self.shared.closed.lock();
        while !self.shared.parked.load(Ordering::SeqCst) {
            self.shared.stopped.wait(&mut closed);
        }
        self.shared.ticks.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Parks until a guest runs. False if the ticker was dropped.
    fn wait_for_guest(&self) -> bool {
        let mut closed = self.closed.lock();
        loop {
            if *closed {
                return false;
            }
            self.parked.store(true, Ordering::SeqCst);
            if self.running.load(Ordering::SeqCst) > 0 {
                self.parked.store(false, Ordering::SeqCst);
                return true;
            }
            self.stopped.notify_all();
            self.wake.wait(&mut closed);
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        *self.shared.closed.lock() = true;
        self.shared.wake.notify_one();
    }
}

impl Drop for RunningGuest<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_clock_ticks_only_while_a_guest_runs() {
        let (ticked, ticks) = mpsc::channel();
        let ticker = Ticker::start(move || {
            // Fails only after the test has ended.
            let _ = ticked.send(());
            TICK
        })
        .unwrap();
        assert_eq!(ticker.wait_until_parked(), 0, "no guest ran yet");
        for _ in 0..3 {
            let before = ticker.wait_until_parked();
            // A slow machine may tick more than twice in a round.
            while ticks.try_recv().is_ok() {}
            let guest = ticker.guest();
            let other = ticker.guest();
            ticks.recv().unwrap();
            drop(guest);
            ticks.recv().unwrap();
            drop(other);
            assert!(ticker.wait_until_parked() >= before + 2);
        }
        drop(ticker);
        while ticks.recv().is_ok() {}
        assert!(ticks.recv().is_err(), "the thread has ended");
    }
}
