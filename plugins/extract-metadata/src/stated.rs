//! Facts that are read from one place each: what the head says of the page's address, icon,
//! encoding and the like.

use orbweaver_facts::{Items, readable};
use orbweaver_sdk::Page;
use orbweaver_sdk::dom::View;
use orbweaver_sdk::head::{Head, Link};
use orbweaver_sdk::text::collapse;

/// The page's description: a meta's, else that of an item of Microdata.
pub fn description(view: &View<'_>, head: &Head<'_>) -> Option<String> {
    let of_page = head.meta_text(&[
        "description",
        "og:description",
        "twitter:description",
        "dc.description",
        "dcterms.description",
    ]);
    let stated = of_page.or_else(|| {
        let mut of_items = Items::of(view).metas(head, &["description"]);
        of_items.next().map(collapse)
    });
    stated.map(|text| readable(&text))
}

/// The robots metas, joined.
pub fn robots(head: &Head<'_>) -> Option<String> {
    let robots: Vec<_> = head.all(&["robots"]).collect();
    (!robots.is_empty()).then(|| collapse(&robots.join(", ")))
}

/// The icon: the first of the usual kind, else the touch icon.
pub fn favicon(page: &Page<'_>, head: &Head<'_>) -> Option<String> {
    let base = page.base()?;
    let icon = |wanted: &str| {
        let mut links = head.links.iter().filter(|link: &&Link<'_>| link.is(wanted));
        links
            .find_map(|link| link.target(base))
            .map(|url| url.into_string())
    };
    icon("icon")
        .or_else(|| icon("apple-touch-icon"))
        .or_else(|| icon("apple-touch-icon-precomposed"))
}

/// The declared charset: a byte order mark, which is stronger than all that follow (Encoding Standard,
/// "decode"), the header, `<meta charset>`, `<meta http-equiv>`.
pub fn charset(page: &Page<'_>, head: &Head<'_>) -> Option<String> {
    let marked = match page.read(0, 3).as_slice() {
        [0xef, 0xbb, 0xbf] => Some("utf-8"),
        [0xfe, 0xff, ..] => Some("utf-16be"),
        [0xff, 0xfe, ..] => Some("utf-16le"),
        _ => None,
    };
    if let Some(marked) = marked {
        return Some(marked.to_owned());
    }
    let of_type = |value: &str| {
        let at = value.to_ascii_lowercase().find("charset=")? + "charset=".len();
        let name = value.get(at..)?.trim_matches([' ', '"', '\'']);
        let name = name.split([';', ' ', '"', '\'']).next()?;
        (!name.is_empty()).then(|| name.to_ascii_lowercase())
    };
    page.header("content-type")
        .and_then(of_type)
        .or_else(|| head.charset.map(str::to_ascii_lowercase))
        .or_else(|| head.all(&["content-type"]).find_map(of_type))
}
