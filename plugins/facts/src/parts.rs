//! The parts of a title: where its marks divide it, and the site's name at its ends.

use std::ops::Range;

use crate::site::Site;

/// Segments that a title is cut into.
const MAX_SEGMENTS: usize = 12;

/// A title without the site's names at its ends.
pub fn strip<'t>(title: &'t str, site: &Site) -> &'t str {
    let mut rest = title.trim();
    loop {
        let cut = segments(rest);
        let ([first, .., last], true) = (cut.as_slice(), cut.len() > 1) else {
            match without_joined_name(rest, site) {
                Some(text) => rest = text,
                None => return rest,
            }
            continue;
        };
        let is_site = |range: &Range<usize>| {
            rest.get(range.clone())
                .is_some_and(|text| site.is_name(text))
        };
        let kept = if is_site(last) {
            cut.iter()
                .rev()
                .nth(1)
                .map(|before| first.start..before.end)
        } else if is_site(first) {
            cut.get(1).map(|after| after.start..last.end)
        } else {
            None
        };
        match kept.and_then(|range| rest.get(range)) {
            Some(text) if !text.is_empty() => rest = text,
            _ => match without_joined_name(rest, site) {
                Some(text) => rest = text,
                None => return rest,
            },
        }
    }
}

/// A title without the site's name that stands at its end, or in brackets at its beginning, with no
/// space around the mark between: `大标题_新浪网`, `見出し（毎日ニュース）`. Such marks are parts of words,
/// too: only a name that the page states counts, or one that the host is made of behind a mark
/// that is in no word.
fn without_joined_name<'t>(title: &'t str, site: &Site) -> Option<&'t str> {
    /// Marks that are looked at from each end, and the most bytes of a name.
    const MOST: usize = 12;
    const MAX_NAME: usize = 200;
    let marks = title.char_indices().rev();
    let marks = marks.take_while(|(at, _)| title.len() - at <= MAX_NAME);
    for (at, mark) in marks.filter(|(_, c)| is_mark(*c)).take(MOST) {
        let (before, behind) = (title.get(..at)?, title.get(at + mark.len_utf8()..)?);
        let name = if is_opening(mark) {
            let Some(inside) = behind.trim_end().strip_suffix(closing(mark)) else {
                continue;
            };
            inside
        } else {
            behind
        };
        let rest = before.trim_end_matches(|c: char| is_border(c) || is_mark(c) && !is_opening(c));
        if !rest.contains(char::is_alphanumeric) || !is_joined(before, mark, behind) {
            continue;
        }
        if site.is_stated(name) || is_wide(mark) && site.is_named_by(name) {
            return Some(without_channel(rest));
        }
    }
    let opening = title.chars().next().filter(|c| is_opening(*c))?;
    let (name, rest) = title
        .get(opening.len_utf8()..)?
        .split_once(closing(opening))?;
    let rest = rest.trim_start();
    (site.is_stated(name) && rest.contains(char::is_alphanumeric)).then_some(rest)
}

/// Whether a mark between these texts divides them, where the second is a name.
fn is_joined(before: &str, mark: char, behind: &str) -> bool {
    let spaced = before.ends_with(char::is_whitespace) && behind.starts_with(char::is_whitespace);
    let beside_dense =
        || before.trim_end().ends_with(is_dense) || behind.trim_start().starts_with(is_dense);
    match mark {
        // "About: Orb Journal", "Anti-Orb", `use_orb` and `use(Orb)` are titles.
        '-' | ':' | '/' | '_' => spaced || beside_dense(),
        '(' | '[' => before.ends_with(|c: char| c.is_whitespace() || is_dense(c)),
        _ => true,
    }
}

/// A title without the channel that stands between it and the site's name: `大标题_新闻频道`.
fn without_channel(title: &str) -> &str {
    /// Letters of a channel's name.
    const LONGEST: usize = 12;
    match title.rsplit_once('_') {
        Some((rest, channel))
            if rest.ends_with(is_dense)
                && channel.chars().count() <= LONGEST
                && channel.chars().all(is_dense) =>
        {
            rest
        }
        _ => title,
    }
}

