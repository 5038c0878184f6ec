//! Comments in JSON-LD.

use orbweaver_sdk::dom::View;
use orbweaver_sdk::{jsonld, text};
use serde_json::Value;

use super::{Comment, MAX_COMMENTS};

/// Properties that contain comments.
const COMMENTS: &[&str] = &["comment", "acceptedAnswer", "suggestedAnswer"];
const HOLDERS: &[&str] = &["mainEntity", "mainEntityOfPage", "hasPart", "discusses"];

/// The comments of all JSON-LD of a page, in the order written.
pub fn comments(view: &View<'_>) -> Vec<Comment> {
    let mut found = Vec::new();
    for block in jsonld::blocks(view) {
        for object in block.objects() {
            // Most objects are about something else, and large.
            if !COMMENTS.iter().any(|key| object.json.contains(key)) {
                continue;
            }
            if let Ok(value) = serde_json::from_str(object.json) {
                collect(&value, &mut found);
            }
        }
    }
    found
}

/// Visits values depth first, with a stack instead of recursion.
fn collect(root: &Value, found: &mut Vec<Comment>) {
    // A value, whether it is a comment, and the depth of the comments below it.
    let mut waiting = vec![(root, false, 0_u32)];
    while let Some((value, is_comment, depth)) = waiting.pop() {
        match value {
            Value::Array(items) => {
                waiting.extend(items.iter().rev().map(|item| (item, is_comment, depth)));
            }
            Value::Object(fields) => {
                let mut below = depth;
                if is_comment && found.len() < MAX_COMMENTS {
                    if let Some(comment) = comment(value, depth) {
                        found.push(comment);
                    }
                    below += 1;
                }
                for key in HOLDERS.iter().filter(|_| !is_comment) {
                    waiting.extend(fields.get(*key).map(|held| (held, false, depth)));
                }
                for key in COMMENTS.iter().rev() {
                    waiting.extend(fields.get(*key).map(|list| (list, true, below)));
                }
            }
            _ => {}
        }
    }
}

fn comment(value: &Value, depth: u32) -> Option<Comment> {
    let first = |keys: &[&str]| keys.iter().find_map(|key| string(value.get(*key)?));
    let text = first(&["text", "articleBody", "description", "name"])?;
    let author = value.get("author").or_else(|| value.get("creator"));
    let author = author.and_then(name);
    let published = first(&["dateCreated", "datePublished", "dateModified"]);
    // Answers in a list of frequent questions have no author: they are the page's own content.
    let is_answer = value.get("@type").and_then(Value::as_str) == Some("Answer");
    if is_answer && author.is_none() && published.is_none() {
        return None;
    }
    Some(Comment {
        author,
        published,
        text,
        depth,
    })
}

fn name(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => string(fields.get("name")?),
        Value::Array(people) => people.iter().find_map(|person| match person {
            Value::Object(fields) => string(fields.get("name")?),
            other => string(other),
        }),
        other => string(other),
    }
}

fn string(value: &Value) -> Option<String> {
    Some(plain(value.as_str()?)).filter(|text| !text.is_empty())
}

/// Text without HTML tags, which some pages leave in their data; one line per paragraph.
pub fn plain(text: &str) -> String {
    const NAMES: &[(&str, &str)] = &[
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#039;", "'"),
        ("&ndash;", "–"),
        ("&mdash;", "—"),
        ("&rsquo;", "’"),
        ("&amp;", "&"),
    ];
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('<');
    out.push_str(parts.next().unwrap_or(""));
    for part in parts {
        let is_tag = part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        match part.split_once('>').filter(|_| is_tag) {
            Some((tag, text)) => {
                let name = tag.trim_start_matches('/').to_ascii_lowercase();
                let line = ["p", "br", "div", "li", "ul", "ol", "blockquote"];
                let name = name
                    .split(|c: char| !c.is_ascii_alphanumeric())
                    .next()
                    .unwrap_or("");
                out.push_str(if line.contains(&name) { "\n" } else { "" });
                out.push_str(text);
            }
            None => {
                out.push('<');
                out.push_str(part);
            }
        }
    }
    for (name, character) in NAMES.iter().filter(|_| text.contains('&')) {
        out = out.replace(name, character);
    }
    let lines = out
        .lines()
        .map(text::collapse)
        .filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}
