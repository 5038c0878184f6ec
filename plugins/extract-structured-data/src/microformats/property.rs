//! Values of properties, by their kind.

use orbweaver_sdk::Page;
use orbweaver_sdk::dom::{Node, attr, html, tag};
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::text::{Collapse, Piece, collapse, is_hidden, pieces};

use crate::microformats::is_root;
use crate::values::resolve;
use orbweaver_sdk::Budget;

/// The HTML inside an element, without white space around it.
pub fn inner(element: Node<'_>) -> String {
    html::inner(element).trim_ascii().to_owned()
}
/// The prefix of a property's class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `p-`
    Text,
    /// `u-`
    Url,
    /// `dt-`
    Time,
    /// `e-`
    Markup,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Text, Self::Url, Self::Time, Self::Markup];
}

/// A property's value.
#[derive(Debug)]
pub enum Value {
    Text(String),
    /// An image with an alternative text.
    Image {
        src: String,
        alt: String,
    },
    /// HTML with its text.
    Markup {
        html: String,
        text: String,
    },
    /// A nested item, and what the element itself would be worth.
    Item {
        index: usize,
        kind: Kind,
        own: Box<Value>,
    },
}

impl Value {
    /// The same for another name, as far as the budget goes.
    pub fn copy(&self, budget: &mut Budget) -> Self {
        match self {
            Self::Text(text) => Self::Text(budget.text(text.clone(), 1)),
            Self::Image { src, alt } => Self::Image {
                src: budget.text(src.clone(), 1),
                alt: budget.text(alt.clone(), 1),
            },
            Self::Markup { html, text } => Self::Markup {
                html: budget.text(html.clone(), 1),
                text: budget.text(text.clone(), 1),
            },
            Self::Item { index, kind, own } => Self::Item {
                index: *index,
                kind: *kind,
                own: Box::new(own.copy(budget)),
            },
        }
    }

    /// Bytes of its texts.
    pub fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image {
                src: one,
                alt: other,
            }
            | Self::Markup {
                html: one,
                text: other,
            } => one.len() + other.len(),
            Self::Item { own, .. } => own.size(),
        }
    }

    pub fn write(&self, w: &mut Writer) {
        match self {
            Self::Text(text) => {
                w.string(text);
            }
            Self::Image { .. } | Self::Markup { .. } => {
                w.begin_object();
                self.write_nested(w);
                w.end_object();
            }
            // Written by whoever holds the items.
            Self::Item { .. } => {
                w.null();
            }
        }
    }

    /// The members of an object that holds this value.
    pub fn write_nested<'w>(&self, w: &'w mut Writer) -> &'w mut Writer {
        match self {
            Self::Text(text) => w.key("value").string(text),
            Self::Image { src, alt } => w.key("value").string(src).key("alt").string(alt),
            Self::Markup { html, text } => w.key("html").string(html).key("value").string(text),
            Self::Item { own, .. } => match &**own {
                Self::Text(text) => w.key("value").string(text),
                _ => w,
            },
        }
    }
}

/// The value of a property that is no item.
pub fn value(page: &Page<'_>, node: Node<'_>, kind: Kind, budget: &mut Budget) -> Value {
    match kind {
        Kind::Text => Value::Text(text(node, budget)),
        Kind::Url => url(page, node, budget),
        Kind::Time => Value::Text(time(node, budget)),
        Kind::Markup => markup(node, budget),
    }
}

fn text(node: Node<'_>, budget: &mut Budget) -> String {
    let parts = value_class(node, false, budget);
    if !parts.is_empty() {
        return parts.concat();
    }
    let stated = match node.tag() {
        tag::ABBR | tag::LINK => node.attr(attr::TITLE),
        tag::DATA | tag::INPUT => node.attr(attr::VALUE),
        tag::IMG | tag::AREA => node.attr(attr::ALT),
        _ => None,
    };
    stated.map_or_else(|| reader_text(node, budget), collapse)
}

