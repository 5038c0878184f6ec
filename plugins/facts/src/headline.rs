//! The headline, by agreement of title element, `og:title`, JSON-LD and `h1`.
//!
//! No place is right everywhere: title elements carry the site's name, `og:title` may be
//! written for sharing, the first `h1` may be a logo. Where two places agree, that is the
//! headline; the rules below are in the order of how often they are right on pages with known
//! titles (`cargo xtask eval metadata`).

use std::ops::Range;

use orbweaver_sdk::text::letters;

use crate::Sources;
use crate::marks::{Heading, Marks};
use crate::parts::{is_border, is_dense, is_mark, segments, strip};
use crate::site::Site;
use crate::text::{MAX_BYTES, normal, plain};
use crate::things::{self, Thing};

/// What the page is called.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Titles {
    /// A part of the title element.
    pub title: Option<String>,
    /// The headline.
    pub headline: Option<String>,
    /// The heading that is the headline, or else the first one that is not the site's name.
    pub h1: Option<u32>,
    /// The part of the title element that names the site.
    pub site: Option<String>,
}

/// A text and its normal form.
struct Text {
    text: String,
    normal: String,
}

impl Text {
    fn new(text: &str) -> Option<Self> {
        let normal = normal(text);
        (!normal.is_empty()).then(|| Self {
            text: text.to_owned(),
            normal,
        })
    }
}

/// Decides.
pub fn decide(sources: &Sources<'_>, things: &[Thing<'_>], marks: &Marks, site: &Site) -> Titles {
    let head = sources.head;
    let short = |text: &String| text.len() <= MAX_BYTES;
    let shared = head
        .meta_text(&["og:title", "twitter:title"])
        .map(|text| plain(&text))
        .filter(short);
    let Some(raw) = head.title.clone().filter(short) else {
        let headline = headline(things, "", shared.as_deref(), marks, site);
        let h1 = place(headline.as_deref(), marks, site);
        // A title too long to be compared is told as it is.
        let title = head
            .title
            .clone()
            .or_else(|| head.meta_text(&["og:title", "twitter:title"]));
        return Titles {
            title,
            headline,
            h1,
            site: None,
        };
    };
    let raw = if tells_of_entity(&raw, marks) {
        raw
    } else {
        plain(&raw)
    };
    let headline = headline(things, &raw, shared.as_deref(), marks, site);
    let site_of =
        site_of(&raw, site).or_else(|| behind_name(&raw, marks, site).map(|(name, _)| name));
    Titles {
        title: Some(part_of(&raw, headline.as_deref(), site)),
        h1: place(headline.as_deref(), marks, site),
        site: site_of.map(str::to_owned),
        headline,
    }
}

/// The site's name before the colon of a title, and the heading behind it, as Blogger writes titles.
fn behind_name<'t>(raw: &'t str, marks: &'t Marks, site: &Site) -> Option<(&'t str, &'t Heading)> {
    let (name, rest) = raw.split_once(": ")?;
    let brand = marks.brand.as_ref().filter(|brand| brand.is_host);
    let is_brand = || brand.is_some_and(|brand| letters(&brand.text) == letters(name));
    if name.is_empty() || !(site.is_name(name) || is_brand()) {
        return None;
    }
    let wanted = normal(rest);
    let mut headings = marks.headings.iter().chain(&marks.lower);
    let found = headings.find(|h| normal(&h.text) == wanted)?;
    Some((name, found))
}

/// A heading without what systems put around it: the number of an issue behind it, a label in brackets
/// before it. `None` where there is neither.
fn bare(heading: &str) -> Option<&str> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbered = heading.rsplit_once(" #").filter(|(_, n)| is_number(n));
    numbered.map(|(text, _)| text.trim_end()).or_else(|| {
        let behind = heading.strip_prefix(['[', '【'])?;
        let (_, text) = behind.split_once([']', '】'])?;
        Some(text.trim_start()).filter(|text| !text.is_empty())
    })
}

