//! Items of a listing have authors and dates of their own.

use crate::{at, facts};

/// Five of these, with their numbers.
fn five(item: impl Fn(u32) -> String) -> String {
    (1..=5).map(item).collect()
}

fn card(n: u32) -> String {
    format!(
        "<article class=card><h2><a href=/p{n}>Post {n}</a></h2><div class=meta>\
         <time datetime=2024-03-1{n}>March 1{n}</time> by <a href=/author/ann>Ann Lee</a></div>\
         <p>A little of it.</p></article>"
    )
}

/// As themes write it that state Microdata.
fn item(n: u32) -> String {
    format!(
        "<article id=post-{n} class='post-{n} post hentry' itemscope itemtype=https://schema.org/CreativeWork>\
         <h2 itemprop=headline><a href=/p{n} rel=bookmark>Post {n}</a></h2>\
         <time class='entry-date published' itemprop=datePublished datetime=2024-03-1{n}>March 1{n}</time>\
         <span class='author vcard' itemprop=author itemscope itemtype=https://schema.org/Person>\
         <a href=/author/a{n} rel=author><b itemprop=name>Ann Lee</b></a></span></article>"
    )
}

/// A heading within the link.
fn linked(n: u32) -> String {
    format!(
        "<div class=post><a href=/p{n}><img><h3>Post {n}</h3></a><span class=date>March 1{n}, 2024</span></div>"
    )
}

#[test]
fn a_listing_has_no_author_and_no_date() {
    for items in [five(card), five(item), five(linked)] {
        for page in [
            format!("<title>Silk | Webs</title><main><h1>Silk</h1>{items}</main>"),
            format!("<title>Webs</title><header><h1><a href=/>Webs</a></h1></header>{items}"),
            format!("<title>Webs</title><main>{items}</main>"),
            format!(
                "<title>T</title><main><article><h1>T</h1><p>Words.</p></article><section><h2>More</h2>{items}</section></main>"
            ),
        ] {
            let found = facts(&page);
            assert_eq!((found.author, found.published), (None, None), "{page}");
        }
    }
}

/// One that stands alone has none of its kind beside it, and its heading may lead nowhere.
#[test]
fn an_article_beside_the_page_s_own_has_an_author_and_a_date_of_its_own() {
    let inner =
        "<span class=author>Bo Lim</span> <p>By Bo Lim</p><time datetime=2024-02-02>then</time>";
    for (around, end) in [
        ("<aside><h3>Related</h3>", "</aside>"),
        ("<section><h2>Read next</h2>", "</section>"),
    ] {
        for heading in ["<h2>Other</h2>", "<h3><a href=/o>Other</a></h3>"] {
            let page = format!(
                "<title>T</title><main><article><h1>T</h1><p>Words.</p></article>{around}<article class=card>{heading}{inner}</article>{end}</main>"
            );
            let found = facts(&page);
            assert_eq!((found.author, found.published), (None, None), "{page}");
        }
    }
}

#[test]
fn a_text_keeps_its_author_and_date_beside_teasers() {
    let own = "<p>By <a href=/author/bo>Bo Lim</a>, <time datetime=2024-02-02>then</time></p>";
    let told = |page: &str| {
        let found = at("https://www.orb-journal.example/webs/1", page);
        (found.author, found.published)
    };
    let expected = (Some("Bo Lim".to_owned()), Some("2024-02-02".to_owned()));
    for items in [five(card), five(item), five(linked)] {
        for page in [
            format!("<h1>T</h1>{own}{items}"),
            format!("<h1>T</h1>{items}{own}"),
            // A theme without a heading of the first level, which links its texts to themselves.
            format!(
                "<main><article class=card><h2><a href=/webs/1>T</a></h2>{own}</article>{items}</main>"
            ),
        ] {
            assert_eq!(told(&page), expected, "{page}");
        }
    }
    // Sections of one page, posts of a thread, people.
    for page in [
        format!(
            "<h1>T</h1><div class=post><h3><a href='/t?p=1#p1'>Re</a></h3>{own}</div><div class=post><h3><a href='/t?p=2#p2'>Re</a></h3></div>"
        ),
        format!(
            "<h1>T</h1><div><h2><a href=#a>A</a></h2>{own}</div><div><h2><a href=#b>B</a></h2></div>"
        ),
        format!(
            "<h1>T</h1><article class=post>{own}</article><article class=post><p>Words</p></article>"
        ),
        format!(
            "<h1>T</h1><div class=who><h4><a href=/author/bo>Bo Lim</a></h4>{own}</div><div class=who><h4><a href=/author/ann>Ann Lee</a></h4></div>"
        ),
        format!("<h1>T</h1><article><h2><a href=/p1>A paper</a></h2>{own}</article>"),
    ] {
        assert_eq!(told(&page), expected, "{page}");
    }
}