fn url(page: &Page<'_>, node: Node<'_>, budget: &mut Budget) -> Value {
    if let Some(image) = image(page, node) {
        return image;
    }
    let stated = match node.tag() {
        tag::A | tag::AREA | tag::LINK => node.attr(attr::HREF),
        tag::AUDIO | tag::SOURCE | tag::IFRAME => node.attr(attr::SRC),
        tag::VIDEO => node.attr(attr::SRC).or_else(|| node.attr(attr::POSTER)),
        tag::OBJECT => node.attr_named("data"),
        _ => None,
    };
    if let Some(stated) = stated {
        return Value::Text(resolve(page, stated).into_owned());
    }
    let parts = value_class(node, false, budget);
    let text = if parts.is_empty() {
        text(node, budget)
    } else {
        parts.concat()
    };
    Value::Text(resolve(page, &text).into_owned())
}

/// The source of an image, with its alternative text where it has one.
pub fn image(page: &Page<'_>, node: Node<'_>) -> Option<Value> {
    let src = node.attr(attr::SRC).filter(|_| node.tag() == tag::IMG)?;
    let src = resolve(page, src).into_owned();
    Some(match node.attr(attr::ALT) {
        Some(alt) => Value::Image {
            src,
            alt: collapse(alt),
        },
        None => Value::Text(src),
    })
}

fn time(node: Node<'_>, budget: &mut Budget) -> String {
    let parts = value_class(node, true, budget);
    if !parts.is_empty() {
        return parts.join(" ");
    }
    let stated = match node.tag() {
        tag::TIME | tag::INS | tag::DEL => node.attr(attr::DATETIME),
        tag::ABBR => node.attr(attr::TITLE),
        tag::DATA | tag::INPUT => node.attr(attr::VALUE),
        _ => None,
    };
    stated.map_or_else(|| reader_text(node, budget), collapse)
}

fn markup(node: Node<'_>, budget: &mut Budget) -> Value {
    let size = node.end() - node.id();
    let html = if budget.spend(size) {
        inner(node)
    } else {
        String::new()
    };
    let html = budget.text(html, 1);
    Value::Markup {
        html,
        text: reader_text(node, budget),
    }
}

/// The value class pattern: what elements inside with the class `value` or `value-title`
/// say, not looking into those, nor into other items.
fn value_class(node: Node<'_>, times: bool, budget: &mut Budget) -> Vec<String> {
    let mut parts = Vec::new();
    let mut next = node.id() + 1;
    while next < node.end() && budget.spend(1) {
        let Some(inner) = node.view().node(next) else {
            break;
        };
        next += 1;
        let Some(class) = inner.attr(attr::CLASS) else {
            continue;
        };
        // Long class attributes weigh like many nodes.
        if !budget.spend((class.len() / 256) as u32) {
            break;
        }
        let has = |wanted: &str| class.split_ascii_whitespace().any(|token| token == wanted);
        let stated = if has("value-title") {
            Some(inner.attr(attr::TITLE).unwrap_or(""))
        } else if has("value") {
            match inner.tag() {
                tag::IMG | tag::AREA => inner.attr(attr::ALT),
                tag::DATA => inner.attr(attr::VALUE),
                tag::ABBR => inner.attr(attr::TITLE),
                tag::TIME | tag::INS | tag::DEL if times => inner.attr(attr::DATETIME),
                _ => None,
            }
        } else if is_root(class) {
            next = inner.end();
            continue;
        } else {
            continue;
        };
        parts.push(stated.map_or_else(|| reader_text(inner, budget), collapse));
        next = inner.end();
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The element's text as a reader sees it, images as their alternative texts.
pub fn reader_text(node: Node<'_>, budget: &mut Budget) -> String {
    let mut out = String::new();
    if !budget.spend(node.end() - node.id()) {
        return out;
    }
    let mut gathered = Collapse::default();
    if !node.descendants().any(|n| n.tag() == tag::IMG) {
        for piece in pieces(node) {
            match piece {
                Piece::Text(text) => gathered.push(text, &mut out),
                Piece::Break => gathered.gap(),
            }
        }
        return budget.text(out, 1);
    }
    let mut next = node.id();
    while next < node.end() {
        let Some(inner) = node.view().node(next) else {
            break;
        };
        next += 1;
        match inner.tag() {
            tag::IMG => {
                gathered.gap();
                gathered.push(inner.attr(attr::ALT).unwrap_or(""), &mut out);
                gathered.gap();
            }
            hidden if is_hidden(hidden) && inner != node => next = inner.end(),
            _ if inner.is_text() => gathered.push(inner.text(), &mut out),
            inline if !orbweaver_sdk::text::is_block(inline) && inline != tag::BR => {}
            _ => gathered.gap(),
        }
    }
    budget.text(out, 1)
}