/// Whether a title is what a system puts in place of one, or a template that nobody has filled.
fn is_placeholder(title: &str) -> bool {
    const WORDS: &[&str] = &[
        "undefined",
        "null",
        "nan",
        "[object object]",
        "untitled",
        "untitled document",
        "untitled page",
    ];
    const MARKS: &[(&str, &str)] = &[
        ("{{", "}}"),
        ("{%", "%}"),
        ("<%", "%>"),
        ("%%", "%%"),
        ("${", "}"),
    ];
    let title = title.trim();
    WORDS.iter().any(|word| title.eq_ignore_ascii_case(word))
        || MARKS
            .iter()
            .any(|(begin, end)| title.starts_with(begin) && title.ends_with(end))
}

/// The part of a title that names the site: the last one, or the first one where it has the name and
/// nothing else, or what follows "on" or "at" at its end.
fn site_of<'t>(raw: &'t str, site: &Site) -> Option<&'t str> {
    let cut = segments(raw);
    let part = |range: &Range<usize>| raw.get(range.clone());
    let [first, .., last] = cut.as_slice() else {
        // The shortest end that is the name: "Webs on silk at Orb Journal".
        let ends = [" on ", " at "].into_iter();
        return ends
            .filter_map(|word| raw.rsplit_once(word))
            .map(|(_, name)| {
                name.trim_end_matches(|c: char| matches!(c, ')' | ']' | '.') || c.is_whitespace())
            })
            .filter(|name| site.is_named_by(name))
            .min_by_key(|name| name.len());
    };
    // "Orb guides - Webs": a first part that says more is what the page is about.
    part(last)
        .filter(|part| site.is_named_by(part))
        .or_else(|| part(first).filter(|part| site.is_named_by(part) && site.is_no_longer(part)))
}

/// Whether a heading has a character reference of the title as a text, too: it is what the page is
/// about.
fn tells_of_entity(title: &str, marks: &Marks) -> bool {
    let Some((_, from)) = title.split_once('&') else {
        return false;
    };
    let Some((name, _)) = from.split_once(';') else {
        return false;
    };
    let reference = format!("&{name};");
    let mut headings = marks.headings.iter().chain(&marks.lower);
    headings.any(|heading| heading.text.contains(&reference))
}

