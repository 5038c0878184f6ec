//! The pages of one call: what is reserved, in progress and to be billed, and the tickets of requests.

use std::collections::HashMap;
use std::sync::Arc;

use orbweaver_accounts::quota::CapReached;
use orbweaver_store::Amount;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::OwnedMutexGuard;

use orbweaver_pipeline::cloud::micros;

/// Pages and URLs of a call.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Pages reserved in all.
    pub(super) held: Amount,
    /// Pages in progress or done.
    taken: Amount,
    /// Pages to be billed.
    pub(super) used: Amount,
    /// Where each URL is a page.
    urls: HashMap<UrlKey, UrlBill>,
    pub(super) answered: bool,
    pub(super) rendered: bool,
    pub(super) cost_micros: u64,
}

/// The page of one URL. It belongs to the URL and not to one of its requests: those may run beside
/// each other, and the first that must be paid for pays for all.
#[derive(Debug, Default)]
struct UrlBill {
    /// Requests in progress.
    open: u32,
    /// Whether the page is among those to be billed.
    charged: bool,
}

/// Identifies a URL: half of the SHA-256 of its normalised text. A call may fetch a hundred thousand URLs, and
/// their texts would be no memory of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct UrlKey([u8; 16]);

impl UrlKey {
    /// The key of a normalised URL.
    pub(super) fn of(url: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(url).into();
        Self(digest.first_chunk().copied().unwrap_or_default())
    }
}

/// What a request takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wants {
    /// Pages of its own, or none.
    Amount(Amount),
    /// The page of this URL.
    Url(UrlKey),
}

impl Wants {
    /// The most that it takes.
    pub(super) const fn most(&self) -> Amount {
        match self {
            Self::Amount(amount) => *amount,
            Self::Url(_) => Amount::pages(1),
        }
    }
}

impl Pages {
    /// Takes what a request wants; false if more must be reserved. A URL's page is noted only together
    /// with its reservation, so that no other request of the URL relies on one that failed.
    pub(super) fn take(&mut self, wants: &Wants) -> bool {
        match wants {
            Wants::Amount(amount) => self.take_amount(*amount),
            Wants::Url(key) => {
                if let Some(bill) = self.urls.get_mut(key) {
                    bill.open += 1;
                    return true;
                }
                let fits = self.take_amount(Amount::pages(1));
                if fits {
                    let (open, charged) = (1, false);
                    self.urls.insert(*key, UrlBill { open, charged });
                }
                fits
            }
        }
    }

    fn take_amount(&mut self, amount: Amount) -> bool {
        let taken = self.taken.plus(amount);
        let fits = taken.pages <= self.held.pages && taken.cloud_pages <= self.held.cloud_pages;
        if fits {
            self.taken = taken;
        }
        fits
    }

    /// Counts a finished request.
    fn end(&mut self, wants: &Wants, rendering: bool, ended: Ended) {
        let pays = ended.answered && !ended.free;
        match wants {
            Wants::Amount(amount) if pays => self.used = self.used.plus(*amount),
            Wants::Amount(amount) => self.taken = self.taken.less(*amount),
            Wants::Url(key) => self.end_url(*key, pays),
        }
        self.answered |= ended.answered;
        self.rendered |= ended.answered && rendering;
        self.cost_micros = self.cost_micros.saturating_add(micros(ended.cost_usd));
    }

    fn end_url(&mut self, key: UrlKey, pays: bool) {
        let Some(bill) = self.urls.get_mut(&key) else {
            return;
        };
        bill.open = bill.open.saturating_sub(1);
        if pays && !bill.charged {
            bill.charged = true;
            self.used = self.used.plus(Amount::pages(1));
        }
        if bill.open == 0 && !bill.charged {
            self.urls.remove(&key);
            self.taken = self.taken.less(Amount::pages(1));
        }
    }
}

/// Permission for one request. One that is dropped unsettled, because its request was, counts as not
/// answered.
#[derive(Debug)]
#[must_use = "settle the ticket when the request has ended"]
pub(crate) struct Ticket {
    /// `None` once it is settled.
    held: Option<Held>,
}

#[derive(Debug)]
enum Held {
    /// A part of the call's pages.
    Part {
        pages: Arc<Mutex<Pages>>,
        wants: Wants,
        rendering: bool,
    },
    /// A request at a reached cap, for what may be one of the free files. There is one at a time.
    Unpaid {
        cap: CapReached,
        misled: OwnedMutexGuard<bool>,
    },
}

/// Result of a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ended {
    /// Whether a response arrived, with any status.
    pub(crate) answered: bool,
    /// Whether it is one of the free files: robots.txt, llms.txt, a sitemap.
    pub(crate) free: bool,
    /// Its cost in US dollars.
    pub(crate) cost_usd: f64,
}

impl Ticket {
    /// A ticket for what was taken of these pages.
    pub(super) fn of(pages: &Arc<Mutex<Pages>>, wants: Wants, rendering: bool) -> Self {
        let pages = Arc::clone(pages);
        let held = Some(Held::Part {
            pages,
            wants,
            rendering,
        });
        Self { held }
    }

    /// A ticket for a request at this cap.
    pub(super) fn unpaid(cap: CapReached, misled: OwnedMutexGuard<bool>) -> Self {
        let held = Some(Held::Unpaid { cap, misled });
        Self { held }
    }

    /// Counts the finished request.
    ///
    /// # Errors
    /// With the reached cap: the response is none of the free files, so nobody may read it.
    pub(crate) fn settle(mut self, ended: Ended) -> Result<(), CapReached> {
        self.end(ended)
    }

