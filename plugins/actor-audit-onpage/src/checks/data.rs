//! Rules about structured data.

use orbweaver_sdk::dom::{Node, attr};
use orbweaver_sdk::jsonld::{self, Block, Object};
use serde::de::IgnoredAny;

use crate::facts::{Facts, opening};
use crate::report::Report;
use crate::rules;

/// Properties required by search engines to show an item (Google, "Structured data markup that
/// Google Search supports"). Names separated by `|` are alternatives.
const REQUIRED: &[(&str, &[&str])] = &[
    ("BreadcrumbList", &["itemListElement"]),
    ("Course", &["name", "description"]),
    ("Dataset", &["name", "description"]),
    ("Event", &["name", "startDate", "location"]),
    ("FAQPage", &["mainEntity"]),
    (
        "JobPosting",
        &[
            "title",
            "description",
            "datePosted",
            "hiringOrganization",
            "jobLocation|applicantLocationRequirements",
        ],
    ),
    ("LocalBusiness", &["name", "address"]),
    ("Product", &["name", "offers|review|aggregateRating"]),
    ("QAPage", &["mainEntity"]),
    ("Recipe", &["name", "image"]),
    ("Review", &["author", "reviewRating", "itemReviewed"]),
    (
        "SoftwareApplication",
        &["name", "offers", "aggregateRating|review"],
    ),
    ("VideoObject", &["name", "thumbnailUrl", "uploadDate"]),
];

/// Checks structured data.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    let scripts: Vec<Node<'_>> = facts
        .others
        .iter()
        .copied()
        .filter(|n| jsonld::is_block(*n))
        .collect();
    let marked = facts
        .view
        .elements()
        .any(|n| n.has_attr(attr::ITEMSCOPE) || n.has_attr(attr::TYPEOF));
    if scripts.is_empty() && !marked {
        report.add(&rules::DATA_MISSING, "The page has no structured data, so search results show no ratings, prices or breadcrumbs for it. Add JSON-LD.");
    }
    let texts: Vec<String> = scripts.iter().map(Node::text_content).collect();
    report.add_all(
        &rules::JSON_LD_INVALID,
        "A JSON-LD block is invalid JSON, so search engines ignore it. Correct the syntax.",
        texts.iter().filter_map(|text| {
            let error = serde_json::from_str::<IgnoredAny>(text.trim()).err()?;
            let start: String = text.trim().chars().take(80).collect();
            Some(format!("{error}: {start}"))
        }),
    );
    let blocks: Vec<Block> = scripts
        .iter()
        .filter_map(|node| jsonld::parse_node(*node))
        .collect();
    for object in blocks.iter().flat_map(Block::objects) {
        judge(&object, report);
    }
    // Sufficient for every item that search engines show: itemref is rare, and pages that use it
    // are not checked.
    if !facts.view.elements().any(|n| n.has_attr(attr::ITEMREF)) {
        let strays = facts.view.elements().filter(|n| {
            n.attr(attr::ITEMPROP)
                .is_some_and(|name| !name.trim_ascii().is_empty())
                && !n.has_attr(attr::ITEMSCOPE)
                && !n.ancestors().any(|around| around.has_attr(attr::ITEMSCOPE))
        });
        report.add_all(
            &rules::MICRODATA_STRAY,
            "A Microdata property is outside any item, so it is ignored. Move it into an element with itemscope.",
            strays.map(opening),
        );
    }
}

fn judge(object: &Object<'_>, report: &mut Report) {
    let sample = || object.json.chars().take(120).collect::<String>();
    if object.get("@context").is_none() && object.context.is_none() {
        report.add_all(
            &rules::JSON_LD_CONTEXT,
            "A JSON-LD object has no @context, so its property names are undefined. Add \"@context\": \"https://schema.org\".",
            [sample()],
        );
    }
    if !object.has_type() {
        report.add_all(
            &rules::JSON_LD_TYPE,
            "A JSON-LD object has no @type, so search engines ignore it. Add the type.",
            [sample()],
        );
        return;
    }
    for (name, properties) in REQUIRED.iter().filter(|(name, _)| object.is(name)) {
        let is_said = |value: &str| !matches!(value, "null" | "\"\"" | "[]" | "{}");
        let has = |property: &&str| {
            jsonld::members(object.json).any(|(key, value)| {
                let name = unprefixed(key);
                property.split('|').any(|one| one == name) && is_said(value)
            })
        };
        let missing: Vec<&str> = properties.iter().copied().filter(|p| !has(p)).collect();
        if !missing.is_empty() {
            report.add_all(
                &rules::DATA_REQUIRED,
                "An item has no value for required properties, so search engines show no rich result. Add them.",
                [format!(
                    "{name}: {}",
                    missing.join(", ").replace('|', " or ")
                )],
            );
        }
    }
}

/// A key, which is JSON text, without its quotes and the prefix or the address of its vocabulary: `name`
/// of `"schema:name"` and of `"https://schema.org/name"`.
fn unprefixed(key: &str) -> &str {
    let name = key.trim_matches('"');
    name.rsplit([':', '/', '#']).next().unwrap_or(name)
}
