//! Cuts answers to the size of a model's context.
//!
//! A JSON value is cut where it is long: long texts lose their ends and long arrays their last
//! items, the longest first, so that what is short stays whole. What was cut is listed.

use serde::Serialize;
use serde_json::{Map, Value};

/// Default length of a result, in characters.
pub(crate) const DEFAULT_CHARS: usize = 40_000;
/// Smallest length that a caller may request.
pub(crate) const MIN_CHARS: usize = 1_000;
/// Largest length that a caller may request.
pub(crate) const MAX_CHARS: usize = 200_000;
/// Objects with more members are maps, of which the first members tell something without the others.
const MANY: usize = 32;
/// Least bytes that a value of a map is worth: with less for each, it loses members instead.
const LEAST: usize = 16;

/// A part of a result that was cut.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Cut {
    /// JSON Pointer of the part (RFC 6901).
    pub(crate) field: String,
    /// Number of characters or items that remain.
    pub(crate) kept: usize,
    /// Number of characters or items before the cut.
    pub(crate) of: usize,
    /// `characters`, `items` or `members`.
    pub(crate) unit: &'static str,
}

/// Cuts a value to about this number of bytes of JSON; returns what was cut.
///
/// Values come from a parser with a limit of depth (128), so recursion is bounded.
pub(crate) fn bound(value: &mut Value, bytes: usize) -> Vec<Cut> {
    let mut cuts = Vec::new();
    shrink(value, bytes, &mut String::new(), &mut cuts);
    cuts
}

