//! Fetches one URL of a crawl, checks its redirects, and makes a page row of the response.

use std::sync::Arc;
use std::time::SystemTime;

use orbweaver_accounts::quota::Reservation;
use orbweaver_core::key_hash::key_hash;
use orbweaver_core::retry_after::retry_after;
use orbweaver_fetch::{FetchError, HopCheck, HopVerdict, Kind, Request, Response, SubKind};
use orbweaver_urls::{Resolved, key_of};
use parking_lot::Mutex;

use crate::entry::{End, Entry, Fetched, Outcome};
use crate::hooks::outgoing;
use crate::hooks::report::PluginReport;
use crate::navigation::{Barred, allowed_by_robots, may_request};
use crate::not_modified::Previous;
use crate::page::{self, Way};
use crate::render::RenderMode;
use crate::render_page;
use crate::scope::Verdict;
use crate::shared::Shared;

/// The redirects of a fetch.
#[derive(Default)]
struct RedirectTrace {
    chain: Vec<u64>,
    merged: Option<u64>,
}

/// Fetches an entry.
pub(super) async fn run(shared: Arc<Shared>, entry: Entry, host: usize, random: u64) -> Outcome {
    let previous = match Previous::of(&shared, &entry).await {
        Ok(previous) => previous,
        Err(error) => return broken(entry, host, error.to_string()),
    };
    let trace = Arc::new(Mutex::new(RedirectTrace::default()));
    let mut report = PluginReport::default();
    let mut got = get(
        &shared,
        &entry,
        random,
        previous.as_ref(),
        &trace,
        &mut report,
    )
    .await;
    // A 304 that is not about the stored page: fetch again without validators.
    if let (Ok(Got { response, .. }), Some(previous)) = (&got, &previous)
        && response.status == 304
        && !previous.holds_by(response)
    {
        let claimed = std::mem::take(&mut trace.lock().chain);
        shared.unclaim(&claimed);
        got = get(&shared, &entry, random, None, &trace, &mut report).await;
    }
    let RedirectTrace { chain, merged } = std::mem::take(&mut *trace.lock());
    let (end, redirects) = match got {
        Err(error) => {
            let redirects = error.redirects.len();
            (End::Failed(error), redirects)
        }
        Ok(got) => {
            let requests = got.response.redirects.len() + usize::from(got.twice);
            let end = match merged {
                Some(target) => End::Merged(target),
                None => match make(&shared, &entry, got, previous, chain.last().copied()).await {
                    Ok(mut fetched) => {
                        report.merge(std::mem::take(&mut fetched.report));
                        End::Page(Box::new(fetched))
                    }
                    Err(error) => End::Broken(error.to_string()),
                },
            };
            (end, requests)
        }
    };
    Outcome {
        entry,
        host,
        end,
        redirects: u32::try_from(redirects).unwrap_or(u32::MAX),
        chain,
        report,
    }
}

/// What a URL answered.
struct Got {
    response: Response,
    way: Way,
    /// The cloud page that it is billed to.
    cloud: Option<Reservation>,
    /// Whether it was fetched, and then rendered.
    twice: bool,
}

/// Fetches an entry, renders it, or both, as the run asks for.
async fn get(
    shared: &Arc<Shared>,
    entry: &Entry,
    random: u64,
    previous: Option<&Previous>,
    trace: &Arc<Mutex<RedirectTrace>>,
    report: &mut PluginReport,
) -> Result<Got, FetchError> {
    let mode = shared.spec.render;
    if mode == RenderMode::Never {
        return once(shared, entry, random, previous, trace, report).await;
    }
    // Scripts may render an unchanged page differently. A page without a body does not show whether it needs
    // a browser.
    let previous = previous.filter(|previous| {
        let page = &previous.page;
        mode == RenderMode::Auto && !page.rendered && page.blob.is_some()
    });
    if shared.rendering.is_first(mode, &entry.url) {
        match rendered(shared, entry, trace).await {
            Ok(Some(got)) => return Ok(got),
            // It leads out of the scope: the redirect itself is the answer.
            Ok(None) => {}
            // Without a cloud page left, the page is stored as it is fetched.
            Err(error) if mode == RenderMode::Auto && is_cap(&error) => {}
            Err(error) => return Err(error),
        }
        let got = once(shared, entry, random, None, trace, report).await?;
        return Ok(Got { twice: true, ..got });
    }
    let plain = once(shared, entry, random, previous, trace, report).await?;
    let response = &plain.response;
    let is_here = trace.lock().merged.is_none() && !(300..400).contains(&response.status);
    let needs_browser = match previous.filter(|previous| previous.holds_by(response)) {
        // What could not be rendered before is stored as it was fetched.
        Some(previous) => render_page::stored_needs_browser(shared, &previous.page).await,
        None if is_here => render_page::needs_browser(shared, response).await,
        None => Ok(false),
    };
    if !needs_browser.unwrap_or(false) {
        return Ok(plain);
    }
    match rendered(shared, entry, trace).await {
        Ok(Some(got)) => Ok(Got { twice: true, ..got }),
        Ok(None) => Ok(plain),
        Err(error) if error.retryable && entry.attempts < shared.crawls.config.retries => {
            Err(error)
        }
        Err(error) => {
            tracing::debug!(%error, url = %entry.url, "a page is stored as it was fetched");
            Ok(plain)
        }
    }
}

