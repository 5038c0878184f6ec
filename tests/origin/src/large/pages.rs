//! The pages of a large site: their links and their HTML.

use std::fmt::Write as _;

use super::SiteSpec;
use super::words::{Language, Random};

const SECTIONS: [&str; 10] = [
    "news",
    "guides",
    "reference",
    "journal",
    "shop",
    "studies",
    "events",
    "people",
    "archive",
    "help",
];

/// The depth of the tree that makes every page reachable.
const TREE_DEPTH: u32 = 6;

/// Knows each page by its number; 0 is `/`.
#[derive(Debug)]
pub(super) struct Pages<'a> {
    spec: &'a SiteSpec,
    base: &'a str,
    language: Language,
    branching: usize,
}

/// The position of a link in its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Menu,
    Child,
    Up,
    Text,
    Related,
    Foot,
}

struct Link {
    place: Place,
    href: String,
    text: String,
}

impl<'a> Pages<'a> {
    pub(super) fn new(spec: &'a SiteSpec, base: &'a str) -> Self {
        let mut branching: usize = 2;
        while (0..=TREE_DEPTH)
            .map(|depth| branching.pow(depth))
            .sum::<usize>()
            < spec.pages
        {
            branching += 1;
        }
        Self {
            spec,
            base,
            language: Language::new(spec.seed),
            branching,
        }
    }

    /// The path of a page.
    pub(super) fn path(&self, page: usize) -> String {
        if page == 0 {
            return "/".to_owned();
        }
        let section = SECTIONS.get(page % SECTIONS.len()).unwrap_or(&"page");
        let mark = Random::new(self.spec.seed, 2, page).next() >> 32;
        format!("/{section}/{page:06}-{mark:08x}.html")
    }

    /// The page whose bytes this page has: itself, except for one leaf in fifty, which is a
    /// copy of the page before it.
    pub(super) fn source(&self, page: usize) -> usize {
        let first_leaf = self.spec.pages.saturating_sub(2) / self.branching + 1;
        if page % 50 == 7 && page > first_leaf + 50 {
            page - 1
        } else {
            page
        }
    }

    /// The missing path that a page links to, if it has one.
    pub(super) fn missing(page: usize) -> Option<String> {
        (page % 40 == 3).then(|| format!("/missing/{page:06}.html"))
    }

    /// The redirecting path that a page links to, if it has one, and its target.
    pub(super) fn moved(&self, page: usize) -> Option<(String, String)> {
        (page % 40 == 13).then(|| {
            let target = Random::new(self.spec.seed, 3, page).below(self.spec.pages);
            (format!("/moved/{page:06}"), self.path(target))
        })
    }

    fn title(&self, page: usize) -> String {
        self.language
            .title(&mut Random::new(self.spec.seed, 4, page))
    }

    fn links(&self, page: usize) -> Vec<Link> {
        let random = &mut Random::new(self.spec.seed, 5, page);
        let count = self.spec.pages;
        let mut links = Vec::with_capacity(self.spec.links);
        let mut add = |place, href: String, text: String| links.push(Link { place, href, text });
        add(Place::Menu, "/".to_owned(), "Front page".to_owned());
        for entry in 1..count.min(11) {
            add(Place::Menu, self.path(entry), self.title(entry));
        }
        let first_child = page * self.branching + 1;
        for child in first_child..(first_child + self.branching).min(count) {
            add(Place::Child, self.path(child), self.title(child));
        }
        if page > 0 {
            let parent = self.path((page - 1) / self.branching);
            add(Place::Up, parent, "One level up".to_owned());
        }
        let part = 1 + random.below(5);
        add(
            Place::Foot,
            format!("#part-{part}"),
            "To that part".to_owned(),
        );
        add(
            Place::Foot,
            "mailto:desk@example.invalid".to_owned(),
            "Write to us".to_owned(),
        );
        let partner = random.below(1000);
        let partner = format!("https://partner.example.invalid/from/{partner}");
        add(Place::Foot, partner, "A partner".to_owned());
        if let Some(path) = Self::missing(page) {
            add(Place::Text, path, "An old page".to_owned());
        }
        if let Some((path, _)) = self.moved(page) {
            add(Place::Text, path, "A page that moved".to_owned());
        }
        while links.len() < self.spec.links {
            let target = random.below(count);
            let mut href = self.path(target);
            match random.below(100) {
                0..4 => {
                    let part = 1 + random.below(9);
                    let _ = write!(href, "#part-{part}");
                }
                // Every page except the first is in a section, one level down.
                4..30 if page > 0 && target > 0 => href.insert_str(0, ".."),
                _ => {}
            }
            let text = if random.below(3) == 0 {
                self.title(target)
            } else {
                self.language.words(random, 4)
            };
            let place = if random.below(2) == 0 {
                Place::Related
            } else {
                Place::Text
            };
            links.push(Link { place, href, text });
        }
        links
    }

