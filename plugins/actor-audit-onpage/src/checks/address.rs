//! Rules about the page's URL and response.

use crate::facts::Facts;
use crate::report::Report;
use crate::rules;

/// Expected media types by file extension.
const TYPES: &[(&str, &[&str])] = &[
    ("html", &["text/html", "application/xhtml+xml"]),
    ("htm", &["text/html", "application/xhtml+xml"]),
    ("xhtml", &["application/xhtml+xml", "text/html"]),
    ("pdf", &["application/pdf"]),
    ("txt", &["text/plain"]),
    (
        "xml",
        &[
            "application/xml",
            "text/xml",
            "application/rss+xml",
            "application/atom+xml",
        ],
    ),
    ("json", &["application/json", "application/ld+json"]),
    ("css", &["text/css"]),
    ("js", &["text/javascript", "application/javascript"]),
    ("jpg", &["image/jpeg"]),
    ("jpeg", &["image/jpeg"]),
    ("png", &["image/png"]),
    ("gif", &["image/gif"]),
    ("webp", &["image/webp"]),
    ("svg", &["image/svg+xml"]),
];

/// Extensions that are ends of names, too: `/wiki/Node.js` is a page about a thing with that name.
const NAMES: &[&str] = &["js", "json", "txt", "xml"];

/// Names of parameters that contain a session id.
const SESSIONS: &[&str] = &[
    "phpsessid",
    "sid",
    "sessionid",
    "session_id",
    "jsessionid",
    "aspsessionid",
    "cfid",
    "cftoken",
];

/// Longest URL without a finding, in bytes.
const MAX_URL: usize = 200;
/// Most parameters without a finding.
const MAX_PARAMETERS: usize = 3;

/// Checks URL and response.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    let page = facts.page;
    let status = page.status();
    if status >= 400 {
        report.add_value(
            &rules::HTTP_STATUS,
            format!("The page responds with HTTP {status}, so search engines do not index it. Make it respond with 200."),
            page.final_url(),
        );
    } else if !facts.is_html {
        let kind = page.header("content-type").unwrap_or("no content type");
        report.add_value(
            &rules::NOT_HTML,
            "The response is not HTML, so only its URL and headers were checked.",
            kind,
        );
    }
    let hops = page.redirects();
    if !hops.is_empty() && page.final_url() != page.url() {
        report.add_value(
            &rules::REDIRECT,
            "The URL redirects. Link to the target directly.",
            &format!("{} → {}", page.url(), page.final_url()),
        );
    }
    if hops.len() > 1 {
        report.add_all(
            &rules::REDIRECT_CHAIN,
            "Several redirects lead to the page. Redirect to it directly.",
            hops.iter()
                .map(|hop| format!("{} ({})", hop.url, hop.status)),
        );
    }
    media_type(facts, report);
    let Some(url) = &facts.url else { return };
    if url.scheme() == "http" && !facts.is_loopback() {
        report.add_value(
            &rules::HTTPS_MISSING,
            "The page is served over HTTP, which browsers mark as not secure. Serve it over HTTPS.",
            url.as_str(),
        );
    }
    let path = url.path();
    if path.contains('_') {
        report.add_value(
            &rules::URL_UNDERSCORE,
            "The path has underscores. Use hyphens between words.",
            path,
        );
    }
    if path.contains("%20") {
        report.add_value(
            &rules::URL_SPACE,
            "The path has spaces. Use hyphens between words.",
            path,
        );
    }
    if path.contains("//") {
        report.add_value(
            &rules::URL_SLASHES,
            "The path has two slashes in a row, so the page may have two URLs. Remove one slash.",
            path,
        );
    }
    // The standard writes escapes in capital letters.
    let mut plain = path.split('%').enumerate().map(|(at, part)| match at {
        0 => part,
        _ => part.get(2..).unwrap_or(""),
    });
    if plain.any(|part| part.bytes().any(|b| b.is_ascii_uppercase())) {
        report.add_value(
            &rules::URL_UPPERCASE,
            "The path has capital letters, so links in lower case may fail. Use lower case.",
            path,
        );
    }
    if url.without_fragment().len() > MAX_URL {
        report.add_value(
            &rules::URL_LENGTH,
            format!(
                "The URL is {} characters long. Shorten it to 200 or fewer.",
                url.without_fragment().len()
            ),
            url.as_str(),
        );
    }
    let parameters: Vec<&str> = url
        .query()
        .unwrap_or("")
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .collect();
    if parameters.len() > MAX_PARAMETERS {
        report.add_value(
            &rules::URL_PARAMETERS,
            format!(
                "The URL has {} parameters, and each order of them makes another URL. Use three or fewer.",
                parameters.len()
            ),
            url.as_str(),
        );
    }
    let session = parameters.iter().any(|parameter| {
        let name = parameter.split('=').next().unwrap_or(parameter);
        SESSIONS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    });
    if session || path.to_ascii_lowercase().contains(";jsessionid=") {
        report.add_value(&rules::URL_SESSION, "The URL has a session id, so the page has another URL for every visitor. Keep the session in a cookie.", url.as_str());
    }
}

fn media_type(facts: &Facts<'_>, report: &mut Report) {
    let status = facts.page.status();
    if !(200..300).contains(&status) || status == 204 {
        return;
    }
    let Some(given) = facts
        .page
        .header("content-type")
        .map(str::trim)
        .filter(|t| !t.is_empty())
    else {
        report.add(
            &rules::MEDIA_TYPE,
            "The response has no Content-Type, so browsers guess its type. Add the header.",
        );
        return;
    };
    let given = given
        .split(';')
        .next()
        .unwrap_or(given)
        .trim()
        .to_ascii_lowercase();
    let path = facts.url.as_ref().map_or("", |url| url.path());
    let file = path.rsplit('/').next().unwrap_or("");
    let Some((_, extension)) = file.rsplit_once('.') else {
        return;
    };
    let is_page = matches!(given.as_str(), "text/html" | "application/xhtml+xml");
    let is_name = NAMES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(extension));
    if is_page && is_name {
        return;
    }
    let expected = TYPES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(extension));
    if let Some((_, types)) = expected
        && !types.contains(&given.as_str())
    {
        report.add_value(
            &rules::MEDIA_TYPE,
            format!("The URL ends in .{extension}, but the Content-Type is {given}. Correct one of them."),
            path,
        );
    }
}
