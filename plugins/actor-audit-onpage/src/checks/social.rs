//! Rules about previews of shared links.

use orbweaver_sdk::urls::Resolved;

use crate::facts::Facts;
use crate::report::Report;
use crate::rules;

/// Properties required by the Open Graph protocol, each with its accepted names.
const REQUIRED: &[&[&str]] = &[
    &["og:title"],
    &["og:type"],
    &["og:image", "og:image:url", "og:image:secure_url"],
    &["og:url"],
];

/// Types of Twitter cards.
const CARDS: &[&str] = &["summary", "summary_large_image", "app", "player"];

/// Checks the properties.
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
        report.add(&rules::OG_MISSING, "The page has no Open Graph properties, so services guess how to show a shared link. Add them.");
    } else {
        report.add_all(
            &rules::OG_INCOMPLETE,
            "The page has Open Graph properties, but not all required ones. Add the missing ones.",
            missing,
        );
    }
    report.add_all(
        &rules::OG_IMAGE,
        "og:image is a relative URL, which services cannot load. Use an absolute one.",
        facts
            .head
            .all(&["og:image", "og:image:url", "og:image:secure_url"])
            .filter(|image| Resolved::parse(image).is_none()),
    );
    if let Some(url) = facts.head.all(&["og:url"]).next() {
        let canonical = facts.canonical();
        // A trailing slash is ignored.
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
                "og:url is neither the canonical URL nor the page's own, so shares count for another page. Set it to the canonical URL.",
                url,
            );
        }
    }
    let card = facts.head.all(&["twitter:card"]).next();
    match card {
        Some(card) if !CARDS.iter().any(|known| known.eq_ignore_ascii_case(card)) => {
            report.add_value(
                &rules::TWITTER_INVALID,
                "The twitter:card has an unknown type. Use summary, summary_large_image, app or player.",
                card,
            );
        }
        None if !(has(&["og:title"]) && has(&["og:type"])) => {
            report.add(
                &rules::TWITTER_MISSING,
                "The page has no twitter:card and no Open Graph properties to replace it. Add twitter:card.",
            );
        }
        _ => {}
    }
}