/// The heading whose text this is, else the first that is not the site's name.
fn place(headline: Option<&str>, marks: &Marks, site: &Site) -> Option<u32> {
    let wanted = headline.map(normal).unwrap_or_default();
    let headings = &marks.headings;
    let begins = |h: &&Heading| {
        let text = normal(&h.text);
        let rest = text.strip_prefix(wanted.as_str());
        !wanted.is_empty() && rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let same = headings
        .iter()
        .find(|h| normal(&h.text) == wanted)
        .or_else(|| {
            let mut stripped = headings.iter();
            stripped.find(|h| normal(strip(&h.text, site)) == wanted)
        })
        // More may stand in the heading: a source, a count of comments.
        .or_else(|| headings.iter().find(begins))
        .or_else(|| {
            let mut lower = marks.lower.iter();
            lower.find(|h| normal(strip(&h.text, site)) == wanted)
        });
    same.or_else(|| headings.iter().find(|h| !site.is_name(&h.text)))
        .map(|heading| heading.id)
}

/// The part of the title element that is the headline, or else the title without the site's
/// name.
fn part_of(raw: &str, headline: Option<&str>, site: &Site) -> String {
    let stripped = strip(raw, site);
    let Some(headline) = headline else {
        return stripped.to_owned();
    };
    let wanted = normal(headline);
    let segments = segments(raw);
    for (at, from) in segments.iter().enumerate() {
        for to in segments.iter().skip(at) {
            if let Some(text) = raw.get(from.start..to.end)
                && normal(text) == wanted
            {
                return text.to_owned();
            }
        }
    }
    match raw.find(headline) {
        Some(at) if stands_alone(raw, at, headline.len()) => headline.to_owned(),
        _ => stripped.to_owned(),
    }
}

/// Whether marks or the title's ends are around a part of it.
fn stands_alone(title: &str, at: usize, length: usize) -> bool {
    let before = title.get(..at).unwrap_or("").trim_end();
    let behind = title.get(at + length..).unwrap_or("").trim_start();
    let part = title.get(at..at + length).unwrap_or("");
    let is_dense = part.starts_with(is_dense) || part.ends_with(is_dense);
    // `snake_case` is one word.
    let is_mark = |c: char| is_mark(c) && (is_dense || c != '_');
    let divides = |c: char| is_border(c) || is_mark(c) || matches!(c, ',' | '.' | '!' | '?');
    (before.is_empty() || before.ends_with(divides))
        && (behind.is_empty() || behind.starts_with(divides))
}

fn headline(
    things: &[Thing<'_>],
    raw: &str,
    shared: Option<&str>,
    marks: &Marks,
    site: &Site,
) -> Option<String> {
    let headings = &marks.headings;
    if let Some((_, heading)) = behind_name(raw, marks, site) {
        return Some(heading.text.clone());
    }
    let last = segments(raw)
        .split_last()
        .filter(|(_, rest)| !rest.is_empty())
        .map(|(last, _)| last.clone());
    let last_text = last.clone().and_then(|range| raw.get(range)).map(normal);
    let mut title = Text::new(strip(raw, site));
    // A title that ends with a heading names the site or the book so; unless that is all of it.
    if let (Some(range), Some(ending)) = (&last, &last_text)
        && headings.iter().take(2).any(|h| normal(&h.text) == *ending)
        && title
            .as_ref()
            .is_some_and(|t| t.normal.ends_with(ending.as_str()) && t.normal != *ending)
    {
        let rest = raw.get(..range.start).unwrap_or(raw);
        title = Text::new(strip(rest.trim_end_matches(is_border), site));
    }
    let is_title = |t: &Text| !is_placeholder(&t.text);
    let title = title.filter(is_title);
    let shared = shared
        .and_then(|text| Text::new(strip(text, site)))
        .filter(|t| !site.is_name(&t.text) && is_title(t));
    let stated = stated(things, site).filter(is_title);
    let texts = |headings: &[Heading]| -> Vec<Text> {
        headings
            .iter()
            .filter_map(|heading| {
                let text = strip(&heading.text, site);
                let is_told = |t: &Text| {
                    [&title, &shared]
                        .into_iter()
                        .flatten()
                        .any(|o| has_segment(o, t))
                };
                let alone = bare(text).and_then(Text::new).filter(is_told);
                alone.or_else(|| Text::new(text))
            })
            .filter(|h| !site.is_name(&h.text) && last_text.as_ref() != Some(&h.normal))
            .collect()
    };
    let all = Places {
        headings: &texts(headings),
        lower: &texts(&marks.lower),
        title: title.as_ref(),
        shared: shared.as_ref(),
        stated: stated.as_ref(),
    };
    all.agreed().map(|found| found.text.clone())
}

/// Where a page may have its headline.
struct Places<'t> {
    /// Headings of the first level.
    headings: &'t [Text],
    /// Headings of the second and third level.
    lower: &'t [Text],
    /// The title element.
    title: Option<&'t Text>,
    /// `og:title` or `twitter:title`.
    shared: Option<&'t Text>,
    /// JSON-LD's.
    stated: Option<&'t Text>,
}

impl<'t> Places<'t> {
    /// The rules, the surest first.
    fn agreed(&self) -> Option<&'t Text> {
        let Self {
            headings,
            title,
            shared,
            stated,
            ..
        } = *self;
        let others = || [shared, title].into_iter().flatten();
        // 1. A heading says the same as another place.
        let equal = headings
            .iter()
            .find(|h| others().chain(stated).any(|o| o.normal == h.normal));
        // 2. A heading is one segment of the title.
        let equal = equal.or_else(|| {
            headings
                .iter()
                .find(|h| others().any(|o| has_segment(o, h)))
        });
        // 3. The title goes on after the heading, behind a mark.
        let equal = equal.or_else(|| headings.iter().find(|h| others().any(|o| continues(o, h))));
        if equal.is_some() {
            return equal;
        }
        // 4. The heading goes on after the title, behind a mark.
        if let Some(short) =
            others().find(|o| o.normal.contains(' ') && headings.iter().any(|h| continues(h, o)))
        {
            return Some(short);
        }
        // 5. A heading of a lower level is the title's first segment: the first level is the
        // site's.
        let mut lower = self.lower.iter().filter(|h| h.normal.contains(' '));
        if let Some(found) =
            lower.find(|h| others().any(|o| o.normal.starts_with(&h.normal) && has_segment(o, h)))
        {
            return Some(found);
        }
        let about = headings
            .iter()
            .find(|h| others().any(|o| shares_word(o, h)));
        let (Some(title), Some(shared)) = (title, shared) else {
            // With one title, the heading is nearer to the content.
            return about.or(headings.first()).or(shared).or(title).or(stated);
        };
        // 6. Both titles agree against the heading; of two that overlap, the shorter.
        if title.normal.contains(&shared.normal) {
            return Some(shared);
        }
        if shared.normal.contains(&title.normal) {
            return Some(title);
        }
        // 7. Nobody agrees. A heading that has no word of a title is about something else: a
        // notice, a menu.
        if headings.is_empty() {
            return Some(shared);
        }
        about.or(Some(title))
    }
}

