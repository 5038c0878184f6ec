//! The `structured-data` role: what a page says in the vocabularies of machines.

mod microdata;
mod microformats;
mod rdfa;
mod tags;
mod values;

use orbweaver_content::raw;
use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::head::Head;
use orbweaver_sdk::json::Writer;
use orbweaver_sdk::jsonld::Block;
use orbweaver_sdk::{Budget, Error, Page};

/// Every structured item of the page, by syntax, and how many there are:
/// `{"counts": {…}, "data": {…}}`, both with the keys `json-ld`, `microdata`, `rdfa`,
/// `opengraph`, `dublincore` and `microformat`. `plugin.toml` describes the items. A page that has
/// nearly all of its text in a `noscript` has the items of that, too, behind its own.
pub fn extract(page: &Page<'_>, _options: &str) -> Result<String, Error> {
    let view = page.view()?;
    let head = Head::of(page)?;
    let snapshot = raw::without_scripts(view);
    let other = snapshot.as_ref().and_then(|snapshot| snapshot.view().ok());

    let mut parts = [
        ("json-ld", Part::default()),
        ("microdata", Part::default()),
        ("rdfa", Part::default()),
        ("opengraph", tags::open_graph(view, &head)),
        ("dublincore", tags::dublin_core(&head)),
        ("microformat", Part::default()),
    ];
    for view in std::iter::once(view).chain(&other) {
        let found = Found::of(view);
        let mut budget = Budget::of(view);
        for (name, part) in &mut parts {
            match *name {
                "microdata" => microdata::write(page, &found.items, &mut budget, part),
                "rdfa" if found.rdfa => {
                    rdfa::write(page, view, found.rdfa_in_body, &mut budget, part);
                }
                "microformat" if found.microformats => {
                    microformats::write(page, view, &mut budget, part);
                }
                _ => {}
            }
        }
    }
    if let Some((_, part)) = parts.first_mut() {
        json_ld(page.json_ld()?, part);
    }

    let size = parts
        .iter()
        .map(|(_, part)| part.json.as_str().len())
        .sum::<usize>();
    let mut w = Writer::with_capacity(size + 512);
    w.object(|w| {
        w.key("counts").object(|w| {
            for (name, part) in &parts {
                w.key(name).int(part.count);
            }
        });
        w.key("data").object(|w| {
            for (name, part) in &parts {
                w.key(name).array(|w| {
                    if part.count > 0 {
                        w.raw(part.json.as_str());
                    }
                });
            }
        });
    });
    Ok(w.finish())
}

/// The items of one syntax: JSON values with commas between them.
#[derive(Debug, Default)]
struct Part {
    count: u32,
    json: Writer,
}

impl Part {
    /// Adds an item.
    fn item(&mut self, write: impl FnOnce(&mut Writer)) {
        self.count += 1;
        write(&mut self.json);
    }
}

fn json_ld(blocks: &[Block], part: &mut Part) {
    for block in blocks {
        for object in block.objects() {
            part.item(|w| object.write(w));
        }
    }
}

/// What one look at every element tells: most pages need no more than this.
#[derive(Default)]
struct Found<'v> {
    /// Elements that begin a Microdata item which is no property of another: by the
    /// standard those without `itemprop`. Pages also have properties of no item (a list of
    /// breadcrumbs without its list); on a page without `itemref` those count too.
    items: Vec<Node<'v>>,
    /// A `property` of RDFa somewhere, if only a meta's.
    rdfa: bool,
    /// RDFa on elements that are no metas.
    rdfa_in_body: bool,
    microformats: bool,
}

impl<'v> Found<'v> {
    fn of(view: &'v View<'v>) -> Self {
        let mut found = Self::default();
        let (mut strays, mut references) = (0_usize, false);
        // The end of the outermost item that is open.
        let mut item_end = 0;
        for node in view.nodes().filter(Node::is_element) {
            let (mut scope, mut property) = (false, false);
            for attribute in node.attrs() {
                match attribute.id() {
                    attr::CLASS => {
                        found.microformats =
                            found.microformats || microformats::is_root(attribute.value());
                    }
                    attr::ITEMSCOPE => scope = true,
                    attr::ITEMPROP => property = true,
                    attr::ITEMREF => references = true,
                    attr::TYPEOF | attr::VOCAB | attr::PROPERTY => {
                        found.rdfa = true;
                        found.rdfa_in_body = found.rdfa_in_body || node.tag() != tag::META;
                    }
                    _ => {}
                }
            }
            if !scope {
                continue;
            }
            let stray = property && node.id() >= item_end;
            strays += usize::from(stray);
            item_end = item_end.max(node.end());
            if !property || stray {
                found.items.push(node);
            }
        }
        if references && strays > 0 {
            found.items.retain(|item| !item.has_attr(attr::ITEMPROP));
        }
        found
    }
}
