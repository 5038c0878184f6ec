//! A snapshot against scraper's tree of the same page.

#![expect(clippy::expect_used, reason = "the selectors are constants")]

use std::collections::HashMap;
use std::fmt::Write as _;

use orbweaver_dom::{Kind, Namespace, Node, Selector, View};
use scraper::{ElementRef, Html, node::Node as Theirs};

/// Selectors of every kind that both sides understand.
pub const SELECTORS: &[&str] = &[
    "*",
    "a[href]",
    "a[href^=http], a[href^='/']",
    "a[href$='.html' i]",
    "a[rel~=nofollow]",
    "[lang|=en]",
    "img[alt=''], img:not([alt])",
    "img[src*='/']",
    "meta[name], meta[property^='og:']",
    "link[rel=canonical], link[rel=alternate]",
    "script[type='application/ld+json']",
    "h1, h2, h3",
    "[id]",
    "[class*=content], [class*=article], [class*=post]",
    "div > p",
    "article p, main p",
    "body div div a",
    "h2 + p",
    "h2 ~ p",
    "li:first-child, li:last-child",
    "li:nth-child(2n+1)",
    "tr:nth-last-child(2)",
    "p:nth-of-type(3)",
    "div:only-child",
    "span:empty",
    ":root > body > :last-of-type",
    "div:has(> p)",
    "p:has(a[href] img, b)",
    ":is(ul, ol) > li:not(:has(a))",
    "nav :where(a, button)",
    "svg, svg *",
    "template, template *",
    "option[selected], input:not([type=hidden i])",
    "body :not(script, style) > :nth-last-of-type(1)",
    "[data-src], [itemprop], [style]",
    "my-element, [is], x-a > *",
];

/// Scraper's tree with the contents of templates where the snapshot has them: as the template's
/// children, without the fragment node in between.
pub fn scraper_tree(html: &str) -> Html {
    let mut page = Html::parse_document(html);
    let fragments: Vec<_> = page
        .tree
        .nodes()
        .filter(|n| n.value().is_fragment())
        .map(|n| n.id())
        .collect();
    for id in fragments {
        let Some(template) = page.tree.get(id).and_then(|n| n.parent()).map(|n| n.id()) else {
            continue;
        };
        if let Some(mut template) = page.tree.get_mut(template) {
            template.reparent_from_id_append(id);
        }
        if let Some(mut fragment) = page.tree.get_mut(id) {
            fragment.detach();
        }
    }
    page
}

/// One line per node: depth, kind, names, attributes in order of name, text.
pub fn dump(view: &View<'_>) -> Vec<String> {
    let mut depths = vec![0_usize; view.len() as usize];
    let mut lines = Vec::new();
    for node in view.nodes().skip(1) {
        let depth = node.parent().map_or(0, |p| depths[p.id() as usize] + 1);
        depths[node.id() as usize] = depth;
        lines.push(format!("{depth} {}", line(node)));
    }
    lines
}

fn line(node: Node<'_>) -> String {
    match node.kind() {
        Kind::Element => {
            let namespace = match node.namespace() {
                Namespace::Html => "html",
                Namespace::Svg => "svg",
                Namespace::MathMl => "math",
                _ => "?",
            };
            let mut attrs: Vec<_> = node
                .attrs()
                .map(|a| format!(" {}={:?}", a.name(), a.value()))
                .collect();
            attrs.sort();
            format!("<{namespace} {}{}>", node.name(), attrs.concat())
        }
        Kind::Text => format!("{:?}", node.text()),
        Kind::Comment => format!("<!--{}-->", node.text()),
        Kind::Doctype => format!("<!DOCTYPE {}>", node.text()),
        Kind::Document => "document".into(),
    }
}

