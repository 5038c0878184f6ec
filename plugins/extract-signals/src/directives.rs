//! Directives for robots, mainly those of AI.

use std::collections::{BTreeMap, BTreeSet};

use orbweaver_sdk::Page;
use orbweaver_sdk::dom::{View, attr, tag};
use orbweaver_sdk::head::Head;
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::robots::Directive;

/// Writes the distinct directives as `name` or `name:value`, names in lower case.
pub fn write<'d>(directives: impl Iterator<Item = &'d Directive<'d>>, w: &mut Writer) {
    let mut seen = BTreeSet::new();
    for directive in directives {
        let mut text = directive.name.to_ascii_lowercase();
        if let Some(value) = directive.value {
            text.push(':');
            text.push_str(value);
        }
        if !seen.contains(&text) {
            w.string(&text);
            seen.insert(text);
        }
    }
}

/// Writes the fields of `ai_directives`; see the schema in `plugin.toml`.
pub fn ai(
    page: &Page<'_>,
    view: &View<'_>,
    head: &Head<'_>,
    directives: &[Directive<'_>],
    w: &mut Writer,
) {
    let all = || directives.iter().filter(|d| d.agent.is_none());
    for name in ["noai", "noimageai", "nosnippet"] {
        w.key(name).bool(all().any(|d| d.is(name)));
    }
    // The most restrictive of several, as in search engines; -1 means no limit.
    let limits = all()
        .filter(|d| d.is("max-snippet"))
        .filter_map(|d| d.value?.parse::<i64>().ok());
    w.key("max_snippet");
    match limits.min_by_key(|limit| u64::try_from(*limit).unwrap_or(u64::MAX)) {
        Some(limit) => w.int(limit),
        None => w.null(),
    };
    // The elements for which Google's documentation defines the attribute.
    let may = view.tagged(|id| matches!(id, tag::SPAN | tag::DIV | tag::SECTION));
    let marked = may.filter(|n| {
        n.attrs()
            .any(|a| a.id() == attr::UNKNOWN && a.name() == "data-nosnippet")
    });
    w.key("data_nosnippet").int(marked.count() as u64);
    // TDM Reservation Protocol (W3C community group): "1" reserves the rights. The meta takes
    // precedence over the header, because it is closer to the content.
    let tdm = |name| head.all(&[name]).next().or_else(|| page.header(name));
    w.key("tdm_reservation");
    match tdm("tdm-reservation").map(str::trim) {
        Some("1") => w.bool(true),
        Some("0") => w.bool(false),
        _ => w.null(),
    };
    w.key("tdm_policy").string_or_null(tdm("tdm-policy"));
    let mut bots: BTreeMap<String, Vec<&Directive<'_>>> = BTreeMap::new();
    for directive in directives {
        if let Some(agent) = directive.agent {
            bots.entry(agent.to_ascii_lowercase())
                .or_default()
                .push(directive);
        }
    }
    w.key("bots").object(|w| {
        for (agent, directives) in &bots {
            w.key(agent).array(|w| write(directives.iter().copied(), w));
        }
    });
    w.key("x_robots_tag").array(|w| {
        for value in page.header_values("x-robots-tag") {
            w.string(value.trim());
        }
    });
}
