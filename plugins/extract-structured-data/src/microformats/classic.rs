//! Classic microformats (`vcard`, `hentry` and their like), read as microformats2 by the
//! parsing specification's section "parsing for backward compatible classes".

use super::property::Kind::{self, Markup, Text, Time, Url};

/// A classic root class, and what its properties are called now.
pub struct Vocabulary {
    class: &'static str,
    /// The root of microformats2.
    pub root: &'static str,
    properties: &'static [(&'static str, Kind, &'static str)],
    /// By `rel` instead of by class.
    relations: &'static [(&'static str, Kind, &'static str)],
}

const fn vocabulary(
    class: &'static str,
    root: &'static str,
    properties: &'static [(&'static str, Kind, &'static str)],
) -> Vocabulary {
    Vocabulary {
        class,
        root,
        properties,
        relations: &[],
    }
}

const ENTRY: &[(&str, Kind, &str)] = &[
    ("entry-title", Text, "name"),
    ("entry-summary", Text, "summary"),
    ("entry-content", Markup, "content"),
    ("published", Time, "published"),
    ("updated", Time, "updated"),
    ("author", Text, "author"),
    ("category", Text, "category"),
    ("geo", Text, "geo"),
];

const ADDRESS: &[(&str, Kind, &str)] = &[
    ("post-office-box", Text, "post-office-box"),
    ("extended-address", Text, "extended-address"),
    ("street-address", Text, "street-address"),
    ("locality", Text, "locality"),
    ("region", Text, "region"),
    ("postal-code", Text, "postal-code"),
    ("country-name", Text, "country-name"),
];

