//! The bytes that one answer may have that gathers the results of many pages.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::ScanError;

/// What is left of an answer's bytes. Once a result does not fit, no other one does, so that no page is
/// fetched in vain.
#[derive(Debug)]
pub struct Room {
    /// The setting of the bound.
    setting: &'static str,
    most: usize,
    left: AtomicUsize,
}

impl Room {
    /// `most` bytes, which `setting` sets.
    pub const fn new(most: usize, setting: &'static str) -> Self {
        Self {
            setting,
            most,
            left: AtomicUsize::new(most),
        }
    }

    /// Whether there is any left.
    pub(crate) fn check(&self) -> Result<(), ScanError> {
        match self.left.load(Ordering::Relaxed) {
            0 => Err(self.none_left()),
            _ => Ok(()),
        }
    }

    /// Takes the bytes of a result.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), ScanError> {
        let rest = |left: usize| Some(left.saturating_sub(bytes));
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
        match taken {
            Ok(left) if left >= bytes => Ok(()),
            Ok(_) | Err(_) => Err(self.none_left()),
        }
    }

    fn none_left(&self) -> ScanError {
        let Self { setting, most, .. } = self;
        ScanError::NoRoom(format!(
            "the answer would be larger than {most} bytes ({setting}): this page is not billed, and a \
             request of its own returns it"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_leaves_no_room() {
        let room = Room::new(10, "a.setting");
        room.take(4).expect("room");
        room.take(6).expect("the rest");
        let why = room.check().expect_err("none").to_string();
        assert!(why.contains("10 bytes (a.setting)"), "{why}");
        let room = Room::new(10, "a.setting");
        room.take(11).expect_err("too large");
        room.take(1).expect_err("none after it");
        room.check().expect_err("none after it");
    }
}
