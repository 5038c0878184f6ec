//! What one sitemap lists, handed over as the run takes it.

use tokio::sync::{mpsc, watch};

use super::{Listed, PIECE};

/// Bytes of listed URLs that are held while the run wants no more.
const MAX_HELD_BYTES: usize = 4 << 20;

/// The URLs that a sitemap lists, as they are taken.
pub(super) struct Pages<S> {
    urls: std::vec::IntoIter<String>,
    /// The right to have them all in memory.
    slot: Option<S>,
    /// How many were taken.
    pub(super) taken: usize,
    /// The last ones were forgotten.
    pub(super) is_cut: bool,
}

impl<S> Pages<S> {
    pub(super) fn new(urls: Vec<String>, slot: S) -> Self {
        Self {
            urls: urls.into_iter(),
            slot: Some(slot),
            taken: 0,
            is_cut: false,
        }
    }

    /// Hands something over; `false` if nobody takes any more. A run that wants no more may go on for hours:
    /// others are not kept waiting meanwhile.
    pub(super) async fn hand_over(
        &mut self,
        told: Listed,
        found: &mpsc::Sender<Listed>,
        wanted: &mut watch::Receiver<bool>,
    ) -> bool {
        let no_more = async {
            // Nor is anything wanted where nobody is left who could tell.
            let _ = wanted.wait_for(|wanted| !*wanted).await;
        };
        let room = tokio::select! {
            biased;
            () = no_more => {
                self.let_go();
                found.reserve().await
            }
            room = found.reserve() => room,
        };
        room.map(|room| room.send(told)).is_ok()
    }

    /// Gives the right to many URLs back: of those that are left only the first are held.
    fn let_go(&mut self) {
        if self.slot.take().is_some() {
            let (mut bytes, all) = (0, self.urls.len());
            let held = self.urls.by_ref().take_while(|url| {
                bytes += url.len();
                bytes <= MAX_HELD_BYTES
            });
            let held: Vec<String> = held.collect();
            self.is_cut = held.len() < all;
            self.urls = held.into_iter();
        }
    }

    /// The next ones.
    pub(super) fn next(&mut self) -> Option<Vec<String>> {
        let piece: Vec<String> = self.urls.by_ref().take(PIECE).collect();
        self.taken += piece.len();
        (!piece.is_empty()).then_some(piece)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_run_that_wants_no_more_holds_few_urls_and_no_slot() {
        let urls = |count: usize| (0..count).map(|n| format!("{n:0>1000}"));
        let slot = Arc::new(());
        let mut pages = Pages::new(urls(10_000).collect(), Arc::clone(&slot));
        assert_eq!(pages.next().map(|piece| piece.len()), Some(PIECE));
        assert_eq!((Arc::strong_count(&slot), pages.is_cut), (2, false));
        pages.let_go();
        assert_eq!(Arc::strong_count(&slot), 1);
        let mut taken = PIECE;
        while let Some(piece) = pages.next() {
            pages.let_go();
            assert_eq!(piece.first(), urls(10_000).nth(taken).as_ref());
            taken += piece.len();
        }
        assert_eq!(
            (taken, pages.taken),
            (PIECE + MAX_HELD_BYTES / 1_000, taken)
        );
        assert!(pages.is_cut);
        let mut few = Pages::new(urls(10).collect(), ());
        few.let_go();
        assert_eq!(few.next().map(|piece| piece.len()), Some(10));
        assert_eq!((few.next(), few.is_cut), (None, false));
    }

    #[tokio::test]
    async fn who_waits_for_a_run_that_takes_nothing_holds_no_slot() {
        let (found, mut taken) = mpsc::channel(1);
        let (wants, mut wanted) = watch::channel(true);
        let slot = Arc::new(());
        let urls: Vec<String> = (0..3 * PIECE).map(|n| n.to_string()).collect();
        let mut pages = Pages::new(urls, Arc::clone(&slot));
        let waiting = tokio::spawn(async move {
            while let Some(piece) = pages.next() {
                let told = Listed::Urls(piece);
                if !pages.hand_over(told, &found, &mut wanted).await {
                    return false;
                }
            }
            true
        });
        // The second piece waits for the first one to be taken.
        while taken.is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(Arc::strong_count(&slot), 2);
        wants.send_replace(false);
        while Arc::strong_count(&slot) > 1 {
            tokio::task::yield_now().await;
        }
        wants.send_replace(true);
        for _ in 0..3 {
            assert!(matches!(taken.recv().await, Some(Listed::Urls(urls)) if urls.len() == PIECE));
        }
        assert!(waiting.await.unwrap());
    }
}
