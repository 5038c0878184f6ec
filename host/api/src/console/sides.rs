//! A difference of two texts, side by side.

use serde_json::{Value, json};

/// The rows of a unified difference, for the template: `place` is a line that says where the next
/// ones are; the others have `old` and `new`, null where a side has no such line.
pub(super) fn rows(unified: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for line in unified.lines() {
        let mut letters = line.chars();
        let first = letters.next();
        let text = letters.as_str();
        match first {
            Some('-') => removed.push(text),
            Some('+') => added.push(text),
            Some('@') => {
                settle(&mut rows, &mut removed, &mut added);
                rows.push(json!({"place": line}));
            }
            _ => {
                settle(&mut rows, &mut removed, &mut added);
                rows.push(json!({"old": text, "new": text, "same": true}));
            }
        }
    }
    settle(&mut rows, &mut removed, &mut added);
    rows
}

/// Puts the lines that were removed beside those that were added in their place.
fn settle<'a>(rows: &mut Vec<Value>, removed: &mut Vec<&'a str>, added: &mut Vec<&'a str>) {
    for index in 0..removed.len().max(added.len()) {
        rows.push(json!({"old": removed.get(index), "new": added.get(index)}));
    }
    removed.clear();
    added.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_stand_beside_each_other() {
        let unified = "@@ -1,4 +1,4 @@\n same\n-old one\n-old two\n+new one\n \n+added\n";
        assert_eq!(
            rows(unified),
            [
                json!({"place": "@@ -1,4 +1,4 @@"}),
                json!({"old": "same", "new": "same", "same": true}),
                json!({"old": "old one", "new": "new one"}),
                json!({"old": "old two", "new": null}),
                json!({"old": "", "new": "", "same": true}),
                json!({"old": null, "new": "added"}),
            ]
        );
        assert!(rows("").is_empty());
    }
}
