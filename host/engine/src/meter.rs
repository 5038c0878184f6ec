//! Time budgets of one call, checked at every tick of the clock.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Limit, StopReason};
use crate::ticker::Ticker;

/// CPU and wall time of one call. CPU time is the thread's actual CPU time, so that a guest on a
/// busy machine is not stopped because of others; for the same reason it has up to twice the wall
/// time where its thread waits for a processor. Asking the kernel for it is a system call, so
/// short spans of work, in which no tick occurs, are measured by wall time.
#[derive(Debug)]
pub(crate) struct Meter {
    cpu_budget: Duration,
    wall_budget: Duration,
    begun: Instant,
    /// Nanoseconds of CPU time of finished spans.
    spent: AtomicU64,
    /// Start of the running span, in nanoseconds since `begun`.
    span_start: AtomicU64,
    /// The thread's CPU clock at the start of the span, computed at the first tick as if the
    /// thread had run all the time since, in nanoseconds; 0 before that tick.
    cpu_start: AtomicU64,
    cancelled: AtomicBool,
    overdue: AtomicBool,
    /// Requests of the guest for what it is not granted.
    denials: AtomicU32,
}

impl Meter {
    pub fn new(cpu_budget: Duration, wall_budget: Duration) -> Self {
        Self {
            cpu_budget,
            wall_budget,
            begun: Instant::now(),
            spent: AtomicU64::new(0),
            span_start: AtomicU64::new(0),
            cpu_start: AtomicU64::new(0),
            cancelled: AtomicBool::new(false),
            overdue: AtomicBool::new(false),
            denials: AtomicU32::new(0),
        }
    }

    /// The calling thread starts to work for this call.
    pub fn enter(&self) {
        self.span_start.store(nanos(self.wall()), Ordering::Relaxed);
        self.cpu_start.store(0, Ordering::Relaxed);
    }

    /// The calling thread, which has entered, stops working for this call.
    pub fn leave(&self) {
        let span = match self.cpu_start.load(Ordering::Relaxed) {
            0 => self.span_wall(),
            start => thread_cpu_nanos().saturating_sub(start),
        };
        self.spent.fetch_add(span, Ordering::Relaxed);
    }

    /// Adds CPU time that another thread spent for this call, such as a parse. From any thread.
    pub fn spend(&self, cpu: Duration) {
        self.spent.fetch_add(nanos(cpu), Ordering::Relaxed);
    }

    fn span_wall(&self) -> u64 {
        nanos(self.wall()).saturating_sub(self.span_start.load(Ordering::Relaxed))
    }

    /// CPU time of all finished spans.
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
    }

    /// Time since the start of the call.
    pub fn wall(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Counts a request of the guest for something that it is not granted.
    pub fn deny(&self) {
        self.denials.fetch_add(1, Ordering::Relaxed);
    }

    /// Requests of the guest so far for what it is not granted.
    pub fn denials(&self) -> u32 {
        self.denials.load(Ordering::Relaxed)
    }

    /// Cancels the call: nobody waits for the result any more.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Records that a check failed while the guest ran.
    pub fn set_overdue(&self) {
        self.overdue.store(true, Ordering::Relaxed);
    }

    /// Whether a check has failed while the guest ran.
    pub fn is_overdue(&self) -> bool {
        self.overdue.load(Ordering::Relaxed)
    }

    /// Checks the budgets again if a check has failed before; for host functions.
    ///
    /// # Errors
    /// Same as [`Meter::check`].
    pub fn check_if_overdue(&self) -> Result<(), StopReason> {
        if self.is_overdue() {
            self.check()?;
        }
        Ok(())
    }

    /// Whether the guest may continue; called by the thread that entered, also in a signal
    /// handler. After the first failure every later check fails, too.
    pub fn check(&self) -> Result<(), StopReason> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(StopReason::Cancelled);
        }
        let wall = self.wall();
        let now = thread_cpu_nanos();
        let start = match self.cpu_start.load(Ordering::Relaxed) {
            0 => {
                let start = now.saturating_sub(self.span_wall()).max(1);
                self.cpu_start.store(start, Ordering::Relaxed);
                start
            }
            start => start,
        };
        let span = now.saturating_sub(start);
        let without_processor = Duration::from_nanos(self.span_wall().saturating_sub(span));
        if is_late(wall, without_processor, self.wall_budget) {
            return Err(StopReason::Limit(Limit::Wall(self.wall_budget)));
        }
        if self.cpu() + Duration::from_nanos(span) > self.cpu_budget {
            return Err(StopReason::Limit(Limit::Cpu(self.cpu_budget)));
        }
        Ok(())
    }
}

