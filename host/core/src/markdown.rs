//! Converts the Markdown of the `markdown` role to plain text.

/// Converts Markdown to plain text, in time linear in its length: removes images, the targets
/// of links, delimiters and marks at the beginnings of lines, and undoes escapes.
pub fn plain_text(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut fenced = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            out.push_str(line);
        } else {
            inline(line.trim_start_matches(['#', '>', ' ']), &mut out);
        }
        out.push('\n');
    }
    out.trim().to_owned()
}

fn inline(line: &str, out: &mut String) {
    let mut rest = line.char_indices().peekable();
    // Searched once: a search from every `![` would take quadratic time.
    let last_target = line.rfind("](");
    // End of the link target or image that is being skipped.
    let mut skip_to = 0;
    while let Some((at, char)) = rest.next() {
        if at < skip_to {
            continue;
        }
        match char {
            '\\' => {
                if let Some((_, next)) = rest.next() {
                    out.push(next);
                }
            }
            '!' if rest.peek().is_some_and(|(_, next)| *next == '[') => {
                // An image, whose text is dropped, if a target follows.
                let has_target = last_target.is_some_and(|target| target > at);
                match line
                    .get(at..)
                    .filter(|_| has_target)
                    .and_then(|image| image.find("]("))
                {
                    Some(middle) => skip_to = end_of_target(line, at + middle + 2),
                    None => out.push('!'),
                }
            }
            ']' if rest.peek().is_some_and(|(_, next)| *next == '(') => {
                skip_to = end_of_target(line, at + 2);
            }
            '[' | ']' | '*' | '`' | '|' => {}
            char => out.push(char),
        }
    }
}

/// The index after a link's target; parentheses within `<…>` do not count.
fn end_of_target(line: &str, from: usize) -> usize {
    let mut depth = 1_u32;
    let mut angle = false;
    for (at, char) in line.get(from..).unwrap_or_default().char_indices() {
        match char {
            '<' => angle = true,
            '>' => angle = false,
            '(' if !angle => depth += 1,
            ')' if !angle => {
                depth -= 1;
                if depth == 0 {
                    return from + at + 1;
                }
            }
            _ => {}
        }
    }
    line.len()
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn marks_are_removed_and_text_is_kept() {
        for (markdown, text) in [
            (
                "# Title\n\n**Bold** and [a link](https://a.example/x_(y)) end",
                "Title\n\nBold and a link end",
            ),
            ("![logo](/logo.png)after", "after"),
            ("1 \\* 2 \\[x\\]", "1 * 2 [x]"),
            (
                "> quoted\n```rust\nlet a = b[0];\n```",
                "quoted\nlet a = b[0];",
            ),
            ("wow! [[x]](<a b)c>) é", "wow! x é"),
        ] {
            assert_eq!(plain_text(markdown), text, "{markdown}");
        }
    }

    /// A quadratic conversion needs minutes for each of these lines.
    #[test]
    fn long_lines_of_delimiters_are_converted_in_linear_time() {
        for pattern in orbweaver_nasty::markdown() {
            let markdown = pattern.sized(4_000_000);
            let text = plain_text(&markdown);
            assert!(text.len() <= markdown.len(), "{}", pattern.name);
        }
        let images = "![".repeat(2_000_000);
        assert_eq!(plain_text(&images).len(), 2_000_000);
    }
}
