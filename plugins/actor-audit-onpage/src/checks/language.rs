//! Rules about the page's language and its versions in other languages.

use std::collections::BTreeMap;

use orbweaver_sdk::head;
use orbweaver_sdk::urls::{KeyRules, Resolved, key_of};

use crate::facts::Facts;
use crate::language_codes::{is_language_tag, is_same_language};
use crate::report::Report;
use crate::rules;

/// A version of the page in another language.
struct Version<'p> {
    code: &'p str,
    href: &'p str,
    url: Option<Resolved>,
}

/// Checks language and versions.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    match facts.lang() {
        None => report.add(
            &rules::LANG_MISSING,
            "The html element has no lang, so screen readers and translators guess the language. Add it.",
        ),
        Some(lang) if !is_language_tag(lang) => {
            report.add_value(
                &rules::LANG_INVALID,
                "The html element's lang is not a valid language tag. Use a tag such as \"en\" or \"pt-BR\".",
                lang,
            );
        }
        Some(_) => {}
    }
    let versions: Vec<Version<'_>> = facts
        .head_links("alternate")
        .filter_map(|(href, node)| {
            let url = facts.resolve(href);
            Some(Version {
                code: head::hreflang(node)?,
                href,
                // An empty address is none; resolved, it would be the page itself.
                url: url.filter(|_| !href.trim_ascii().is_empty()),
            })
        })
        .collect();
    if versions.is_empty() {
        return;
    }
    hreflang(facts, &versions, report);
}

fn hreflang(facts: &Facts<'_>, versions: &[Version<'_>], report: &mut Report) {
    let is_default = |code: &str| code.eq_ignore_ascii_case("x-default");
    report.add_all(
        &rules::HREFLANG_INVALID,
        "An hreflang has an unknown language or region. Use ISO codes (\"en-GB\", not \"en-UK\").",
        versions
            .iter()
            .filter(|v| {
                !is_default(v.code) && (v.code.starts_with("x-") || !is_language_tag(v.code))
            })
            .map(|v| format!("{} → {}", v.code, v.href)),
    );
    let absolute = |href: &str| {
        let href = href.trim_ascii();
        Resolved::parse(href).is_some()
    };
    report.add_all(
        &rules::HREFLANG_RELATIVE,
        "An hreflang link has a relative URL. Use an absolute one.",
        versions
            .iter()
            .filter(|v| !absolute(v.href))
            .map(|v| format!("{} → {}", v.code, v.href)),
    );
    if !versions.iter().any(|v| is_default(v.code)) {
        report.add(
            &rules::HREFLANG_DEFAULT,
            "The hreflang links have no x-default. Add one for visitors of other languages.",
        );
    }
    let mut pages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for version in versions {
        let Some(url) = &version.url else { continue };
        let pages = pages.entry(version.code.to_ascii_lowercase()).or_default();
        let key = key_of(url, KeyRules::default());
        if !pages.contains(&key) {
            pages.push(key);
        }
    }
    report.add_all(
        &rules::HREFLANG_CONFLICT,
        "Two hreflang links give different pages for one language. Keep one.",
        pages
            .iter()
            .filter(|(_, urls)| urls.len() > 1)
            .map(|(code, urls)| format!("{code} → {}", urls.join(", "))),
    );
    let canonical = facts.canonical();
    if let Some(canonical) = canonical.filter(|canonical| !facts.is_self(canonical)) {
        report.add_value(
            &rules::HREFLANG_CANONICAL,
            "The page has hreflang links, but search engines ignore them, because the canonical URL is another page. Set them on that page.",
            canonical.as_str(),
        );
        return;
    }
    let own: Vec<&Version<'_>> = versions
        .iter()
        .filter(|v| v.url.as_ref().is_some_and(|url| facts.is_self(url)))
        .collect();
    if own.is_empty() {
        report.add(&rules::HREFLANG_SELF, "The hreflang links do not include the page itself, so search engines ignore them. Add a link to this page.");
    }
    if let Some(lang) = facts.lang() {
        let other = own.iter().filter(|v| !is_default(v.code));
        let codes: Vec<&str> = other.map(|v| v.code).collect();
        if !codes.is_empty() && !codes.iter().any(|code| is_same_language(code, lang)) {
            report.add_value(
                &rules::HREFLANG_LANG,
                "The page's hreflang and its lang are different languages. Correct one of them.",
                &format!("hreflang {}, lang {lang}", codes.join(", ")),
            );
        }
    }
}
