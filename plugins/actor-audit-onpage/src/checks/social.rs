//! How the page looks where it is shared.

use orbweaver_sdk::urls::Resolved;

use crate::facts::Facts;
use crate::report::Report;
use crate::rules;

/// The properties that every page needs by the protocol, by the names they go by.
const REQUIRED: &[&[&str]] = &[
    &["og:title"],
    &["og:type"],
    &["og:image", "og:image:url", "og:image:secure_url"],
    &["og:url"],
];

/// Types of cards.
const CARDS: &[&str] = &["summary", "summary_large_image", "app", "player"];

/// Judges it.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    let has = |names: &[&str]| facts.head.all(names).next().is_some();
    let missing: Vec<&str> = REQUIRED
        .iter()
        .filter(|names| !has(names))
        .filter_map(|names| names.first().copied())
        .collect();
    let any = facts.head.metas.iter().any(|meta| {
        meta.name
            .get(..3)
            .is_some_and(|p| p.eq_ignore_ascii_case("og:"))
    });
    if !any {
        report.add(&rules::OG_MISSING, "The page has no Open Graph properties: where it is shared, services guess what to show.");
    } else {
        report.add_all(
            &rules::OG_INCOMPLETE,
            "Required Open Graph properties are missing.",
            missing,
        );
    }
    report.add_all(
        &rules::OG_IMAGE,
        "og:image is not absolute: services that share the page do not find it.",
        facts
            .head
            .all(&["og:image", "og:image:url", "og:image:secure_url"])
            .filter(|image| Resolved::parse(image).is_none()),
    );
    if let Some(url) = facts.head.all(&["og:url"]).next() {
        let canonical = facts.canonical();
        // A slash at the end is not worth a word.
        let bare = |url: &str| url.trim_end_matches('/').to_owned();
        let is = |one: &Resolved, other: &Resolved| {
            Facts::is_same(one, other)
                || bare(one.without_fragment()) == bare(other.without_fragment())
        };
        let fits = Resolved::parse(url).is_some_and(|url| {
            facts.url.as_ref().is_some_and(|own| is(own, &url))
                || canonical.is_some_and(|canonical| is(&canonical, &url))
        });
        if !fits {
            report.add_value(
                &rules::OG_URL,
                "og:url is neither the canonical URL nor the page's own: likes and shares count for another page.",
                url,
            );
        }
    }
    let card = facts.head.all(&["twitter:card"]).next();
    match card {
        Some(card) if !CARDS.iter().any(|known| known.eq_ignore_ascii_case(card)) => {
            report.add_value(
                &rules::TWITTER_INVALID,
                "The twitter:card is of a type that does not exist.",
                card,
            );
        }
        None if !(has(&["og:title"]) && has(&["og:type"])) => {
            report.add(
                &rules::TWITTER_MISSING,
                "The page has no twitter:card, nor the Open Graph properties that stand in for it.",
            );
        }
        _ => {}
    }
}
