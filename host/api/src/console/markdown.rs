//! Markdown of strangers' pages as HTML that can do nothing: no HTML of theirs, no images, links
//! to web and mail addresses only.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use url::Url;

/// Renders Markdown.
pub(super) fn render(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    // Ends of links and images say nothing of their beginnings: this remembers what each opened.
    let mut open: Vec<Opened> = Vec::new();
    let events = Parser::new_ext(markdown, options).map(move |event| match event {
        // Shown as it stands.
        Event::Html(text) | Event::InlineHtml(text) => shown(&mut open, text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            // HTML has no link inside a link.
            let is_inside = open.iter().any(|opened| opened.address.is_some());
            let address = safe_link(&dest_url).filter(|_| !is_inside);
            let tag = address.as_ref().map_or_else(String::new, |url| {
                format!(
                    "<a href=\"{}\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">",
                    escaped(url)
                )
            });
            let has_text = false;
            open.push(Opened { address, has_text });
            Event::InlineHtml(CowStr::from(tag))
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            let opened = open.pop().unwrap_or_default();
            let end = match opened.address {
                // Nobody can see or hear a link without text, such as an image without alternative.
                Some(url) if !opened.has_text => format!("{}</a>", escaped(&name_of(&url))),
                Some(_) => "</a>".to_owned(),
                None => String::new(),
            };
            Event::InlineHtml(CowStr::from(end))
        }
        Event::Text(text) => shown(&mut open, text),
        Event::Code(text) => {
            mark(&mut open, &text);
            Event::Code(text)
        }
        other => other,
    });
    let mut out = String::with_capacity(markdown.len() * 2);
    html::push_html(&mut out, events);
    out
}

/// A description of ours, as HTML: what stands between backticks is code.
pub(super) fn description(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for (i, part) in text.split('`').enumerate() {
        let part = escaped(part);
        if i % 2 == 1 {
            out.push_str("<code>");
            out.push_str(&part);
            out.push_str("</code>");
        } else {
            out.push_str(&part);
        }
    }
    out
}

/// A link or an image that has begun.
#[derive(Default)]
struct Opened {
    /// Where it leads; none if it may not.
    address: Option<String>,
    /// Whether there is text in it.
    has_text: bool,
}

/// Text, as it stands.
fn shown<'a>(open: &mut [Opened], text: CowStr<'a>) -> Event<'a> {
    mark(open, &text);
    Event::Text(text)
}

fn mark(open: &mut [Opened], text: &str) {
    if !text.trim().is_empty() {
        for opened in open {
            opened.has_text = true;
        }
    }
}

/// A short name of an address: its last segment, else its host.
fn name_of(address: &str) -> String {
    let Ok(url) = Url::parse(address) else {
        return address.to_owned();
    };
    let last = url.path_segments().and_then(|mut parts| parts.next_back());
    match last.filter(|last| !last.is_empty()) {
        Some(last) => last.to_owned(),
        None => url.host_str().unwrap_or(address).to_owned(),
    }
}

/// The address where it is one that a click may lead to.
pub(super) fn safe_link(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.to_string())
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_markdown_is_rendered() {
        let html = render(
            "# A\n\n*b* [c](https://d.example/?e=1&f=\"2\")\n\n| x | y |\n|---|---|\n| 1 | 2 |",
        );
        assert!(
            html.contains("<h1>A</h1>") && html.contains("<em>b</em>"),
            "{html}"
        );
        assert!(html.contains("<td>1</td>"), "{html}");
        assert!(
            html.contains("rel=\"noopener noreferrer nofollow\""),
            "{html}"
        );
    }

    #[test]
    fn nothing_of_a_stranger_becomes_a_tag_an_attribute_or_a_script_address() {
        for hostile in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "<svg/onload=alert(1)>",
            "text <iframe srcdoc='<script>alert(1)</script>'></iframe>",
            "<style>*{display:none}</style>",
            "[x](javascript:alert(1))",
            "[x](JaVaScRiPt:alert(1))",
            "[x](java\tscript:alert(1))",
            "[x](&#106;avascript:alert(1))",
            "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
            "[x](vbscript:msgbox(1))",
            "[x](file:///etc/passwd)",
            "[x](//evil.example/)",
            "![x](javascript:alert(1))",
            "![x\" onerror=\"alert(1)](https://e.example/a.png)",
            "![a](https://e.example/a.png \"t\\\" onload=alert(1)\")",
            "<javascript:alert(1)>",
            "[x](https://e.example/\"onmouseover=\"alert(1))",
            "```\"><script>alert(1)</script>\nx\n```",
            "``` x\" onclick=\"alert(1)\nx\n```",
            "<a href='javascript:alert(1)'>x</a>",
            "<base href='https://evil.example/'>",
            "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
            "[x]: javascript:alert(1)\n\n[x]",
            "<form action='https://evil.example/'><input name=key></form>",
        ] {
            let html = render(hostile);
            let lower = html.to_ascii_lowercase();
            for tag in [
                "<script", "<img", "<svg", "<iframe", "<style", "<base", "<meta", "<form", "<input",
            ] {
                assert!(!lower.contains(tag), "{hostile}: {html}");
            }
            for address in [
                "href=\"javascript",
                "href=\"data",
                "href=\"vbscript",
                "href=\"file",
                "href=\"/",
            ] {
                assert!(!lower.contains(address), "{hostile}: {html}");
            }
            // An event handler would need a tag that is not closed before it.
            for piece in html.split('<').skip(1) {
                let tag = piece.split('>').next().unwrap_or_default();
                let outside: String = tag.split('"').step_by(2).collect();
                assert!(!outside.contains(" on"), "{hostile}: {html}");
            }
        }
    }

    #[test]
    fn an_image_in_a_link_is_one_link() {
        let html = render("[![pic](https://b.example/p.png)](https://a.example/)");
        assert_eq!(html.matches("<a ").count(), 1, "{html}");
        assert!(
            html.contains("https://a.example/") && html.contains(">pic</a>"),
            "{html}"
        );
    }

    #[test]
    fn code_in_descriptions_is_marked_and_nothing_else_is_html() {
        assert_eq!(
            description("Adds `a<b>`, or <i>"),
            "Adds <code>a&lt;b&gt;</code>, or &lt;i&gt;"
        );
    }

    #[test]
    fn a_link_without_text_shows_where_it_leads() {
        for (markdown, text) in [
            ("![](https://b.example/a/p.png)", ">p.png</a>"),
            ("[](https://b.example/)", ">b.example</a>"),
            (
                "[![](https://b.example/p.png)](https://a.example/x)",
                ">x</a>",
            ),
            ("[`code`](https://b.example/)", "<code>code</code></a>"),
        ] {
            let html = render(markdown);
            assert!(html.contains(text), "{markdown}: {html}");
        }
    }

    #[test]
    fn links_that_are_dropped_keep_their_text() {
        let html = render(
            "[good](https://a.example/) [bad](javascript:x) ![pic](https://b.example/p.png)",
        );
        assert!(
            html.contains(">good</a>") && html.contains(">pic</a>"),
            "{html}"
        );
        assert!(html.contains(" bad "), "{html}");
    }
}
