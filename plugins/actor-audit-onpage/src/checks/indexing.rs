//! Rules about access of search engines to the page.

use orbweaver_sdk::dom::{attr, tag};
use orbweaver_sdk::head::hreflang;
use orbweaver_sdk::robots::{self, Directive};

use super::expiry;
use crate::facts::{Facts, opening};
use crate::report::Report;
use crate::robots_file::RobotsFile;
use crate::rules;

/// The robot whose access is checked.
const GOOGLEBOT: &str = "Googlebot";

/// Directives known to search engines, including former ones and those for AI crawlers.
const KNOWN: &[&str] = &[
    "all",
    "none",
    "index",
    "noindex",
    "follow",
    "nofollow",
    "archive",
    "noarchive",
    "cache",
    "nocache",
    "snippet",
    "nosnippet",
    "imageindex",
    "noimageindex",
    "translate",
    "notranslate",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
    "unavailable_after",
    "indexifembedded",
    "nositelinkssearchbox",
    "noodp",
    "noydir",
    "noyaca",
    "odp",
    "ydir",
    "noimageclick",
    "nopreview",
    "noai",
    "noimageai",
    "nopagereadaloud",
    "noodyp",
];

/// Checks robots.txt, for any response of the page.
pub fn check_robots(facts: &Facts<'_>, robots: &RobotsFile, report: &mut Report) {
    let url = facts.page.final_url();
    if let RobotsFile::Unreachable(why) = robots {
        report.add_value(
            &rules::ROBOTS_UNREACHABLE,
            "robots.txt is unreachable, so search engines stop crawling the whole site. Make it respond with 200 or 404.",
            why,
        );
    }
    if !robots.allows(GOOGLEBOT, url) {
        report.add_value(
            &rules::ROBOTS_BLOCKED,
            "robots.txt disallows this page for Googlebot, so its content is not read. Remove the rule if the page should be found.",
            url,
        );
    }
    report.add_all(
        &rules::ROBOTS_INVALID,
        "robots.txt has invalid lines, which robots ignore. Correct or remove them.",
        robots.faults(),
    );
    let directives = robots::directives(facts.page).unwrap_or_default();
    let search: Vec<&Directive<'_>> = directives
        .iter()
        .filter(|d| {
            d.agent
                .is_none_or(|agent| agent.eq_ignore_ascii_case(GOOGLEBOT))
        })
        .collect();
    let words = |names: &[&str]| -> Vec<String> {
        let found = search
            .iter()
            .filter(|d| names.iter().any(|name| d.is(name)));
        found.map(|d| written(d)).collect()
    };
    // The server's own clock: where it sends none, nobody here knows the time.
    let now = facts.page.header("date").unwrap_or("");
    let dated = search.iter().filter(|d| d.is("unavailable_after"));
    let over = dated
        .filter(|d| d.value.is_some_and(|date| expiry::is_over(date, now)))
        .map(|d| written(d));
    report.add_all(
        &rules::NOINDEX,
        "The page is noindex, so search engines do not show it. Remove the directive if the page should be found.",
        words(&["noindex", "none"]).into_iter().chain(over),
    );
    report.add_all(
        &rules::NOFOLLOW_PAGE,
        "The page is nofollow, so search engines follow none of its links. Remove the directive if they should.",
        words(&["nofollow", "none"]),
    );
    let zero = search
        .iter()
        .filter(|d| d.is("max-snippet") && d.value == Some("0"));
    report.add_all(
        &rules::NOSNIPPET,
        "The page forbids snippets, so search results show none of its text. Remove the directive to allow them.",
        words(&["nosnippet"])
            .into_iter()
            .chain(zero.map(|d| written(d))),
    );
    report.add_all(
        &rules::NOIMAGEINDEX,
        "The page is noimageindex, so image search does not show its images. Remove the directive to allow it.",
        words(&["noimageindex"]),
    );
    for (yes, no) in [
        (["index", "all"], ["noindex", "none"]),
        (["follow", "all"], ["nofollow", "none"]),
    ] {
        let (yes, no) = (words(&yes), words(&no));
        if let (Some(yes), Some(no)) = (yes.first(), no.first()) {
            report.add_all(
                &rules::ROBOTS_CONFLICT,
                "Robots directives contradict each other, and the strictest applies. Remove the wrong ones.",
                [format!("{yes} and {no}")],
            );
        }
    }
    // A date contains commas and colons.
    if !directives.iter().any(|d| d.is("unavailable_after")) {
        report.add_all(
            &rules::ROBOTS_UNKNOWN,
            "Some robots directives are unknown to search engines, which ignore them. Correct or remove them.",
            directives
                .iter()
                .filter(|d| !KNOWN.iter().any(|known| d.is(known)))
                .map(written),
        );
    }
}

fn written(directive: &Directive<'_>) -> String {
    let Directive {
        agent,
        name,
        value,
        header,
    } = directive;
    let place = if *header { "X-Robots-Tag" } else { "meta" };
    let agent = agent.map_or_else(String::new, |agent| format!("{agent}: "));
    let value = value.map_or_else(String::new, |value| format!(":{value}"));
    format!("{place} {agent}{name}{value}")
}

/// Checks the document.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    let refresh = facts.tagged(tag::META).filter(|node| {
        node.attr(attr::HTTP_EQUIV)
            .is_some_and(|name| name.trim_ascii().eq_ignore_ascii_case("refresh"))
            && node.has_attr(attr::CONTENT)
    });
    report.add_all(
        &rules::META_REFRESH,
        "A meta refresh reloads or redirects the page. Use an HTTP redirect with status 301 instead.",
        refresh.map(opening),
    );
    let metas = facts.tagged(tag::META).filter(|node| {
        let is = |id, names: &[&str]| {
            let value = node.attr(id).map(str::trim_ascii);
            value.is_some_and(|v| names.iter().any(|name| name.eq_ignore_ascii_case(v)))
        };
        // Robots metas count wherever they are.
        is(attr::NAME, &["description"])
    });
    let links = facts.tagged(tag::LINK).filter(|node| {
        let rel = node.attr(attr::REL).unwrap_or("");
        let is = |name: &str| {
            rel.split_ascii_whitespace()
                .any(|r| r.eq_ignore_ascii_case(name))
        };
        is("canonical") || is("alternate") && hreflang(*node).is_some()
    });
    // A second title in the body usually belongs to a drawing outside its svg element.
    let titled = facts.titles.iter().any(|node| facts.in_head(*node));
    let titles = facts.titles.iter().copied().filter(|_| !titled);
    report.add_all(
        &rules::METAS_IN_BODY,
        "Metas or links for search engines are in the body, where they are ignored. Find the element that ends the head too early.",
        metas
            .chain(links)
            .chain(titles)
            .filter(|node| !facts.in_head(*node))
            .map(opening),
    );
}