/// Whether two texts have a word in common that says something. Scripts without spaces between
/// words are compared by their letters.
fn shares_word(one: &Text, other: &Text) -> bool {
    /// Words of fewer letters say little.
    const SHORTEST: usize = 4;
    let words = |text: &'_ Text| -> Vec<String> {
        text.normal
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.chars().count() >= SHORTEST || !word.is_ascii())
            .map(str::to_owned)
            .collect()
    };
    let (mine, theirs) = (words(one), words(other));
    // Nothing to compare.
    if mine.is_empty() || theirs.is_empty() {
        return true;
    }
    mine.iter().any(|word| {
        theirs.contains(word)
            || !word.is_ascii() && theirs.iter().any(|other| shares_letters(word, other))
    })
}

/// Whether one word of a script without cases has two letters in a row of the other.
fn shares_letters(one: &str, other: &str) -> bool {
    let uncased = |word: &str| !word.chars().any(|c| c.is_lowercase() || c.is_uppercase());
    if !uncased(one) || !uncased(other) {
        return false;
    }
    let letters: Vec<char> = one.chars().collect();
    letters
        .windows(2)
        .any(|pair| other.contains(&pair.iter().collect::<String>()))
}

fn has_segment(title: &Text, wanted: &Text) -> bool {
    segments(&title.normal)
        .into_iter()
        .any(|range| title.normal.get(range) == Some(wanted.normal.as_str()))
}

/// Whether `longer` begins with `shorter` and goes on behind a mark.
fn continues(longer: &Text, shorter: &Text) -> bool {
    const SHORTEST: usize = 4;
    let Some(rest) = longer.normal.strip_prefix(shorter.normal.as_str()) else {
        return false;
    };
    shorter.normal.len() >= SHORTEST
        && rest
            .trim_start()
            .starts_with(|c| is_mark(c) || matches!(c, ',' | '/' | '.' | '!' | '?'))
}

/// The headline that JSON-LD states of the content.
fn stated(things: &[Thing<'_>], site: &Site) -> Option<Text> {
    const CONTENT: &[&str] = &[
        "Article",
        "NewsArticle",
        "BlogPosting",
        "TechArticle",
        "ReportageNewsArticle",
        "ScholarlyArticle",
        "DiscussionForumPosting",
        "Product",
        "Recipe",
        "Report",
        "WebPage",
    ];
    let mut content = things.iter().filter(|thing| thing.is(CONTENT));
    let text = content.find_map(|thing| {
        things::text(thing.headline.or(thing.name)?).filter(|text| text.len() <= MAX_BYTES)
    })?;
    Text::new(strip(&text, site))
}
