//! Images: which of an element's many addresses is the picture.

use orbweaver_sdk::dom::{Node, attr, tag};

use crate::destinations::push_title;
use crate::walk::Walker;
use crate::writer::{Mode, Space};

/// The image written last.
#[derive(Debug, Default)]
pub(crate) struct LastImage {
    /// Where it stands in the output.
    start: usize,
    end: usize,
    /// It has no address: a script would put one in.
    is_empty: bool,
}

impl<'a> Walker<'a> {
    pub(crate) fn image(&mut self, node: Node<'a>) {
        let side = |id| {
            node.attr(id)
                .and_then(|v| v.trim_ascii().parse::<u32>().ok())
        };
        let is_spacer = [attr::WIDTH, attr::HEIGHT]
            .into_iter()
            .any(|id| side(id).is_some_and(|s| s <= 1));
        let drawn_formula = node
            .attr(attr::CLASS)
            .is_some_and(|c| c.contains("mwe-math-fallback"));
        // AMP's sides may be those of a ratio.
        if is_spacer && node.tag() != tag::UNKNOWN || drawn_formula {
            return;
        }
        let alt = node.attr(attr::ALT).unwrap_or("");
        let source = source(node);
        if alt.trim().is_empty() && source.is_some_and(stands_for_another) {
            return;
        }
        self.write_image(source, alt, node.attr(attr::TITLE));
    }

    /// Writes an image. One without an address, or whose picture is part of the page's
    /// source, keeps its text only: in main content as the text of an image, since the words of
    /// main content are those of its text.
    pub(crate) fn write_image(&mut self, source: Option<&str>, alt: &str, title: Option<&str>) {
        let in_cell = self.w.mode == Mode::Cell;
        let mut tail = std::mem::take(&mut self.scratch);
        tail.clear();
        tail.push_str("](");
        let has_source = source.is_some_and(|source| self.to.push(source, in_cell, &mut tail));
        if !has_source && !self.is_planned() {
            self.write_alt(alt.trim());
        } else if has_source || !alt.trim().is_empty() {
            if !has_source && title.is_some() {
                // A title without a destination before it would be read as one.
                tail.push_str("<>");
            }
            if let Some(title) = title.filter(|t| t.trim() != alt.trim()) {
                push_title(title, in_cell, &mut tail);
            }
            tail.push(')');
            let aside = self.w.set_code_aside();
            self.w.ready('!');
            self.last_image.start = self.w.out.len();
            self.last_image.is_empty = !has_source;
            self.w.out.push_str("![");
            let brackets = std::mem::replace(&mut self.w.brackets, true);
            self.w.text(alt);
            self.w.space = Space::None;
            self.w.out.push_str(&tail);
            self.w.brackets = brackets;
            self.w.resume_code(aside);
            self.last_image.end = self.w.out.len();
        }
        self.scratch = tail;
    }

    /// Writes the text of an image without an address.
    fn write_alt(&mut self, alt: &str) {
        let Some(first) = alt.chars().next() else {
            return;
        };
        self.w.soft_space(Space::Blank);
        let aside = self.w.set_code_aside();
        self.w.ready(first);
        self.last_image.start = self.w.out.len();
        self.last_image.is_empty = true;
        self.w.text(alt);
        self.w.resume_code(aside);
        self.last_image.end = self.w.out.len();
        self.w.soft_space(Space::Blank);
    }

    /// Whether the output ends with an image that has an address.
    pub(crate) fn follows_image(&self) -> bool {
        self.ends_with_image() && !self.last_image.is_empty
    }

    /// Takes an image without an address at the output's end back, for a better one.
    pub(crate) fn take_back_empty_image(&mut self) {
        if self.ends_with_image() && self.last_image.is_empty {
            self.w.out.truncate(self.last_image.start);
        }
    }

    fn ends_with_image(&self) -> bool {
        self.last_image.end > 0 && self.last_image.end == self.w.out.len()
    }
}

/// Whether a URL is that of a picture: no data of the page, no template for a script to fill in.
fn is_real(url: &str) -> bool {
    let url = url.trim_ascii();
    !url.is_empty()
        && !url.starts_with('#')
        && !starts_with(url, "data:")
        && !starts_with(url, "about:")
        && (!url.contains('{') || !url.contains('}'))
}

