//! Refreshes, followed as redirects.

use orbweaver_core::content;
use orbweaver_core::page::{Refresh, page_refresh};
use orbweaver_core::page_source::page_source;
use tokio::sync::Semaphore;
use url::Url;

use super::Fetcher;
use super::next::header_target;
use crate::error::{Fault, Kind};
use crate::hop_state::HopState;
use crate::request::{HopVerdict, Request};
use crate::response::Response;

/// Longest delay of a refresh that is followed, in seconds; Scrapy has the same. After a longer one, a page
/// that was read for minutes ends its visitor's session.
const MAX_DELAY: u32 = 100;
/// Largest body that is read for its refresh on the calling thread, in bytes: some milliseconds.
const INLINE_BYTES: usize = 512 << 10;
/// Bounds the threads that read larger ones.
static READS: Semaphore = Semaphore::const_new(2);

impl Fetcher {
    /// Moves `hop` to the page to which a response refreshes, if it does and that is to be followed;
    /// whether it did.
    pub(super) async fn follow_refresh(
        &self,
        request: &Request,
        hop: &mut HopState,
        response: &Response,
    ) -> Result<bool, Fault> {
        let target = refresh_target(response, &hop.target.url).await;
        let followed = target.and_then(|target| match target {
            Some(next) => self.go_on(request, hop, next, response.status),
            None => Ok(HopVerdict::Stop),
        });
        match followed {
            Ok(verdict) => Ok(verdict == HopVerdict::Follow),
            Err(fault) if request.stops_at_refused && fault.kind == Kind::Refused => Ok(false),
            Err(fault) => Err(fault),
        }
    }
}

/// The URL to which a page refreshes: by its Refresh header, else by its `meta` element. `None` if it
/// reloads itself, or only after a long time, or if the target is not a URL, or that of a script or an app:
/// a browser shows the page then.
async fn refresh_target(response: &Response, from: &Url) -> Result<Option<Url>, Fault> {
    if !(200..300).contains(&response.status) {
        return Ok(None);
    }
    let (refresh, base) = match response.headers.get("refresh").and_then(Refresh::parse) {
        Some(refresh) => (refresh, None),
        None => match in_page(response).await? {
            Some((refresh, base)) => (refresh, Some(base)),
            None => return Ok(None),
        },
    };
    let Refresh { seconds, url } = refresh;
    let Some(reference) = url.filter(|_| seconds <= MAX_DELAY) else {
        return Ok(None);
    };
    let target = match base {
        // Part of the page: resolved as browsers resolve links.
        Some(base) => Url::parse(&base)
            .and_then(|base| base.join(&reference))
            .ok(),
        None => match header_target(from, &reference) {
            Err(fault) if fault.kind == Kind::BadRedirect => None,
            target => Some(target?),
        },
    };
    let is_web = |target: &Url| matches!(target.scheme(), "http" | "https");
    Ok(target.filter(|target| is_web(target) && !is_reload(from, target, seconds)))
}

/// Whether a refresh to this URL shows the same page again: after a while, or at a place in it. At once, it
/// may wait for the cookie that it sets, as a redirect to itself does.
fn is_reload(from: &Url, target: &Url, seconds: u32) -> bool {
    let page = |url: &Url| {
        let mut page = url.clone();
        page.set_fragment(None);
        page
    };
    page(from) == page(target) && (seconds > 0 || target.fragment().is_some())
}

/// The refresh of a page's `meta` element, with the base URL of its target.
async fn in_page(response: &Response) -> Result<Option<(Refresh, String)>, Fault> {
    let content_type = response.content_type().map(str::to_owned);
    if content::sniff(content_type.as_deref(), &response.body).kind != content::Kind::Html {
        return Ok(None);
    }
    let (body, url) = (response.body.clone(), response.final_url.clone());
    let size = body.len();
    let read = move || page_refresh(&page_source(&body, content_type.as_deref()), &url);
    if size <= INLINE_BYTES {
        return Ok(read());
    }
    let _turn = READS.acquire().await;
    let read = tokio::task::spawn_blocking(read).await;
    read.map_err(|error| {
        let message = format!("cannot read a page for its refresh: {error}");
        Fault::new(Kind::Internal, None, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fault 16.
    #[test]
    fn a_page_that_shows_itself_again_leads_nowhere() {
        let from = Url::parse("http://a.example/x?y#z").unwrap();
        for (target, seconds, expected) in [
            ("http://a.example/x?y", 0, false),
            ("http://a.example/x?y", 5, true),
            ("http://a.example/x?y#other", 0, true),
            ("http://a.example/x", 5, false),
            ("https://a.example/x?y", 5, false),
        ] {
            let target = Url::parse(target).unwrap();
            assert_eq!(is_reload(&from, &target, seconds), expected, "{target}");
        }
    }
}
