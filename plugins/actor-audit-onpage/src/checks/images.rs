//! Rules about images.

use orbweaver_sdk::dom::{Node, attr, tag};

use crate::facts::{Facts, opening};
use crate::report::Report;
use crate::rules;

/// Longest alternative text, in characters: longer ones belong into a caption.
const MAX_ALT: usize = 100;

/// Extensions of image files.
const FILES: &[&str] = &[
    ".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".avif", ".bmp",
];

/// Checks the images.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    let seen = || facts.images.iter().copied().filter(|node| !is_pixel(*node));
    report.add_all(
        &rules::IMAGE_ALT,
        "An image has no alt attribute, so search engines and screen readers cannot describe it. Add a description, or alt=\"\" for decoration.",
        seen().filter(|node| !is_named(*node)).map(opening),
    );
    let alts = || {
        seen()
            .filter_map(|node| node.attr(attr::ALT))
            .map(str::trim)
    };
    report.add_all(
        &rules::IMAGE_ALT_LONG,
        "An image's alt is longer than 100 characters. Shorten it, and move details into the text.",
        alts().filter(|alt| alt.chars().count() > MAX_ALT),
    );
    report.add_all(
        &rules::IMAGE_ALT_FILE,
        "An image's alt is a file name. Describe the image instead.",
        alts().filter(|alt| {
            let alt = alt.to_ascii_lowercase();
            !alt.contains(' ') && FILES.iter().any(|end| alt.ends_with(end))
        }),
    );
    report.add_all(
        &rules::IMAGE_SIZE,
        "An image has no width and height, so the layout shifts while it loads. Add both attributes.",
        seen().filter(|node| !is_sized(*node)).map(opening),
    );
    report.add_all(
        &rules::IMAGE_SOURCE,
        "An image has no source. Add a src, or remove the image.",
        facts
            .images
            .iter()
            .filter(|node| !has_source(**node))
            .map(|node| opening(*node)),
    );
    report.add_all(
        &rules::PICTURE_IMG,
        "A picture element has no img, so it shows nothing. Add an img as its last child.",
        facts
            .tagged(tag::PICTURE)
            .filter(|node| !node.elements().any(|n| n.tag() == tag::IMG))
            .map(opening),
    );
}

/// Whether it is a tracking pixel.
fn is_pixel(node: Node<'_>) -> bool {
    let tiny = |id| {
        node.attr(id)
            .is_some_and(|n| matches!(n.trim().trim_end_matches("px"), "0" | "1"))
    };
    tiny(attr::WIDTH) && tiny(attr::HEIGHT)
}

/// Whether an image has a description, or is marked as decoration.
fn is_named(node: Node<'_>) -> bool {
    let role = node.attr(attr::ROLE).unwrap_or("");
    let hidden = |n: Node<'_>| n.attr(attr::ARIA_HIDDEN) == Some("true");
    [
        attr::ALT,
        attr::ARIA_LABEL,
        attr::ARIA_LABELLEDBY,
        attr::TITLE,
    ]
    .iter()
    .any(|id| node.has_attr(*id))
        || matches!(role, "presentation" | "none")
        || hidden(node)
        || node.ancestors().any(hidden)
}

fn is_sized(node: Node<'_>) -> bool {
    // "auto" and the like are no dimensions (HTML, section 2.3.4.4).
    let measures = |id| {
        let value = node.attr(id).map(str::trim_ascii_start);
        value.is_some_and(|value| value.starts_with(|c: char| c.is_ascii_digit()))
    };
    if measures(attr::WIDTH) && measures(attr::HEIGHT) {
        return true;
    }
    let style = node.attr(attr::STYLE).unwrap_or("");
    let source = node.attr(attr::SRC).unwrap_or("");
    let path = source.split(['?', '#']).next().unwrap_or(source);
    style.contains("aspect-ratio")
        || style.contains("width") && style.contains("height")
        || style.contains("position") && style.contains("absolute")
        // Has the size of its box, or is not loaded at all.
        || source.starts_with("data:")
        || path.ends_with(".svg")
        || node.has_attr(attr::SIZES)
}

fn has_source(node: Node<'_>) -> bool {
    let filled = |value: &str| !value.trim_ascii().is_empty();
    // Scripts for lazy loading keep the source in attributes with other names.
    let own = node.attrs().any(|a| {
        let name = a.name();
        filled(a.value())
            && (name.contains("src")
                || name.starts_with("data-")
                || name.starts_with(':')
                || name.starts_with("v-"))
    });
    own || node
        .ancestors()
        .take_while(|n| n.tag() == tag::PICTURE)
        .any(|picture| {
            picture
                .elements()
                .any(|n| n.tag() == tag::SOURCE && n.attr(attr::SRCSET).is_some_and(filled))
        })
}
