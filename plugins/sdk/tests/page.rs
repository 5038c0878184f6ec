//! Pages natively behave as in the sandbox.

use orbweaver_sdk::head::{Head, hreflang};
use orbweaver_sdk::testing::{Document, Host, block_on, install};
use orbweaver_sdk::text::{self, Piece, pieces};
use orbweaver_sdk::{Code, Error, Page, http, join_all, robots};

const URL: &str = "https://example.org/a/b";

#[test]
fn a_borrowed_and_an_owned_page_are_equal() {
    let document = || {
        Document::new(URL, "<title>T</title>")
            .final_url("https://example.org/c")
            .status(404)
            .header("X-Thing", "1")
            .header("x-thing", "2")
    };
    let lent = document();
    for page in [lent.page(), document().into_page()] {
        assert_eq!(page.url(), URL);
        assert_eq!(page.final_url(), "https://example.org/c");
        assert_eq!(page.status(), 404);
        assert_eq!(page.header("X-THING"), Some("1"));
        assert_eq!(
            page.header_values("x-thing").collect::<Vec<_>>(),
            ["1", "2"]
        );
        assert_eq!(page.html(), "<title>T</title>");
        assert_eq!(page.body(), page.html().as_bytes());
        assert_eq!(page.size(), 16);
        for (offset, max, part) in [
            (1, 5, &b"title"[..]),
            (14, 9, b"e>"),
            (16, 1, b""),
            (0, 0, b""),
            (u64::MAX, u32::MAX, b""),
        ] {
            assert_eq!(page.read(offset, max), part, "{offset} {max}");
        }
        assert!(page.redirects().is_empty());
        assert_eq!(page.view().map(|view| view.html().is_some()), Ok(true));
    }
}

#[test]
fn the_base_is_the_first_base_element_that_is_http_else_the_final_url() {
    let base = |final_url: &str, html: &str| {
        let document = Document::new("https://asked.org/", html).final_url(final_url);
        document.page().base_url().to_owned()
    };
    assert_eq!(base(URL, ""), URL);
    assert_eq!(base(URL, "<base href=../x/>"), "https://example.org/x/");
    assert_eq!(
        base(URL, "<base><base href=/1/><base href=/2/>"),
        "https://example.org/1/"
    );
    assert_eq!(
        base(
            URL,
            "<template><base href=/1/></template><svg><base href=/2/></svg><math><base href=/3/></math><base href=/4/>"
        ),
        "https://example.org/4/"
    );
    assert_eq!(base(URL, "<base href='ftp://x/'><base href=/2/>"), URL);
    assert_eq!(
        base("about:blank", "<base href='http://x.org'>"),
        "http://x.org/"
    );
    assert_eq!(base("about:blank", "<base href='y'>"), "about:blank");
    let nowhere = Document::new("about:blank", "");
    assert!(nowhere.page().base().is_none());
}

#[test]
fn text_is_the_visible_text() {
    let document = Document::new(
        URL,
        "<body> a<b>b</b> <script>no</script><p>c<br>d<style>no</style></p><div> <div>e</div>f</div><template>no</template>
         <ul><li>g<li>h</ul><table><tr><td>i<td>j</table></body>",
    );
    let page = document.page();
    let body = page.view().expect("a view").body().expect("a body");
    assert_eq!(text::line(body), "ab c d e f g h i j");
    assert_eq!(text::lines(body), "ab\nc\nd\ne\nf\ng\nh\ni\nj");
    let texts =
        pieces(body).filter(|piece| matches!(piece, Piece::Text(t) if !t.trim().is_empty()));
    assert_eq!(texts.count(), 10);
    let bold = body.descendants().find(|n| n.name() == "b").expect("bold");
    assert_eq!(text::line(bold), "b");
    assert_eq!(text::lines(bold), "b");
    let script = body
        .descendants()
        .find(|n| n.name() == "script")
        .expect("a script");
    assert_eq!(
        text::line(script),
        "no",
        "the requested node itself is not hidden"
    );
}

