//! Where a browser may go on its own, while it renders a page of a run.

use std::sync::Arc;

use orbweaver_fetch::{FetchError, Kind, MayRequest, RobotsVerdict, SubKind};
use orbweaver_urls::{Resolved, key_of};
use parking_lot::Mutex;
use url::Url;

use crate::entry::Entry;
use crate::scope::Verdict;
use crate::shared::Shared;

/// Why a document was not requested to which a page leads.
#[derive(Debug)]
pub(crate) enum Barred {
    /// It is out of the scope.
    Elsewhere,
    /// By its robots.txt.
    Robots(FetchError),
}

/// What the browser was kept from, once it was.
pub(crate) type BarredFrom = Arc<Mutex<Option<Barred>>>;

/// The rules of links and redirects for the documents to which an entry's page leads: scope and robots.txt.
/// The seed may lead anywhere: it sets the scope.
pub(crate) fn may_request(shared: &Arc<Shared>, entry: &Entry) -> (MayRequest, BarredFrom) {
    let barred = BarredFrom::default();
    let (shared, noted) = (Arc::clone(shared), Arc::clone(&barred));
    let (own, is_seed) = (Resolved::parse(&entry.url), shared.is_seed(entry));
    let own = own.map(|url| key_of(&url, shared.rules));
    let may = move |target: String| {
        let (shared, noted, own) = (Arc::clone(&shared), Arc::clone(&noted), own.clone());
        let judged = async move {
            let found = judge(&shared, &target, own.as_deref(), is_seed).await;
            let may = found.is_ok();
            if let Err(barred) = found {
                noted.lock().get_or_insert(barred);
            }
            may
        };
        Box::pin(judged) as futures::future::BoxFuture<'static, bool>
    };
    (MayRequest(Arc::new(may)), barred)
}

async fn judge(
    shared: &Shared,
    target: &str,
    own: Option<&str>,
    is_seed: bool,
) -> Result<(), Barred> {
    let url = Resolved::parse(target).ok_or(Barred::Elsewhere)?;
    if own == Some(&*key_of(&url, shared.rules)) {
        return Ok(());
    }
    if !is_seed && shared.scope.load().judge(&url) != Verdict::In {
        return Err(Barred::Elsewhere);
    }
    allowed_by_robots(shared, target)
        .await
        .map_err(Barred::Robots)
}

/// Asks robots.txt about a URL to which a browser goes on its own.
pub(crate) async fn allowed_by_robots(shared: &Shared, url: &str) -> Result<(), FetchError> {
    let (true, Ok(parsed)) = (shared.spec.respect_robots, Url::parse(url)) else {
        return Ok(());
    };
    let robots = shared.robots(&parsed, false).await.answer;
    let host = parsed.host_str().unwrap_or_default();
    let (sub, message) = match robots.verdict(&parsed) {
        RobotsVerdict::Allowed => return Ok(()),
        RobotsVerdict::Disallowed => (
            SubKind::Disallowed,
            format!("robots.txt of {host} disallows it"),
        ),
        RobotsVerdict::Unavailable(cause) => (
            SubKind::Unreachable,
            format!("robots.txt of {host} is unavailable, which disallows everything: {cause}"),
        ),
    };
    Err(FetchError {
        kind: Kind::Robots,
        sub: Some(sub),
        message,
        url: url.to_owned(),
        retryable: sub == SubKind::Unreachable,
        redirects: Vec::new(),
        wire_bytes: 0,
    })
}
