//! The site's name, and whether a text is it.

use std::ops::Range;

use orbweaver_sdk::text::letters;

use crate::Sources;
use crate::brand::Name;
use crate::parts::segments;
use crate::text::{MAX_BYTES, plain};
use crate::things::{self, Thing};

/// Types of those who run a site.
const ORGANISATIONS: &[&str] = &[
    "Organization",
    "NewsMediaOrganization",
    "Corporation",
    "OnlineStore",
    "LocalBusiness",
];

/// Names that are kept.
const MAX_NAMES: usize = 12;

/// What is known about the site's name.
#[derive(Debug, Default)]
pub struct Site {
    /// The name, as the page writes it.
    pub name: Option<String>,
    /// Letters of every name that the page states.
    stated: Vec<String>,
    /// Letters of the host without `www` and dots.
    host: String,
    /// Letters of the host's labels.
    labels: Vec<String>,
}

impl Site {
    /// Collects the names.
    pub fn of(sources: &Sources<'_>, things: &[Thing<'_>]) -> Self {
        let mut site = Self::default();
        site.read_host(sources.url);
        let head = sources.head;
        let name_of = |kinds: &[&str], is_person: bool| {
            let of_kind =
                |thing: &&Thing<'_>| thing.is(kinds) && thing.is(&["Person"]) == is_person;
            let mut found = things.iter().filter(of_kind);
            found.find_map(|thing| things::text(thing.name?))
        };
        let publisher = || {
            let mut found = things.iter();
            found.find_map(|thing| things::text(things::get(thing.publisher?, "name")?))
        };
        let names = [
            head.meta_text(&["og:site_name"]),
            head.meta_text(&["application-name"]),
            name_of(&["WebSite"], false),
            publisher(),
            head.meta_text(&["apple-mobile-web-app-title"]),
            name_of(ORGANISATIONS, false),
        ];
        for name in names
            .into_iter()
            .flatten()
            .map(|name| plain(&name))
            .filter(|name| name.len() <= MAX_BYTES)
        {
            let key = letters(&name);
            if !key.is_empty() && site.stated.len() < MAX_NAMES && !site.stated.contains(&key) {
                site.stated.push(key);
            }
            site.name = site.name.or(Some(name));
        }
        // Who publishes a site of their own under another name is a person, who may be the author.
        if site.name.is_none()
            && let Some(name) = name_of(ORGANISATIONS, true).map(|name| plain(&name))
            && name.len() <= MAX_BYTES
            && !letters(&name).is_empty()
        {
            site.stated.push(letters(&name));
            site.name = Some(name);
        }
        site
    }

    /// Takes what the page calls the start page for a name where it is the end of the title, too, or its
    /// beginning: folders are parts of a site, which titles begin with.
    pub fn learn(&mut self, brand: Option<&Name>, title: Option<&str>) {
        let Some(brand) = brand.filter(|brand| !self.is_stated(&brand.text)) else {
            return;
        };
        let title = plain(title.filter(|title| title.len() <= MAX_BYTES).unwrap_or(""));
        let key = letters(&brand.text);
        let cut = segments(&title);
        let is_end = |range: &Range<usize>| {
            title
                .get(range.clone())
                .is_some_and(|part| letters(part) == key)
        };
        if let [first, .., last] = cut.as_slice()
            && (is_end(last) || brand.is_host && is_end(first))
            && self.stated.len() < MAX_NAMES
        {
            self.stated.push(key);
            self.name.get_or_insert_with(|| brand.text.clone());
        }
    }

    fn read_host(&mut self, url: &str) {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = rest.split(['/', '?', '#']).next().unwrap_or("");
        let host = host.rsplit('@').next().unwrap_or(host);
        let host = host.strip_prefix("www.").unwrap_or(host);
        if host.len() > 253 {
            return;
        }
        self.host = letters(host);
        self.labels = host
            .split('.')
            .map(letters)
            .filter(|label| !label.is_empty())
            .collect();
    }

    /// Whether a text is a name that the page states.
    pub fn is_stated(&self, text: &str) -> bool {
        self.stated.contains(&letters(text))
    }

    /// Whether a text is the site's name: one that the page states, or one that the host's
    /// name is made of.
    pub fn is_name(&self, text: &str) -> bool {
        /// Letters that a name in the host's label may have in surplus: "the", "blog".
        const SURPLUS: usize = 12;
        let key = letters(text);
        let words = text.split_whitespace().count();
        if key.is_empty()
            || self.stated.contains(&key)
            || self.labels.contains(&key)
            || key == self.host
        {
            return true;
        }
        // The longest label before the last one: `example` of `blog.example.co.uk`.
        let before_last = self.labels.len().saturating_sub(1);
        let main = self
            .labels
            .iter()
            .take(before_last)
            .max_by_key(|label| label.len());
        let Some(main) = main else {
            return false;
        };
        if main.len() < 4 {
            // A short label is the name where it is a word of it: `REI Co-op` of `rei.com`.
            return main.len() >= 2
                && !main.bytes().all(|b| b.is_ascii_digit())
                && words <= 3
                && text.split_whitespace().any(|word| letters(word) == *main);
        }
        (key.contains(main.as_str()) && key.len() <= main.len() + SURPLUS && words <= 5)
            || (key.len() >= 5 && self.host.contains(&key) && words <= 4)
    }

    /// Whether a part of a title names the site: by the name that the host is registered under,
    /// since other parts of the host are words such as `blog` and `support`.
    pub fn is_named_by(&self, text: &str) -> bool {
        /// Letters that a name may have in surplus: "the", "blog".
        const SURPLUS: usize = 12;
        /// Letters of a part of the registered name that is a name: `Steam` of `steampowered`.
        const PART: usize = 5;
        let key = letters(text);
        let words = text.split_whitespace().count();
        let Some(own) = self.registered().filter(|_| !key.is_empty() && words <= 5) else {
            return false;
        };
        if key == self.host || key == own {
            return true;
        }
        if own.len() < 4 {
            return words <= 3 && text.split_whitespace().any(|word| letters(word) == own);
        }
        key.contains(own) && key.len() <= own.len() + SURPLUS
            || key.len() >= PART && (own.starts_with(&key) || own.ends_with(&key))
    }

    /// Whether a part of a title has no more letters than the host, or the name that it is registered
    /// under.
    pub fn is_no_longer(&self, text: &str) -> bool {
        let key = letters(text);
        key == self.host || self.registered().is_some_and(|own| key.len() <= own.len())
    }

    /// The label that the host is registered under: `example` of `blog.example.co.uk`.
    fn registered(&self) -> Option<&str> {
        let (_, before) = self.labels.split_last()?;
        let (last, rest) = before.split_last()?;
        let own = match rest.last() {
            Some(third) if last.len() <= 3 && PUBLIC.contains(&last.as_str()) => third,
            _ => last,
        };
        (own.len() >= 2 && !own.bytes().all(|b| b.is_ascii_digit())).then_some(own)
    }
}