/// The same lines of scraper's tree.
pub fn dump_scraper(page: &Html) -> Vec<String> {
    let mut lines = Vec::new();
    let mut depth = 0_usize;
    let mut at = page.tree.root().first_child();
    if at.is_some() {
        depth = 1;
    }
    while let Some(node) = at {
        lines.push(format!("{depth} {}", scraper_line(node.value())));
        at = node.first_child();
        if at.is_some() {
            depth += 1;
            continue;
        }
        let mut here = node;
        at = loop {
            if let Some(next) = here.next_sibling() {
                break Some(next);
            }
            let Some(parent) = here.parent() else {
                break None;
            };
            here = parent;
            depth = depth.saturating_sub(1);
        };
    }
    lines
}

fn scraper_line(node: &Theirs) -> String {
    match node {
        Theirs::Element(element) => {
            let namespace = match &*element.name.ns {
                "http://www.w3.org/1999/xhtml" => "html",
                "http://www.w3.org/2000/svg" => "svg",
                "http://www.w3.org/1998/Math/MathML" => "math",
                _ => "?",
            };
            let mut attrs: Vec<_> = element
                .attrs
                .iter()
                .map(|(name, value)| match name.prefix.as_deref() {
                    Some(prefix) if !prefix.is_empty() => {
                        format!(" {prefix}:{}={:?}", name.local, &**value)
                    }
                    _ => format!(" {}={:?}", name.local, &**value),
                })
                .collect();
            attrs.sort();
            format!("<{namespace} {}{}>", element.name(), attrs.concat())
        }
        Theirs::Text(text) => format!("{:?}", &**text),
        Theirs::Comment(comment) => format!("<!--{}-->", &**comment),
        Theirs::Doctype(doctype) => format!("<!DOCTYPE {}>", doctype.name()),
        other => format!("{other:?}"),
    }
}

/// How the snapshot differs from scraper's tree: empty if it does not.
pub fn differences(view: &View<'_>, page: &Html) -> Vec<String> {
    let mut found = Vec::new();
    let (ours, theirs) = (dump(view), dump_scraper(page));
    if ours != theirs {
        let at = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
        let mut message = format!("trees differ at node {at}");
        let _ = write!(
            message,
            ": {:?} instead of {:?}",
            ours.get(at),
            theirs.get(at)
        );
        found.push(message);
    }

    let text: String = page.root_element().text().collect();
    if view
        .html()
        .map(|html| html.text_content())
        .unwrap_or_default()
        != text
    {
        found.push("texts differ".into());
    }

    // Scraper selects in order of creation, nodes included that are no longer in the document.
    let elements: Vec<_> = page
        .tree
        .root()
        .descendants()
        .filter_map(ElementRef::wrap)
        .collect();
    let order: HashMap<_, _> = elements
        .iter()
        .enumerate()
        .map(|(i, e)| (e.id(), i))
        .collect();

    let link = Selector::parse("a[href]").expect("a selector");
    let ours: Vec<_> = view
        .select(&link)
        .map(|a| (a.attr_named("href"), a.text_content()))
        .collect();
    let link = scraper::Selector::parse("a[href]").expect("a selector");
    let theirs: Vec<_> = elements
        .iter()
        .filter(|e| link.matches(e))
        .map(|a| (a.attr("href"), a.text().collect::<String>()))
        .collect();
    if ours != theirs {
        found.push(format!(
            "links differ: {} instead of {}",
            ours.len(),
            theirs.len()
        ));
    }

    let mut numbers = vec![0; view.len() as usize];
    for (number, node) in view.elements().enumerate() {
        numbers[node.id() as usize] = number;
    }
    for text in SELECTORS {
        let ours = Selector::parse(text).expect("a selector");
        let theirs = scraper::Selector::parse(text).expect("a selector");
        let ours: Vec<_> = view
            .select(&ours)
            .map(|n| numbers[n.id() as usize])
            .collect();
        let mut theirs: Vec<_> = page
            .select(&theirs)
            .filter_map(|e| order.get(&e.id()).copied())
            .collect();
        theirs.sort_unstable();
        if ours != theirs {
            found.push(format!(
                "{text:?} selects {} instead of {}",
                ours.len(),
                theirs.len()
            ));
        }
    }
    found
}