/// Letters and marks of scripts that put marks between words without spaces.
pub fn is_dense(c: char) -> bool {
    matches!(c, '\u{e01}'..='\u{e5b}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}'
        | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{ff10}'..='\u{ff19}' | '\u{ff21}'..='\u{ff3a}'
        | '\u{ff41}'..='\u{ff5a}' | '\u{20000}'..='\u{3ffff}' | '」' | '』' | '》' | '）' | '！' | '？' | '。' | '…' | '”')
}

/// Marks before a site's name.
pub fn is_mark(c: char) -> bool {
    is_bar(c) || is_wide(c) || is_opening(c) || matches!(c, '-' | '–' | '—' | '―' | ':' | '~' | '·')
}

/// Marks that are in no word.
fn is_wide(c: char) -> bool {
    is_bar(c)
        || matches!(
            c,
            '_' | '＿' | '：' | '－' | '─' | '〜' | '～' | '（' | '［' | '【' | '〔'
        )
}

/// Bars of all widths.
fn is_bar(c: char) -> bool {
    matches!(c, '|' | '｜' | '│' | '┃' | '‖' | '¦')
}

fn is_opening(c: char) -> bool {
    matches!(c, '(' | '[' | '（' | '［' | '【' | '〔')
}

fn closing(opening: char) -> char {
    match opening {
        '(' => ')',
        '[' => ']',
        '（' => '）',
        '［' => '］',
        '【' => '】',
        _ => '〕',
    }
}

pub fn is_border(c: char) -> bool {
    c.is_whitespace()
        || is_bar(c)
        || matches!(
            c,
            '–' | '—'
                | '-'
                | '·'
                | '•'
                | '»'
                | '«'
                | '~'
                | ':'
                | '/'
                | '―'
                | '－'
                | '─'
                | '›'
                | '‹'
        )
}

/// Where the parts of a title are: between bars, and between dashes and dots with white space
/// around. The parts beyond the last of [`MAX_SEGMENTS`] are one.
pub fn segments(title: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(c) = title.get(at..).and_then(|rest| rest.chars().next()) {
        if !(c.is_whitespace() || is_bar(c)) {
            at += c.len_utf8();
            continue;
        }
        // A run of white space and marks.
        let rest = title.get(at..).unwrap_or("");
        let run = rest.find(|c: char| !is_border(c)).unwrap_or(rest.len());
        let border = rest.get(..run).unwrap_or("");
        if found.len() + 1 < MAX_SEGMENTS && divides(border) && run < rest.len() {
            if at > start {
                found.push(start..at);
            }
            start = at + run;
        }
        at += run;
    }
    let last = start..title.trim_end().len();
    // Marks alone at the end are no part.
    if title
        .get(last.clone())
        .is_some_and(|text| text.contains(char::is_alphanumeric))
    {
        found.push(last);
    }
    found
}

/// Whether a run of white space and marks divides a title.
fn divides(border: &str) -> bool {
    if border.contains(is_bar) {
        return true;
    }
    let marks = border.trim();
    let spaced = border.starts_with(char::is_whitespace) && border.ends_with(char::is_whitespace);
    spaced && !marks.is_empty() && marks != ":"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_cut_at_bars_and_at_dashes_with_space_around() {
        for (title, expected) in [
            ("One | Two", vec!["One", "Two"]),
            ("One|Two – Three", vec!["One", "Two", "Three"]),
            ("Well-known :: A/B test", vec!["Well-known", "A/B test"]),
            ("A: B", vec!["A: B"]),
            ("A / B // C", vec!["A", "B", "C"]),
            ("| A |", vec!["A |"]),
            ("", vec![]),
            (" - ", vec![]),
            ("東京 - 日本", vec!["東京", "日本"]),
            ("東京｜日本", vec!["東京", "日本"]),
            ("東京 ― 日本│本", vec!["東京", "日本", "本"]),
            ("東京-日本_本", vec!["東京-日本_本"]),
        ] {
            let found: Vec<&str> = segments(title)
                .into_iter()
                .filter_map(|r| title.get(r))
                .collect();
            assert_eq!(found, expected, "{title}");
        }
        let many = "a | ".repeat(1000);
        assert_eq!(segments(&many).len(), MAX_SEGMENTS);
    }
}
