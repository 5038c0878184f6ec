//! A line of text: its characters in the order in which they are read.

use super::characters::{is_rtl, is_spaceless};
use super::glyphs::Character;
use super::links::Areas;

/// Least gap between words, in sizes of the text, where a line has no spaces of its own.
const WORD_GAP: f32 = 0.15;
/// As [`WORD_GAP`], where it has.
const WORD_GAP_BESIDE_SPACES: f32 = 0.24;
/// Least gap between words of joined letters, whose advances leave none.
const RTL_GAP: f32 = 0.07;
/// Least gap between words of scripts that have no spaces.
const SPACELESS_GAP: f32 = 0.7;
/// Least gap between cells of a table.
pub(crate) const CELL_GAP: f32 = 1.7;

/// Text with links.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rich {
    pub(crate) text: String,
    /// Ranges of the text in ascending order, with their link.
    pub(crate) links: Vec<(usize, usize, u32)>,
}

impl Rich {
    /// Appends text. A link that goes on is the same link.
    fn push(&mut self, text: &str, link: Option<u32>) {
        let start = self.text.len();
        self.text.push_str(text);
        let Some(link) = link else { return };
        let end = self.text.len();
        match self.links.last_mut() {
            Some(last) if last.2 == link && blank(self.text.get(last.1..start)) => last.1 = end,
            _ => self.links.push((start, end, link)),
        }
    }

    /// Appends another text.
    pub(crate) fn append(&mut self, other: &Self) {
        let offset = self.text.len();
        self.text.push_str(&other.text);
        for &(start, end, link) in &other.links {
            let (start, end) = (start + offset, end + offset);
            match self.links.last_mut() {
                Some(last) if last.2 == link && blank(self.text.get(last.1..start)) => last.1 = end,
                _ => self.links.push((start, end, link)),
            }
        }
    }

    /// Removes the last character.
    pub(crate) fn pop(&mut self) {
        self.text.pop();
        let end = self.text.len();
        while let Some(last) = self.links.last_mut().filter(|last| last.1 > end) {
            last.1 = end;
            if last.0 < last.1 {
                break;
            }
            self.links.pop();
        }
    }

    /// Removes this many bytes at the beginning, which is the boundary of a character.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.text.drain(..bytes.min(self.text.len()));
        for link in &mut self.links {
            link.0 = link.0.saturating_sub(bytes);
            link.1 = link.1.saturating_sub(bytes);
        }
        self.links.retain(|link| link.0 < link.1);
    }
}

fn blank(text: Option<&str>) -> bool {
    text.is_some_and(|text| text.chars().all(char::is_whitespace))
}

/// A line of a column.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) x0: f32,
    pub(crate) x1: f32,
    /// The baseline; grows from line to line.
    pub(crate) y: f32,
    /// Size of most of its characters.
    pub(crate) size: f32,
    /// Where it stands on the page: 0 top, 1 bottom; `None` for text that does not run as the
    /// page does.
    pub(crate) place: Option<f32>,
    /// Its column's bounds.
    pub(crate) left: f32,
    pub(crate) right: f32,
    /// Its column's number on the page.
    pub(crate) column: u32,
    pub(crate) bold: bool,
    pub(crate) monospace: bool,
    /// The width of its characters in sizes, if all have the same.
    pub(crate) pitch: Option<f32>,
    pub(crate) rtl: bool,
    /// The whole line, with a space between cells.
    pub(crate) rich: Rich,
    /// Its cells with their left edges, if it has several.
    pub(crate) cells: Vec<(f32, Rich)>,
}

/// What a line consists of, from left to right.
enum Token<'a> {
    Text(&'a str, Option<u32>),
    Space,
    /// A wide gap, before a cell that begins here.
    Gap(f32),
}

impl Token<'_> {
    fn first(&self) -> Option<char> {
        match self {
            Token::Text(text, _) => text.chars().next(),
            Token::Space | Token::Gap(_) => None,
        }
    }

    fn is_rtl(&self) -> bool {
        self.first().is_some_and(is_rtl)
    }

    fn is_ltr(&self) -> bool {
        self.first()
            .is_some_and(|c| c.is_alphanumeric() && !is_rtl(c))
    }
}

