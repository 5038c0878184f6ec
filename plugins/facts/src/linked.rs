//! Links of a text to its tags and categories, as `rel` says (HTML standard, "tag"), or else their
//! addresses.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text::line;

use crate::marks::has;
use crate::text::class_words;

/// Tags of one text. A page with more links of the kind is a list, or has a cloud of them.
const MAX_TAGS: usize = 30;
/// Longest tag, in bytes, and most nodes of its link.
const MAX_BYTES: usize = 100;
const MAX_NODES: u32 = 16;
/// Links with `rel=tag` that are looked at, those beside the text too.
const MAX_READ: usize = 500;
/// Elements around a link that are looked at.
const NEAR: usize = 16;

/// The links to tags and categories.
#[derive(Debug, Default)]
pub struct Topics {
    /// Those with `rel=tag`.
    by_rel: Linked,
    /// Those that lead to `/tags/NAME` or `/category/NAME`.
    by_address: Linked,
}

impl Topics {
    /// Reads a link.
    pub fn read(&mut self, link: Node<'_>) {
        if has(link, attr::REL, "tag") {
            self.by_rel.read(link, has(link, attr::REL, "category"));
        } else if let Some(category) = leads_to_topic(link)
            && !is_in_sentence(link)
        {
            self.by_address.read(link, category);
        }
    }

    /// Categories and tags, without repetition; none where they are those of several texts.
    pub fn decide(&self) -> (Vec<String>, Vec<String>) {
        let (mut categories, mut tags) = self.by_rel.decide();
        if categories.is_empty() || tags.is_empty() {
            let other = self.by_address.decide();
            if categories.is_empty() {
                categories = other.0;
            }
            if tags.is_empty() {
                tags = other.1;
            }
        }
        (categories, tags)
    }
}

/// Whether the address of a link is that of a category, rather than a tag; `None` where it is neither.
pub fn leads_to_topic(link: Node<'_>) -> Option<bool> {
    const MAX_HREF: usize = 500;
    let href = link
        .attr(attr::HREF)
        .filter(|href| href.len() <= MAX_HREF)?;
    // Read as bytes: every link of a page is asked.
    let bytes = href.as_bytes();
    let end = bytes.iter().position(|byte| matches!(byte, b'?' | b'#'));
    let mut path = bytes.get(..end.unwrap_or(bytes.len()))?;
    while let [before @ .., b'/'] = path {
        path = before;
    }
    let slash = |path: &[u8]| path.iter().rposition(|byte| *byte == b'/');
    let (before, name) = path.split_at_checked(slash(path)?)?;
    let folder = before.get(slash(before).map_or(0, |slash| slash + 1)..)?;
    // With the slash before it.
    let is_index = name.starts_with(b"/index.") || name == b"/..";
    match folder {
        _ if is_index => None,
        b"tag" | b"tags" => Some(false),
        b"category" | b"categories" => Some(true),
        _ => None,
    }
}

/// Whether a link is of a sentence: what a text mentions is not what it is filed under.
pub fn is_in_sentence(link: Node<'_>) -> bool {
    /// Texts that are read, and bytes of a line that has more than labels.
    const MOST: usize = 12;
    const LONG: usize = 80;
    let Some(parent) = link.parent() else {
        return false;
    };
    let beside = parent.children().filter(Node::is_text).take(MOST);
    beside.map(|text| text.text().trim().len()).sum::<usize>() >= LONG
}

/// Links of one kind, in document order.
#[derive(Debug, Default)]
struct Linked {
    found: Vec<Link>,
    read: usize,
    /// There are more than those of one text.
    too_many: bool,
}

#[derive(Debug)]
struct Link {
    text: String,
    /// To a category, not to a tag.
    category: bool,
    /// The `article` around it.
    article: Option<u32>,
}

impl Linked {
    /// Reads a link to a category or a tag.
    fn read(&mut self, link: Node<'_>, category: bool) {
        if self.too_many || link.end() - link.id() > MAX_NODES {
            return;
        }
        self.read += 1;
        if self.read > MAX_READ {
            self.too_many = true;
            return;
        }
        let mut article = None;
        for around in link.ancestors().take(NEAR) {
            if article.is_none() && around.tag() == tag::ARTICLE {
                article = Some(around.id());
            }
            if is_elsewhere(around, article.is_some()) {
                return;
            }
        }
        let text = line(link);
        let text = text.trim_start_matches('#').trim();
        if text.is_empty() || text.len() > MAX_BYTES {
            return;
        }
        self.too_many = self.found.len() >= MAX_TAGS;
        self.found.push(Link {
            text: text.to_owned(),
            category,
            article,
        });
    }

