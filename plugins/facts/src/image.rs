//! The main image.

use orbweaver_sdk::dom::{Node, attr};
use orbweaver_sdk::jsonld;
use orbweaver_sdk::text::collapse;

use crate::Sources;
use crate::items::Items;
use crate::marks::{Marks, has};
use crate::things::{self, Thing};

/// The URL of the image that stands for the page, as written: of metas, then of JSON-LD, then of
/// `link rel=image_src`, then of Microdata.
pub fn decide(sources: &Sources<'_>, things: &[Thing<'_>], marks: &Marks) -> Option<String> {
    const METAS: &[&str] = &[
        "og:image:secure_url",
        "og:image",
        "og:image:url",
        "twitter:image",
        "twitter:image:src",
        "image",
        "thumbnail",
    ];
    let told = METAS.iter().find_map(|name| {
        let name = std::slice::from_ref(name);
        marks.items.metas(sources.head, name).next().map(collapse)
    });
    let linked = || {
        let mut links = sources.head.links.iter();
        let link = links.find(|link| link.is("image_src") && !link.href.trim().is_empty())?;
        Some(collapse(link.href))
    };
    let thumbnail = || {
        let names = &["thumbnailurl"];
        marks.items.metas(sources.head, names).next().map(collapse)
    };
    told.or_else(|| stated(things))
        .or_else(linked)
        .or_else(|| marks.images.decide(marks.items))
        .or_else(thumbnail)
}

/// The image that JSON-LD states of the content, else the small one.
fn stated(things: &[Thing<'_>]) -> Option<String> {
    const OTHERS: &[&str] = &[
        "WebSite",
        "Organization",
        "Person",
        "ImageObject",
        "BreadcrumbList",
    ];
    // Each look-up of a reference reads all objects' ids.
    let mut references = 16;
    let content = || things.iter().filter(|thing| !thing.is(OTHERS));
    content()
        .find_map(|thing| address(thing.image?, things, &mut references))
        .or_else(|| content().find_map(|thing| address(thing.thumbnail?, things, &mut references)))
}

/// The address of the first image in a value: a string, an object, or a reference to an object of the
/// same page.
fn address(json: &str, things: &[Thing<'_>], references: &mut u32) -> Option<String> {
    let image = jsonld::elements(json).next()?;
    let first = |json: &str| things::text(jsonld::elements(json).next()?);
    if !image.starts_with('{') {
        return things::text(image);
    }
    let named = ["url", "contentUrl"].iter();
    if let Some(url) = named
        .filter_map(|key| things::get(image, key))
        .find_map(first)
    {
        return Some(url);
    }
    let id = jsonld::get(image, "@id").filter(|_| *references > 0)?;
    *references -= 1;
    let mut same = things.iter().filter(|thing| thing.id == Some(id));
    same.find_map(|thing| first(thing.url.or(thing.file)?))
        .or_else(|| things::text(id).filter(|id| is_image(id)))
}

/// Whether an address is that of an image, by its end.
fn is_image(url: &str) -> bool {
    const ENDS: &[&str] = &[".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif"];
    let path = url.split('?').next().unwrap_or(url).to_ascii_lowercase();
    ENDS.iter().any(|end| path.ends_with(end))
}

/// The images that Microdata's items have.
#[derive(Debug, Default)]
pub struct Images {
    found: Vec<Image>,
}

#[derive(Debug)]
struct Image {
    /// The item that has it: its first node and the end.
    owner: Option<(u32, u32)>,
    href: String,
}

impl Images {
    /// Reads an element, if it is an image of an item.
    pub fn read(&mut self, node: Node<'_>, items: Items) {
        /// A page with more is a list.
        const MOST: usize = 64;
        if self.found.len() >= MOST || !has(node, attr::ITEMPROP, "image") {
            return;
        }
        let Some(owner) = items.owner_of_content(node) else {
            return;
        };
        if let Some(href) = source(node) {
            self.found.push(Image { owner, href });
        }
    }

    /// The first image of the only item that has any, else of the one that has the page's heading: a list
    /// has no image of its own.
    fn decide(&self, items: Items) -> Option<String> {
        let first = self.found.first()?;
        let is_only = self.found.iter().all(|image| image.owner == first.owner);
        let has_heading = |image: &&Image| {
            image
                .owner
                .is_some_and(|(from, to)| items.has_heading(from, to))
        };
        let chosen = if is_only {
            Some(first)
        } else {
            self.found.iter().find(has_heading)
        };
        chosen.map(|image| image.href.clone())
    }
}

/// The address of an element with an image: of itself, or, where it is an item, of its address.
fn source(node: Node<'_>) -> Option<String> {
    /// An address stands near the beginning of its item.
    const NEAR: usize = 32;
    if !node.has_attr(attr::ITEMSCOPE) {
        return own_source(node);
    }
    let is_address = |inner: &Node<'_>| {
        has(*inner, attr::ITEMPROP, "url") || has(*inner, attr::ITEMPROP, "contentUrl")
    };
    let inside = node.descendants().take(NEAR);
    let stated = inside.clone().filter(is_address).find_map(own_source);
    stated.or_else(|| own_source(node))
}

fn own_source(node: Node<'_>) -> Option<String> {
    let attributes = [attr::CONTENT, attr::SRC, attr::HREF].into_iter();
    let stated = attributes.filter_map(|name| node.attr(name));
    // What stands in place of an image until it is loaded is none.
    let later = ["data-src", "data-lazy-src"].into_iter();
    let later = later.filter_map(|name| node.attr_named(name));
    let mut all = stated.chain(later).map(collapse);
    all.find(|href| !href.is_empty() && !href.starts_with("data:"))
}
