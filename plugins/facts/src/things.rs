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
    /// `datePublished`, else `datePosted`, else `dateCreated`.
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
    /// Days of what it is about, on which nothing was published: of a birth, an event, a foundation.
    pub other_days: Vec<&'o str>,
    /// `itemReviewed`.
    reviewed: Option<&'o str>,
    /// Whether it is a review that is the page's own text.
    is_own_review: bool,
    /// Whether it is known to be what the page is about.
    pub is_own: bool,
}

impl<'o> Thing<'o> {
    /// Reads an object; the second value is its main entity.
    fn read(json: &'o str) -> (Self, Option<&'o str>) {
        let mut thing = Self::default();
        let mut main = None;
        let (mut creator, mut posted, mut created) = (None, None, None);
        for (key, value) in jsonld::members(json) {
            let slot = match unprefixed(key) {
                "@type" => {
                    thing.types = jsonld::strings(value).collect();
                    continue;
                }
                "@id" => &mut thing.id,
                "name" => &mut thing.name,
                "headline" => &mut thing.headline,
                "author" => &mut thing.author,
                "creator" => &mut creator,
                "datePublished" => &mut thing.published,
                "datePosted" => &mut posted,
                "dateCreated" => &mut created,
                "dateModified" => &mut thing.modified,
                "publisher" => &mut thing.publisher,
                "articleSection" => &mut thing.section,
                "keywords" => &mut thing.keywords,
                "image" => &mut thing.image,
                "thumbnailUrl" => &mut thing.thumbnail,
                "contentUrl" => &mut thing.file,
                "uploadDate" => &mut thing.uploaded,
                "url" => &mut thing.url,
                "mainEntityOfPage" => &mut thing.page,
                "mainEntity" => &mut main,
                "itemReviewed" => &mut thing.reviewed,
                "birthDate" | "deathDate" | "startDate" | "endDate" | "foundingDate"
                | "dissolutionDate" => {
                    thing.other_days.push(value);
                    continue;
                }
                _ => continue,
            };
            if !matches!(value, "null" | "\"\"" | "[]" | "{}") {
                *slot = slot.or(Some(literal(value)));
            }
        }
        thing.author = thing.author.or(creator);
        thing.published = thing.published.or(posted).or(created);
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
        let is_text = self.is_text() || self.is_own_review;
        self.is(&["Comment", "UserComments", "Answer"]) || self.is_review() && !is_text
    }

    fn is_review(&self) -> bool {
        self.is(&["Review"])
    }

    /// Whether it is about the page or the site, or stands around the content.
    fn is_frame(&self) -> bool {
        const FRAME: &[&str] = &[
            "WebSite",
            "Person",
            "ImageObject",
            "BreadcrumbList",
            "ListItem",
            "SiteNavigationElement",
            "WPHeader",
            "WPFooter",
            "Organization",
            "NewsMediaOrganization",
        ];
        self.kinds()
            .any(|kind| FRAME.contains(&kind) || kind.ends_with("Page"))
    }
}

/// Every object of the page, and the main entities of pages.
pub fn read<'o>(objects: &[Object<'o>]) -> Vec<Thing<'o>> {
    let mut things = Vec::new();
    for object in objects.iter().take(MAX_THINGS) {
        let (thing, main) = Thing::read(object.json);
        things.push(thing);
        if let Some(main) = main.filter(|json| json.starts_with('{')) {
            let mut thing = Thing::read(main).0;
            thing.is_own_review = thing.is_review();
            things.push(thing);
        }
    }
    mark_own_review(&mut things);
    things
}

/// Marks the one review of a page as its text where nothing else is its content, or where it has a
/// headline or a page of its own. Reviews of what a page sells, and praise of the site, stay
/// answers.
fn mark_own_review(things: &mut [Thing<'_>]) {
    let mut reviews = things.iter().enumerate().filter(|(_, t)| t.is_review());
    let (Some((at, review)), None) = (reviews.next(), reviews.next()) else {
        return;
    };
    let item = review.reviewed.unwrap_or("");
    let item_has =
        |key: &str, value: Option<&str>| value.is_some() && jsonld::get(item, key) == value;
    let mut others = things.iter().enumerate().filter(|(other, _)| *other != at);
    let is_alone = others.all(|(_, other)| {
        other.is_frame() && !item_has("name", other.name) && !item_has("@id", other.id)
    });
    let is_own = is_alone || review.headline.is_some() || review.page.is_some();
    if let Some(review) = things.get_mut(at) {
        review.is_own_review |= is_own;
    }
}

/// A key, which is JSON text, without its quotes and the prefix or the address of its vocabulary:
/// `author` of `"schema:author"` and of `"http://schema.org/author"`.
fn unprefixed(key: &str) -> &str {
    let name = key.trim_matches('"');
    name.rsplit([':', '/', '#']).next().unwrap_or(name)
}

/// The value of a key of an object, or of an array's first object, whatever prefix the key has.
pub fn get<'j>(json: &'j str, wanted: &str) -> Option<&'j str> {
    let object = jsonld::elements(json).next()?;
    let mut members = jsonld::members(object);
    let found = members.find(|(key, _)| unprefixed(key) == wanted);
    found.map(|(_, value)| literal(value))
}

/// The value of a value object, alone or in an array of its own, or the elements of a list or a set
/// (JSON-LD 1.1, 9.5 and 9.7); what is none of these, as it is.
pub fn literal(json: &str) -> &str {
    let mut elements = jsonld::elements(json);
    let (Some(one), None) = (elements.next(), elements.next()) else {
        return json;
    };
    let is_value = |(key, _): &(&str, _)| matches!(*key, "\"@value\"" | "\"@list\"" | "\"@set\"");
    let value = jsonld::members(one).find(is_value);
    value.map_or(json, |(_, value)| value)
}

/// The text of a JSON string as people read it; `None` where it is empty.
pub fn text(json: &str) -> Option<String> {
    let text = plain(&jsonld::string(json)?);
    (!text.is_empty()).then_some(text)
}
