//! Lets the hooks of a run change a request before it is sent.

use orbweaver_engine::HookPoint;
use orbweaver_fetch::Request;

use super::report::PluginReport;
use crate::entry::Entry;
use crate::shared::Shared;

/// Asks the hooks that take part in requests, and adds what they give. A failed hook changes nothing; if it
/// is strict, the report says why the run ends, and the request must not be sent. Returns, too, whether the
/// request is another one now.
pub(crate) async fn change(
    shared: &Shared,
    entry: &Entry,
    request: &mut Request,
) -> (PluginReport, bool) {
    let mut is_changed = false;
    let mut report = PluginReport::default();
    let engine = &shared.engine;
    if !shared.hooks.points(engine).has(HookPoint::Request) {
        return (report, false);
    }
    let (changes, failures) = engine
        .request_hooks(&shared.hooks.uses, &entry.url, entry.depth, entry.attempts)
        .await;
    for (_, change) in changes {
        for (name, value) in change.headers {
            is_changed = true;
            request
                .headers
                .retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        if let Some(cookies) = change.cookies.filter(|cookies| !cookies.is_empty()) {
            is_changed = true;
            request.cookies = Some(match request.cookies.take() {
                Some(own) => format!("{own}; {cookies}"),
                None => cookies,
            });
        }
        is_changed |= change.user_agent.is_some();
        request.user_agent = change.user_agent.or(request.user_agent.take());
    }
    let subject = shared.subject(&entry.url, entry.hash);
    for failure in &failures {
        let is_strict = shared.hooks.is_strict(&failure.hook);
        report.hook_failed(subject, failure, is_strict);
    }
    (report, is_changed)
}