#[test]
fn templates_and_drawings_say_nothing_of_the_page() {
    let document = Document::new(
        URL,
        "<head><template><title>no</title><meta name=robots content=noindex><meta name=description content=no>
         <link rel=canonical href=/no></template><title>yes</title><link rel=canonical href=/yes></head>
         <svg><title>drawing</title><link rel=next href=/no /></svg><p>x",
    );
    let page = document.page();
    let head = Head::of(&page).expect("a head");
    assert_eq!(head.title.as_deref(), Some("yes"));
    assert_eq!(
        head.canonical(&page).as_deref(),
        Some("https://example.org/yes")
    );
    assert_eq!((head.metas.len(), head.links.len()), (0, 1));
    assert_eq!(robots::directives(&page), Ok(Vec::new()));
}

#[test]
fn a_link_without_an_address_has_no_target() {
    let document = Document::new(
        URL,
        "<link rel='canonical next' href=''><link rel='canonical next' href=' \n'><link rel='canonical next' href=' /c '>
         <link rel=prev href=''>",
    );
    let page = document.page();
    let head = Head::of(&page).expect("a head");
    let target = Some("https://example.org/c".to_owned());
    assert_eq!(head.canonical(&page), target);
    assert_eq!(head.link(&page, "next"), target);
    assert_eq!(head.link(&page, "prev"), None);
    assert_eq!(head.links.len(), 4, "they stay visible");
    let header = Document::new(URL, "<link rel=canonical href=''>")
        .header("link", "</g>; rel=canonical")
        .into_page();
    let head = Head::of(&header).expect("a head");
    assert_eq!(
        head.canonical(&header).as_deref(),
        Some("https://example.org/g")
    );
}

#[test]
fn a_version_in_another_language_is_a_page() {
    for (attributes, language) in [
        ("hreflang=' de '", Some("de")),
        ("hreflang=de type=''", Some("de")),
        ("hreflang=de type='Text/HTML; charset=utf-8'", Some("de")),
        ("hreflang=de type=application/xhtml+xml", Some("de")),
        ("hreflang=de type=application/rss+xml", None),
        ("hreflang=de type=text/markdown", None),
        ("hreflang=''", Some("")),
        ("type=text/html", None),
    ] {
        let html = format!("<link rel=alternate href=/de {attributes}>");
        let page = Document::new(URL, &html).into_page();
        let head = Head::of(&page).expect("a head");
        assert_eq!(hreflang(head.links[0].node), language, "{attributes}");
    }
}

#[test]
fn the_first_meta_of_a_name_that_is_not_empty_counts() {
    let document = Document::new(
        URL,
        "<meta property=og:a content=' '><meta property=og:b content=1><meta property=OG:a content=2>
         <meta property=og:a content=3><meta property=og:b content=''><meta property=og:c content=''>",
    );
    let page = document.page();
    let head = Head::of(&page).expect("a head");
    let found: Vec<_> = head
        .prefixed("og:")
        .iter()
        .map(|meta| (meta.name, meta.content))
        .collect();
    assert_eq!(found, [("a", "2"), ("b", "1"), ("c", "")]);
}

#[test]
fn head_elements_count_wherever_the_parser_puts_them() {
    let document = Document::new(
        URL,
        "<html lang=' en '><head><img><meta name='A' content='1'><meta name=a content=' '><meta property='x a' content=' 2 '>
         <link rel='Alternate  Canonical' href='/c'><title> in the <i>body </title></html>",
    );
    let page = document.page();
    let head = Head::of(&page).expect("a head");
    assert_eq!(head.title.as_deref(), Some("in the <i>body"));
    assert_eq!(head.lang, Some("en"));
    assert_eq!(head.all(&["a"]).collect::<Vec<_>>(), ["1", "2"]);
    assert_eq!(head.meta_text(&["x", "a"]).as_deref(), Some("2"));
    assert_eq!(
        head.link(&page, "canonical").as_deref(),
        Some("https://example.org/c")
    );
    assert_eq!(
        head.canonical(&page),
        None,
        "search engines ignore it there"
    );
    assert_eq!(head.meta_text(&["b"]), None);
}

