//! The dates on which a page was published and changed.

use orbweaver_sdk::text::collapse;

use crate::Sources;
use crate::date_meaning::{DateMeaning, Stamp};
use crate::dates::{self, Manner, day_number};
use crate::items::Items;
use crate::marks::Marks;
use crate::nearby::Nearby;
use crate::things::{self, Thing};

/// Both times, ISO 8601.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The time of publication.
    pub published: Option<String>,
    /// The time of the last change.
    pub modified: Option<String>,
}

/// Decides both times: metas, then JSON-LD, then Microdata, then what stands near the headline,
/// then the URL. Neither is after the day of the answer. `nearby` is called only if needed.
///
/// Programs that write sites state in JSON-LD when each page was made, also of what nobody
/// publishes: a shop's article, a list, a service. Such a date of a `WebPage` counts where readers
/// are shown it, too.
pub fn decide<'n>(
    sources: &Sources<'_>,
    things: &[Thing<'_>],
    marks: &Marks,
    nearby: impl Fn() -> &'n Nearby,
) -> Times {
    let manner = Manner::of(sources.language);
    let read = |value: &String| dates::read(value, manner);
    // A date in the future is no date of publication.
    let answered = dates::read(sources.answered, manner).and_then(|date| day_number(&date));
    let is_past = |date: &String| match (day_number(date), answered) {
        (Some(day), Some(answered)) => day <= answered + 1,
        _ => true,
    };
    let near = |meaning: DateMeaning| {
        let mut found: Vec<&Stamp> = nearby()
            .stamps
            .iter()
            .filter(|stamp| stamp.meaning == meaning && is_past(&stamp.date))
            .collect();
        // A day of which nothing is said may be that of a birth or an event.
        if meaning == DateMeaning::Nothing && !found.is_empty() {
            let others = other_days(things, manner);
            found.retain(|stamp| {
                !others
                    .iter()
                    .any(|day| stamp.date.get(..10) == day.get(..10))
            });
        }
        found.sort_by_key(|stamp| stamp.doubt);
        found.first().map(|stamp| stamp.date.clone())
    };
    let is_shown = |date: &String| {
        let day = date.get(..10);
        let near = nearby().stamps.iter();
        day.is_some()
            && (near.clone().any(|stamp| stamp.date.get(..10) == day)
                || in_url(sources.url).as_deref() == day)
    };
    let of_page = |thing: &Thing<'_>| thing.is(PAGES) && !thing.is_text();
    let published = meta(sources, marks.items, PUBLISHED_METAS, manner)
        .filter(is_past)
        .or_else(|| {
            let not_of_page = |thing: &&Thing<'_>| !of_page(thing);
            stated(
                things.iter().filter(not_of_page),
                |thing| thing.published,
                manner,
            )
            .filter(is_past)
        })
        .or_else(|| of_film(things, manner).filter(is_past))
        .or_else(|| marks.published.iter().find_map(read).filter(is_past))
        .or_else(|| {
            let of_page = things.iter().filter(|thing| of_page(thing));
            stated(of_page, |thing| thing.published, manner)
                .filter(|date| is_past(date) && is_shown(date))
        })
        .or_else(|| near(DateMeaning::Published))
        .or_else(|| near(DateMeaning::Nothing))
        .or_else(|| in_url(sources.url).filter(is_past));
    let modified = meta(sources, marks.items, MODIFIED_METAS, manner)
        .filter(is_past)
        .or_else(|| stated(things.iter(), |thing| thing.modified, manner).filter(is_past))
        .or_else(|| marks.modified.iter().find_map(read).filter(is_past))
        .or_else(|| near(DateMeaning::Modified));
    Times {
        published,
        modified,
    }
}

/// Types of pages that say nothing of what the page holds.
const PAGES: &[&str] = &[
    "WebPage",
    "ItemPage",
    "CollectionPage",
    "AboutPage",
    "ContactPage",
    "ProfilePage",
    "SearchResultsPage",
];

const PUBLISHED_METAS: &[&str] = &[
    "article:published_time",
    "og:article:published_time",
    "og:published_time",
    "datepublished",
    "dcterms.issued",
    "dc.date.issued",
    "dcterms.created",
    "dc.date.created",
    "dc.date",
    "dcterms.date",
    "date",
    "pubdate",
    "publish-date",
    "publish_date",
    "published_time",
    "publication_date",
    "parsely-pub-date",
    "sailthru.date",
    "bytedance:published_time",
    "citation_publication_date",
    "citation_date",
    "citation_online_date",
];

const MODIFIED_METAS: &[&str] = &[
    "article:modified_time",
    "og:updated_time",
    "og:article:modified_time",
    "og:modified_time",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
    "last_modified",
    "lastmod",
    "modified_time",
];

/// The first meta of these names that holds a date.
fn meta(sources: &Sources<'_>, items: Items, names: &[&str], manner: Manner<'_>) -> Option<String> {
    names.iter().find_map(|name| {
        let mut contents = items
            .metas(sources.head, std::slice::from_ref(name))
            .take(4);
        contents.find_map(|content| {
            let content = collapse(content);
            let of_library = name.starts_with("citation_");
            let month = of_library.then(|| month_of_library(&content)).flatten();
            month.or_else(|| dates::read(&content, manner))
        })
    })
}

