//! Requests the links.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use orbweaver_sdk::http::{Request, fetch};
use orbweaver_sdk::{Code, Error, Page, join_all};
use serde::Serialize;

use crate::plan::Entry;

/// HEAD has no body; a server that does not answer it in this time gets a GET.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of a whole GET.
const GET_TIMEOUT: Duration = Duration::from_secs(30);

/// Class of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The final response has a status below 400, or is larger than the host reads.
    Ok,
    /// The final response has a status of 400 or above, or there is none.
    Broken,
    /// Not requested: another scheme, or denied by robots.txt or the host's rules.
    Excluded,
}

/// Result of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Its class.
    pub status: Status,
    /// Status of the final response.
    pub status_code: Option<u16>,
    /// Why it is not ok.
    pub error: Option<String>,
    /// Final URL after redirects.
    pub redirected_to: Option<String>,
}

impl Verdict {
    /// Result of a response.
    pub fn answered(code: u16, redirected_to: Option<String>) -> Self {
        let (status, error) = match code {
            // A 3xx without a target is final, and not a page.
            300..=399 if code != 304 => (
                Status::Broken,
                Some(format!("HTTP {code} without a target to follow")),
            ),
            400.. => (Status::Broken, Some(format!("HTTP {code}"))),
            _ => (Status::Ok, None),
        };
        Self {
            status,
            status_code: Some(code),
            error,
            redirected_to,
        }
    }

    /// Result of a response whose body is too large to be read.
    const fn unread() -> Self {
        Self {
            status: Status::Ok,
            status_code: None,
            error: None,
            redirected_to: None,
        }
    }

    /// Result without a response.
    pub fn without_answer(status: Status, error: String) -> Self {
        Self {
            status,
            status_code: None,
            error: Some(error),
            redirected_to: None,
        }
    }
}

/// Requests every link without a known result, at most `width` in parallel; the results are in
/// their order, and `None` where the link was not requested: its turn came at `until` or later, or a
/// cap or a budget of the call was reached.
/// `found` is told each result, with the link's index, as soon as it is known; an error of it ends
/// the work.
pub async fn all(
    entries: &[Entry],
    width: usize,
    until: Option<Instant>,
    found: impl Fn(usize, &Verdict) -> Result<(), Error>,
) -> Result<Vec<Option<Verdict>>, Error> {
    let stopped: RefCell<Result<(), Error>> = RefCell::new(Ok(()));
    let tell = |at: usize, verdict: &Verdict| {
        if let Err(error) = found(at, verdict) {
            *stopped.borrow_mut() = Err(error);
        }
    };
    let verdicts: RefCell<Vec<Option<Verdict>>> =
        RefCell::new(entries.iter().map(|entry| entry.known.clone()).collect());
    each(entries.len(), width, async |at| {
        if stopped.borrow().is_err() {
            return;
        }
        let Some(entry) = entries.get(at) else {
            return;
        };
        if let Some(known) = &entry.known {
            return tell(at, known);
        }
        if is_over(until) {
            return;
        }
        let Some(verdict) = one(&entry.url).await else {
            return;
        };
        tell(at, &verdict);
        if let Some(slot) = verdicts.borrow_mut().get_mut(at) {
            *slot = Some(verdict);
        }
    })
    .await;
    stopped.into_inner()?;
    Ok(verdicts.into_inner())
}

/// Does `work` for 0 to `count`, at most `width` in parallel. Each worker takes the next item when
/// it is done, so none waits for the slowest of a batch.
pub async fn each(count: usize, width: usize, work: impl AsyncFn(usize)) {
    let next = Cell::new(0);
    let worker = async || {
        while next.get() < count {
            let at = next.replace(next.get() + 1);
            work(at).await;
        }
    };
    join_all((0..width.min(count)).map(|_| worker())).await;
}

/// Whether no more requests are to be started.
pub fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

async fn one(url: &str) -> Option<Verdict> {
    let head = fetch(Request::head(url).timeout(HEAD_TIMEOUT)).await;
    let is_too_large = |error: &Error| error.code() == Code::TooLarge;
    // HEAD has no body, so its headers were too large.
    let odd_headers = head.as_ref().is_err_and(is_too_large);
    let answer = match head {
        Ok(page) if page.status() < 400 => Ok(page),
        Err(error) if error.is_refusal() || error.is_invalid() => Err(error),
        // HEAD may be refused while GET is not.
        Ok(_) | Err(_) => fetch(Request::get(url).timeout(GET_TIMEOUT)).await,
    };
    let error = match answer {
        Ok(page) => return Some(Verdict::answered(page.status(), redirected(url, &page))),
        Err(error) if error.is_exhaustion() => return None,
        // The server has it; what it said besides is not known.
        Err(error) if is_too_large(&error) && !odd_headers => return Some(Verdict::unread()),
        Err(error) => error,
    };
    let status = if error.is_refusal() {
        Status::Excluded
    } else {
        Status::Broken
    };
    Some(Verdict::without_answer(status, error.message().to_owned()))
}

/// The final URL, if it differs from the requested one.
pub fn redirected(url: &str, page: &Page<'_>) -> Option<String> {
    let to = page.final_url();
    (!page.redirects().is_empty() && to != url).then(|| to.to_owned())
}