    /// Categories and tags, without repetition; none where they are those of several texts.
    fn decide(&self) -> (Vec<String>, Vec<String>) {
        let (mut categories, mut tags) = (Vec::new(), Vec::new());
        let mut articles: Vec<u32> = self.found.iter().filter_map(|link| link.article).collect();
        articles.dedup();
        if self.too_many || articles.len() > 1 {
            return (categories, tags);
        }
        for link in &self.found {
            let list = if link.category {
                &mut categories
            } else {
                &mut tags
            };
            if !list.contains(&link.text) {
                list.push(link.text.clone());
            }
        }
        (categories, tags)
    }
}

/// Whether an element around a link says that the link is of no text, or of another one.
fn is_elsewhere(around: Node<'_>, in_article: bool) -> bool {
    match around.tag() {
        tag::NAV | tag::ASIDE => return true,
        tag::FOOTER => return !in_article && !is_of_article(around),
        tag::BODY | tag::HTML | tag::MAIN | tag::ARTICLE => return false,
        _ => {}
    }
    let names = [attr::CLASS, attr::ID].into_iter();
    let mut words = names
        .filter_map(|name| around.attr(name))
        .flat_map(class_words);
    words.any(|word| {
        ELSEWHERE
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    })
}

/// Whether an `article` is around an element.
fn is_of_article(node: Node<'_>) -> bool {
    node.ancestors().take(NEAR).any(|n| n.tag() == tag::ARTICLE)
}

/// Words of class names of what stands beside a text.
const ELSEWHERE: &[&[u8]] = &[
    b"related",
    b"recommended",
    b"recommendations",
    b"sidebar",
    b"widget",
    b"cloud",
    b"tagcloud",
    b"popular",
    b"trending",
    b"menu",
    b"navbar",
    b"card",
    b"loop",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn topics(html: &str) -> (Vec<String>, Vec<String>) {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        let mut linked = Topics::default();
        view.elements()
            .filter(|node| node.tag() == tag::A)
            .for_each(|link| linked.read(link));
        linked.decide()
    }

    #[test]
    fn links_of_the_text_tell_its_category_and_tags() {
        let (categories, tags) = topics(
            "<article><a rel='category tag' href=/c>Webs</a><p>Text<footer><a rel=tag href=/t>#silk</a>\
             <a rel=tag href=/t>silk</a> <a rel='nofollow TAG' href=/u>legs</a></footer></article>\
             <aside><a rel=tag href=/x>x</a></aside><div class=tag-cloud><a rel=tag href=/y>y</a></div>\
             <footer><a rel=tag href=/z>z</a></footer>",
        );
        assert_eq!(categories, ["Webs"]);
        assert_eq!(tags, ["silk", "legs"]);
    }

    #[test]
    fn addresses_tell_what_rel_does_not() {
        let (categories, tags) = topics(
            "<nav><a href=/category/silk>Silk</a></nav><article><p><a href=../categories/webs/>Webs</a>\
             <p>By Ann · <a href=/tags/>All tags</a> <a href='https://example.org/tag/orb.html?x'>orb</a>\
             <a href=/tags/legs>#legs</a><p>This is what many people say when they are asked how it was, \
             and <a href=/tag/rain>rain</a> is not what it is about at all.</article>",
        );
        assert_eq!(categories, ["Webs"]);
        assert_eq!(tags, ["orb", "legs"]);
        let both = "<a rel='category tag' href=/x>Webs</a><a href=/category/y>Silk</a>\
                    <a href=/tag/z>legs</a>";
        assert_eq!(
            topics(both),
            (vec!["Webs".to_owned()], vec!["legs".to_owned()])
        );
    }

    #[test]
    fn a_list_of_texts_has_no_topic() {
        let list = "<article><a rel='category tag' href=/c>Webs</a></article>\
                    <article><a rel='category tag' href=/d>Silk</a></article>";
        assert_eq!(topics(list), (Vec::new(), Vec::new()));
        let cloud = |count: usize| -> String {
            let link = |n| format!("<a rel=tag href=/{n}>t{n}</a>");
            (0..count).map(link).collect()
        };
        assert_eq!(topics(&cloud(MAX_TAGS)).1.len(), MAX_TAGS);
        assert_eq!(topics(&cloud(MAX_TAGS + 1)), (Vec::new(), Vec::new()));
        // Links beside the text are read up to a bound.
        let beside = |count| {
            let one = "<article><a rel=tag href=/t>silk</a></article>";
            topics(&format!("{one}<aside>{}</aside>", cloud(count))).1
        };
        assert_eq!(beside(MAX_READ - 1), ["silk"]);
        assert_eq!(beside(MAX_READ), [""; 0]);
    }
}