/// The days that JSON-LD states of what the page is about.
fn other_days(things: &[Thing<'_>], manner: Manner<'_>) -> Vec<String> {
    /// Days that are compared.
    const MOST: usize = 64;
    let stated = things.iter().flat_map(|thing| &thing.other_days).take(MOST);
    stated
        .filter_map(|json| dates::read(&things::text(json)?, manner))
        .filter(|date| date.len() >= 10)
        .collect()
}

/// A month as Google Scholar has it, which writes all its dates with slashes: `2020/05`, `2020/5`.
fn month_of_library(content: &str) -> Option<String> {
    let (year, month) = content.split_once('/')?;
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if year.len() != 4 || !matches!(month.len(), 1 | 2) || !is_number(year) || !is_number(month) {
        return None;
    }
    dates::iso(&format!("{year}-{month:0>2}"))
}

/// A date that JSON-LD states of the content, else of whatever the page is about.
fn stated<'t, 'o: 't>(
    things: impl Iterator<Item = &'t Thing<'o>> + Clone,
    value: impl Fn(&Thing<'o>) -> Option<&'o str>,
    manner: Manner<'_>,
) -> Option<String> {
    /// Things within a page that have dates of their own.
    const PARTS: &[&str] = &[
        "ImageObject",
        "VideoObject",
        "Person",
        "Organization",
        "WebSite",
        "Dataset",
        "Event",
    ];
    let date = |thing: &Thing<'o>| {
        let value = value(thing)?;
        // Seconds or milliseconds may be a number.
        let number = value.bytes().all(|b| b.is_ascii_digit());
        let text = if number {
            Some(value.to_owned())
        } else {
            things::text(value)
        };
        dates::read(&text?, manner)
    };
    let own = || things.clone().filter(|thing| !thing.is_answer());
    own()
        .filter(|thing| thing.is_text())
        .find_map(date)
        .or_else(|| own().filter(|thing| !thing.is(PARTS)).find_map(date))
}

/// When the film was published that the page is about, and nothing else. A film that has another
/// name stands on the page of a section.
fn of_film(things: &[Thing<'_>], manner: Manner<'_>) -> Option<String> {
    /// Things that are no content.
    const FRAME: &[&str] = &[
        "WebSite",
        "Person",
        "ImageObject",
        "BreadcrumbList",
        "ListItem",
        "SiteNavigationElement",
        "WPHeader",
        "WPFooter",
    ];
    let is_frame = |thing: &Thing<'_>| {
        thing.is(FRAME)
            || thing.is(PAGES)
            || thing.is_answer()
            || thing.kinds().any(|kind| kind.ends_with("Organization"))
    };
    let mut content = things.iter().filter(|thing| !is_frame(thing));
    let (film, None) = (content.next()?, content.next()) else {
        return None;
    };
    let date = film.published.or(film.uploaded);
    let date = date.filter(|_| film.is(&["VideoObject"]) && film.is_own)?;
    dates::read(&things::text(date)?, manner)
}

/// `…/2024/03/14/…`, `…/2024-03-14-…` and `…/14-03-2024-…` in the path.
fn in_url(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let path = rest.split(['?', '#']).next()?;
    let (_, path) = path.split_once('/')?;
    let mut numbers: Vec<(usize, u32)> = Vec::new();
    for part in path.split(['/', '-', '_']).take(40) {
        match part.parse::<u32>() {
            Ok(number) if part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit()) => {
                numbers.push((part.len(), number))
            }
            _ => numbers.clear(),
        }
        let (year, month, day) = match numbers.as_slice() {
            [.., (4, year), (1 | 2, month), (1 | 2, day)] => (*year, *month, *day),
            // Day and month can be told apart only where the day is no month.
            [.., (2, day @ 13..), (2, month), (4, year)] => (*year, *month, *day),
            [.., (2, month), (2, day @ 13..), (4, year)] => (*year, *month, *day),
            [.., (2, day), (2, month), (4, year)] if day == month => (*year, *month, *day),
            _ => continue,
        };
        if (1990..=2099).contains(&year) && dates::is_date(year, month, day) {
            return Some(format!("{year:04}-{month:02}-{day:02}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_may_tell_the_day() {
        for (url, expected) in [
            ("https://e.org/2024/03/14/title", Some("2024-03-14")),
            ("https://e.org/blog/2024-3-4-title", Some("2024-03-04")),
            ("https://e.org/2024/03/title", None),
            ("https://e.org/29-10-2024", Some("2024-10-29")),
            ("https://e.org/10-29-2024-title", Some("2024-10-29")),
            ("https://e.org/03-04-2024", None),
            ("https://e.org/p/2024/99/14", None),
            ("https://e.org/a?d=2024/03/14", None),
            ("https://2024.e.org/03/14", None),
            ("https://e.org", None),
        ] {
            assert_eq!(in_url(url).as_deref(), expected, "{url}");
        }
    }
}