/// Whether a call that has taken `wall`, of which its thread had no processor for a part, is over
/// its budget.
fn is_late(wall: Duration, without_processor: Duration, budget: Duration) -> bool {
    wall.saturating_sub(without_processor) > budget || wall > budget.saturating_mul(2)
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Runs `work` and measures the CPU time it takes on the calling thread.
pub(crate) fn measured<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = thread_cpu_nanos();
    let result = work();
    let spent = thread_cpu_nanos().saturating_sub(start);
    (result, Duration::from_nanos(spent))
}

/// CPU time of the calling thread, in nanoseconds.
fn thread_cpu_nanos() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec for the call to fill, and this clock exists on all
    // supported platforms; on failure it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// Polls a future, charges the meter for the time of each poll, and lets the clock tick
/// meanwhile.
pub(crate) struct Metered<'m, F> {
    pub meter: &'m Meter,
    pub ticker: &'m Ticker,
    pub future: std::pin::Pin<Box<F>>,
}

impl<F: Future> Future for Metered<'_, F> {
    type Output = F::Output;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        let _running = self.ticker.guest();
        self.meter.enter();
        let poll = self.future.as_mut().poll(cx);
        self.meter.leave();
        poll
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses CPU until the meter, called like in a guest, stops it.
    fn burn(meter: &Meter) -> StopReason {
        meter.enter();
        loop {
            std::hint::black_box((0..10_000_u64).sum::<u64>());
            if let Err(stop) = meter.check() {
                return stop;
            }
        }
    }

    #[test]
    fn a_busy_guest_runs_out_of_cpu() {
        let budget = Duration::from_millis(5);
        let meter = Meter::new(budget, Duration::from_secs(3_600));
        assert_eq!(burn(&meter), StopReason::Limit(Limit::Cpu(budget)));
    }

    #[test]
    fn the_wall_limit_counts_waiting() {
        let meter = Meter::new(Duration::from_secs(3_600), Duration::ZERO);
        assert_eq!(burn(&meter), StopReason::Limit(Limit::Wall(Duration::ZERO)));
    }

    #[test]
    fn a_guest_is_not_late_because_its_thread_has_no_processor() {
        let seconds = Duration::from_secs;
        for (wall, without_processor, late) in [
            (10, 0, false),
            (11, 0, true),
            (19, 15, false),
            (19, 5, true),
            (21, 20, true),
        ] {
            assert_eq!(
                is_late(seconds(wall), seconds(without_processor), seconds(10)),
                late,
                "{wall} s, {without_processor} s without a processor"
            );
        }
    }

    #[test]
    fn a_guest_whose_thread_was_not_scheduled_goes_on() {
        let meter = Meter::new(Duration::from_secs(3_600), Duration::from_secs(1));
        meter.enter();
        assert_eq!(meter.check(), Ok(()));
        std::thread::sleep(Duration::from_millis(1_050));
        assert_eq!(meter.check(), Ok(()));
    }

    #[test]
    fn a_cancelled_guest_stops() {
        let meter = Meter::new(Duration::from_secs(3_600), Duration::from_secs(3_600));
        meter.cancel();
        assert_eq!(burn(&meter), StopReason::Cancelled);
    }

    #[test]
    fn spans_are_summed() {
        let meter = Meter::new(Duration::from_secs(1), Duration::from_secs(1));
        for _ in 0..2 {
            meter.enter();
            std::hint::black_box((0..2_000_000_u64).fold(0, |a, b| a ^ b.wrapping_mul(31)));
            meter.leave();
        }
        assert!(meter.cpu() > Duration::ZERO);
    }
}
