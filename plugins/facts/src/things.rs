//! The page's JSON-LD objects with the values that are asked for, from one pass over them.

use std::borrow::Cow;

use orbweaver_sdk::jsonld::{self, Object};

use crate::text::plain;

/// Objects that are read.
const MAX_THINGS: usize = 200;

/// One object. Values are JSON text.
#[derive(Clone, Debug, Default)]
pub struct Thing<'o> {
    types: Vec<Cow<'o, str>>,
    /// `@id`.
    pub id: Option<&'o str>,
    /// `name`.
    pub name: Option<&'o str>,
    /// `headline`.
    pub headline: Option<&'o str>,
    /// `author`, else `creator`.
    pub author: Option<&'o str>,
    /// `datePublished`, else `dateCreated`.
    pub published: Option<&'o str>,
    /// `dateModified`.
    pub modified: Option<&'o str>,
    /// `publisher`.
    pub publisher: Option<&'o str>,
    /// `articleSection`.
    pub section: Option<&'o str>,
    /// `keywords`.
    pub keywords: Option<&'o str>,
    /// `image`.
    pub image: Option<&'o str>,
    /// `thumbnailUrl`.
    pub thumbnail: Option<&'o str>,
    /// `contentUrl`: of a file.
    pub file: Option<&'o str>,
    /// `uploadDate`: of a film.
    pub uploaded: Option<&'o str>,
    /// `url`.
    pub url: Option<&'o str>,
    /// `mainEntityOfPage`.
    pub page: Option<&'o str>,
    /// Whether it is known to be what the page is about.
    pub is_own: bool,
}

impl<'o> Thing<'o> {
    /// Reads an object; the second value is its main entity.
    fn read(json: &'o str) -> (Self, Option<&'o str>) {
        let mut thing = Self::default();
        let mut main = None;
        let (mut creator, mut created) = (None, None);
        for (key, value) in jsonld::members(json) {
            let slot = match key {
                "\"@type\"" => {
                    thing.types = jsonld::strings(value).collect();
                    continue;
                }
                "\"@id\"" => &mut thing.id,
                "\"name\"" => &mut thing.name,
                "\"headline\"" => &mut thing.headline,
                "\"author\"" => &mut thing.author,
                "\"creator\"" => &mut creator,
                "\"datePublished\"" => &mut thing.published,
                "\"dateCreated\"" => &mut created,
                "\"dateModified\"" => &mut thing.modified,
                "\"publisher\"" => &mut thing.publisher,
                "\"articleSection\"" => &mut thing.section,
                "\"keywords\"" => &mut thing.keywords,
                "\"image\"" => &mut thing.image,
                "\"thumbnailUrl\"" => &mut thing.thumbnail,
                "\"contentUrl\"" => &mut thing.file,
                "\"uploadDate\"" => &mut thing.uploaded,
                "\"url\"" => &mut thing.url,
                "\"mainEntityOfPage\"" => &mut thing.page,
                "\"mainEntity\"" => &mut main,
                _ => continue,
            };
            if !matches!(value, "null" | "\"\"" | "[]" | "{}") {
                *slot = slot.or(Some(value));
            }
        }
        thing.author = thing.author.or(creator);
        thing.published = thing.published.or(created);
        (thing, main)
    }

    /// Whether one of its types is one of these, as a name or as schema.org's URL.
    pub fn is(&self, wanted: &[&str]) -> bool {
        self.kinds().any(|kind| wanted.contains(&kind))
    }

    /// Its types without schema.org's address.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.types
            .iter()
            .map(|kind| kind.rsplit(['/', '#', ':']).next().unwrap_or(kind))
    }

    /// Whether it is a text: an article, a post, a report, a recipe.
    pub fn is_text(&self) -> bool {
        self.kinds().any(|kind| {
            kind.ends_with("Article")
                || kind.ends_with("Posting")
                || matches!(kind, "Report" | "Recipe")
        })
    }

    /// Whether it is what others say about the page's subject, with an author and dates of its
    /// own.
    pub fn is_answer(&self) -> bool {
        self.is(&["Comment", "Review", "UserComments", "Answer"])
    }
}

/// Every object of the page, and the main entities of pages.
pub fn read<'o>(objects: &[Object<'o>]) -> Vec<Thing<'o>> {
    let mut things = Vec::new();
    for object in objects.iter().take(MAX_THINGS) {
        let (thing, main) = Thing::read(object.json);
        things.push(thing);
        if let Some(main) = main.filter(|json| json.starts_with('{')) {
            things.push(Thing::read(main).0);
        }
    }
    things
}

/// The text of a JSON string as people read it; `None` where it is empty.
pub fn text(json: &str) -> Option<String> {
    let text = plain(&jsonld::string(json)?);
    (!text.is_empty()).then_some(text)
}