/// Whether rendering failed for want of a cloud page, or of a browser.
fn is_cap(error: &FetchError) -> bool {
    error.kind == Kind::Browser && !error.retryable
}

/// Renders an entry; `None` if the page led out of the scope. If it led to a page that another
/// fetch has, `trace` says so.
async fn rendered(
    shared: &Arc<Shared>,
    entry: &Entry,
    trace: &Arc<Mutex<RedirectTrace>>,
) -> Result<Option<Got>, FetchError> {
    let fetcher = &shared.fetcher;
    let agent = fetcher.user_agent(shared.spec.user_agent.as_deref(), agent_choice(entry));
    let (may_request, barred) = may_request(shared, entry);
    let page = match render_page::render(shared, entry, agent, may_request).await {
        Ok(page) => page,
        Err(error) => {
            return match barred.lock().take() {
                Some(Barred::Elsewhere) => Ok(None),
                Some(Barred::Robots(why)) => Err(why),
                None => Err(error),
            };
        }
    };
    let response = page.response;
    let asked = Resolved::parse(&entry.url).map(|url| key_of(&url, shared.rules));
    let landed = Resolved::parse(&response.final_url).map(|url| key_of(&url, shared.rules));
    let check = hop_check(shared, entry, Arc::clone(trace));
    let is_elsewhere = asked != landed && check(&response.final_url) != HopVerdict::Follow;
    let is_merged = trace.lock().merged.is_some();
    if is_elsewhere && !is_merged {
        return Ok(None);
    }
    if !is_merged && response.final_url != entry.url {
        // A script may have changed the URL without a request.
        allowed_by_robots(shared, &response.final_url).await?;
    }
    if asked == landed {
        // The browser stayed where a plain request was led on, such as before a refresh is due.
        let mut claimed = std::mem::take(&mut trace.lock().chain);
        claimed.retain(|hash| *hash != entry.hash);
        shared.unclaim(&claimed);
    }
    Ok(Some(Got {
        response,
        way: Way {
            is_rendered: true,
            by_hook: false,
        },
        cloud: page.reserved,
        twice: false,
    }))
}

/// The outcome of an entry that a fault of ours keeps from being fetched.
pub(super) fn broken(entry: Entry, host: usize, message: String) -> Outcome {
    Outcome {
        entry,
        host,
        end: End::Broken(message),
        redirects: 0,
        chain: Vec::new(),
        report: PluginReport::default(),
    }
}