const VOCABULARIES: &[Vocabulary] = &[
    Vocabulary {
        class: "hentry",
        root: "h-entry",
        properties: ENTRY,
        relations: &[("bookmark", Url, "url"), ("tag", Text, "category")],
    },
    vocabulary(
        "vcard",
        "h-card",
        &[
            ("fn", Text, "name"),
            ("honorific-prefix", Text, "honorific-prefix"),
            ("given-name", Text, "given-name"),
            ("additional-name", Text, "additional-name"),
            ("family-name", Text, "family-name"),
            ("honorific-suffix", Text, "honorific-suffix"),
            ("nickname", Text, "nickname"),
            ("email", Url, "email"),
            ("logo", Url, "logo"),
            ("photo", Url, "photo"),
            ("url", Url, "url"),
            ("uid", Url, "uid"),
            ("category", Text, "category"),
            ("adr", Text, "adr"),
            ("geo", Text, "geo"),
            ("label", Text, "label"),
            ("street-address", Text, "street-address"),
            ("extended-address", Text, "extended-address"),
            ("locality", Text, "locality"),
            ("region", Text, "region"),
            ("postal-code", Text, "postal-code"),
            ("country-name", Text, "country-name"),
            ("latitude", Text, "latitude"),
            ("longitude", Text, "longitude"),
            ("tel", Text, "tel"),
            ("bday", Time, "bday"),
            ("key", Url, "key"),
            ("org", Text, "org"),
            ("organization-name", Text, "organization-name"),
            ("organization-unit", Text, "organization-unit"),
            ("title", Text, "job-title"),
            ("role", Text, "role"),
            ("note", Text, "note"),
            ("rev", Time, "rev"),
        ],
    ),
    vocabulary("adr", "h-adr", ADDRESS),
    vocabulary(
        "geo",
        "h-geo",
        &[
            ("latitude", Text, "latitude"),
            ("longitude", Text, "longitude"),
        ],
    ),
    Vocabulary {
        class: "hfeed",
        root: "h-feed",
        properties: &[
            ("author", Text, "author"),
            ("photo", Url, "photo"),
            ("url", Url, "url"),
            ("site-title", Text, "name"),
            ("title", Text, "name"),
            ("site-description", Text, "summary"),
            ("description", Text, "summary"),
            ("category", Text, "category"),
        ],
        relations: &[("tag", Text, "category")],
    },
    vocabulary(
        "hnews",
        "h-news",
        &[
            ("entry", Text, "entry"),
            ("geo", Text, "geo"),
            ("latitude", Text, "latitude"),
            ("longitude", Text, "longitude"),
            ("source-org", Text, "source-org"),
            ("dateline", Text, "dateline"),
            ("item-license", Url, "item-license"),
            ("principles", Url, "principles"),
        ],
    ),
    vocabulary(
        "vevent",
        "h-event",
        &[
            ("summary", Text, "name"),
            ("dtstart", Time, "start"),
            ("dtend", Time, "end"),
            ("duration", Time, "duration"),
            ("description", Text, "description"),
            ("url", Url, "url"),
            ("category", Text, "category"),
            ("location", Text, "location"),
            ("geo", Text, "location"),
            ("attendee", Text, "attendee"),
            ("contact", Text, "contact"),
            ("organizer", Text, "organizer"),
        ],
    ),
    vocabulary(
        "hproduct",
        "h-product",
        &[
            ("fn", Text, "name"),
            ("photo", Url, "photo"),
            ("brand", Text, "brand"),
            ("category", Text, "category"),
            ("description", Text, "description"),
            ("identifier", Url, "identifier"),
            ("url", Url, "url"),
            ("review", Text, "review"),
            ("price", Text, "price"),
        ],
    ),
    vocabulary(
        "hrecipe",
        "h-recipe",
        &[
            ("fn", Text, "name"),
            ("ingredient", Text, "ingredient"),
            ("yield", Text, "yield"),
            ("instructions", Markup, "instructions"),
            ("duration", Time, "duration"),
            ("photo", Url, "photo"),
            ("summary", Text, "summary"),
            ("author", Text, "author"),
            ("nutrition", Text, "nutrition"),
            ("category", Text, "category"),
        ],
    ),
    vocabulary(
        "hresume",
        "h-resume",
        &[
            ("summary", Text, "summary"),
            ("contact", Text, "contact"),
            ("education", Text, "education"),
            ("experience", Text, "experience"),
            ("skill", Text, "skill"),
            ("affiliation", Text, "affiliation"),
        ],
    ),
    vocabulary(
        "hreview",
        "h-review",
        &[
            ("summary", Text, "name"),
            ("item", Text, "item"),
            ("reviewer", Text, "author"),
            ("dtreviewed", Time, "published"),
            ("rating", Text, "rating"),
            ("best", Text, "best"),
            ("worst", Text, "worst"),
            ("description", Markup, "content"),
            ("url", Url, "url"),
        ],
    ),
    vocabulary(
        "hreview-aggregate",
        "h-review-aggregate",
        &[
            ("summary", Text, "name"),
            ("item", Text, "item"),
            ("rating", Text, "rating"),
            ("best", Text, "best"),
            ("worst", Text, "worst"),
            ("average", Text, "average"),
            ("count", Text, "count"),
            ("votes", Text, "votes"),
            ("description", Text, "description"),
            ("photo", Url, "photo"),
            ("url", Url, "url"),
            ("reviewer", Text, "author"),
            ("dtreviewed", Time, "reviewed"),
        ],
    ),
];

/// The vocabulary of the first classic root class among these.
pub fn root(class: &str) -> Option<&'static Vocabulary> {
    class
        .split_ascii_whitespace()
        .find_map(|token| VOCABULARIES.iter().find(|v| v.class == token))
}

impl Vocabulary {
    /// The properties that an element's classes and relations name.
    pub fn properties<'a>(
        &'static self,
        class: &'a str,
        rel: &'a str,
    ) -> impl Iterator<Item = (Kind, &'static str)> + 'a {
        let of = |list: &'static [(&'static str, Kind, &'static str)], words: &'a str| {
            words.split_ascii_whitespace().filter_map(move |word| {
                let (_, kind, name) = list.iter().find(|(old, _, _)| *old == word)?;
                Some((*kind, *name))
            })
        };
        of(self.properties, class).chain(of(self.relations, rel))
    }
}
