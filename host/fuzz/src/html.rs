//! Pages: the snapshot, the roles on it, and the streaming pass.

use orbweaver_core::page::page_pass;
use orbweaver_dom::{ParseNeed, Selector, Snapshot, parse, parse_with};
use orbweaver_sdk::testing::Document;
use orbweaver_sdk::{Code, Error, Page};
use serde_json::Value;
use url::Url;

use super::{Target, no_seeds, text};

const URL: &str = "https://example.org/a/page.html?q=1";
/// Size of a hostile document that is a seed: small, so that many run in a second.
const SEED_BYTES: usize = 600;

type Role = fn(&Page<'_>, &str) -> Result<String, Error>;

const ROLES: [(&str, Role); 6] = [
    ("markdown", orbweaver_extract_markdown::extract),
    ("article", orbweaver_extract_article::extract),
    ("metadata", orbweaver_extract_metadata::extract),
    ("signals", orbweaver_extract_signals::extract),
    (
        "structured-data",
        orbweaver_extract_structured_data::extract,
    ),
    ("links", orbweaver_extract_links::extract),
];

pub(super) fn targets() -> Vec<Target> {
    vec![
        Target {
            name: "roles",
            run: roles,
            seeds: documents,
            max_len: 8 << 10,
        },
        Target {
            name: "page-pass",
            run: pass,
            seeds: documents,
            max_len: 8 << 10,
        },
        Target {
            name: "links",
            run: links,
            seeds: no_seeds,
            max_len: 1 << 10,
        },
        Target {
            name: "snapshot",
            run: snapshot,
            seeds: snapshots,
            max_len: 8 << 10,
        },
    ]
}

fn documents() -> Vec<Vec<u8>> {
    orbweaver_nasty::html()
        .map(|pattern| pattern.sized(SEED_BYTES).into_bytes())
        .collect()
}

/// HTML to each role: valid JSON, whatever the page.
fn roles(data: &[u8]) {
    let html = text(data);
    let document = Document::new(URL, &html);
    let page = document.page();
    for (name, extract) in ROLES {
        match extract(&page, "{}") {
            Ok(json) => {
                let value: Result<Value, _> = serde_json::from_str(&json);
                assert!(value.is_ok(), "{name}: {json}");
            }
            Err(error) if matches!(error.code(), Code::Failed | Code::InvalidInput) => {}
            Err(error) => panic!("{name}: {error:?}"),
        }
    }
}

/// The streaming pass on any bytes: absolute links within its limits.
fn pass(data: &[u8]) {
    let html = text(data);
    let facts = page_pass(&html, URL);
    for link in facts.links.iter() {
        let url = Url::parse(link.to).unwrap_or_else(|error| panic!("{error}: {}", link.to));
        assert!(matches!(url.scheme(), "http" | "https"), "{}", link.to);
        assert!(link.anchor.len() <= orbweaver_core::limits::MAX_ANCHOR_BYTES);
        assert!(link.to.len() <= orbweaver_urls::MAX_URL_BYTES);
    }
    assert!(facts.links.len() <= orbweaver_core::limits::MAX_LINKS);
    assert_eq!(page_pass(&html, URL).content_hash, facts.content_hash);
}

/// A well-formed page, as the bytes say: the pass finds the links that the tree has.
fn links(data: &[u8]) {
    let html = well_formed(data);
    let facts = page_pass(&html, URL);
    let by_pass: Vec<(&str, &str)> = facts
        .links
        .iter()
        .map(|link| (link.to, link.anchor))
        .collect();
    let document = Document::new(URL, &html);
    let json = orbweaver_extract_links::extract(&document.page(), "").expect("links");
    let links: Vec<Value> = serde_json::from_str(&json).expect("a list");
    let field = |link: &Value, name: &str| link[name].as_str().expect("text").to_owned();
    let by_tree: Vec<(String, String)> = links
        .iter()
        .map(|link| (field(link, "to"), field(link, "anchor")))
        .collect();
    let by_tree: Vec<(&str, &str)> = by_tree
        .iter()
        .map(|(to, anchor)| (to.as_str(), anchor.as_str()))
        .collect();
    // Rows of links keep a beginning of each text; the role keeps all of it.
    let cut = |(to, anchor): (_, &'_ str)| {
        let end = anchor.floor_char_boundary(orbweaver_core::limits::MAX_ANCHOR_BYTES);
        (to, anchor[..end].to_owned())
    };
    let by_tree: Vec<_> = by_tree.into_iter().map(cut).collect();
    let by_pass: Vec<_> = by_pass.into_iter().map(cut).collect();
    assert_eq!(by_pass, by_tree, "{html}");
}

/// A page whose elements are closed in their order, links never within links.
fn well_formed(data: &[u8]) -> String {
    const BLOCKS: [&str; 6] = ["div", "section", "ul", "blockquote", "article", "nav"];
    const PIECES: [&str; 14] = [
        "word ",
        "&amp;",
        "é\u{a0}",
        "<br>",
        "<img alt='a picture'>",
        "<b>bold</b>",
        "<span title=t>s</span>",
        "<script>'<a href=/no>'</script>",
        "<!-- <a href=/no> -->",
        "<svg><title>t</title></svg>",
        "<wbr>",
        "<i></i>",
        "\n  ",
        "<textarea><a href=/no></textarea>",
    ];
    const HREFS: [&str; 8] = [
        "/a",
        "?b=1&amp;c",
        "../d#e",
        "//f.example/g",
        "HTTP://h.example:80/%7Ei",
        "mailto:j",
        " k ",
        "l m",
    ];
    let (mut html, mut open, mut in_link) =
        (String::from("<!doctype html><body>"), Vec::new(), false);
    for pair in data.chunks_exact(2) {
        let pick = usize::from(pair[1]);
        match pair[0] % 5 {
            0 if !in_link && open.len() < 100 => {
                let block = BLOCKS[pick % BLOCKS.len()];
                html.push_str(&format!("<{block}>"));
                open.push(block);
            }
            1 if !in_link => {
                if let Some(block) = open.pop() {
                    html.push_str(&format!("</{block}>"));
                }
            }
            2 if !in_link => {
                let rel = if pick > 127 { " rel='nofollow x'" } else { "" };
                html.push_str(&format!("<a href='{}'{rel}>", HREFS[pick % HREFS.len()]));
                in_link = true;
            }
            3 if in_link => {
                html.push_str("</a>");
                in_link = false;
            }
            _ => html.push_str(PIECES[pick % PIECES.len()]),
        }
    }
    if in_link {
        html.push_str("</a>");
    }
    while let Some(block) = open.pop() {
        html.push_str(&format!("</{block}>"));
    }
    html
}

const PAGE: &str = "<!doctype html><title>T</title><template><p>a</template><body class=b><ul>\
    <li id=x>1<li><a href=/y>é</a></ul><svg><a xlink:href=#q /></svg><!--c--><my-el data-x=1>z";

/// The words of a small page, which then are damaged.
fn snapshots() -> Vec<Vec<u8>> {
    let words = parse(PAGE).words;
    vec![words.iter().flat_map(|word| word.to_le_bytes()).collect()]
}

/// A reader of damaged words neither panics nor runs for ever.
fn snapshot(data: &[u8]) {
    let words = data
        .chunks_exact(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    let damaged = Snapshot {
        words: words.collect(),
        text: parse(PAGE).text,
    };
    read(&damaged);
    // And of a page within the limits that its need promises.
    let html = text(data);
    let need = ParseNeed::of(&html);
    let whole = parse_with(&html, &need.limits);
    assert!(whole.view().is_ok(), "what the writer wrote is readable");
    assert!((whole.words.len() * 4 + whole.text.len()) as u64 <= need.bytes);
}

fn read(snapshot: &Snapshot) {
    let Ok(view) = snapshot.view() else { return };
    let mut seen = 0;
    for node in view.nodes() {
        seen += node.children().count() + node.ancestors().count() + node.text().len();
        seen += node.name().len() + node.elements().count();
        seen += node
            .attrs()
            .map(|attr| attr.name().len() + attr.value().len())
            .sum::<usize>();
    }
    let selector = Selector::parse("ul > li:nth-child(2) ~ [data-x], :has(> a)").expect("one");
    seen += view.select(&selector).count();
    std::hint::black_box(seen);
}