/// The address of an `<img>`'s picture: what a script would load into it, else what it has.
fn source(node: Node<'_>) -> Option<&str> {
    let (mut lazy, mut other) = (None, None);
    let mut candidates = None;
    for attribute in node.attrs() {
        let value = attribute.value();
        let is_address = || is_real(value) && value.contains(['/', '.']);
        match attribute.name() {
            "src" | "sizes" | "alt" | "class" => {}
            name if is_substitute(name) => {}
            name if is_lazy(name) && is_address() => lazy = lazy.or(Some(value)),
            name if (name.ends_with("src") || name.starts_with("data-src-")) && is_address() => {
                other = other.or(Some(value));
            }
            name if name.ends_with("srcset") => {
                candidates = candidates.or_else(|| best_candidate(value))
            }
            _ => {}
        }
    }
    let own = node.attr(attr::SRC).filter(|src| is_real(src));
    let around = || {
        let picture = node.parent().filter(|p| p.tag() == tag::PICTURE)?;
        let mut sources = picture.child_elements().filter(|n| n.tag() == tag::SOURCE);
        sources.find_map(|source| {
            let sets = [attr::SRCSET, attr::DATA_SRCSET].into_iter();
            let mut sets = sets.filter_map(|id| best_candidate(source.attr(id)?));
            sets.find(|url| !is_placeholder(url))
        })
    };
    lazy.or(own.filter(|src| !is_placeholder(src)))
        .or(candidates)
        .or_else(around)
        .or(other)
        .or(own)
        // A data URL is no place, but tells that there is a picture.
        .or_else(|| {
            node.attr(attr::SRC)
                .filter(|src| starts_with(src.trim_ascii(), "data:"))
        })
}

/// Whether an attribute has the address that a script loads into `src`, or that of the same picture
/// in full size. Every lazy loader has a name of its own: `data-lazy-src`, `nitro-lazy-src` …
fn is_lazy(name: &str) -> bool {
    const KNOWN: &[&str] = &[
        "data-src",
        "data-original",
        "data-original-src",
        "data-orig-src",
        "data-real-src",
        "data-actualsrc",
        "data-echo",
        "data-lazy",
        "data-lazyload",
        "data-delayed-src",
        "data-deferred-src",
        "data-defer-src",
        "data-cfsrc",
        "data-ezsrc",
        "data-litespeed-src",
        "data-nectar-img-src",
        "data-td-src",
        "data-zoom-src",
        "data-full-src",
    ];
    KNOWN.contains(&name) || name.contains("lazy") && name.ends_with("src")
}

/// Whether an attribute has what is shown in place of the picture.
fn is_substitute(name: &str) -> bool {
    [
        "fallback",
        "error",
        "placeholder",
        "default",
        "blur",
        "preview",
    ]
    .iter()
    .any(|word| name.contains(word))
}

/// Whether an address is that of an empty picture which a script replaces.
fn is_placeholder(src: &str) -> bool {
    let name = file_name(src);
    stands_for_another(src)
        || [
            "placeholder",
            "blank.",
            "spacer",
            "transparent.",
            "lazy",
            "pixel.",
            "1x1",
            "loading.",
            "empty.",
        ]
        .iter()
        .any(|part| name.contains(part))
}

/// Whether an address is surely that of a picture that shows nothing.
fn stands_for_another(src: &str) -> bool {
    let name = file_name(src);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is = |word: &str, known: &[&str]| known.iter().any(|k| word.eq_ignore_ascii_case(k));
    let mut words = stem.split(|c: char| !c.is_ascii_alphanumeric());
    is(
        stem,
        &[
            "clear",
            "blank",
            "transparent",
            "trans",
            "pixel",
            "empty",
            "dot",
            "loading",
        ],
    ) || words.any(|word| is(word, &["placeholder", "spacer", "1x1", "lazyload"]))
}

/// The last part of an address's path.
fn file_name(src: &str) -> &str {
    let path = src.split(['?', '#']).next().unwrap_or(src);
    path.rsplit('/').next().unwrap_or(path)
}

/// The largest picture of a `srcset` (HTML standard, "srcset attribute"; descriptors are
/// compared as numbers, since one list has one kind).
fn best_candidate(set: &str) -> Option<&str> {
    let mut best: Option<(f64, &str)> = None;
    let mut rest = set;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        let end = rest
            .find(|c: char| c.is_ascii_whitespace())
            .unwrap_or(rest.len());
        let (url, tail) = rest.split_at_checked(end)?;
        let bare = url.trim_end_matches(',');
        if bare.is_empty() {
            break;
        }
        // A comma at the URL's end separates: there is no descriptor.
        let (descriptor, after) = if bare.len() < url.len() {
            ("", tail)
        } else {
            tail.split_once(',').unwrap_or((tail, ""))
        };
        let number = descriptor.trim_ascii().trim_end_matches(['w', 'x', 'h']);
        let size = number.parse().unwrap_or(1.0);
        if is_real(bare) && best.is_none_or(|(largest, _)| size > largest) {
            best = Some((size, bare));
        }
        rest = after;
    }
    best.map(|(_, url)| url)
}

pub(crate) fn starts_with(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
