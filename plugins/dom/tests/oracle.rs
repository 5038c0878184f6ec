//! Our parser against html5ever, whose tree scraper holds: on pages that have what real ones do, and
//! on random ones that have what none should. The example `random` compares as many as one has time for.
#![cfg(feature = "write")]
#![expect(clippy::expect_used, reason = "a test may panic")]

#[path = "support/compare.rs"]
mod compare;
#[path = "support/generate.rs"]
mod generate;
#[path = "support/random.rs"]
mod random;

use generate::page as random_page;
use orbweaver_dom::{Limits, parse, parse_with};
use random::Random;

fn assert_agrees(html: &str) {
    let snapshot = parse(html);
    let view = snapshot.view().expect("a snapshot");
    let differences = compare::differences(&view, &compare::scraper_tree(html));
    assert!(differences.is_empty(), "{html:?}: {differences:#?}");
}

const PAGES: &[(&str, &str)] = &[
    ("empty", ""),
    ("text only", "just text\r\nin two\rlines"),
    ("byte order mark", "\u{feff}<!doctype html><p>x"),
    (
        "article",
        "<!DOCTYPE html PUBLIC '-//W3C//DTD XHTML 1.0 Strict//EN' 'x'><html lang=en><head>\
         <meta charset=utf-8><title>T &amp; t</title><link rel=canonical href=/a><style>p>a{}</style>\
         <script type='application/ld+json'>{\"a\":\"<b>\"}</script></head><body class='a b'>\
         <nav><ul><li><a href=/1>1</a><li><a href=/2 rel='nofollow x'>2</a></ul></nav>\
         <main><article><h1 id=h>H</h1><p>a <b>b</b> <a href='http://x.y/z?a=1&copy=2&amp;b'>c</a>\
         <p>d<img src=/i.png alt=''><h2>e</h2><p>f</p><div><span></span></div></article></main>",
    ),
    (
        "templates",
        "<template id=t><tr><td>a<a href=x>y</a></td></tr><template><p>n</template></template>\
         <table><template><tr><td>in table</template><tr><td>b</table><select><template>s</template>\
         <option selected>o</select><p>after</template>",
    ),
    (
        "foreign content",
        "<svg viewBox='0 0 1 1' definitionurl=x><defs><linearGradient id=g></defs><a xlink:href=#g>t\
         <foreignObject><div>html<p>p</div></foreignObject><title>t<b>u</title><![CDATA[a<b>&amp;]]></a>\
         <desc><p>d</desc><path d=M0/></svg><math><mi>x</mi><annotation-xml encoding=text/html><div>h</div>\
         </annotation-xml><annotation-xml><div>out</div></math><svg><p>breaks out",
    ),
    (
        "foster parenting",
        "<table>a<b>c<tr>d<td>e<table><p>f<tr><td>g</table>h</td>i</tr>j<caption>k</caption><p>l\
         <tbody>m<form><input type=hidden><input></table>n",
    ),
    (
        "adoption agency",
        "<a href=1>1<div>2<a href=2>3</div>4</a><b class=x>5<i>6<p>7</b>8</i>9</p>\
         <p><b id=1><b id=2><b id=3><b id=4>x<p>y<font><nobr>a<nobr>b</font><button>c<button>d",
    ),
    (
        "nuls",
        "a\0b<p\0 x\0=\0y\0>c\0<!--\0--><title>\0d</title><svg>\0e<![CDATA[\0f]]></svg><script>\0</script>",
    ),
    (
        "unclosed",
        "<div><p>a<ul><li>b<li>c<dl><dt>d<dd>e<select><option>f<option>g<table><tr><td>h<textarea>\n i",
    ),
    (
        "frames",
        "<frameset><frame src=a><noframes><p>x</noframes></frameset>text<noframes>y",
    ),
    (
        "raw text",
        "<script><!--<script></script>--></script>a<script><!-- x --></script><style><!--</style>\
         <textarea>\n</textarea x></textarea><xmp><b></xmp ><noscript><p>n</noscript><iframe><p></iframe>\
         <noembed></noembed/><title><b>&lt;</title><plaintext></plaintext><b>&amp;",
    ),
    (
        "character references",
        "&amp;&ampx&notit;&notin;&#65;&#x41&#0;&#128;&#xD800;&#1114112;&bogus;&&#;&#x;&;\
         <a href='?a&lt=1&lt;&ltx&amp' title=&copy;&copy=&copy>x</a>&CounterClockwiseContourIntegral;&nGt;",
    ),
    (
        "comments",
        "<!--><!---><!----><!--a--!>b<!--c--d-->e<!-x><!><?php ?></ x></><!--f<!--g--><!--h--!--><!--i",
    ),
    ("cut inside a tag", "a<p class=x title='never closed"),
    (
        "custom elements",
        "<my-element is=x data-src=y><x-a><b>c</b></x-a></my-element><é>d</é>",
    ),
    (
        "misplaced head",
        "<p>a<title>b</title><meta name=c><body class=d><html lang=e><head></body>f</html>g<!--h-->",
    ),
];

#[test]
fn pages_agree() {
    for (name, html) in PAGES {
        println!("{name}");
        assert_agrees(html);
        // Cut anywhere.
        for at in (0..html.len()).filter(|at| html.is_char_boundary(*at)) {
            assert_agrees(&html[..at]);
        }
    }
}

#[test]
fn random_pages_agree() {
    let mut random = Random::new(1);
    for _ in 0..ROUNDS {
        assert_agrees(&random_page(&mut random));
    }
}

const ROUNDS: usize = 3000;

#[test]
fn limits_keep_text_and_links_between_nodes() {
    let mut random = Random::new(2);
    for _ in 0..300 {
        let page = random_page(&mut random);
        let whole = parse(&page);
        let limits = Limits {
            max_depth: 4,
            ..Limits::default()
        };
        let flat = parse_with(&page, &limits);
        let (whole, flat) = (
            whole.view().expect("a snapshot"),
            flat.view().expect("a snapshot"),
        );
        assert_eq!(
            whole.root().text_content(),
            flat.root().text_content(),
            "{page:?}"
        );
        assert_eq!(whole.len(), flat.len(), "{page:?}");
        for node in flat.nodes() {
            assert!(
                !node.is_element() || node.ancestors().count() <= 4,
                "{page:?}"
            );
            for child in node.children() {
                assert_eq!(child.parent(), Some(node), "{page:?}");
            }
        }
    }
}
