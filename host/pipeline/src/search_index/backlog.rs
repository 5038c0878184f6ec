//! When the words of crawled pages are worked out: with their page, or later in the background.
//!
//! A page's words and their index take about as much of the processors as fetching and storing it. A
//! crawl that waits for its sites has that time to spare, and indexing a page while it is in memory is
//! cheapest. A crawl that keeps the processors busy ends sooner if it leaves the words for later, which
//! is done up to a bound: a crawl of hours would only pay more in the end, and a run's pages are to be
//! found within five seconds of its end.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

/// How long the reading of pages is added up before it is judged.
const WINDOW: Duration = Duration::from_millis(250);
/// Share of the processors' time above which the reading of pages keeps them busy: as one part in so
/// many. Fetching and storing the pages takes more than twice as much besides.
const BUSY_PART: u32 = 5;
/// Pages that are left for later while the processors are busy: some two seconds of work.
const MAX_LEFT: u32 = 4_096;
/// How long pages wait for idle processors, from the first one on, unless somebody is to find them soon.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// How busy the crawls of this process keep the processors, and how many pages they have left for later.
#[derive(Debug)]
pub struct Backlog {
    /// What pages may take of a window before the processors count as busy.
    room: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Begin of the window.
    since: Instant,
    /// What the pages read in it took.
    taken: Duration,
    /// Whether the last window was busy.
    was_busy: bool,
    left: u32,
    /// Since when pages wait for idle processors, or may do so; `None` once none is left.
    waits_since: Option<Instant>,
    /// Pages wait that are to be found soon.
    is_wanted: bool,
}

impl Default for Backlog {
    fn default() -> Self {
        let processors = available_parallelism().map_or(1, NonZero::get);
        let processors = u32::try_from(processors).unwrap_or(u32::MAX);
        Self {
            room: (WINDOW / BUSY_PART).saturating_mul(processors),
            state: Mutex::new(State::new(Instant::now())),
        }
    }
}

impl Backlog {
    /// Whether the words of the next page are left for later; it then counts as left.
    pub fn leaves_page(&self) -> bool {
        self.state.lock().leaves_page(Instant::now())
    }

    /// Notes that a page was read, which took so long.
    pub fn note_read(&self, took: Duration) {
        self.state.lock().note_read(took, self.room, Instant::now());
    }

    /// Has pages indexed that wait, however busy the processors are: a run has ended, or a scan has
    /// stored a page.
    pub fn hurry(&self) {
        self.state.lock().is_wanted = true;
    }

    /// Waits until the processors are idle, pages have waited for a minute, or some are wanted.
    pub(super) async fn wait_idle(&self) {
        while self.is_to_wait() {
            sleep(WINDOW).await;
        }
    }

    fn is_to_wait(&self) -> bool {
        self.state.lock().is_to_wait(Instant::now())
    }

    /// Begins a round of indexing; whether pages are wanted that wait now. Who cannot index them yet keeps
    /// that in mind, or says [`hurry`](Self::hurry) again.
    pub(super) fn begin(&self) -> bool {
        std::mem::take(&mut self.state.lock().is_wanted)
    }

    /// Notes that no page is left. While the processors are busy the bound still holds.
    pub(super) fn note_none_left(&self) {
        self.state.lock().note_none_left(Instant::now());
    }
}

impl State {
    const fn new(now: Instant) -> Self {
        Self {
            since: now,
            taken: Duration::ZERO,
            was_busy: false,
            left: 0,
            waits_since: None,
            is_wanted: false,
        }
    }

    fn leaves_page(&mut self, now: Instant) -> bool {
        let leaves = self.left < MAX_LEFT && self.is_busy(now);
        self.left += u32::from(leaves);
        if leaves {
            self.waits_since.get_or_insert(now);
        }
        leaves
    }

    fn note_read(&mut self, took: Duration, room: Duration, now: Instant) {
        self.taken += took;
        let window = now - self.since;
        if window < WINDOW {
            return;
        }
        // Between pages that are far apart, no window is full.
        self.was_busy = window < WINDOW * 2 && self.taken > room;
        self.since = now;
        self.taken = Duration::ZERO;
    }

    /// Whether the processors are busy.
    fn is_busy(&self, now: Instant) -> bool {
        // Without pages nothing ends a window.
        self.was_busy && now < self.since + WINDOW * 2
    }