/// Makes a line of characters, which are sorted by `x0`. `text` is what their ranges point into.
/// `None` without any text.
pub(crate) fn line(characters: &[&Character], text: &str, areas: &Areas) -> Option<Line> {
    let visible: Vec<&Character> = characters
        .iter()
        .copied()
        .filter(|one| one.text.0 < one.text.1)
        .collect();
    let (first, last) = (visible.first()?, visible.last()?);
    let size = main_size(&visible);
    let spaced = characters.len() > visible.len();
    let texts = |one: &Character| text.get(one.text.0 as usize..one.text.1 as usize);
    let pitch = pitch(&visible, text);
    let monospace = is_monospace(&visible, text, pitch);
    let width = first.x1 - first.x0;
    let near = areas.near(&visible);
    let mut tokens: Vec<Token<'_>> = Vec::with_capacity(characters.len() + 16);
    let mut before: Option<&Character> = None;
    let mut blank = false;
    let mut edge = f32::MIN;
    for &one in characters {
        let Some(shown) = texts(one).filter(|text| !text.is_empty()) else {
            blank = before.is_some();
            continue;
        };
        if let Some(before) = before {
            let gap = one.x0 - edge;
            let both = [
                texts(before).and_then(|t| t.chars().last()),
                shown.chars().next(),
            ];
            let least = if both.iter().all(|c| c.is_some_and(is_spaceless)) {
                SPACELESS_GAP
            } else if both.iter().all(|c| c.is_some_and(is_rtl)) {
                RTL_GAP
            } else if spaced {
                WORD_GAP_BESIDE_SPACES
            } else {
                WORD_GAP
            };
            if monospace {
                let spaces = (gap / width.max(0.1)).round().clamp(0.0, 80.0) as usize;
                tokens.extend((0..spaces.max(usize::from(blank))).map(|_| Token::Space));
            } else if gap > CELL_GAP * size {
                tokens.push(Token::Gap(one.x0));
            } else if gap > least * size.min(one.size.max(before.size))
                || (blank && gap > -0.2 * size)
            {
                tokens.push(Token::Space);
            }
        }
        tokens.push(Token::Text(shown, areas.link(&near, one)));
        // A mark stands within the letter before it.
        edge = edge.max(one.x1);
        (before, blank) = (Some(one), false);
    }
    let rtl = reorder(&mut tokens);
    let (rich, cells) = joined(&tokens, first.x0);
    let share = |test: fn(&Character) -> bool| {
        visible.iter().filter(|one| test(one)).count() * 10 >= visible.len() * 8
    };
    Some(Line {
        x0: first.x0,
        x1: visible.iter().map(|one| one.x1).fold(last.x1, f32::max),
        y: baseline(&visible, size),
        size,
        place: None,
        left: first.x0,
        right: last.x1,
        column: 0,
        bold: share(|one| one.bold),
        monospace,
        pitch,
        rtl,
        rich,
        cells,
    })
}

