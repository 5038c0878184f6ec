//! The author.

use orbweaver_sdk::head::Head;
use orbweaver_sdk::jsonld;

use crate::Sources;
use crate::items::Items;
use crate::marks::Marks;
use crate::names;
use crate::nearby::Nearby;
use crate::site::Site;
use crate::text::{MAX_BYTES, readable};
use crate::things::{self, Thing};

/// What the page says, the surest first: the persons that JSON-LD states of the text, metas (which
/// name the publisher, or the first of several authors, more often), JSON-LD's other persons,
/// Microdata and `rel=author`, bylines near the headline. The site itself, or an organisation,
/// counts only where nobody else is named. `nearby` is called only if needed.
pub fn decide<'n>(
    sources: &Sources<'_>,
    things: &[Thing<'_>],
    marks: &Marks,
    nearby: impl Fn() -> &'n Nearby,
    site: &Site,
) -> Option<String> {
    let stated = Stated::of(things, sources.language);
    let named = [
        stated.of_text,
        metas(sources, marks.items, site),
        stated.persons,
        marks.author.names(),
        marks.linked.names(),
    ];
    let near = std::iter::once_with(|| {
        let mut near: Vec<_> = nearby().bylines.iter().collect();
        near.sort_by_key(|byline| byline.doubt);
        near.into_iter().map(|byline| byline.name.clone())
    });
    let mut of_site = None;
    let mut login = None;
    let mut account = None;
    let sure = named.iter().flatten().count();
    for (at, name) in named
        .into_iter()
        .flatten()
        .chain(near.flatten())
        .enumerate()
    {
        if site.is_name(&name) || is_organisation(&name) || holds_rights(sources.head, &name) {
            of_site = of_site.or(Some(name));
        } else if is_account(&name) {
            account = account.or(Some(name));
        } else if at < sure && is_login(&name) {
            // Systems that keep a login only; another place may have the name.
            login = login.or(Some(name));
        } else if at < sure || login.is_none() {
            return Some(name);
        }
    }
    login.or(stated.organisations).or(of_site).or(account)
}

/// Whether a name is that of the account that a system comes with, and of nobody.
fn is_account(name: &str) -> bool {
    const ACCOUNTS: [&str; 8] = [
        "admin",
        "administrator",
        "siteadmin",
        "superadmin",
        "sysadmin",
        "webadmin",
        "webmaster",
        "wpadmin",
    ];
    ACCOUNTS
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a name is rather that of an account: one word without a capital.
fn is_login(name: &str) -> bool {
    name.is_ascii() && !name.contains(' ') && !name.contains(|c: char| c.is_ascii_uppercase())
}

/// Whether a name is that of a company, by its legal form, or an address of the Web.
fn is_organisation(name: &str) -> bool {
    let last = name.rsplit_once(' ').map(|(_, last)| last);
    last.is_some_and(names::is_legal_form) || name.contains("www.")
}

/// Authors named in metas. `article:author` is a profile's URL on many sites; that names
/// nobody.
fn metas(sources: &Sources<'_>, items: Items, site: &Site) -> Option<String> {
    let head = sources.head;
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
        "citation_authors",
        "bepress_citation_author",
        "og:article:author",
        "twitter:data1",
    ];
    const LISTS: &[&str] = &[
        "article:author",
        "citation_author",
        "bepress_citation_author",
        "dc.creator",
        "dcterms.creator",
    ];
    /// Authors of one page.
    const MAX_AUTHORS: usize = 20;
    // Twitter's free slots hold the author only where the label says so.
    let labelled = head.all(&["twitter:label1"]).next().is_some_and(|label| {
        ["written by", "author", "by"]
            .iter()
            .any(|known| label.eq_ignore_ascii_case(known))
    });
    let known = NAMES
        .iter()
        .filter(|name| labelled || **name != "twitter:data1");
    let mut of_site = None;
    for name in known {
        let mut found: Vec<String> = Vec::new();
        for content in items
            .metas(head, std::slice::from_ref(name))
            .take(MAX_AUTHORS)
        {
            let content = readable(content);
            let turned = turned(name, &content);
            let person = turned.or_else(|| names::stated(&content, sources.language));
            if let Some(person) = person.filter(|person| !found.contains(person)) {
                found.push(person);
            }
        }
        // These are lists, with a meta for each author; elsewhere the first is the page's.
        let is_list =
            LISTS.contains(name) || *name == "author" && is_list_of_people(&found, head, site);
        if !is_list {
            found.truncate(1);
        }
        if found.is_empty() {
            continue;
        }
        let found = found.join(", ");
        if site.is_name(&found) || holds_rights(head, &found) {
            of_site = of_site.or(Some(found));
        } else {
            return Some(found);
        }
    }
    of_site
}