#[test]
fn the_canonical_url_is_that_of_the_head() {
    let document = Document::new(
        URL,
        "<html><head></head><link rel=canonical href=/late-head><body><link rel=canonical href=/body>",
    );
    let page = document.page();
    let canonical = Head::of(&page).expect("a head").canonical(&page);
    assert_eq!(canonical.as_deref(), Some("https://example.org/late-head"));
    let document = Document::new(URL, "<p>x<link rel=canonical href=/body>")
        .header("Link", "</header>; rel=canonical");
    let page = document.page();
    let canonical = Head::of(&page).expect("a head").canonical(&page);
    assert_eq!(canonical.as_deref(), Some("https://example.org/header"));
}

#[test]
fn the_metas_of_items_are_none_of_the_page() {
    let document = Document::new(
        URL,
        "<div itemscope><meta itemprop=description content=thing></div><meta name=Description itemprop=description content=' page '>",
    );
    let page = document.page();
    let head = Head::of(&page).expect("a head");
    assert_eq!(head.all(&["description"]).collect::<Vec<_>>(), ["page"]);
    let named: Vec<_> = head
        .named(&["description"])
        .map(|meta| (meta.is_of_item(), meta.content.trim()))
        .collect();
    assert_eq!(
        named,
        [(true, "thing"), (false, "page"), (true, "page")],
        "in document order, by each of its names"
    );
}

#[test]
fn directives_are_for_all_robots_or_for_one() {
    let document = Document::new(
        URL,
        "<meta name=robots content='noindex, max-snippet: 3;nofollow,,'><meta name=GPTBot content=none><meta name=viewport content=x>",
    )
    .header("X-Robots-Tag", "unavailable_after: 25 Jun 2030 15:00:00 PST")
    .header("X-Robots-Tag", "otherbot: noindex")
    .header("X-Robots-Tag", "noarchive, max-image-preview: large");
    let page = document.page();
    let found = robots::directives(&page).expect("directives");
    let found: Vec<_> = found
        .iter()
        .map(|d| (d.agent, d.name, d.value, d.header))
        .collect();
    assert_eq!(
        found,
        [
            (None, "noindex", None, false),
            (None, "max-snippet", Some("3"), false),
            (None, "nofollow", None, false),
            (Some("GPTBot"), "none", None, false),
            (
                None,
                "unavailable_after",
                Some("25 Jun 2030 15:00:00 PST"),
                true
            ),
            (Some("otherbot"), "noindex", None, true),
            (None, "noarchive", None, true),
            (None, "max-image-preview", Some("large"), true),
        ]
    );
    assert!(robots::is_ai("gptbot") && !robots::is_ai("googlebot"));
}

#[test]
fn a_header_s_line_may_name_several_robots() {
    let document = Document::new(URL, "<meta name=robots content='noarchive, ai: no, nofollow'>")
        .header("X-Robots-Tag", "googlebot: nofollow, otherbot: noindex, none")
        .header(
            "X-Robots-Tag",
            "noarchive, max-snippet: 3, bingbot: unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT, noindex; gptbot:nofollow",
        );
    let page = document.page();
    let found = robots::directives(&page).expect("directives");
    let found: Vec<_> = found.iter().map(|d| (d.agent, d.name, d.value)).collect();
    let date = Some("Fri, 25 Jun 2027 15:00:00 GMT");
    assert_eq!(
        found,
        [
            (None, "noarchive", None),
            (None, "ai", Some("no")),
            (None, "nofollow", None),
            (Some("googlebot"), "nofollow", None),
            (Some("otherbot"), "noindex", None),
            (Some("otherbot"), "none", None),
            (None, "noarchive", None),
            (None, "max-snippet", Some("3")),
            (Some("bingbot"), "unavailable_after", date),
            (Some("bingbot"), "noindex", None),
            (Some("gptbot"), "nofollow", None),
        ]
    );
}