/// Sends the request for an entry, with what the hooks add to it. After the failure of a strict hook nothing is
/// sent: the run ends, and the page might be another one without what the hook adds.
async fn once(
    shared: &Arc<Shared>,
    entry: &Entry,
    random: u64,
    previous: Option<&Previous>,
    trace: &Arc<Mutex<RedirectTrace>>,
    report: &mut PluginReport,
) -> Result<Got, FetchError> {
    let spec = &shared.spec;
    let fetcher = &shared.fetcher;
    let trusted = shared.trusts(&entry.url);
    let mut headers = shared.headers(trusted);
    headers.extend(previous.into_iter().flat_map(Previous::validators));
    let mut request = Request {
        headers,
        cookies: spec.cookies.clone().filter(|_| trusted),
        jar: Some(shared.jar.clone()),
        user_agent: Some(
            fetcher
                .user_agent(spec.user_agent.as_deref(), agent_choice(entry))
                .to_owned(),
        ),
        follow_refresh: spec.follow_refresh,
        respect_robots: spec.respect_robots,
        personal: shared.personal_of(),
        hop_check: Some(hop_check(shared, entry, Arc::clone(trace))),
        stops_at_refused: !shared.is_seed(entry),
        ..Request::get(entry.url.as_str())
    };
    let (hooks, by_hook) = outgoing::change(shared, entry, &mut request).await;
    let stopped = hooks.broken.clone();
    report.merge(hooks);
    if let Some(why) = stopped {
        return Err(not_sent(entry, why));
    }
    Ok(Got {
        response: shared.fetch(request, random).await?,
        way: Way {
            is_rendered: false,
            by_hook,
        },
        cloud: None,
        twice: false,
    })
}

fn not_sent(entry: &Entry, why: String) -> FetchError {
    FetchError {
        kind: Kind::InvalidRequest,
        sub: None,
        message: why,
        url: entry.url.clone(),
        retryable: false,
        redirects: Vec::new(),
        wire_bytes: 0,
    }
}

/// Chooses the rotated user agent of a URL. Every run asks for a URL with the same one, because some
/// pages tell what they take the visitor's system for, which is no change; each further attempt has
/// another one.
fn agent_choice(entry: &Entry) -> u64 {
    entry.hash.wrapping_add(entry.attempts.into())
}

/// A redirect within the scope is followed if no other fetch has its target; otherwise the
/// redirect itself is the answer. All redirects of the seed are followed: they set the scope.
fn hop_check(shared: &Arc<Shared>, entry: &Entry, trace: Arc<Mutex<RedirectTrace>>) -> HopCheck {
    let (shared, own, is_seed) = (Arc::clone(shared), entry.hash, shared.is_seed(entry));
    Arc::new(move |target| {
        let Some(url) = Resolved::parse(target) else {
            return HopVerdict::Stop;
        };
        if !is_seed && shared.scope.load().judge(&url) != Verdict::In {
            return HopVerdict::Stop;
        }
        let hash = key_hash(&key_of(&url, shared.rules));
        let mut trace = trace.lock();
        // A site may redirect to the same URL once, to check that the cookie comes back.
        if hash == own || trace.chain.contains(&hash) || shared.claim(hash, own) {
            trace.chain.retain(|known| *known != hash);
            trace.chain.push(hash);
            return HopVerdict::Follow;
        }
        trace.merged = Some(hash);
        HopVerdict::Stop
    })
}

async fn make(
    shared: &Arc<Shared>,
    entry: &Entry,
    got: Got,
    previous: Option<Previous>,
    last: Option<u64>,
) -> anyhow::Result<Fetched> {
    let Got {
        response,
        way,
        cloud,
        ..
    } = got;
    let latency = response.timings.first_byte;
    let elapsed = response.timings.total;
    let redirects = page::redirects(&response.redirects);
    let retry_after = response
        .headers
        .get("retry-after")
        .filter(|_| matches!(response.status, 429 | 503))
        .and_then(|value| retry_after(value, SystemTime::from(shared.crawls.clock.now())));
    let redirect_to = last.filter(|hash| *hash != entry.hash);
    let mut fetched = match previous.filter(|_| response.status == 304) {
        Some(previous) => previous.row(shared, entry, &response.headers, way).await?,
        None => page::fresh(shared, entry, response, way).await?,
    };
    fetched.row.elapsed_ms = u64::try_from(elapsed.as_millis()).ok();
    fetched.row.redirects = redirects;
    fetched.cloud = cloud;
    fetched.redirect_to = redirect_to;
    fetched.latency = latency;
    fetched.retry_after = retry_after;
    Ok(fetched)
}

/// Whether robots.txt disallowed the fetch, which is no failure. That it could not be had is one.
pub(super) fn is_disallowed(error: &FetchError) -> bool {
    error.kind == Kind::Robots && error.sub == Some(SubKind::Disallowed)
}

/// Whether a failure means that the origin is overloaded.
pub(super) fn is_overload(error: &FetchError) -> bool {
    matches!(
        error.kind,
        Kind::Timeout | Kind::Reset | Kind::Slow | Kind::Connect
    )
}
