//! Rules about the canonical URL.

use orbweaver_sdk::robots;

use crate::facts::Facts;
use crate::report::Report;
use crate::rules;

/// Checks the canonical URL.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    let named = facts.canonicals();
    let header = facts.header_canonical();
    report.add_all(
        &rules::CANONICAL_INVALID,
        "The canonical URL is empty or not a URL.",
        named
            .iter()
            .filter(|(_, url)| url.is_none())
            .map(|(href, _)| format!("\"{href}\"")),
    );
    let absolute = |href: &str| {
        let scheme = href.trim_ascii().split("://").next().unwrap_or("");
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    };
    report.add_all(
        &rules::CANONICAL_RELATIVE,
        "The canonical URL is relative. Use an absolute URL with scheme and host.",
        named
            .iter()
            .filter(|(href, url)| url.is_some() && !absolute(href))
            .map(|(href, _)| *href),
    );
    let urls: Vec<_> = named.iter().filter_map(|(_, url)| url.as_ref()).collect();
    if urls.len() > 1 {
        report.add_all(
            &rules::CANONICAL_MULTIPLE,
            "The page has several different canonical URLs, so search engines ignore all of them. Keep one.",
            urls.iter().map(|url| url.as_str()),
        );
    }
    if let (Some(header), Some(url)) = (&header, urls.first())
        && !Facts::is_same(header, url)
    {
        report.add_all(
            &rules::CANONICAL_MISMATCH,
            "The Link header and the HTML name different canonical URLs. Use the same URL in both.",
            [header.as_str(), url.as_str()],
        );
    }
    let (Some(canonical), Some(own)) = (facts.canonical(), &facts.url) else {
        // A canonical link in the body has its own rule.
        let late = facts.head.links.iter().any(|link| link.is("canonical"));
        if !late && header.is_none() {
            report.add(&rules::CANONICAL_MISSING, "The page has no canonical URL, so copies of it under other URLs compete with it. Add <link rel=\"canonical\">.");
        }
        return;
    };
    if canonical.fragment().is_some() {
        report.add_value(
            &rules::CANONICAL_FRAGMENT,
            "The canonical URL has a fragment, which search engines ignore. Remove it.",
            canonical.as_str(),
        );
    }
    let secure = |url: &str| url.replacen("http://", "https://", 1);
    let insecure = own.scheme() == "https" && canonical.scheme() == "http";
    if insecure {
        report.add_value(
            &rules::CANONICAL_INSECURE,
            "The page uses HTTPS, but its canonical URL uses HTTP. Change the canonical URL to HTTPS.",
            canonical.as_str(),
        );
    }
    let same = facts.is_self(&canonical)
        || insecure && secure(canonical.without_fragment()) == own.without_fragment();
    if same {
        return;
    }
    let is_root = |path: &str| path == "/";
    let is_index = |path: &str| {
        path.get(1..)
            .is_some_and(|file| file.starts_with("index.") && !file.contains('/'))
    };
    if is_root(canonical.path())
        && canonical.query().is_none()
        && facts.is_own(&canonical)
        && !is_root(own.path())
        && !is_index(own.path())
    {
        report.add_value(
            &rules::CANONICAL_ROOT,
            "The canonical URL is the home page, so search engines do not show this page. Set it to this page's URL.",
            canonical.as_str(),
        );
    } else {
        report.add_value(
            &rules::CANONICAL_ELSEWHERE,
            "The canonical URL is another page, which search engines show instead of this one. Check that this is intended.",
            canonical.as_str(),
        );
    }
    let hidden = robots::directives(facts.page)
        .unwrap_or_default()
        .iter()
        .any(|d| d.agent.is_none() && (d.is("noindex") || d.is("none")));
    if hidden {
        report.add_value(
            &rules::CANONICAL_NOINDEX,
            "The page is noindex and has another page as canonical URL, so search engines may hide both. Remove one of the two.",
            canonical.as_str(),
        );
    }
}