/// Labels under which the registries of countries give names away.
const PUBLIC: &[&str] = &[
    "co", "com", "org", "net", "ac", "gov", "edu", "or", "ne", "go",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_title_is_the_name_by_the_registered_label() {
        for (url, text, is_name) in [
            ("https://store.steampowered.com/app/1", "Steam", true),
            ("https://www.newegg.com/p/1", "Newegg.com", true),
            ("https://en.wikipedia.org/wiki/Web", "Wikipedia", true),
            ("https://www.rei.com/", "REI Co-op", true),
            ("https://blog.webs.co.uk/", "Webs Ltd", true),
            ("https://blog.webs.co.uk/", "Blog", false),
            ("https://support.webs.com/", "Contact support", false),
            ("https://thepodcasthost.com/", "Podcast", false),
            ("http://127.0.0.1/", "127", false),
            ("https://webs.com/", "How webs are woven in the wild", false),
            ("https://webs.com/", "", false),
        ] {
            let mut site = Site::default();
            site.read_host(url);
            assert_eq!(site.is_named_by(text), is_name, "{text} at {url}");
        }
    }

    #[test]
    fn a_name_is_known_by_the_host() {
        let mut site = Site::default();
        site.read_host("https://www.thepodcasthost.com:8080/a?b");
        for name in [
            "The Podcast Host",
            "thepodcasthost.com",
            "ThePodcastHost Blog",
            "Podcast Host",
            "",
        ] {
            assert!(site.is_name(name), "{name}");
        }
        for other in ["Podcast", "The best hosts for a podcast", "Com puter"] {
            assert_eq!(site.is_name(other), other == "Podcast", "{other}");
        }
        site.stated.push(letters("Orb Weavers' Journal"));
        assert!(site.is_name("orb weavers’ journal"));
    }

    #[test]
    fn a_short_host_is_a_name_where_it_is_a_word_of_it() {
        let mut site = Site::default();
        site.read_host("https://www.owv.com/webs");
        for (text, is_name) in [
            ("OWV Co-op", true),
            ("OWV", true),
            ("Sowvel", false),
            ("How an OWV is worn out", false),
        ] {
            assert_eq!(site.is_name(text), is_name, "{text}");
        }
    }

    #[test]
    fn a_host_of_numbers_names_nothing() {
        let mut site = Site::default();
        site.read_host("http://127.0.0.1:9000/page");
        assert!(!site.is_name("Widgets"));
        assert!(!site.is_name("Page 127"));
    }
}