#[test]
fn a_date_s_comma_does_not_end_its_directive() {
    let document = Document::new(
        URL,
        "<meta name=robots content='noarchive, unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT, noindex;Unavailable_After: June 25, 2027,max-snippet:3'>",
    )
    .header("X-Robots-Tag", "unavailable_after: Friday, 25-Jun-27 15:00:00 UTC")
    .header("X-Robots-Tag", "bingbot: unavailable_after: 2027-06-25, 3, none")
    .header("X-Robots-Tag", "otherbot: noindex, 2, unavailable_after: 2027-06-25; 3");
    let page = document.page();
    let found = robots::directives(&page).expect("directives");
    let found: Vec<_> = found.iter().map(|d| (d.agent, d.name, d.value)).collect();
    assert_eq!(
        found,
        [
            (None, "noarchive", None),
            (
                None,
                "unavailable_after",
                Some("Fri, 25 Jun 2027 15:00:00 GMT")
            ),
            (None, "noindex", None),
            (None, "Unavailable_After", Some("June 25, 2027")),
            (None, "max-snippet", Some("3")),
            (
                None,
                "unavailable_after",
                Some("Friday, 25-Jun-27 15:00:00 UTC")
            ),
            (Some("bingbot"), "unavailable_after", Some("2027-06-25, 3")),
            (Some("bingbot"), "none", None),
            (Some("otherbot"), "noindex", None),
            (Some("otherbot"), "2", None),
            (Some("otherbot"), "unavailable_after", Some("2027-06-25")),
            (Some("otherbot"), "3", None),
        ]
    );
}

struct Web;

impl Host for Web {
    fn fetch(&self, request: &http::Request) -> Result<Document, Error> {
        match request.url.strip_prefix("https://") {
            Some(name) => Ok(Document::new(&request.url, name)),
            None => Err(Error::new(Code::Connect, "no such host")),
        }
    }

    fn extract(&self, role: &str, page: &Page<'_>, options: &str) -> Result<String, Error> {
        Ok(format!("{role} {} {options}", page.html()))
    }
}

#[test]
fn host_functions_use_the_installed_host_and_are_denied_without_one() {
    let get = |url: &str| block_on(http::get(url)).map(|page| page.html().to_owned());
    assert!(matches!(get("https://a"), Err(ref error) if error.is_refusal()));
    let web = install(Web);
    assert_eq!(get("https://a").as_deref(), Ok("a"));
    assert!(matches!(get("x"), Err(ref error) if error.is_fetch()));
    assert!(matches!(
        block_on(orbweaver_sdk::render("https://a", Default::default())),
        Err(ref error) if error.is_refusal()
    ));
    let urls = ["https://a", "x", "https://b"];
    let together = block_on(join_all(urls.map(http::get)));
    let many = http::fetch_many(urls.map(http::Request::get).to_vec(), 2);
    for pages in [together, many] {
        let found: Vec<_> = pages
            .iter()
            .map(|page| page.as_ref().ok().map(Page::html))
            .collect();
        assert_eq!(found, [Some("a"), None, Some("b")]);
    }
    let page = Page::from_html(URL, "<p>x");
    assert_eq!(
        block_on(orbweaver_sdk::extract("links", &page, "{}")).as_deref(),
        Ok("links <p>x {}")
    );
    drop(web);
    assert!(matches!(get("https://a"), Err(ref error) if error.is_refusal()));
}

#[test]
fn futures_are_awaited_together_with_results_in_order() {
    use std::cell::Cell;
    use std::task::Poll;
    let polls = Cell::new(0);
    // Each is ready only after all have been polled.
    let futures = (0..5).map(|number| {
        let mut first = true;
        let polls = &polls;
        std::future::poll_fn(move |_| {
            polls.set(polls.get() + u32::from(std::mem::take(&mut first)));
            if polls.get() == 5 {
                Poll::Ready(number)
            } else {
                Poll::Pending
            }
        })
    });
    assert_eq!(block_on(join_all(futures)), [0, 1, 2, 3, 4]);
    assert!(block_on(join_all(Vec::<std::future::Ready<()>>::new())).is_empty());
}

#[test]
fn a_meta_has_eight_names_at_most() {
    let names = (0..1_000).map(|i| format!(" og:a{i}")).collect::<String>();
    let document = Document::new(
        "https://example.org/",
        &format!("<meta content=b property='{names}' name=description>"),
    );
    let page = document.page();
    let head = Head::of(&page).expect("a head");
    assert_eq!(head.metas.len(), 8);
}
