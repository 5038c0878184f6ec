//! Facts that pages state in more than one place, and which place is believed first.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::head::{Head, Link};
use orbweaver_sdk::jsonld::{self, Object};
use orbweaver_sdk::text::{collapse, line};
use orbweaver_sdk::{Error, Page};

/// A page's single-valued facts.
#[derive(Debug, Default)]
pub struct Facts {
    title: Option<String>,
    description: Option<String>,
    canonical: Option<String>,
    lang: Option<String>,
    author: Option<String>,
    published: Option<String>,
    modified: Option<String>,
    site_name: Option<String>,
    favicon: Option<String>,
    viewport: Option<String>,
    charset: Option<String>,
    robots: Option<String>,
    generator: Option<String>,
}

impl Facts {
    /// Gathers them. `objects` is the page's JSON-LD.
    pub fn of(page: &Page<'_>, head: &Head<'_>, objects: &[Object<'_>]) -> Result<Self, Error> {
        let marked = Marked::of(page)?;
        let stated = Stated::of(objects);
        let robots: Vec<_> = head.all(&["robots"]).collect();
        Ok(Self {
            title: head
                .title
                .clone()
                .or_else(|| head.meta_text(&["og:title", "twitter:title"])),
            description: head.meta_text(&[
                "description",
                "og:description",
                "twitter:description",
                "dc.description",
                "dcterms.description",
            ]),
            canonical: head.canonical(page),
            lang: head.language(page).map(str::to_owned),
            author: author(head).or(stated.author).or(marked.author),
            published: head
                .meta_text(&[
                    "article:published_time",
                    "og:article:published_time",
                    "datepublished",
                    "dcterms.issued",
                    "dc.date.issued",
                    "dcterms.created",
                    "dc.date",
                    "date",
                    "pubdate",
                    "publish-date",
                    "parsely-pub-date",
                    "sailthru.date",
                    "citation_publication_date",
                ])
                .or(stated.published)
                .or(marked.published),
            modified: head
                .meta_text(&[
                    "article:modified_time",
                    "og:updated_time",
                    "datemodified",
                    "dcterms.modified",
                    "dc.date.modified",
                    "last-modified",
                    "lastmod",
                ])
                .or(stated.modified)
                .or(marked.modified),
            site_name: head
                .meta_text(&["og:site_name", "application-name"])
                .or(stated.site_name),
            favicon: favicon(page, head),
            viewport: head.meta_text(&["viewport"]),
            charset: charset(page, head),
            robots: (!robots.is_empty()).then(|| collapse(&robots.join(", "))),
            generator: head.meta_text(&["generator"]),
        })
    }

    /// The facts by their names in the answer.
    pub fn fields(&self) -> [(&'static str, Option<&str>); 13] {
        [
            ("title", self.title.as_deref()),
            ("description", self.description.as_deref()),
            ("canonical", self.canonical.as_deref()),
            ("lang", self.lang.as_deref()),
            ("author", self.author.as_deref()),
            ("published", self.published.as_deref()),
            ("modified", self.modified.as_deref()),
            ("site_name", self.site_name.as_deref()),
            ("favicon", self.favicon.as_deref()),
            ("viewport", self.viewport.as_deref()),
            ("charset", self.charset.as_deref()),
            ("robots", self.robots.as_deref()),
            ("generator", self.generator.as_deref()),
        ]
    }
}

/// Authors named in metas. `article:author` is a profile's URL on many sites; that names
/// nobody.
fn author(head: &Head<'_>) -> Option<String> {
    const NAMES: &[&str] = &[
        "author",
        "article:author",
        "article:author_name",
        "dc.creator",
        "dcterms.creator",
        "parsely-author",
        "sailthru.author",
        "byl",
        "citation_author",
        "twitter:data1",
    ];
    // Twitter's free slots hold the author only where the label says so.
    let labelled = head.all(&["twitter:label1"]).next().is_some_and(|label| {
        ["written by", "author", "by"]
            .iter()
            .any(|known| label.eq_ignore_ascii_case(known))
    });
    let known = NAMES
        .iter()
        .filter(|name| labelled || **name != "twitter:data1");
    let mut contents = known.flat_map(|name| head.all(std::slice::from_ref(name)));
    contents
        .find(|name| !name.contains("://") && !name.starts_with('@'))
        .map(collapse)
}

/// The icon: the first of the usual kind, else the touch icon.
fn favicon(page: &Page<'_>, head: &Head<'_>) -> Option<String> {
    let base = page.base()?;
    let icon = |wanted: &str| {
        let mut links = head.links.iter().filter(|link: &&Link<'_>| link.is(wanted));
        links
            .find_map(|link| base.join(link.href))
            .map(|url| url.into_string())
    };
    icon("icon")
        .or_else(|| icon("apple-touch-icon"))
        .or_else(|| icon("apple-touch-icon-precomposed"))
}

/// The declared charset: the header, `<meta charset>`, `<meta http-equiv>`.
fn charset(page: &Page<'_>, head: &Head<'_>) -> Option<String> {
    let of_type = |value: &str| {
        let at = value.to_ascii_lowercase().find("charset=")? + "charset=".len();
        let name = value.get(at..)?.trim_matches([' ', '"', '\'']);
        let name = name.split([';', ' ', '"', '\'']).next()?;
        (!name.is_empty()).then(|| name.to_ascii_lowercase())
    };
    page.header("content-type")
        .and_then(of_type)
        .or_else(|| head.charset.map(str::to_ascii_lowercase))
        .or_else(|| head.all(&["content-type"]).find_map(of_type))
}

/// What JSON-LD states of the page's main entity.
#[derive(Default)]
struct Stated {
    author: Option<String>,
    published: Option<String>,
    modified: Option<String>,
    site_name: Option<String>,
}

impl Stated {
    fn of(objects: &[Object<'_>]) -> Self {
        let mut stated = Self::default();
        let text = |object: &Object<'_>, key: &str| {
            let value = jsonld::string(object.get(key)?)?;
            Some(collapse(&value)).filter(|value| !value.is_empty())
        };
        for object in objects {
            if stated.site_name.is_none() && object.is("WebSite") {
                stated.site_name = text(object, "name");
            }
            // Comments and reviews have authors and dates of their own.
            if object.is("Comment") || object.is("Review") || object.is("UserComments") {
                continue;
            }
            stated.published = stated.published.or_else(|| text(object, "datePublished"));
            stated.modified = stated.modified.or_else(|| text(object, "dateModified"));
            stated.author = stated
                .author
                .or_else(|| names(object.get("author")?, objects));
        }
        stated
    }
}

/// The names of one or more people or organisations: strings, objects with a name, or
/// references to objects of the same page.
fn names(json: &str, objects: &[Object<'_>]) -> Option<String> {
    const MOST: usize = 20;
    let mut names: Vec<String> = Vec::new();
    for author in jsonld::elements(json).take(MOST) {
        let named = jsonld::get(author, "name").or_else(|| {
            let id = jsonld::get(author, "@id")?;
            objects
                .iter()
                .find(|o| o.get("@id") == Some(id))?
                .get("name")
        });
        for name in jsonld::strings(named.unwrap_or(author)).take(MOST) {
            let name = collapse(&name);
            if !name.is_empty() && !name.contains("://") && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// What is marked in the text itself, by Microdata and by HTML.
#[derive(Default)]
struct Marked {
    author: Option<String>,
    published: Option<String>,
    modified: Option<String>,
}

impl Marked {
    fn of(page: &Page<'_>) -> Result<Self, Error> {
        let mut marked = Self::default();
        let mut linked = None;
        for node in page.view()?.nodes().filter(Node::is_element) {
            match node.tag() {
                tag::META | tag::LINK => continue,
                tag::TIME => {
                    let time = || {
                        let value = node
                            .attr(attr::DATETIME)
                            .map_or_else(|| line(node), collapse);
                        Some(value).filter(|value| !value.is_empty())
                    };
                    if has(node, attr::ITEMPROP, "datePublished")
                        || has(node, attr::ITEMPROP, "dateCreated")
                        || node.attr_named("pubdate").is_some()
                    {
                        marked.published = marked.published.or_else(time);
                    } else if has(node, attr::ITEMPROP, "dateModified") {
                        marked.modified = marked.modified.or_else(time);
                    }
                    continue;
                }
                tag::A if linked.is_none() && has(node, attr::REL, "author") => {
                    linked = person(node)
                }
                _ => {}
            }
            if marked.author.is_none() && has(node, attr::ITEMPROP, "author") && !answers(node) {
                marked.author = named(node);
            }
        }
        marked.author = marked.author.or(linked);
        Ok(marked)
    }
}

/// Whether an attribute lists this token. Case does not count.
fn has(node: Node<'_>, attribute: u16, wanted: &str) -> bool {
    node.attr(attribute).is_some_and(|list| {
        list.split_ascii_whitespace()
            .any(|token| token.eq_ignore_ascii_case(wanted))
    })
}

/// Whether a property belongs to what others say about the page's subject: comments and
/// reviews have authors of their own.
fn answers(property: Node<'_>) -> bool {
    let item = property
        .ancestors()
        .find(|around| around.has_attr(attr::ITEMSCOPE));
    let kind = item
        .and_then(|item| item.attr(attr::ITEMTYPE))
        .unwrap_or("");
    ["Comment", "UserComments", "Review", "Answer"]
        .iter()
        .any(|answer| kind.trim_ascii().ends_with(answer))
}

/// The name of an item, or the text of what is none.
fn named(node: Node<'_>) -> Option<String> {
    /// A name stands at the beginning of its item.
    const NEAR: usize = 64;
    let mut inside = node.descendants().take(NEAR);
    match inside.find(|inner| has(*inner, attr::ITEMPROP, "name")) {
        Some(name) => match name.attr(attr::CONTENT) {
            Some(content) => Some(collapse(content)).filter(|name| is_name(name)),
            None => person(name),
        },
        None => person(node),
    }
}

/// The element's text if it can be a name, without what introduces it.
fn person(node: Node<'_>) -> Option<String> {
    /// More than this is no name but what surrounds one.
    const MAX_NODES: u32 = 24;
    if node.end() - node.id() > MAX_NODES {
        return None;
    }
    let text = line(node);
    let introduced = ["written by ", "posted by ", "by "]
        .iter()
        .find_map(|word| {
            let start = text.get(..word.len())?;
            start
                .eq_ignore_ascii_case(word)
                .then(|| text.get(word.len()..))?
        });
    let name = introduced.unwrap_or(&text).trim();
    is_name(name).then(|| name.to_owned())
}

/// A few words with a letter among them.
fn is_name(text: &str) -> bool {
    let words = text.split(' ').count();
    words <= 8
        && text.len() <= 100
        && text.chars().any(char::is_alphabetic)
        && !text.contains("://")
}