/// The whole text, and its cells if there are several.
fn joined(tokens: &[Token<'_>], left: f32) -> (Rich, Vec<(f32, Rich)>) {
    let (mut whole, mut cells) = (Rich::default(), vec![(left, Rich::default())]);
    for token in tokens {
        if let Token::Gap(at) = token {
            whole.push(" ", None);
            cells.push((*at, Rich::default()));
            continue;
        }
        let (text, link) = match token {
            Token::Text(text, link) => (*text, *link),
            Token::Space | Token::Gap(_) => (" ", None),
        };
        whole.push(text, link);
        if let Some((_, cell)) = cells.last_mut() {
            cell.push(text, link);
        }
    }
    if cells.len() == 1 {
        cells.clear();
    }
    (whole, cells)
}

/// The size that most characters have.
fn main_size(characters: &[&Character]) -> f32 {
    let mut sizes: Vec<f32> = characters.iter().map(|one| one.size).collect();
    sizes.sort_by(f32::total_cmp);
    // A raised first letter, or an index, has another size: the upper middle is the text's.
    sizes.get(sizes.len() * 6 / 10).copied().unwrap_or(10.0)
}

/// The baseline of the characters of the main size.
fn baseline(characters: &[&Character], size: f32) -> f32 {
    let mut main: Vec<f32> = characters
        .iter()
        .filter(|one| (one.size - size).abs() < 0.1 * size)
        .map(|one| one.y)
        .collect();
    main.sort_by(f32::total_cmp);
    main.get(main.len() / 2)
        .or(characters.first().map(|one| &one.y))
        .copied()
        .unwrap_or_default()
}

/// The width of the characters in sizes, if all have the same.
fn pitch(characters: &[&Character], text: &str) -> Option<f32> {
    let first = characters.first()?;
    let pitch = (first.x1 - first.x0) / first.size;
    let same = characters.iter().all(|one| {
        let shown = text.get(one.text.0 as usize..one.text.1 as usize);
        let is_ascii = shown.is_some_and(|shown| shown.bytes().all(|b| b.is_ascii_graphic()));
        is_ascii && ((one.x1 - one.x0) / one.size - pitch).abs() <= 0.02
    });
    same.then_some(pitch)
}

/// Whether the font gives all characters one width: it says so, or characters that have different
/// widths in other fonts have one here.
fn is_monospace(characters: &[&Character], text: &str, pitch: Option<f32>) -> bool {
    if characters.iter().all(|one| one.monospace) {
        return true;
    }
    let shown = || {
        characters
            .iter()
            .filter_map(|one| text.get(one.text.0 as usize..one.text.1 as usize))
    };
    let count = |set: &str| shown().filter(|one| set.contains(*one)).count();
    pitch.is_some() && count("iljtfr.,:;'|!()") >= 2 && count("mwaeonuMWABCD_#") >= 2
}

/// Lines of code that are too short to show it, such as a brace, are known by their neighbours.
pub(crate) fn join_code(lines: &mut [Line]) {
    let count = lines.len();
    let mut mark = |at: usize, by: usize| {
        let Some(by) = lines.get(by).filter(|by| by.monospace) else {
            return;
        };
        let (pitch, size, column) = (by.pitch, by.size, by.column);
        if let (Some(line), Some(pitch)) = (lines.get_mut(at), pitch)
            && line.pitch.is_some_and(|own| (own - pitch).abs() <= 0.02)
            && (line.size - size).abs() < 0.05 * size
            && line.column == column
        {
            line.monospace = true;
        }
    };
    for at in 1..count {
        mark(at, at - 1);
    }
    for at in (1..count).rev() {
        mark(at - 1, at);
    }
}

/// Puts what is shown from left to right into the order of reading. Returns whether the line as a
/// whole runs from right to left.
fn reorder(tokens: &mut [Token<'_>]) -> bool {
    let rtl = tokens.iter().filter(|token| token.is_rtl()).count();
    if rtl == 0 {
        return false;
    }
    let ltr = tokens.iter().filter(|token| token.is_ltr()).count();
    if rtl * 2 >= ltr {
        reverse_rtl(tokens);
        return true;
    }
    for (start, end) in runs(tokens, Token::is_rtl, Token::is_ltr) {
        if let Some(run) = tokens.get_mut(start..end) {
            reverse_rtl(run);
        }
    }
    false
}

/// Brackets that are mirrored in text from right to left.
const PAIRS: [(&str, &str); 5] = [("(", ")"), ("[", "]"), ("{", "}"), ("<", ">"), ("«", "»")];

/// Reverses text from right to left, in which numbers and words of other scripts run as before.
fn reverse_rtl(tokens: &mut [Token<'_>]) {
    let mirrors = !names_brackets(tokens);
    reverse(tokens, mirrors);
    keep_ltr(tokens, mirrors);
}

/// Whether brackets shown from left to right are named as they are read, and not by what is shown:
/// programs do either. Then each one that closes stands before the one that opens it.
fn names_brackets(tokens: &[Token<'_>]) -> bool {
    let (mut open, mut pairs) = (0_usize, false);
    for token in tokens {
        let Token::Text(text, _) = token else {
            continue;
        };
        if PAIRS.iter().any(|(_, close)| close == text) {
            open += 1;
        } else if PAIRS.iter().any(|(open, _)| open == text) {
            let Some(less) = open.checked_sub(1) else {
                return false;
            };
            (open, pairs) = (less, true);
        }
    }
    pairs
}

/// Reverses what is shown from left to right; brackets are mirrored, if they are as they are shown.
fn reverse(tokens: &mut [Token<'_>], mirrors: bool) {
    tokens.reverse();
    if !mirrors {
        return;
    }
    for token in tokens {
        if let Token::Text(text, _) = token {
            let mirrored = PAIRS.iter().find_map(|(open, close)| {
                let other = [(open, close), (close, open)];
                other
                    .iter()
                    .find(|(one, _)| **one == *text)
                    .map(|(_, other)| **other)
            });
            *text = mirrored.unwrap_or(*text);
        }
    }
}

/// Numbers and words of other scripts within reversed text run as before.
fn keep_ltr(tokens: &mut [Token<'_>], mirrors: bool) {
    for (start, end) in runs(tokens, Token::is_ltr, Token::is_rtl) {
        if let Some(run) = tokens.get_mut(start..end) {
            reverse(run, mirrors);
        }
    }
}

/// Longest runs that begin and end with what is `inside`, and have nothing that is `outside`.
fn runs<'a>(
    tokens: &[Token<'a>],
    inside: fn(&Token<'a>) -> bool,
    outside: fn(&Token<'a>) -> bool,
) -> Vec<(usize, usize)> {
    let (mut runs, mut open) = (Vec::new(), None::<(usize, usize)>);
    for (at, token) in tokens.iter().enumerate() {
        if inside(token) {
            open = Some((open.map_or(at, |(start, _)| start), at + 1));
        } else if outside(token) {
            runs.extend(open.take());
        }
    }
    runs.extend(open);
    runs
}
