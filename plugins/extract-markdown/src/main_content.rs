//! Which part of a page is converted.
//!
//! The main content is what landmarks say it is (`<main>`, roles), without what landmarks,
//! roles and the usual class names say it is not. Every such verdict has a safeguard: an
//! element that holds a large share of the text stays, whatever it is called, and where too
//! little would be left, the whole page is given.

use std::ops::Range;

use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::clutter::{Clutter, named_clutter};
use crate::visible::{self, Look};

/// The nodes to convert: those of `parts` without the subtrees of `skips`.
pub(crate) struct Plan {
    /// Ranges of node ids, each of whole subtrees, ascending.
    pub parts: Vec<Range<u32>>,
    /// Roots of subtrees to leave out, ascending.
    pub skips: Vec<u32>,
    /// Hidden content counts.
    pub show_hidden: bool,
}

impl Plan {
    /// The whole document.
    pub fn of_whole(view: &View<'_>) -> Self {
        Self {
            parts: std::iter::once(0..view.len()).collect(),
            skips: Vec::new(),
            show_hidden: false,
        }
    }

    /// The whole document, with what it hides.
    pub fn of_everything(view: &View<'_>) -> Self {
        Self {
            show_hidden: true,
            ..Self::of_whole(view)
        }
    }

    /// The main content; the whole document where none is found.
    pub fn of_main_content<'a>(view: &'a View<'a>) -> Self {
        let Some(body) = view.body() else {
            return Self::of_whole(view);
        };
        let texts = Texts::of(view);
        let all = texts.text(body);
        for root in [main_element(view, &texts, all), Some(body)]
            .into_iter()
            .flatten()
        {
            let pruned = Pruned::of(root, &texts);
            if !is_shell(pruned.kept, all) {
                let title = title_before(root).map(|n| n.id()..n.end());
                return Self {
                    parts: title
                        .into_iter()
                        .chain(std::iter::once(root.id()..root.end()))
                        .collect(),
                    skips: pruned.skips,
                    show_hidden: false,
                };
            }
        }
        Self::of_whole(view)
    }
}

/// Whether so little of the page's text is kept that it must be elsewhere: a main element
/// that a script fills, say. Sizes in bytes.
fn is_shell(kept: u32, all: u32) -> bool {
    let share = u64::from(kept) * 100 / u64::from(all.max(1));
    kept == 0 || all > 2_000 && (kept < 250 && share < 10 || kept < 1_000 && share < 3)
}

/// How much visible text there is up to each node, in all and in links.
struct Texts {
    /// By node id: bytes of text before the node, white space at its ends not counted.
    text: Vec<u32>,
    link: Vec<u32>,
    /// By node id: links before the node.
    links: Vec<u32>,
    /// First-level headings that do not only name the site, ascending.
    titles: Vec<u32>,
    /// Code blocks, ascending.
    code: Vec<u32>,
}