/// Whether the page says that this is who publishes it, or has its rights.
fn holds_rights(head: &Head<'_>, name: &str) -> bool {
    const METAS: &[&str] = &[
        "copyright",
        "dc.publisher",
        "dcterms.publisher",
        "publisher",
    ];
    let wanted = name.to_lowercase();
    // As words of their own: "Li" has no rights of "Publishing".
    let has = |stated: &str| {
        let stated = stated.to_lowercase();
        stated.match_indices(&wanted).any(|(at, found)| {
            let before = stated.get(..at).unwrap_or_default();
            let behind = stated.get(at + found.len()..).unwrap_or_default();
            !before.ends_with(char::is_alphanumeric) && !behind.starts_with(char::is_alphanumeric)
        })
    };
    !wanted.is_empty()
        && head
            .all(METAS)
            .any(|stated| stated.len() <= MAX_BYTES && has(stated))
}

/// Whether repeated metas name the authors of a text, one each, and not a site or its maker, too.
fn is_list_of_people(names: &[String], head: &Head<'_>, site: &Site) -> bool {
    /// Programs that write a meta for each author.
    const PROGRAMS: &[&str] = &["pandoc", "quarto"];
    let is_person = |name: &String| {
        names::is_person(name)
            && !names::tells_of_person(name, "")
            && !is_organisation(name)
            && !site.is_name(name)
    };
    let by_program = |generator: &str| {
        let generator = generator.to_ascii_lowercase();
        PROGRAMS.iter().any(|known| generator.starts_with(known))
    };
    names.iter().all(is_person) || head.all(&["generator"]).any(by_program)
}

/// The name in a meta of libraries, which put the family name first: "Lee, Ann". Two full names are a
/// list, where not every meta has one.
fn turned(meta: &str, content: &str) -> Option<String> {
    let of_one = meta.ends_with("citation_author");
    let (family, given) = content.split_once(',')?;
    let is_list = !of_one && names::is_person(family) && names::is_person(given.trim());
    let of_library = of_one || meta.ends_with(".creator") || meta == "citation_authors";
    let found = (of_library && !is_list).then(|| names::inverted(content))?;
    found.filter(|name| names::is_name(name))
}

/// What JSON-LD states of the content's author.
#[derive(Default)]
struct Stated {
    /// The author of an article, a post or the like.
    of_text: Option<String>,
    /// Authors of anything.
    persons: Option<String>,
    organisations: Option<String>,
}

impl Stated {
    fn of(things: &[Thing<'_>], language: &str) -> Self {
        let mut stated = Self::default();
        // Each look-up of a reference reads all objects' ids.
        let mut references = 16;
        for thing in things.iter().filter(|thing| !thing.is_answer()) {
            let Some(author) = thing.author else { continue };
            let (persons, organisations) = people(author, things, language, &mut references);
            if thing.is_text() {
                stated.of_text = persons.clone();
            }
            stated.persons = stated.persons.or(persons);
            stated.organisations = stated.organisations.or(organisations);
            if stated.of_text.is_some() {
                break;
            }
        }
        stated
    }
}

/// The names of people and of organisations: strings, objects with a name, or references to
/// objects of the same page, of which at most so many are followed.
fn people(
    json: &str,
    things: &[Thing<'_>],
    language: &str,
    references: &mut u32,
) -> (Option<String>, Option<String>) {
    const MAX_AUTHORS: usize = 20;
    let (mut persons, mut organisations): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for author in jsonld::elements(json).take(MAX_AUTHORS) {
        let mut kind = jsonld::get(author, "@type").unwrap_or("");
        let mut name = things::get(author, "name");
        if name.is_none()
            && let Some(id) = jsonld::get(author, "@id")
            && *references > 0
        {
            *references -= 1;
            if let Some(thing) = things
                .iter()
                .find(|thing| thing.id == Some(id) && thing.name.is_some())
            {
                name = thing.name;
                kind = if thing.kinds().any(|kind| kind.ends_with("Organization")) {
                    "Organization"
                } else {
                    "Person"
                };
            }
        }
        let is_organisation = kind.contains("Organization");
        let list = if is_organisation {
            &mut organisations
        } else {
            &mut persons
        };
        for text in jsonld::strings(name.unwrap_or(author)).take(MAX_AUTHORS) {
            let text = readable(&text);
            // An organisation's name may be long; a person's is read as one.
            let name = if is_organisation {
                Some(text)
            } else {
                names::stated(&text, language)
            };
            if let Some(name) =
                name.filter(|n| !n.is_empty() && !n.contains("://") && !list.contains(n))
            {
                list.push(name);
            }
        }
    }
    let join = |list: Vec<String>| (!list.is_empty()).then(|| list.join(", "));
    (join(persons), join(organisations))
}
