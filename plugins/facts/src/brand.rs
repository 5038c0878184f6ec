//! How a page calls the site's start page.

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text::{collapse, letters, line};
use orbweaver_sdk::urls::Base;

/// Links from the beginning of the page that are looked at.
const MAX_LINKS: usize = 40;
/// Most nodes of a link, and the longest name, in bytes.
const MAX_NODES: u32 = 32;
const MAX_BYTES: usize = 80;

/// Words for a start page that name no site.
const HOME: &[&str] = &[
    "home",
    "homepage",
    "index",
    "start",
    "startseite",
    "accueil",
    "inicio",
    "início",
    "главная",
    "首页",
    "ホーム",
];

/// The first link of a page that leads to the site's start page: as a rule the site's name or logo.
pub struct Brand {
    base: Option<Base>,
    links: usize,
    name: Option<Name>,
}

/// What a page calls the start page.
#[derive(Clone, Debug)]
pub struct Name {
    /// The text of the link, or of its picture.
    pub text: String,
    /// Whether it leads to the host's first page, and not to that of a folder.
    pub is_host: bool,
}

impl Brand {
    /// Of a page with this URL.
    pub fn of(url: &str) -> Self {
        Self {
            base: Base::new(url),
            links: 0,
            name: None,
        }
    }

    /// Reads a link.
    pub fn read(&mut self, link: Node<'_>) {
        if self.name.is_some() || self.links >= MAX_LINKS {
            return;
        }
        self.links += 1;
        let Some(is_host) = self.leads_home(link) else {
            return;
        };
        if link.end() - link.id() > MAX_NODES {
            return;
        }
        let text = line(link);
        let logo = || {
            let mut images = link.descendants().filter(|n| n.tag() == tag::IMG);
            images.find_map(|image| image.attr(attr::ALT)).map(collapse)
        };
        let text = Some(text).filter(|text| !text.is_empty()).or_else(logo);
        let text = text.filter(|text| text.len() <= MAX_BYTES);
        let key = text.as_deref().map(letters).unwrap_or_default();
        if !key.is_empty() && !HOME.contains(&key.as_str()) {
            self.name = text.map(|text| Name { text, is_host });
        }
    }

    /// Whether a link leads to the host's first page; `None` if not to a folder that the page is in,
    /// either.
    fn leads_home(&self, link: Node<'_>) -> Option<bool> {
        let base = self.base.as_ref()?;
        let href = link.attr(attr::HREF)?;
        if href.trim().is_empty() || href.contains('#') {
            return None;
        }
        let (page, home) = (base.join("")?, base.join(href)?);
        let path = home.path();
        let folder = ["index.html", "index.php"]
            .iter()
            .find_map(|index| path.strip_suffix(index))
            .unwrap_or(path);
        let is_around = home.host() == page.host()
            && home.query().is_none()
            && folder.ends_with('/')
            && page.path().starts_with(folder);
        is_around.then_some(folder == "/")
    }

    /// The name.
    pub fn name(self) -> Option<Name> {
        self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(html: &str) -> Option<String> {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        let mut brand = Brand::of("https://example.org/orb/guide/webs.html");
        let links = view.elements().filter(|node| node.tag() == tag::A);
        links.for_each(|link| brand.read(link));
        brand.name().map(|name| name.text)
    }

    #[test]
    fn the_first_link_to_the_start_page_is_the_brand() {
        for (html, expected) in [
            ("<a href=/>Orb Docs</a>", Some("Orb Docs")),
            (
                "<a href=/orb/>Orb Docs</a><a href=/>Other</a>",
                Some("Orb Docs"),
            ),
            (
                "<a href=../index.html><img alt='Orb Docs'></a>",
                Some("Orb Docs"),
            ),
            (
                "<a href=#main>Skip</a><a href=/>Home</a><a href=..>Orb</a>",
                Some("Orb"),
            ),
            ("<a href=https://example.com/>Other</a>", None),
            ("<a href=/orb/guide/silk.html>Silk</a>", None),
            ("<a href=/other/>Other</a>", None),
            ("<a href=/?lang=de>Deutsch</a>", None),
        ] {
            assert_eq!(name(html).as_deref(), expected, "{html}");
        }
    }
}