impl Texts {
    fn of<'a>(view: &'a View<'a>) -> Self {
        let len = view.len() as usize + 1;
        let mut texts = Self {
            text: Vec::with_capacity(len),
            link: Vec::with_capacity(len),
            links: Vec::with_capacity(len),
            titles: Vec::new(),
            code: Vec::new(),
        };
        let (mut text, mut link, mut links) = (0_u32, 0_u32, 0_u32);
        let (mut link_end, mut unseen_end) = (0, 0);
        for node in view.nodes() {
            texts.text.push(text);
            texts.link.push(link);
            texts.links.push(links);
            if node.is_text() {
                if node.id() >= unseen_end {
                    let bytes = u32::try_from(node.text().trim_ascii().len()).unwrap_or(u32::MAX);
                    text = text.saturating_add(bytes);
                    if node.id() < link_end {
                        link = link.saturating_add(bytes);
                    }
                }
                continue;
            }
            if visible::look(node, node.tag()) == Look::Hidden {
                unseen_end = unseen_end.max(node.end());
            }
            match node.tag() {
                tag::A => {
                    link_end = link_end.max(node.end());
                    links += 1;
                    // An `h1` around a link to the start page names the site.
                    if let Some(title) = texts.titles.last().and_then(|id| view.node(*id))
                        && title.contains(node)
                        && leads_home(node)
                    {
                        texts.titles.pop();
                    }
                }
                tag::H1 => texts.titles.push(node.id()),
                tag::PRE => texts.code.push(node.id()),
                tag::SCRIPT
                | tag::STYLE
                | tag::NOSCRIPT
                | tag::TEMPLATE
                | tag::HEAD
                | tag::SVG
                | tag::SELECT
                | tag::TEXTAREA
                | tag::IFRAME => {
                    unseen_end = unseen_end.max(node.end());
                }
                _ => {}
            }
        }
        texts.text.push(text);
        texts.link.push(link);
        texts.links.push(links);
        texts
    }

    /// Whether the page's title stands in an element.
    fn holds_title(&self, node: Node<'_>) -> bool {
        holds(&self.titles, node)
    }

    /// Whether an element has what its name is no verdict on: the title, or code.
    fn holds_content(&self, node: Node<'_>) -> bool {
        self.holds_title(node) || holds(&self.code, node)
    }

    fn text(&self, node: Node<'_>) -> u32 {
        range(&self.text, node)
    }

    /// The share of the text that is in links, in parts of a hundred.
    fn link_share(&self, node: Node<'_>) -> u64 {
        let text = u64::from(self.text(node)).max(1);
        u64::from(range(&self.link, node)) * 100 / text
    }
}

/// Whether one of these nodes, given in ascending order, is in an element.
fn holds(ids: &[u32], node: Node<'_>) -> bool {
    let next = ids.partition_point(|&id| id < node.id());
    ids.get(next).is_some_and(|&id| id < node.end())
}

fn range(sums: &[u32], node: Node<'_>) -> u32 {
    let at = |id: u32| sums.get(id as usize).copied().unwrap_or(0);
    at(node.end()).saturating_sub(at(node.id()))
}

/// The largest element that says it is the main content, if it is more than a shell.
fn main_element<'a>(view: &'a View<'a>, texts: &Texts, all: u32) -> Option<Node<'a>> {
    let is_main = |n: &Node<'_>| n.tag() == tag::MAIN || n.attr(attr::ROLE) == Some("main");
    let largest = view.nodes().filter(is_main).max_by_key(|n| texts.text(*n));
    let by_landmark = largest.filter(|n| !is_shell(texts.text(*n), all));
    by_landmark.or_else(|| {
        // A lone article that has most of the text.
        let mut articles = view.nodes().filter(|n| n.tag() == tag::ARTICLE);
        let article = articles.next()?;
        let most = u64::from(texts.text(article)) * 2 > u64::from(all);
        (most && articles.next().is_none()).then_some(article)
    })
}