    fn end(&mut self, ended: Ended) -> Result<(), CapReached> {
        match self.held.take() {
            None => Ok(()),
            Some(Held::Part {
                pages,
                wants,
                rendering,
            }) => {
                pages.lock().end(&wants, rendering, ended);
                Ok(())
            }
            Some(Held::Unpaid { cap, mut misled }) => {
                *misled |= ended.answered && !ended.free;
                if *misled { Err(cap) } else { Ok(()) }
            }
        }
    }
}

/// A cancelled request drops its ticket.
impl Drop for Ticket {
    fn drop(&mut self) {
        // Without an answer no cap matters.
        let _ = self.end(Ended::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERED: Ended = Ended {
        answered: true,
        free: false,
        cost_usd: 0.0,
    };
    const FREE: Ended = Ended {
        free: true,
        ..ANSWERED
    };
    const FAILED: Ended = Ended {
        answered: false,
        ..ANSWERED
    };

    /// The pages of a call that has reserved this many.
    fn reserved(pages: u64) -> Arc<Mutex<Pages>> {
        Arc::new(Mutex::new(Pages {
            held: Amount::pages(pages),
            ..Pages::default()
        }))
    }

    fn ticket(pages: &Arc<Mutex<Pages>>, url: &str) -> Option<Ticket> {
        let wants = Wants::Url(UrlKey::of(url));
        let taken = pages.lock().take(&wants);
        taken.then(|| Ticket::of(pages, wants, false))
    }

    fn counts(pages: &Arc<Mutex<Pages>>) -> (u64, u64) {
        let pages = pages.lock();
        (pages.used.pages, pages.taken.pages)
    }

    #[test]
    fn a_url_costs_one_page_in_whatever_order_its_requests_end() {
        // The ends of the first and of the second request, and what the URL costs.
        let cases = [
            (FAILED, ANSWERED, 1),
            (ANSWERED, FAILED, 1),
            (ANSWERED, ANSWERED, 1),
            (FREE, ANSWERED, 1),
            (ANSWERED, FREE, 1),
            (FAILED, FAILED, 0),
            (FREE, FAILED, 0),
            (FREE, FREE, 0),
        ];
        for (of_first, of_second, cost) in cases {
            for is_reversed in [false, true] {
                let pages = reserved(1);
                let first = ticket(&pages, "u").unwrap();
                let second = ticket(&pages, "u").unwrap();
                let mut ends = [(first, of_first), (second, of_second)];
                if is_reversed {
                    ends.reverse();
                }
                for (ticket, ended) in ends {
                    ticket.settle(ended).unwrap();
                }
                let case = format!("{of_first:?}, {of_second:?}, reversed: {is_reversed}");
                assert_eq!(counts(&pages), (cost, cost), "{case}");
                // A page that was not charged is there for another URL.
                assert_eq!(ticket(&pages, "v").is_some(), cost == 0, "{case}");
            }
        }
    }

    #[test]
    fn a_url_that_is_charged_costs_nothing_more() {
        let pages = reserved(1);
        ticket(&pages, "u").unwrap().settle(ANSWERED).unwrap();
        for ended in [ANSWERED, FAILED, FREE] {
            ticket(&pages, "u").unwrap().settle(ended).unwrap();
            assert_eq!(counts(&pages), (1, 1));
        }
    }

    #[test]
    fn a_cancelled_request_leaves_its_url_to_be_paid_by_the_next() {
        let pages = reserved(1);
        drop(ticket(&pages, "u").unwrap());
        assert_eq!(counts(&pages), (0, 0));
        ticket(&pages, "u").unwrap().settle(ANSWERED).unwrap();
        assert_eq!(counts(&pages), (1, 1));
        // The same while another request of it is in progress.
        let pages = reserved(1);
        let (first, second) = (ticket(&pages, "u"), ticket(&pages, "u"));
        drop(first);
        assert_eq!(counts(&pages), (0, 1));
        second.unwrap().settle(ANSWERED).unwrap();
        assert_eq!(counts(&pages), (1, 1));
    }

    #[test]
    fn a_cancelled_render_gives_its_page_back() {
        let pages = reserved(0);
        pages.lock().held = Amount::cloud(1);
        let wants = Wants::Amount(Amount::cloud(1));
        assert!(pages.lock().take(&wants));
        assert!(!pages.lock().take(&wants));
        drop(Ticket::of(&pages, wants, true));
        assert!(!pages.lock().rendered);
        assert!(pages.lock().take(&wants));
        Ticket::of(&pages, wants, true).settle(ANSWERED).unwrap();
        assert!(pages.lock().rendered);
        assert_eq!(pages.lock().used, Amount::cloud(1));
    }

    #[test]
    fn no_request_relies_on_a_page_that_could_not_be_reserved() {
        let pages = reserved(0);
        assert!(ticket(&pages, "u").is_none());
        assert!(ticket(&pages, "u").is_none());
        pages.lock().held = Amount::pages(1);
        assert!(ticket(&pages, "u").is_some());
    }

    #[test]
    fn a_url_takes_the_same_memory_however_long_it_is() {
        fn is_held_by_value<T: Copy>(_: &T) {}
        let long = format!("https://e.org/{}", "a".repeat(16 << 10));
        let (key, other) = (UrlKey::of(&long), UrlKey::of(&format!("{long}b")));
        assert_eq!(key, UrlKey::of(&long));
        assert_ne!(key, other);
        is_held_by_value(&Wants::Url(key));
    }
}