fn shrink(value: &mut Value, room: usize, path: &mut String, cuts: &mut Vec<Cut>) {
    if size(value) <= room {
        return;
    }
    match value {
        Value::String(text) => {
            let of = text.chars().count();
            // Escapes make a text longer in JSON, so the escaped length counts.
            let mut used = 2;
            let kept = text
                .char_indices()
                .take_while(|(_, c)| {
                    used += written(*c);
                    used <= room
                })
                .last()
                .map_or(0, |(at, c)| at + c.len_utf8());
            text.truncate(kept);
            cuts.push(Cut {
                field: path.clone(),
                kept: text.chars().count(),
                of,
                unit: "characters",
            });
        }
        Value::Array(items) => shrink_array(items, room, path, cuts),
        Value::Object(members) => {
            let names: usize = members.keys().map(|name| name.len() + 4).sum();
            if members.len() > MANY && names + LEAST * members.len() > room {
                return shrink_map(members, room, path, cuts);
            }
            let sizes: Vec<usize> = members.values().map(size).collect();
            let share = level(&sizes, room.saturating_sub(names + 2));
            for (name, member) in members {
                let length = path.len();
                path.push('/');
                path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                shrink(member, share, path, cuts);
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Keeps the first items that fit, at least one, which is cut if it is too long.
fn shrink_array(items: &mut Vec<Value>, room: usize, path: &mut String, cuts: &mut Vec<Cut>) {
    let of = items.len();
    let mut left = room.saturating_sub(2);
    let mut kept = 0;
    for item in items.iter() {
        let Some(rest) = left.checked_sub(size(item) + 1) else {
            break;
        };
        left = rest;
        kept += 1;
    }
    if kept == 0
        && let Some(first) = items.first_mut()
    {
        let length = path.len();
        path.push_str("/0");
        shrink(first, room.saturating_sub(3), path, cuts);
        path.truncate(length);
        kept = 1;
    }
    if kept < of {
        items.truncate(kept);
        cuts.push(Cut {
            field: path.clone(),
            kept,
            of,
            unit: "items",
        });
    }
}

/// Keeps the first members that fit.
fn shrink_map(members: &mut Map<String, Value>, room: usize, path: &str, cuts: &mut Vec<Cut>) {
    let of = members.len();
    let mut left = room.saturating_sub(2);
    let fits = |(name, value): &(&String, &Value)| {
        let rest = left.checked_sub(name.len() + size(value) + 4);
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let kept = members.iter().take_while(fits).count();
    let dropped: Vec<String> = members.keys().skip(kept).cloned().collect();
    for name in dropped {
        members.remove(&name);
    }
    cuts.push(Cut {
        field: path.to_owned(),
        kept,
        of,
        unit: "members",
    });
}

/// The limit for each of `sizes` at which their sum fills the available space.
fn level(sizes: &[usize], room: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    let mut open = sorted.len();
    for size in sorted {
        let share = left / open.max(1);
        if size > share {
            return share;
        }
        left -= size;
        open -= 1;
    }
    usize::MAX
}

/// Length of a value as JSON, in bytes.
pub(crate) fn size(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(_) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text.chars().map(written).sum::<usize>() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| name.len() + size(value) + 4;
            members.iter().map(member).sum::<usize>() + 2
        }
    }
}

/// Length of a character in a JSON string, in bytes.
fn written(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if c < ' ' => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_small_value_stays_whole() {
        let mut value = json!({"a": "b", "c": [1, 2, 3]});
        assert_eq!(bound(&mut value, 100), []);
        assert_eq!(value, json!({"a": "b", "c": [1, 2, 3]}));
    }

    #[test]
    fn the_longest_parts_are_cut_and_listed() {
        let mut value = json!({"title": "short", "markdown": "é\n".repeat(5_000), "items": (0..2_000).collect::<Vec<_>>()});
        let cuts = bound(&mut value, 2_000);
        assert_eq!(value["title"], "short");
        let length = value.to_string().len();
        assert!((1_500..=2_000).contains(&length), "{length}");
        let fields: Vec<_> = cuts
            .iter()
            .map(|cut| (cut.field.as_str(), cut.of, cut.unit))
            .collect();
        assert_eq!(
            fields,
            [
                ("/items", 2_000, "items"),
                ("/markdown", 10_000, "characters")
            ]
        );
        assert_eq!(
            value["items"].as_array().unwrap().len(),
            cuts[0].kept,
            "{cuts:?}"
        );
        assert_eq!(
            value["markdown"].as_str().unwrap().chars().count(),
            cuts[1].kept
        );
    }

    #[test]
    fn an_array_keeps_one_item_that_is_cut_itself() {
        let mut value = json!([{"a/b": "x".repeat(9_000)}, 1]);
        let cuts = bound(&mut value, 1_000);
        assert_eq!(value.as_array().unwrap().len(), 1);
        assert!(value.to_string().len() <= 1_000);
        assert_eq!(cuts[0].field, "/0/a~1b");
        assert_eq!(
            (cuts[1].field.as_str(), cuts[1].kept, cuts[1].of),
            ("", 1, 2)
        );
    }

    #[test]
    fn many_small_members_are_left_alone_even_where_they_do_not_fit() {
        let mut value = json!({"a": 1, "b": true, "c": null});
        assert_eq!(bound(&mut value, 5), []);
    }

    #[test]
    fn a_map_loses_its_last_members_and_no_part_of_the_others() {
        let policy: Map<String, Value> = (0..200)
            .map(|bot| (format!("Bot-{bot}"), json!("allowed")))
            .collect();
        let mut value = json!({"id": 1, "ai_bot_policy": policy});
        let cuts = bound(&mut value, 1_000);
        assert!(value.to_string().len() <= 1_000, "{value}");
        let left = value["ai_bot_policy"].as_object().unwrap();
        assert!(left.len() > 20 && left.values().all(|word| word == "allowed"));
        let cut = Cut {
            field: "/ai_bot_policy".to_owned(),
            kept: left.len(),
            of: 200,
            unit: "members",
        };
        assert_eq!(cuts, [cut]);
    }

    #[test]
    fn a_size_is_that_of_the_written_json() {
        for value in [
            json!("a\"\\\n\u{1}é"),
            json!({"a": [1, -2.5, null], "b": {"c": "d"}}),
        ] {
            let written = value.to_string().len();
            assert!(size(&value).abs_diff(written) <= 4, "{value}");
        }
    }
}