/// The page's title, where it stands before the main content: its only first-level heading,
/// unless that is the site's name.
fn title_before(root: Node<'_>) -> Option<Node<'_>> {
    let mut headings = root.view().nodes().filter(|n| n.tag() == tag::H1);
    let title = headings.next().filter(|n| n.end() <= root.id())?;
    let leads_home = title.descendants().any(leads_home);
    (!leads_home && headings.next().is_none()).then_some(title)
}

/// Whether a link leads to the start page of a site.
fn leads_home(link: Node<'_>) -> bool {
    let Some(href) = link.attr(attr::HREF) else {
        return false;
    };
    match href.split_once("://") {
        Some((_, rest)) => !rest.trim_end_matches('/').contains('/'),
        None => matches!(
            href.trim(),
            "/" | "./" | "index.html" | "/index.html" | "index.php" | "/index.php"
        ),
    }
}

/// What is left of a root when clutter is taken away.
struct Pruned {
    skips: Vec<u32>,
    kept: u32,
}

impl Pruned {
    fn of(root: Node<'_>, texts: &Texts) -> Self {
        let total = texts.text(root);
        let mut pruned = Self {
            skips: Vec::new(),
            kept: total,
        };
        let mut id = root.id() + 1;
        // Headers and footers inside of these are theirs, not the page's.
        let mut inside_until = if root.tag() == tag::BODY {
            0
        } else {
            root.end()
        };
        while id < root.end() {
            let Some(node) = root.view().node(id) else {
                break;
            };
            id += 1;
            if !node.is_element() {
                continue;
            }
            let inside = node.id() < inside_until;
            if is_clutter(node, texts, total, inside) {
                pruned.skips.push(node.id());
                pruned.kept = pruned.kept.saturating_sub(texts.text(node));
                id = node.end();
            } else if matches!(node.tag(), tag::ARTICLE | tag::MAIN) {
                inside_until = inside_until.max(node.end());
            }
        }
        pruned
    }
}

/// Whether an element is no main content. `total` is the text of all that is looked at.
fn is_clutter(node: Node<'_>, texts: &Texts, total: u32, in_article: bool) -> bool {
    let text = texts.text(node);
    let share = u64::from(text) * 100 / u64::from(total.max(1));
    let clutter = match node.tag() {
        tag::NAV => Clutter::Sure,
        tag::ASIDE if is_callout(node) => Clutter::No,
        tag::ASIDE => Clutter::Sure,
        tag::HEADER | tag::FOOTER if in_article => Clutter::No,
        tag::FOOTER => Clutter::Sure,
        tag::HEADER if texts.holds_title(node) => Clutter::No,
        tag::HEADER => Clutter::Sure,
        tag::DIALOG => Clutter::Sure,
        tag::DIV
        | tag::SECTION
        | tag::UL
        | tag::OL
        | tag::FORM
        | tag::TABLE
        | tag::P
        | tag::DL
        | tag::SPAN
        | tag::A
        | tag::BUTTON
        | tag::FIELDSET
        | tag::UNKNOWN => by_role(node, texts).unwrap_or_else(|| named_clutter(node)),
        _ => Clutter::No,
    };
    match clutter {
        Clutter::No => !in_article && is_link_list(node, texts, text),
        Clutter::Sure => share < 50,
        // Names that mean clutter only where it looks like it.
        Clutter::Perhaps => {
            share < 25 && (text < 120 || texts.link_share(node) > 40) && !texts.holds_content(node)
        }
        Clutter::Likely => share < 35 && !texts.holds_content(node),
    }
}

fn by_role(node: Node<'_>, texts: &Texts) -> Option<Clutter> {
    let sure = matches!(
        node.attr(attr::ROLE)?,
        "navigation"
            | "complementary"
            | "contentinfo"
            | "search"
            | "dialog"
            | "alertdialog"
            | "menu"
            | "menubar"
            | "toolbar"
    );
    let banner = node.attr(attr::ROLE) == Some("banner") && !texts.holds_content(node);
    (sure || banner).then_some(Clutter::Sure)
}

/// Whether an aside belongs to the text: the notes and warnings of documentation.
fn is_callout(node: Node<'_>) -> bool {
    let names = [
        "note",
        "tip",
        "warning",
        "caution",
        "callout",
        "admonition",
        "danger",
        "important",
        "footnote",
        "quote",
    ];
    node.attr(attr::CLASS)
        .is_some_and(|classes| names.iter().any(|name| classes.contains(name)))
}

/// A list of short links and nothing else, as menus are.
fn is_link_list(node: Node<'_>, texts: &Texts, text: u32) -> bool {
    if !matches!(node.tag(), tag::UL | tag::OL) || texts.link_share(node) < 85 {
        return false;
    }
    let links = range(&texts.links, node);
    links >= 4 && text < links.saturating_mul(20)
}
