//! Size and time budget of an answer that combines the results of one or more pages.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::error::ScanError;

/// Takes the memory for a result of so many bytes.
type Counting = Box<dyn Fn(usize) -> Result<(), ScanError> + Send + Sync>;

/// The bytes that an answer may still take. Once its bytes are used up, no other result fits, so that no page is
/// fetched in vain.
pub struct AnswerBudget {
    /// The setting of the bound.
    setting: &'static str,
    most: usize,
    left: AtomicUsize,
    counting: Counting,
    /// Until when pages are begun, and how long that is.
    time: Option<(Instant, Duration)>,
}

impl fmt::Debug for AnswerBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerBudget")
            .field("left", &self.left)
            .finish_non_exhaustive()
    }
}

impl AnswerBudget {
    /// `most` bytes, which `setting` sets; `counting` takes the memory for each result, or says why there
    /// is none.
    pub fn new(
        most: usize,
        setting: &'static str,
        counting: impl Fn(usize) -> Result<(), ScanError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            setting,
            most,
            left: AtomicUsize::new(most),
            counting: Box::new(counting),
            time: None,
        }
    }

    /// No page is begun after `time` from now.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        Self {
            time: Some((Instant::now() + time, time)),
            ..self
        }
    }

    /// As many bytes as there is memory for.
    pub fn of_memory(
        counting: impl Fn(usize) -> Result<(), ScanError> + Send + Sync + 'static,
    ) -> Self {
        Self::new(usize::MAX, "", counting)
    }

    /// Whether another page may be begun.
    ///
    /// # Errors
    /// Where there is no room left, or no time.
    pub fn check(&self) -> Result<(), ScanError> {
        if let Some((until, time)) = self.time
            && Instant::now() >= until
        {
            let seconds = time.as_secs_f64();
            return Err(ScanError::NoRoom(format!(
                "not fetched, because the requests before it took longer than {seconds} seconds"
            )));
        }
        match self.left.load(Ordering::Relaxed) {
            0 => Err(self.none_left()),
            _ => Ok(()),
        }
    }

    /// Takes the bytes of a result.
    ///
    /// # Errors
    /// Where they do not fit, or there is no memory for them.
    pub fn take(&self, bytes: usize) -> Result<(), ScanError> {
        let rest = |left: usize| Some(left.saturating_sub(bytes));
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        match taken {
            Ok(left) if left >= bytes => (self.counting)(bytes),
            Ok(_) | Err(_) => Err(self.none_left()),
        }
    }

    fn none_left(&self) -> ScanError {
        let Self { setting, most, .. } = self;
        ScanError::NoRoom(format!(
            "the answer would be larger than {most} bytes ({setting})"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_leaves_no_room() {
        let room = AnswerBudget::new(10, "a.setting", |_| Ok(()));
        room.take(4).expect("room");
        room.take(6).expect("the rest");
        let why = room.check().expect_err("none").to_string();
        assert!(why.contains("10 bytes (a.setting)"), "{why}");
        let room = AnswerBudget::new(10, "a.setting", |_| Ok(()));
        room.take(11).expect_err("too large");
        room.take(1).expect_err("none after it");
        room.check().expect_err("none after it");
    }

    #[test]
    fn no_page_is_begun_when_the_time_is_over() {
        let room = AnswerBudget::of_memory(|_| Ok(())).within(Duration::from_secs(60));
        room.check().expect("time");
        let room = AnswerBudget::of_memory(|_| Ok(())).within(Duration::ZERO);
        let why = room.check().expect_err("none").to_string();
        assert!(why.contains("longer than 0 seconds"), "{why}");
        // What was begun before is still taken.
        room.take(1).expect("room");
    }

    #[test]
    fn a_result_without_memory_has_no_room() {
        let refuse = |bytes| match bytes {
            5.. => Err(ScanError::NoRoom("memory".to_owned())),
            _ => Ok(()),
        };
        let room = AnswerBudget::of_memory(refuse);
        room.take(4).expect("memory");
        let why = room.take(5).expect_err("none").to_string();
        assert_eq!(why, "memory");
        room.check().expect("for a smaller one");
    }
}
