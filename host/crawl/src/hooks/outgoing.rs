//! Lets the hooks of a run change a request before it is sent.

use orbweaver_engine::{HookFailure, HookPoint, PluginError, RequestChange};
use orbweaver_fetch::{Request, check_header};

use super::report::PluginReport;
use crate::entry::Entry;
use crate::shared::Shared;

/// Longest value of a header, the user agent or the cookies that a hook gives, in bytes.
const MAX_VALUE_BYTES: usize = 8 << 10;

/// Asks the hooks that take part in requests, and adds what they give. A change that breaks a rule
/// counts as the hook's failure, and is left out as a whole.
pub(crate) async fn change(shared: &Shared, entry: &Entry, request: &mut Request) -> PluginReport {
    let mut report = PluginReport::default();
    let engine = &shared.engine;
    if !shared.hooks.points(engine).has(HookPoint::Request) {
        return report;
    }
    let (changes, mut failures) = engine
        .request_hooks(&shared.hooks.uses, &entry.url, entry.depth, entry.attempts)
        .await;
    for (hook, change) in changes {
        if let Err(rule) = check(&change) {
            failures.push(HookFailure {
                hook,
                point: HookPoint::Request,
                error: PluginError::BadOutput(rule),
            });
            continue;
        }
        for (name, value) in change.headers {
            request
                .headers
                .retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            request.headers.push((name, value));
        }
        if let Some(cookies) = change.cookies.filter(|cookies| !cookies.is_empty()) {
            request.cookies = Some(match request.cookies.take() {
                Some(own) => format!("{own}; {cookies}"),
                None => cookies,
            });
        }
        request.user_agent = change.user_agent.or(request.user_agent.take());
    }
    let subject = shared.subject(&entry.url, entry.hash);
    for failure in &failures {
        let is_strict = shared.hooks.is_strict(&failure.hook);
        report.hook_failed(subject, failure, is_strict);
    }
    report
}

fn check(change: &RequestChange) -> Result<(), String> {
    for (name, value) in &change.headers {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        if name.eq_ignore_ascii_case("cookie") || name.eq_ignore_ascii_case("user-agent") {
            return Err(format!(
                "header `{shown}`: set it with the request change's own field"
            ));
        }
        if name.to_ascii_lowercase().starts_with("orbweaver-") {
            return Err(format!("header `{shown}` is reserved"));
        }
        check_header(name, value).map_err(|rule| format!("header `{shown}` {rule}"))?;
        short(&format!("header `{shown}`"), value)?;
    }
    for (field, header, value) in [
        ("cookies", "cookie", &change.cookies),
        ("user-agent", "user-agent", &change.user_agent),
    ] {
        if let Some(value) = value {
            check_header(header, value).map_err(|rule| format!("{field} {rule}"))?;
            short(field, value)?;
        }
    }
    Ok(())
}

fn short(what: &str, value: &str) -> Result<(), String> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(format!("{what} has more than {MAX_VALUE_BYTES} bytes"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, value: &str) -> RequestChange {
        RequestChange {
            headers: vec![(name.to_owned(), value.to_owned())],
            ..RequestChange::default()
        }
    }

    #[test]
    fn names_that_the_host_controls_are_refused() {
        for name in [
            "Host",
            "content-length",
            "Transfer-Encoding",
            "proxy-authorization",
            "Cookie",
            "User-Agent",
            "Orbweaver-Proxy-Pool",
            "not a name",
            "",
        ] {
            assert!(check(&header(name, "x")).is_err(), "{name}");
        }
        assert_eq!(check(&header("x-section", "news")), Ok(()));
        assert_eq!(check(&header("authorization", "Bearer x")), Ok(()));
    }

    #[test]
    fn values_that_break_a_message_are_refused() {
        let long = "x".repeat(MAX_VALUE_BYTES + 1);
        for value in ["a\r\nx-other: b", long.as_str()] {
            assert!(check(&header("x-a", value)).is_err());
            for change in [
                RequestChange {
                    cookies: Some(value.to_owned()),
                    ..RequestChange::default()
                },
                RequestChange {
                    user_agent: Some(value.to_owned()),
                    ..RequestChange::default()
                },
            ] {
                assert!(check(&change).is_err());
            }
        }
    }
}
