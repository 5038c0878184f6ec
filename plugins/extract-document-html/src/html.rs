//! Writing HTML.

/// Most bytes of HTML written for one document. What comes later is left out, and the notice says
/// so.
pub(crate) const MAX_HTML: usize = 8 << 20;

/// What a document says about itself.
#[derive(Debug, Default)]
pub(crate) struct Head {
    pub(crate) lang: String,
    pub(crate) title: String,
    pub(crate) authors: Vec<String>,
    pub(crate) description: String,
    pub(crate) keywords: String,
    /// The site of a feed: its title.
    pub(crate) site: String,
    /// ISO 8601, or as the document writes it.
    pub(crate) published: String,
    /// The date of the last change, in the form of `published`.
    pub(crate) modified: String,
}

impl Head {
    /// The whole document.
    pub(crate) fn document(&self, body: &str) -> String {
        let mut out = String::with_capacity(body.len() + 1024);
        out.push_str("<!DOCTYPE html>\n<html");
        let lang = self.lang.trim();
        if is_language(lang) {
            attribute("lang", lang, &mut out);
        }
        out.push_str("><head><meta charset=\"utf-8\">");
        if !self.title.trim().is_empty() {
            out.push_str("<title>");
            escape(self.title.trim(), &mut out);
            out.push_str("</title>");
        }
        for author in &self.authors {
            meta("name", "author", author, &mut out);
        }
        meta("name", "description", &self.description, &mut out);
        meta("name", "keywords", &self.keywords, &mut out);
        meta("property", "og:site_name", &self.site, &mut out);
        let published = ("article:published_time", &self.published);
        let modified = ("article:modified_time", &self.modified);
        for (name, value) in [published, modified] {
            meta("property", name, value, &mut out);
        }
        out.push_str("</head><body>\n");
        out.push_str(body);
        out.push_str("</body></html>\n");
        out
    }
}

/// Whether the text has the form of a language tag (RFC 5646).
fn is_language(tag: &str) -> bool {
    (2..=35).contains(&tag.len())
        && tag.starts_with(|c: char| c.is_ascii_alphabetic())
        && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn meta(kind: &str, name: &str, content: &str, out: &mut String) {
    let content = content.trim();
    if content.is_empty() {
        return;
    }
    out.push_str("<meta");
    attribute(kind, name, out);
    attribute("content", content, out);
    out.push('>');
}

/// Writes ` name="value"`.
pub(crate) fn attribute(name: &str, value: &str, out: &mut String) {
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    escape(value, out);
    out.push('"');
}

/// Writes text. Control characters become spaces: HTML has none.
pub(crate) fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
}

/// Whether a link's target is worth an `href`: a web page, a mail address or a place in a page.
pub(crate) fn is_target(url: &str) -> bool {
    let url = url.trim();
    let scheme = url
        .split_once(':')
        .map(|(scheme, _)| scheme)
        .filter(|scheme| {
            let mut chars = scheme.chars();
            chars.next().is_some_and(|c| c.is_ascii_alphabetic())
                && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
        });
    match scheme {
        Some(scheme) => ["http", "https", "mailto", "ftp", "tel"]
            .iter()
            .any(|known| scheme.eq_ignore_ascii_case(known)),
        None => !url.is_empty(),
    }
}
