//! Requests the listed URLs.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use orbweaver_sdk::http::{Request, fetch};
use orbweaver_sdk::{Code, join_all};
use orbweaver_sitemaps::Entry;

use crate::bucket::Item;

/// Parallel requests.
const WIDTH: usize = 24;
/// Time limit of a request.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Requests the URLs; results are in their order. Each worker takes the next URL when it is done,
/// and drops the page; none is started at `until` or later. A URL that a cap or a budget of the call
/// keeps from being requested has no result.
pub async fn all(urls: Vec<Entry>, until: Instant) -> Vec<Item> {
    let count = urls.len();
    let waiting = RefCell::new(urls.into_iter().enumerate());
    let items: RefCell<Vec<Option<Item>>> = RefCell::new(vec![None; count]);
    let worker = async || {
        loop {
            if Instant::now() >= until {
                return;
            }
            let next = waiting.borrow_mut().next();
            let Some((at, entry)) = next else { return };
            let item = one(entry).await;
            if let Some(slot) = items.borrow_mut().get_mut(at) {
                *slot = item;
            }
        }
    };
    join_all((0..WIDTH.min(count)).map(|_| worker())).await;
    items.into_inner().into_iter().flatten().collect()
}

async fn one(entry: Entry) -> Option<Item> {
    let asked = |request: Request| request.follow_redirects(false).timeout(TIMEOUT);
    let error = match fetch(asked(Request::get(&entry.url))).await {
        Ok(page) => return Some(Item::of(entry, &page)),
        Err(error) if error.is_exhaustion() => return None,
        Err(error) => error,
    };
    // The headers of a file that is too large to be read tell what an index makes of it.
    if error.code() == Code::TooLarge
        && let Ok(page) = fetch(asked(Request::head(&entry.url))).await
        && page.status() < 400
    {
        return Some(Item::of(entry, &page));
    }
    Some(Item::failed(entry, &error))
}
