//! Which of several texts in a page's JSON-LD is the page's own: teasers of others are stated in the same
//! way.

use orbweaver_sdk::jsonld;
use orbweaver_sdk::urls::Base;

use crate::Sources;
use crate::marks::Marks;
use crate::parts::strip;
use crate::site::Site;
use crate::text::{MAX_BYTES, normal, plain};
use crate::things::{self, Thing};

/// Whose a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    /// It has the page's URL.
    Page,
    /// It has the page's headline.
    Named,
    /// It does not say.
    Unknown,
    /// It has the URL of another page.
    Other,
}

/// Puts the page's own text before the others, by its URL, else by its headline. Texts of other pages
/// are then left out. Marks what is the page's own.
pub fn first<'o>(
    mut things: Vec<Thing<'o>>,
    sources: &Sources<'_>,
    marks: &Marks,
    site: &Site,
) -> Vec<Thing<'o>> {
    let is_film = |thing: &Thing<'_>| thing.is(&["VideoObject"]);
    let texts = things.iter().filter(|thing| thing.is_text()).count();
    if texts < 2 && !things.iter().any(is_film) {
        return things;
    }
    let page = OwnPage::of(sources, marks, site);
    let mut owners: Vec<Option<Owner>> = Vec::with_capacity(things.len());
    for thing in &mut things {
        let owner = (thing.is_text() || is_film(thing)).then(|| page.owner(thing, site));
        thing.is_own = matches!(owner, Some(Owner::Page | Owner::Named));
        owners.push(owner.filter(|_| thing.is_text()));
    }
    if texts < 2 {
        return things;
    }
    let Some(best @ (Owner::Page | Owner::Named)) = owners.iter().flatten().min().copied() else {
        return things;
    };
    let (mut own, mut rest) = (Vec::new(), Vec::new());
    for (thing, owner) in things.into_iter().zip(owners) {
        match owner {
            Some(owner) if owner == best => own.push(thing),
            Some(Owner::Other) => {}
            _ => rest.push(thing),
        }
    }
    own.extend(rest);
    own
}

/// What tells the page's own text.
struct OwnPage {
    base: Option<Base>,
    urls: Vec<String>,
    headlines: Vec<String>,
}

impl OwnPage {
    fn of(sources: &Sources<'_>, marks: &Marks, site: &Site) -> Self {
        let head = sources.head;
        let (base, urls) = addresses(sources);
        let titles = head.title.iter().cloned();
        let titles = titles.chain(head.meta_text(&["og:title", "twitter:title"]));
        let titles = titles.chain(marks.headings.iter().map(|h| h.text.clone()));
        let titles = titles.filter(|title| title.len() <= MAX_BYTES);
        Self {
            headlines: titles
                .map(|title| normal(strip(&plain(&title), site)))
                .filter(|title| !title.is_empty())
                .collect(),
            base,
            urls,
        }
    }

    fn owner(&self, thing: &Thing<'_>, site: &Site) -> Owner {
        let keys = |json: &str| self.base.as_ref().and_then(|base| key(base, &text(json)?));
        let stated = [thing.url, thing.page]
            .into_iter()
            .flatten()
            .filter_map(keys);
        let stated: Vec<String> = stated.collect();
        let is_own = |url: &String| self.urls.contains(url);
        // An id is no address where another one is stated, or where it is a fragment alone.
        let id = thing.id.filter(|_| stated.is_empty());
        let id = id.filter(|id| !id.starts_with("\"#") && !id.starts_with("\"_:"));
        if stated.iter().any(is_own) || id.and_then(keys).as_ref().is_some_and(is_own) {
            return Owner::Page;
        }
        let headline = thing.headline.or(thing.name).and_then(things::text);
        let headline = headline.filter(|text| text.len() <= MAX_BYTES);
        let headline = headline.map(|text| normal(strip(&text, site)));
        if headline.is_some_and(|text| self.headlines.contains(&text)) {
            return Owner::Named;
        }
        if stated.is_empty() {
            Owner::Unknown
        } else {
            Owner::Other
        }
    }
}

/// The address in a value: a string, or an object with an address or an id.
fn text(json: &str) -> Option<String> {
    let json = jsonld::elements(json).next()?;
    let named = things::get(json, "url").or_else(|| jsonld::get(json, "@id"));
    things::text(named.unwrap_or(json))
}

/// What the addresses of the page have in common with others of it: the one that answered, the
/// canonical one, and the one that is shared; with the base of its links.
pub fn addresses(sources: &Sources<'_>) -> (Option<Base>, Vec<String>) {
    let head = sources.head;
    let canonical = head
        .links
        .iter()
        .filter(|l| l.is("canonical") && l.is_in_head());
    let canonical = canonical.map(|link| link.href).take(1);
    let shared = head.all(&["og:url"]).take(1);
    let base = Base::new(sources.url);
    let mut urls: Vec<String> = Vec::new();
    for url in std::iter::once(sources.url).chain(canonical).chain(shared) {
        urls.extend(base.as_ref().and_then(|base| key(base, url)));
    }
    (base, urls)
}

/// What two addresses of a page have in common: without the scheme, `www.`, the fragment, and a slash at
/// the end.
pub fn key(base: &Base, url: &str) -> Option<String> {
    let url = base.join(url)?;
    let host = url.host().strip_prefix("www.").unwrap_or(url.host());
    let path = url.path().trim_end_matches('/');
    let query = url.query().unwrap_or("");
    Some(format!("{host}{path}?{query}"))
}
