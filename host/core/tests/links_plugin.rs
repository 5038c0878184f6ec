//! Checks that the streaming pass finds the same links as the `links` plugin finds in the tree.
//! `cargo run --release --example page_pass -- FOLDER` compares and measures both on folders of
//! real pages.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use orbweaver_core::page::page_pass;
use orbweaver_sdk::serde_json::{Value, from_str};
use orbweaver_sdk::testing::Document;

const URL: &str = "https://example.org/a/page.html?q=1";

/// `(to, anchor, rel, nofollow)`
type Found = Vec<(String, String, String, bool)>;

fn by_pass(html: &str) -> Found {
    let facts = page_pass(html, URL);
    let links = facts.links.iter();
    links
        .map(|link| {
            (
                link.to.into(),
                link.anchor.into(),
                link.rel.into(),
                link.nofollow,
            )
        })
        .collect()
}

fn by_plugin(html: &str) -> Found {
    let document = Document::new(URL, html);
    let links: Vec<Value> =
        from_str(&orbweaver_extract_links::extract(&document.page(), "").unwrap()).unwrap();
    let text = |link: &Value, key: &str| link[key].as_str().unwrap().to_owned();
    links
        .iter()
        .map(|link| {
            (
                text(link, "to"),
                text(link, "anchor"),
                text(link, "rel"),
                link["nofollow"].as_bool().unwrap(),
            )
        })
        .collect()
}

#[test]
fn pass_and_plugin_find_the_same_links() {
    for html in [
        "<!doctype html><title>t</title><nav><ul><li><a href=/>Home</a><li><a href='/a?b=1&amp;c=2'>A &amp; B</a></ul></nav>",
        "<p><a href='x y'>one <em>two</em> three</a><a href='?q#f' rel='nofollow noopener'>q</a><a href=''>self</a>",
        "<base href='/base/dir/'><a href=x>x</a><a href='../y'>y</a><a href=//other.example/z>z</a>",
        "<a href=/1><img alt='first image'></a><a href=/2 aria-label=Label><svg><title>no</title></svg></a><a href=/3 title=T></a>",
        "<map><area href=/area alt=Area><area href=/none><area alt=nowhere></map>",
        "<a href='mailto:a@b.c'>m</a><a href='javascript:void(0)'>j</a><a href='tel:1'>t</a><a href='HTTP://EXAMPLE.org:80/%7Ex'>h</a>",
        "<a href=/block><div>Head</div><p>Text</p>tail</a><a href=/br>a<br>b</a><a href=/inline>a<b>b</b></a>",
        "<template><a href=/in-template>x</a></template><noscript><a href=/noscript>x</a></noscript>",
        "<textarea><a href=/typed></textarea><script>document.write('<a href=/script>')</script><!-- <a href=/comment> -->",
        "<meta name=robots content='noindex, nofollow'><a href=/x>x</a>",
        "<table><tr><td><a href=/cell>cell</a><td>other</table><a href='/caf&eacute;?&copy=1&notit;'>é</a>",
        "<svg><a xlink:href=/svg><text>drawn</text></a></svg><a name=anchor>none</a><A HREF=/UPPER>Upper</A>",
        "<a href=/script-inside>before<script>x</script><style>y</style>after</a>",
        "<a href='/multi\nline'>multi\n   line\u{a0}text</a><a href='  /blank  '>b</a>",
        "<a href=/fb><svg><title>Face &amp; book</title></svg></a><a href=/i><span aria-label='I &amp; J'></span></a>",
        "<a href=/t title=T><i aria-label=L></i></a><a href=/b><img alt=Alt><b aria-label=L></b></a><a href=/open><a href=/own aria-label=Own></a>",
        "",
        "<a href=/unclosed>to the end",
    ] {
        assert_eq!(by_pass(html), by_plugin(html), "{html}");
    }
}

#[test]
fn pass_and_plugin_find_the_links_of_a_page_in_a_noscript() {
    let posts: String = (0..30)
        .map(|n| {
            format!("<article><h2><a href='/t/{n}?a=1&amp;b' rel=ugc>Post {n}</a></h2><p>What {n} says of webs.</article>")
        })
        .collect();
    let small = "<noscript><a href=/small>x</a></noscript>";
    let page = format!("<a href=/own>Own</a>{small}<noscript>{posts}</noscript>");
    let found = by_pass(&page);
    assert_eq!(found.len(), 31);
    assert_eq!(found.last().unwrap().1, "Post 29");
    assert_eq!(found, by_plugin(&page));
    // Beside a text of its own, it is a copy of it.
    let full = format!("<p>{}</p>{page}", "Words of the page itself. ".repeat(200));
    assert_eq!(by_pass(&full).len(), 1);
    assert_eq!(by_pass(&full), by_plugin(&full));
    let copy = "<p>蜘蛛は糸で網を張る。</p>".repeat(1_000);
    let copied = format!("{copy}<noscript><a href=/copy>x</a>{copy}</noscript>");
    assert_eq!(by_pass(&copied), []);
    assert_eq!(by_pass(&copied), by_plugin(&copied));
    // What nobody sees in it is no text.
    let hidden = format!("<p>Own</p><noscript><div hidden>{posts}</div></noscript>");
    assert_eq!(by_pass(&hidden), []);
    assert_eq!(by_pass(&hidden), by_plugin(&hidden));
}

#[test]
fn pass_and_plugin_read_the_source_in_a_noscript_alike() {
    let text = "<p>What a post says of webs and silk.</p>".repeat(60);
    for (inner, count) in [
        ("<a href=/nested>n</a><noscript><a href=/deeper>d</a>", 1),
        (
            "<textarea><a href=/typed>t</a></textarea><a href=/x>x</a>",
            1,
        ),
        (
            "<SCRIPT>'<a href=/s>'</SCRIPT><style>a</style><iframe><a href=/f></iframe><a href=/x>x</a>",
            1,
        ),
        (
            "<a href='/caf&eacute;?&copy=1&notit;'>caf&eacute; &rarr; &copy</a>",
            1,
        ),
        ("<a href=/x title=it's>x</a><a href=/y>y</a>", 2),
        ("<a href=/open>open<b>bold<a href=/next>next</b></a>", 2),
        (
            "<svg><title>t</title><a xlink:href=/drawn>d</a></svg><a href=/i><svg><title>Icon</title></svg></a>",
            2,
        ),
        (
            "<!-- <a href=/comment> --><a href=/x\u{0}>x</a><a href='/y",
            1,
        ),
    ] {
        let html = format!("<noscript>{text}{inner}</noscript>");
        assert_eq!(by_pass(&html).len(), count, "{inner}");
        assert_eq!(by_pass(&html), by_plugin(&html), "{inner}");
    }
}
