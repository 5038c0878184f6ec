//! Requests for an origin's files, and what comes of them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use orbweaver_core::charset;
use orbweaver_core::content;
use orbweaver_core::limits::MAX_ROBOTS_BYTES;
use tokio::sync::Semaphore;

use super::personal::{Personal, Way};
use super::robots_answer::RobotsAnswer;
use super::{Name, Stored, TextFile, life};
use crate::error::{Fault, FetchError, Kind};
// The modules depend on each other: the fetcher that obeys robots.txt also fetches it.
use crate::fetcher::Fetcher;
use crate::request::{Oversize, Request};
use crate::response::Response;

/// Most redirects of a robots.txt that are followed (RFC 9309, 2.3.1.2).
const ROBOTS_REDIRECTS: u32 = 5;
/// Bytes of a Retry-After that is kept.
const MAX_WAIT_BYTES: usize = 64;
/// Bytes of an llms.txt or llms-full.txt that are kept.
const MAX_LLMS_BYTES: u64 = 2 << 20;
/// Largest robots.txt that is parsed on the async thread, in bytes: less than a millisecond of work.
const INLINE_BYTES: usize = 16 << 10;
/// Bounds the robots.txt that are parsed at once, on threads of their own.
static PARSES: Semaphore = Semaphore::const_new(2);
/// Time limit for such a file, besides the connection to a proxy; a page's own fetch waits for it.
const TIMEOUT: Duration = Duration::from_secs(10);

fn request(origin: &str, path: &str, max_bytes: u64) -> Request {
    Request {
        headers: vec![("accept".into(), "text/plain, */*;q=0.5".into())],
        user_agent: None,
        timeout: Some(TIMEOUT),
        max_bytes: Some(max_bytes),
        oversize: Oversize::Truncate,
        ..Request::get(format!("{origin}{path}"))
    }
}

/// Sends a request for an origin's file in a caller's way.
async fn send(
    fetcher: &Fetcher,
    request: Request,
    personal: &Personal,
) -> Result<Response, FetchError> {
    let request = personal.on(request);
    let patient = |request: Request| {
        let connect = fetcher.limits().connect_ms.as_duration();
        Request {
            timeout: request.timeout.map(|timeout| timeout + connect),
            ..request
        }
    };
    // Boxed: the fetch's state is large.
    match &personal.way {
        Way::Direct => Box::pin(fetcher.fetch(request)).await,
        Way::Proxy(proxy) => {
            let proxy = Some(proxy.clone());
            let request = patient(Request { proxy, ..request });
            Box::pin(fetcher.fetch(request)).await
        }
        Way::Pool {
            pool,
            country,
            session,
        } => {
            let (country, request) = (country.as_deref(), patient(request));
            Box::pin(fetcher.fetch_through(*pool, country, *session, request)).await
        }
    }
}

/// Why a file is incomplete: its content coding ends early, and no limit has cut it.
fn cut_short(response: &Response, max_bytes: u64) -> Option<FetchError> {
    let received = response.wire_bytes.max(response.body.len() as u64);
    let is_found = (200..300).contains(&response.status);
    let is_short = is_found && response.truncated && received < max_bytes;
    is_short.then(|| {
        let message = "the file ends before its content coding does";
        let fault = Fault::new(Kind::IncompleteBody, None, message).retryable();
        fault.at(&response.final_url, Vec::new())
    })
}

/// `known`: answers to other agents, of which one is shared if this agent gets the same.
pub(super) async fn fetch_robots(
    fetcher: &Fetcher,
    origin: &str,
    agent: Option<&str>,
    personal: &Personal,
    known: &[Arc<RobotsAnswer>],
) -> Stored<Arc<RobotsAnswer>> {
    // One byte more than the parser reads, so that it sees that the file was cut.
    let max_bytes = MAX_ROBOTS_BYTES as u64 + 1;
    let request = Request {
        user_agent: agent.map(str::to_owned),
        max_redirects: Some(ROBOTS_REDIRECTS),
        ..request(origin, "/robots.txt", max_bytes)
    };
    let result = send(fetcher, request, personal).await;
    // The rules that are missing may be those that disallow.
    let result = result.and_then(|response| match cut_short(&response, max_bytes) {
        Some(error) => Err(error),
        None => Ok(response),
    });
    let mut wait = None;
    let (status, body, error) = match result {
        Ok(response) => {
            let asked = response.headers.get("retry-after");
            let asked = asked.filter(|_| matches!(response.status, 429 | 503));
            wait = asked
                .filter(|value| value.len() <= MAX_WAIT_BYTES)
                .map(str::to_owned);
            (Some(response.status), response.body, None)
        }
        // Too many redirects: treated as if there were no file (RFC 9309, 2.3.1.2).
        Err(error) if error.kind == Kind::BadRedirect => (Some(404), Bytes::new(), Some(error)),
        Err(error) => (None, Bytes::new(), Some(error)),
    };
    let size = body.len();
    let mut known = known.iter();
    if let Some(known) = known.find(|known| known.is_of(status, &body, error.as_ref())) {
        return Stored::of(Arc::clone(known));
    }
    let read = move || {
        Stored::of(Arc::new(RobotsAnswer {
            retry_after: wait,
            ..RobotsAnswer::read(status, &body, error)
        }))
    };
    if size <= INLINE_BYTES {
        return read();
    }
    // The longest file takes milliseconds, and callers may ask for it as any number of agents.
    let _turn = PARSES.acquire().await;
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|error| {
        tracing::error!(%error, origin, "cannot parse a robots.txt");
        Stored::of(Arc::new(RobotsAnswer::unanswered()))
    })
}

pub(super) async fn fetch_text(
    fetcher: &Fetcher,
    origin: String,
    name: Name,
    personal: &Personal,
) -> Stored<TextFile> {
    let path = match name {
        Name::Llms => "/llms.txt",
        Name::LlmsFull => "/llms-full.txt",
    };
    let request = request(&origin, path, MAX_LLMS_BYTES);
    let result = send(fetcher, request, personal).await;
    let failed = result.as_ref().map_or(true, |response| {
        response.status >= 500 || cut_short(response, MAX_LLMS_BYTES).is_some()
    });
    let life = life(failed, result.as_ref().err());
    let text = result
        .ok()
        .filter(|response| response.status == 200 && !failed)
        .and_then(|response| {
            let kind = content::sniff(response.content_type(), &response.body).kind;
            // Sites that send an HTML page for every path have no llms.txt.
            if kind != content::Kind::Text || content::looks_like_html(&response.body) {
                return None;
            }
            let decoded = charset::decode(
                &response.body,
                response.content_type(),
                charset::Limits::default(),
            );
            Some(Arc::<str>::from(decoded.text.as_ref()))
        });
    Stored {
        bytes: text.as_ref().map_or(0, |text| text.len()),
        value: text,
        life,
    }
}
