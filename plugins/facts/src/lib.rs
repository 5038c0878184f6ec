//! What a page says about itself, decided from everything that it says: `extract-metadata`
//! answers with it, `extract-article` shares it.
//!
//! One pass over the document collects what is marked (`marks`), a second one looks at the
//! neighbourhood of the headline (`nearby`), where pages put author and date. Both are bounded:
//! no page costs more than a constant beyond its length.

mod author;
mod brand;
mod class;
mod date_meaning;
pub mod dates;
mod footers;
mod headline;
mod image;
mod items;
pub mod language;
mod linked;
mod marks;
mod names;
mod nearby;
mod own;
mod parts;
mod profile;
mod publication_dates;
mod site;
mod stamps;
mod teasers;
mod text;
mod things;
mod together;
mod topics;

use std::cell::LazyCell;
use std::rc::Rc;

use orbweaver_sdk::Page;
use orbweaver_sdk::dom::View;
use orbweaver_sdk::head::Head;
use orbweaver_sdk::jsonld::Object;

pub use items::Items;
use marks::Marks;
pub use marks::heading_text;
use nearby::Nearby;
use site::Site;
pub use text::readable;
pub use topics::LIST_SIGNS;

/// What the facts are decided from.
#[derive(Clone, Copy)]
pub struct Sources<'p> {
    /// The parsed document.
    pub view: &'p View<'p>,
    /// The URL that answered.
    pub url: &'p str,
    /// What the head says.
    pub head: &'p Head<'p>,
    /// The page's JSON-LD objects that have a type.
    pub objects: &'p [Object<'p>],
    /// The declared language, a BCP 47 tag; empty where none is declared.
    pub language: &'p str,
    /// When the page was answered, as its header `Date` says; empty where it has none.
    pub answered: &'p str,
}

/// The facts; `None` where the page does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The title element without the site's name: always a part of it. Where there is no title
    /// element, `og:title` or `twitter:title`.
    pub title: Option<String>,
    /// What the page calls its content, as title element, `og:title`, JSON-LD and `h1` agree.
    pub headline: Option<String>,
    /// Author or authors, divided by commas.
    pub author: Option<String>,
    /// When it was published, ISO 8601.
    pub published: Option<String>,
    /// When it was last changed, ISO 8601.
    pub modified: Option<String>,
    /// The site's name: as it is stated, else the part of the title element that is made of the host.
    pub site_name: Option<String>,
    /// The section of the site.
    pub section: Option<String>,
    /// Tags, without repetition.
    pub tags: Vec<String>,
    /// The main image's URL, as written.
    pub image: Option<String>,
}

/// The facts of a page for readers who take it to be in this language.
struct InLanguage {
    language: String,
    facts: Rc<Facts>,
}

impl Facts {
    /// The facts of a page, decided once for all roles that take it to be in the same language. The sources
    /// must be those of the page.
    pub fn shared(page: &Page<'_>, sources: &Sources<'_>) -> Rc<Self> {
        let known = page.shared(|| InLanguage {
            language: sources.language.to_owned(),
            facts: Rc::new(Self::of(sources)),
        });
        if known.language == sources.language {
            Rc::clone(&known.facts)
        } else {
            Rc::new(Self::of(sources))
        }
    }

    /// Decides the facts of a page.
    pub fn of(sources: &Sources<'_>) -> Self {
        let things = things::read(sources.objects);
        let marks = Marks::of(sources);
        let mut site = Site::of(sources, &things);
        site.learn(marks.brand.as_ref(), sources.head.title.as_deref());
        let things = own::first(things, sources, &marks, &site);
        let titles = headline::decide(sources, &things, &marks, &site);
        // Most pages state author and dates, and need no look around.
        let nearby = LazyCell::new(|| Nearby::of(sources, &marks, titles.h1));
        let nearby = || LazyCell::force(&nearby);
        let times = publication_dates::decide(sources, &things, &marks, nearby);
        Self {
            author: author::decide(sources, &things, &marks, nearby, &site),
            title: titles.title,
            headline: titles.headline,
            published: times.published,
            modified: times.modified,
            section: topics::section(sources, &things, &marks),
            tags: topics::tags(sources, &things, &marks),
            image: image::decide(sources, &things, &marks),
            site_name: site.name.or(titles.site),
        }
    }
}