    /// The HTML of a page.
    pub(super) fn html(&self, page: usize) -> String {
        let random = &mut Random::new(self.spec.seed, 6, page);
        let language = &self.language;
        let links = self.links(page);
        let list = |place: Place, before: &str, after: &str| {
            let mut out = String::new();
            for link in links.iter().filter(|link| link.place == place) {
                let _ = write!(out, "{before}{}{after}", anchor(link));
            }
            out
        };
        let title = self.title(page);
        let about = language.sentence(random);
        let (base, url) = (self.base, format!("{}{}", self.base, self.path(page)));
        let author = language.words(random, 2);
        let keywords = language.words(random, 6).replace(' ', ", ");
        let date = format!(
            "2025-{:02}-{:02}",
            1 + random.below(12),
            1 + random.below(28)
        );
        let mut out = String::with_capacity(self.spec.page_bytes * 3 / 2);
        let _ = write!(
            out,
            r##"<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title} &mdash; The Paper Town</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="description" content="{about}">
<meta name="robots" content="index, follow"><meta name="author" content="{author}"><meta name="keywords" content="{keywords}">
<link rel="canonical" href="{url}"><link rel="stylesheet" href="/assets/town.css"><link rel="icon" href="/assets/mark.svg">
<meta property="og:title" content="{title}"><meta property="og:type" content="article"><meta property="og:url" content="{url}"><meta property="og:image" content="{base}/assets/mark.svg">
<meta name="twitter:card" content="summary"><meta name="twitter:title" content="{title}">
<script type="application/ld+json">{{"@context":"https://schema.org","@type":"Article","headline":"{title}","url":"{url}","datePublished":"{date}","author":{{"@type":"Person","name":"{author}"}},"description":"{about}"}}</script>
<style>.wide{{max-width:70rem;margin:0 auto}}.menu a{{padding:.3rem .6rem}}.card{{border:1px solid #ccc;border-radius:3px}}</style></head>
<body class="page kind-{kind}"><header class="wide"><a class="mark" aria-label="mark"><svg viewBox="0 0 20 20" width="20"><path d="M10 1L1 19h18z"/></svg></a>
<nav class="menu"><ul>{menu}</ul></nav><nav aria-label="breadcrumb">{up}</nav></header>
<main class="wide"><article itemscope itemtype="https://schema.org/Article"><h1 itemprop="headline">{title}</h1>
<p class="byline"><time datetime="{date}">{date}</time> by <span class="author">{author}</span></p>
<ul class="below">{children}</ul>
"##,
            kind = page % SECTIONS.len(),
            menu = list(Place::Menu, "<li>", "</li>"),
            up = list(Place::Up, "", ""),
            children = list(Place::Child, "<li>", "</li>"),
        );
        let related = list(Place::Related, "<div class=\"card\"><h3>", "</h3></div>");
        let end = format!(
            r#"</article><aside class="related"><h2>Related</h2><div class="grid">{related}</div></aside></main>
<footer class="wide"><ul>{foot}</ul><p>&copy; 2025 The Paper Town</p></footer>
<script>(function(){{document.documentElement.dataset.page="{page}"}})();</script></body></html>
"#,
            foot = list(Place::Foot, "<li>", "</li>"),
        );
        // 70 to 130 % of the mean.
        let wanted = self.spec.page_bytes * (70 + random.below(61)) / 100;
        let wanted = wanted.saturating_sub(end.len());
        let mut inline = links.iter().filter(|link| link.place == Place::Text);
        if self.spec.edition > 0 && page % 20 == 1 {
            let _ = writeln!(out, "<p>Edition {} of this page.</p>", self.spec.edition);
        }
        for paragraph in 0.. {
            let link = inline.next();
            if out.len() >= wanted && link.is_none() {
                break;
            }
            self.paragraph(&mut out, random, paragraph, link);
        }
        out.push_str(&end);
        out
    }

    fn paragraph(&self, out: &mut String, random: &mut Random, number: usize, link: Option<&Link>) {
        let language = &self.language;
        if number.is_multiple_of(9) {
            let part = number / 9 + 1;
            let _ = writeln!(
                out,
                "<h2 id=\"part-{part}\">{}</h2>",
                language.title(random)
            );
        }
        let text = language.paragraph(random);
        let (start, rest) = text.split_once(". ").unwrap_or((text, ""));
        let link = link.map(anchor).unwrap_or_default();
        let (em, strong) = (language.word(random).to_owned(), language.word(random));
        let _ = writeln!(
            out,
            "<p class=\"t\" data-n=\"{number}\">{start}. {link} {rest} <em>{em}</em> <strong>{strong}</strong></p>"
        );
        if number % 13 == 5 {
            let _ = writeln!(
                out,
                "<figure><img src=\"/assets/mark.svg\" alt=\"{}\" width=\"640\" height=\"360\" loading=\"lazy\"><figcaption>{}</figcaption></figure>",
                language.words(random, 3),
                language.sentence(random)
            );
        }
        if number % 17 == 8 {
            out.push_str("<table><tbody>");
            for _ in 0..5 {
                let cells = language.words(random, 4).replace(' ', "</td><td>");
                let _ = write!(out, "<tr><td>{cells}</td></tr>");
            }
            out.push_str("</tbody></table>\n");
        }
    }
}

fn anchor(link: &Link) -> String {
    let Link { place, href, text } = link;
    format!("<a href=\"{href}\" class=\"{place:?}\">{text}</a>")
}
