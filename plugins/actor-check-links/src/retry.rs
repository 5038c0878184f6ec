//! Retries broken links by other means.

use std::cell::RefCell;
use std::time::Instant;

use orbweaver_sdk::http::{Request, fetch};
use orbweaver_sdk::{WaitFor, render};

use crate::probe::{Status, each, is_over, redirected};
use crate::{Item, RetryMode};

/// Most links retried in one call.
pub const MAX_RETRIES: usize = 50;

/// Result of the retries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Retried {
    /// Number of links retried.
    pub tried: u64,
    /// Number of links that worked.
    pub recovered: u64,
    /// Cost in US dollars.
    pub cost_usd: f64,
}

/// Whether another client may get another response. A missing page (404, 410) is missing for
/// everyone, and an invalid URL cannot be requested.
fn may_recover(item: &Item) -> bool {
    item.status == Status::Broken
        && match item.status_code {
            Some(code) => matches!(
                code,
                401 | 403 | 405 | 406 | 408 | 409 | 412 | 418 | 421 | 425 | 429 | 451 | 500..
            ),
            None => item.url.contains("://"),
        }
}

/// Retries the first of the broken links, and updates the items that work. None is retried at
/// `until` or later.
pub async fn all(
    items: &mut [Item],
    mode: RetryMode,
    pool: &str,
    width: usize,
    until: Option<Instant>,
) -> Retried {
    let chosen: Vec<usize> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| may_recover(item))
        .map(|(at, _)| at)
        .take(MAX_RETRIES)
        .collect();
    let retried = RefCell::new(Retried::default());
    let shared = RefCell::new(items);
    each(chosen.len(), width, async |at| {
        if is_over(until) {
            return;
        }
        let Some(&at) = chosen.get(at) else { return };
        let url = shared.borrow().get(at).map(|item| item.url.clone());
        let Some(url) = url else { return };
        let answer = match mode {
            RetryMode::Chrome => render(&url, WaitFor::Load).await,
            RetryMode::Proxy => fetch(Request::get(&url).proxy_pool(pool)).await,
        };
        let mut items = shared.borrow_mut();
        let mut retried = retried.borrow_mut();
        let Some(item) = items.get_mut(at) else {
            return;
        };
        retried.tried += 1;
        match answer {
            Ok(page) => {
                retried.cost_usd += page.cost_usd();
                if page.status() < 400 {
                    retried.recovered += 1;
                    item.recovered_via_cloud = true;
                    item.status = Status::Ok;
                    item.status_code = Some(page.status());
                    item.redirected_to = redirected(&item.url, &page);
                    item.error = None;
                }
            }
            Err(error) if error.is_refusal() => {
                let reason = error.message();
                let before = item.error.take().unwrap_or_default();
                item.error = Some(format!("{before}; not retried: {reason}"));
                retried.tried -= 1;
            }
            Err(_) => {}
        }
    })
    .await;
    retried.into_inner()
}