    /// Whether the indexer, which has been told that pages may wait, waits itself.
    fn is_to_wait(&mut self, now: Instant) -> bool {
        // Scans and other nodes store pages, too, of which only the indexer learns.
        let since = *self.waits_since.get_or_insert(now);
        !self.is_wanted && self.is_busy(now) && now < since + IDLE_TIMEOUT
    }

    fn note_none_left(&mut self, now: Instant) {
        self.waits_since = None;
        if !self.is_busy(now) {
            self.left = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state at a time that is set.
    struct Trial {
        state: State,
        now: Instant,
    }

    impl Trial {
        fn new() -> Self {
            let now = Instant::now();
            let state = State::new(now);
            Self { state, now }
        }

        /// Reads a page every 10 ms, for so long. 50 ms of a window are one processor's share.
        fn read(&mut self, took_ms: u64, for_ms: u64) {
            for _ in 0..for_ms / 10 {
                self.now += Duration::from_millis(10);
                let took = Duration::from_millis(took_ms);
                self.state.note_read(took, WINDOW / BUSY_PART, self.now);
            }
        }

        fn leaves_page(&mut self) -> bool {
            self.state.leaves_page(self.now)
        }

        fn is_to_wait(&mut self) -> bool {
            self.state.is_to_wait(self.now)
        }
    }

    #[test]
    fn pages_are_left_only_while_the_processors_are_busy() {
        let mut trial = Trial::new();
        assert!(!trial.leaves_page());
        trial.read(1, 5_000);
        assert!(!trial.leaves_page() && !trial.is_to_wait());
        trial.read(4, 500);
        assert!(trial.leaves_page() && trial.is_to_wait());
        trial.read(1, 500);
        assert!(!trial.leaves_page() && !trial.is_to_wait());
    }

    #[test]
    fn processors_are_idle_once_no_page_comes() {
        let mut trial = Trial::new();
        trial.read(4, 500);
        assert!(trial.leaves_page());
        trial.now += WINDOW * 2;
        assert!(!trial.leaves_page() && !trial.is_to_wait());
        // One large page after a pause fills no window.
        trial.now += Duration::from_secs(600);
        trial.read(1_000, 10);
        assert!(!trial.leaves_page());
    }

    #[test]
    fn nobody_waits_for_pages_that_are_wanted() {
        let mut trial = Trial::new();
        trial.read(4, 500);
        assert!(trial.is_to_wait());
        trial.state.is_wanted = true;
        assert!(!trial.is_to_wait() && trial.leaves_page());
        // What is wanted from now on counts for the next round.
        assert!(std::mem::take(&mut trial.state.is_wanted));
        assert!(trial.is_to_wait());
    }

    #[test]
    fn pages_wait_for_a_minute_from_the_first_one_on() {
        let mut trial = Trial::new();
        // The processors have been busy for long when the first page comes.
        trial.read(4, 300_000);
        assert!(trial.is_to_wait());
        trial.read(4, 59_000);
        assert!(trial.is_to_wait());
        trial.read(4, 2_000);
        // Nor does anything wait that comes before all are indexed.
        assert!(!trial.is_to_wait() && trial.leaves_page() && !trial.is_to_wait());
        trial.state.note_none_left(trial.now);
        assert!(trial.is_to_wait());
        // A page that is left waits before the indexer hears of it.
        trial.state.note_none_left(trial.now);
        assert!(trial.leaves_page());
        trial.read(4, 61_000);
        assert!(!trial.is_to_wait());
    }

    #[test]
    fn what_is_left_is_bounded_and_waits_for_a_minute() {
        let mut trial = Trial::new();
        trial.read(4, 500);
        for _ in 0..MAX_LEFT {
            assert!(trial.leaves_page());
        }
        assert!(!trial.leaves_page());
        // While the processors are busy, nothing more is left, though all may be indexed meanwhile.
        trial.state.note_none_left(trial.now);
        assert!(!trial.leaves_page() && trial.is_to_wait());
        trial.read(4, 59_000);
        assert!(trial.is_to_wait());
        trial.read(4, 2_000);
        assert!(!trial.is_to_wait());
        trial.read(1, 500);
        trial.state.note_none_left(trial.now);
        trial.read(4, 500);
        assert!(trial.leaves_page());
    }
}
