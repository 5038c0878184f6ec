//! Rules about the text and its markup.

use orbweaver_markup::{Token, Tokens, names};
use orbweaver_sdk::dom::{Node, attr, tag};

use crate::facts::{Facts, is_hidden, opening};
use crate::report::Report;
use crate::rules;

/// Fewest words without a finding.
const MIN_WORDS: u64 = 200;
/// Most elements that browsers lay out quickly.
const MAX_ELEMENTS: u64 = 1_500;
/// Deepest nesting that browsers lay out quickly.
const MAX_DEPTH: u64 = 32;
/// Bytes of HTML that Googlebot reads.
const MAX_BYTES: u64 = 2 << 20;
/// Bytes that browsers search for the charset.
const CHARSET_BYTES: usize = 1_024;

/// Checks text and markup.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    if facts.words < MIN_WORDS {
        report.add(
            &rules::THIN,
            format!("The page has only {} words of visible text. Add content, or merge it with another page.", facts.words),
        );
    }
    let text = facts.text.to_lowercase();
    if let Some(at) = text.find("lorem ipsum") {
        let sample: String = text.get(at..).unwrap_or("").chars().take(80).collect();
        report.add_value(
            &rules::PLACEHOLDER,
            "The page shows placeholder text. Replace it.",
            &sample,
        );
    }
    if facts.view.quirks() {
        report.add(
            &rules::DOCTYPE,
            "The document is in quirks mode. Begin it with <!DOCTYPE html>.",
        );
    }
    if !declares_charset(facts) {
        report.add(
            &rules::CHARSET,
            "The page declares no charset in the Content-Type header or in the first 1,024 bytes. Add <meta charset=\"utf-8\">.",
        );
    }
    if facts.elements > MAX_ELEMENTS {
        report.add(
            &rules::DOM_SIZE,
            format!("The document has {} elements, which makes it slow on phones. Reduce it to 1,500 or fewer.", facts.elements),
        );
    }
    if facts.depth > MAX_DEPTH {
        report.add(
            &rules::DOM_DEPTH,
            format!(
                "Elements are nested {} levels deep. Reduce the depth to 32 or less.",
                facts.depth
            ),
        );
    }
    if facts.page.size() > MAX_BYTES {
        report.add(
            &rules::HTML_SIZE,
            format!(
                "The HTML has {} bytes, but Googlebot reads only the first 2 MB. Reduce its size.",
                facts.page.size()
            ),
        );
    }
    let repeated = facts.ids.iter().filter(|(_, count)| **count > 1);
    report.add_all(
        &rules::DUPLICATE_ID,
        "Several elements have the same id, so links, labels and scripts find only the first. Make each id unique.",
        repeated.map(|(id, count)| format!("{id} ({count} times)")),
    );
    report.add_all(
        &rules::PLUGINS,
        "The page has content for a browser plugin that no longer exists. Replace it with HTML.",
        facts
            .others
            .iter()
            .filter(|node| is_plugin(**node))
            .map(|node| opening(*node)),
    );
    if facts.tagged(tag::FRAMESET).next().is_some() {
        report.add(
            &rules::FRAMESET,
            "The page is a frameset, so search engines assign its content to other pages. Replace the frames with HTML.",
        );
    }
    report.add_all(
        &rules::IFRAME_TITLE,
        "An iframe has no title, so screen readers cannot announce its content. Add a title attribute.",
        facts
            .tagged(tag::IFRAME)
            .filter(|node| lacks_title(*node))
            .map(opening),
    );
}

fn declares_charset(facts: &Facts<'_>) -> bool {
    let header = facts.page.header("content-type").unwrap_or("");
    let body = facts.page.read(0, 3);
    // Byte order marks of UTF-8 and of UTF-16.
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe"];
    if names_charset(header) || marks.iter().any(|mark| body.starts_with(mark)) {
        return true;
    }
    let html = facts.page.html();
    let start = html
        .get(..html.floor_char_boundary(CHARSET_BYTES))
        .unwrap_or(html);
    let mut tokens = Tokens::new(start);
    while let Some(token) = tokens.next() {
        if !matches!(token, Token::Start(tag) if tag.name == names::META) {
            continue;
        }
        let is_content_type = tokens
            .attribute("http-equiv")
            .is_some_and(|name| name.trim_ascii().eq_ignore_ascii_case("content-type"));
        let content = tokens.attribute("content").filter(|_| is_content_type);
        let charset = tokens.attribute("charset");
        if charset.is_some_and(|charset| !charset.trim_ascii().is_empty())
            || content.is_some_and(names_charset)
        {
            return true;
        }
    }
    false
}

/// Whether a media type has the parameter `charset`.
fn names_charset(media_type: &str) -> bool {
    let mut parameters = media_type.split(';').skip(1);
    parameters.any(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        name.trim_ascii().eq_ignore_ascii_case("charset") && !value.trim_ascii().is_empty()
    })
}

fn is_plugin(node: Node<'_>) -> bool {
    if !matches!(node.tag(), tag::OBJECT | tag::EMBED | tag::APPLET) {
        return false;
    }
    let kind = node.attr(attr::TYPE).unwrap_or("").to_ascii_lowercase();
    let source = node
        .attr(attr::SRC)
        .or_else(|| node.attr_named("data"))
        .unwrap_or("");
    let source = source
        .split(['?', '#'])
        .next()
        .unwrap_or("")
        .to_ascii_lowercase();
    node.tag() == tag::APPLET
        || [
            "x-shockwave-flash",
            "java-applet",
            "x-silverlight",
            "futuresplash",
        ]
        .iter()
        .any(|plugin| kind.contains(plugin))
        || [".swf", ".xap", ".class", ".jar"]
            .iter()
            .any(|end| source.ends_with(end))
}

fn lacks_title(node: Node<'_>) -> bool {
    let tiny = |id| {
        node.attr(id)
            .is_some_and(|n| matches!(n.trim().trim_end_matches("px"), "0" | "1"))
    };
    let filled = |id| node.attr(id).is_some_and(|text| !text.trim().is_empty());
    let role = node.attr(attr::ROLE).unwrap_or("");
    let named =
        filled(attr::TITLE) || filled(attr::ARIA_LABEL) || node.has_attr(attr::ARIA_LABELLEDBY);
    let unseen = tiny(attr::WIDTH) || tiny(attr::HEIGHT) || is_hidden(node);
    !(named || unseen || matches!(role, "presentation" | "none"))
}
