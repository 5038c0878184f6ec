//! Fetches one URL of a crawl, checks its redirects, and makes a page row of the response.

use std::sync::Arc;
use std::time::SystemTime;

use orbweaver_accounts::quota::Reservation;
use orbweaver_core::key_hash::key_hash;
use orbweaver_core::retry_after::retry_after;
use orbweaver_fetch::{FetchError, HopCheck, HopVerdict, Kind, Request, Response, SubKind};
use orbweaver_store::CloudMode;
use orbweaver_store::crawl::PreviousPage;
use orbweaver_urls::{Resolved, key_of};
use parking_lot::Mutex;

use crate::entry::{End, Entry, Fetched, Outcome};
use crate::hooks::outgoing;
use crate::hooks::report::PluginReport;
use crate::page;
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
    let previous = match previous_page(&shared, &entry).await {
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
    // A 304 after a redirect answers another URL's validators: fetch again without them.
    if let Ok(Got { response, .. }) = &got
        && response.status == 304
        && response.final_url != response.url
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
    /// Whether a browser rendered it.
    is_rendered: bool,
    /// The cloud page that it is billed to.
    cloud: Option<Reservation>,
    /// Whether it was fetched, and then rendered.
    twice: bool,
}

impl Got {
    fn plain(response: Response) -> Self {
        Self {
            response,
            is_rendered: false,
            cloud: None,
            twice: false,
        }
    }
}

/// Fetches an entry, renders it, or both, as the run asks for.
async fn get(
    shared: &Arc<Shared>,
    entry: &Entry,
    random: u64,
    previous: Option<&PreviousPage>,
    trace: &Arc<Mutex<RedirectTrace>>,
    report: &mut PluginReport,
) -> Result<Got, FetchError> {
    let mode = shared.spec.render;
    if mode == RenderMode::Never {
        let response = once(shared, entry, random, previous, trace, report).await?;
        return Ok(Got::plain(response));
    }
    // Scripts may render an unchanged page differently.
    let previous = previous.filter(|page| !page.rendered && mode == RenderMode::Auto);
    if shared.rendering.is_first(mode, &entry.url) {
        match rendered(shared, entry, trace).await {
            Ok(Some(got)) => return Ok(got),
            // It leads out of the scope: the redirect itself is the answer.
            Ok(None) => {}
            // Without a cloud page left, the page is stored as it is fetched.
            Err(error) if mode == RenderMode::Auto && is_cap(&error) => {}
            Err(error) => return Err(error),
        }
        let response = once(shared, entry, random, None, trace, report).await?;
        return Ok(Got {
            twice: true,
            ..Got::plain(response)
        });
    }
    let response = once(shared, entry, random, previous, trace, report).await?;
    let is_here = trace.lock().merged.is_none() && !(300..400).contains(&response.status);
    if !is_here
        || !render_page::needs_browser(shared, &response)
            .await
            .unwrap_or(false)
    {
        return Ok(Got::plain(response));
    }
    match rendered(shared, entry, trace).await {
        Ok(Some(got)) => Ok(Got { twice: true, ..got }),
        Ok(None) => Ok(Got::plain(response)),
        Err(error) if error.retryable && entry.attempts < shared.crawls.config.retries => {
            Err(error)
        }
        Err(error) => {
            tracing::debug!(%error, url = %entry.url, "a page is stored as it was fetched");
            Ok(Got::plain(response))
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
    let page = render_page::render(shared, entry, agent).await?;
    let response = page.response;
    let asked = Resolved::parse(&entry.url).map(|url| key_of(&url, shared.rules));
    let landed = Resolved::parse(&response.final_url).map(|url| key_of(&url, shared.rules));
    let check = hop_check(shared, entry, Arc::clone(trace));
    let is_elsewhere = asked != landed && check(&response.final_url) != HopVerdict::Follow;
    if is_elsewhere && trace.lock().merged.is_none() {
        return Ok(None);
    }
    Ok(Some(Got {
        response,
        is_rendered: true,
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

async fn previous_page(
    shared: &Shared,
    entry: &Entry,
) -> Result<Option<PreviousPage>, orbweaver_store::StoreError> {
    let Some(run) = shared.previous else {
        return Ok(None);
    };
    // Hooks judge the content, which "not modified" does not have.
    if shared.hooks.need_pages(&shared.engine) {
        return Ok(None);
    }
    let Some(url) = Resolved::parse(&entry.url) else {
        return Ok(None);
    };
    let key = key_of(&url, shared.rules);
    let found = shared
        .crawls
        .store
        .previous_page(shared.lease.project, run, &key)
        .await?;
    // Revalidate only a good response of this URL whose data is still complete.
    Ok(found.filter(|page| {
        page.status == 200
            && page.final_url == url.without_fragment()
            && (page.blob.is_some() || !shared.spec.store_html)
            && (page.metadata.is_some() || shared.spec.store_html)
    }))
}

/// Sends the request for an entry, with what the hooks add to it. After the failure of a strict hook nothing is
/// sent: the run ends, and the page might be another one without what the hook adds.
async fn once(
    shared: &Arc<Shared>,
    entry: &Entry,
    random: u64,
    previous: Option<&PreviousPage>,
    trace: &Arc<Mutex<RedirectTrace>>,
    report: &mut PluginReport,
) -> Result<Response, FetchError> {
    let spec = &shared.spec;
    let fetcher = &shared.fetcher;
    let trusted = shared.trusts(&entry.url);
    let mut headers = shared.headers(trusted);
    if let Some(previous) = previous {
        let etag = header(&previous.headers, "etag").map(|tag| ("if-none-match", tag));
        let since =
            header(&previous.headers, "last-modified").map(|date| ("if-modified-since", date));
        for (name, value) in [etag, since].into_iter().flatten() {
            headers.push((name.to_owned(), value));
        }
    }
    let mut request = Request {
        headers,
        cookies: spec.cookies.clone().filter(|_| trusted),
        jar: Some(shared.jar.clone()),
        user_agent: Some(
            fetcher
                .user_agent(spec.user_agent.as_deref(), agent_choice(entry))
                .to_owned(),
        ),
        respect_robots: spec.respect_robots,
        hop_check: Some(hop_check(shared, entry, Arc::clone(trace))),
        stops_at_refused: !shared.is_seed(entry),
        ..Request::get(entry.url.as_str())
    };
    let hooks = outgoing::change(shared, entry, &mut request).await;
    let stopped = hooks.broken.clone();
    report.merge(hooks);
    match stopped {
        Some(why) => Err(not_sent(entry, why)),
        None => shared.fetch(request, random).await,
    }
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

/// The first value of a stored response header; `name` is lower-case.
fn header(stored: &str, name: &str) -> Option<String> {
    let headers: Vec<(String, String)> = serde_json::from_str(stored).ok()?;
    headers
        .into_iter()
        .find_map(|(known, value)| (known == name).then_some(value))
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
    previous: Option<PreviousPage>,
    last: Option<u64>,
) -> anyhow::Result<Fetched> {
    let Got {
        response,
        is_rendered,
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
        Some(previous) => page::unchanged(shared, entry, previous).await?,
        None => page::fresh(shared, entry, response).await?,
    };
    fetched.row.elapsed_ms = u64::try_from(elapsed.as_millis()).ok();
    fetched.row.redirects = redirects;
    if is_rendered {
        fetched.row.page.cloud_mode = CloudMode::Browser;
    }
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
