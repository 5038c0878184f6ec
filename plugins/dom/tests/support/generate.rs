//! Random pages of what parsers get wrong.
//!
//! Left out, because html5ever's tokenizer or scraper are wrong about them: a byte order mark after
//! a script, which is dropped; `</>` after `<pre>`, which keeps a line feed that goes; `encoding`
//! on `annotation-xml`, which is not looked at.

use crate::random::Random;

const TAGS: &[&str] = &[
    "a",
    "b",
    "i",
    "font",
    "nobr",
    "p",
    "div",
    "h1",
    "ul",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "tbody",
    "thead",
    "tr",
    "td",
    "th",
    "caption",
    "col",
    "colgroup",
    "select",
    "option",
    "optgroup",
    "template",
    "svg",
    "math",
    "mi",
    "mglyph",
    "foreignObject",
    "desc",
    "annotation-xml",
    "title",
    "textarea",
    "script",
    "style",
    "pre",
    "button",
    "form",
    "input",
    "br",
    "hr",
    "img",
    "image",
    "body",
    "head",
    "html",
    "frameset",
    "frame",
    "noscript",
    "iframe",
    "plaintext",
    "xmp",
    "ruby",
    "rt",
    "rp",
    "rb",
    "rtc",
    "x-y",
    "A",
    "sVg",
    "applet",
    "marquee",
    "object",
    "center",
    "listing",
    "details",
    "summary",
    "main",
    "search",
    "meta",
    "link",
    "base",
];

const ATTRS: &[&str] = &[
    " a",
    " a=b",
    " A=c",
    " class='x y'",
    " class=\"p&amp;q\"",
    " id=i",
    " href=/",
    " href='?a&lt=1'",
    " type=hidden",
    " xlink:href=#",
    " xml:lang=en",
    " xmlns=u",
    " viewbox=0",
    "/",
    " =",
    " =x",
    " a'b",
    " \"",
    " x=a/",
    " x=>",
    " c=\0",
    " \n\t",
    " disabled",
    " face=x",
    " data-long-name=1",
    " data-another-name='a\nb'",
    " <",
    " x=&",
    " x='&#x41;&notin",
    " é=ü",
];

const PIECES: &[&str] = &[
    "text",
    " ",
    "\n",
    "\r\n",
    "\r",
    "\0",
    "&amp;",
    "&lt",
    "&#65;",
    "&#x1F600;",
    "&notit;",
    "&",
    "&#",
    "&#x",
    "<",
    "</",
    "<!",
    "<?",
    ">",
    "<!-- c -->",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<![CDATA[x]]>",
    "<![CDATA[",
    "]]>",
    "<!DOCTYPE html>",
    "<!doctype x public 'y'>",
    "<?pi?>",
    "</ x>",
    "'",
    "\"",
    "=",
    "/",
    "é",
    "<script>",
    "</script>",
    "<!--<script>",
    "</SCRIPT >",
    "</title",
    "</textarea>",
    "</style/>",
    "a<b",
    "-",
    "--",
    "]",
    "\u{fffd}",
    "x y z",
];

/// A page of up to forty tags and texts. One in eight has few names, which then meet often.
pub fn page(random: &mut Random) -> String {
    let few: Vec<_> = (0..3 + random.below(4))
        .map(|_| TAGS[random.below(TAGS.len())])
        .collect();
    let names = if random.below(8) == 0 { &few } else { TAGS };
    let mut page = String::new();
    for _ in 0..1 + random.below(40) {
        piece(random, names, &mut page);
    }
    page
}

fn piece(random: &mut Random, names: &[&str], page: &mut String) {
    match random.below(8) {
        0..4 => {
            page.push('<');
            page.push_str(names[random.below(names.len())]);
            for _ in 0..random.below(4) {
                page.push_str(ATTRS[random.below(ATTRS.len())]);
            }
            if random.below(20) > 0 {
                page.push('>');
            }
        }
        4..6 => {
            page.push_str("</");
            page.push_str(names[random.below(names.len())]);
            page.push_str(if random.below(20) > 0 { ">" } else { " x " });
        }
        _ => page.push_str(PIECES[random.below(PIECES.len())]),
    }
}
