//! When a page was published and changed.

use orbweaver_sdk::testing::Document;

use crate::{at, facts, of};

#[test]
fn a_line_of_facts_below_the_headline_has_the_date() {
    for line in [
        "<p>Hamburg, 14 March 2024</p>",
        "<p>Weavers' club • 14 March 2024</p>",
        "<p>Press release of 14 March 2024 | Berlin</p>",
        "<div>14 March 2024, 10:27 | Law and order</div>",
        "<p>Ann Lee, March 14, 2024</p>",
        "<p>Written by Ann Lee on March 14, 2024</p>",
        "<p class=author>Written by <a href=/x>Ann Lee</a> in <a href=/y>Webs</a> on 14 March 2024 at 08:34 PM EDT. <a>51 comments</a></p>",
    ] {
        let html = format!("<h1>T</h1>{line}<p>Spiders came back to the garden.</p>");
        assert_eq!(
            facts(&html).published.as_deref(),
            Some("2024-03-14"),
            "{line}"
        );
    }
    for line in [
        "<p>They came back on March 14, 2024, as every spring before.</p>",
        "<p>Joined: 14 March 2024</p>",
        "<p class=author>Ann Lee, who was born on 14 March 2024, weaves</p>",
        "<p>Since then, and that was March 14, 2024 at the latest</p>",
    ] {
        assert_eq!(
            facts(&format!("<h1>T</h1>{line}")).published,
            None,
            "{line}"
        );
    }
}

#[test]
fn a_change_is_told_from_a_publication() {
    let html = "<h1>T</h1><div class=meta><span>Published: 14 March 2024</span> <span>Last updated: 2 May 2024</span></div>";
    let found = facts(html);
    assert_eq!(
        (found.published.as_deref(), found.modified.as_deref()),
        (Some("2024-03-14"), Some("2024-05-02"))
    );
    let html = "<h1>T</h1><p>Updated <time datetime=2024-05-02>yesterday</time></p>";
    let found = facts(html);
    assert_eq!(
        (found.published, found.modified.as_deref()),
        (None, Some("2024-05-02"))
    );
}

#[test]
fn what_stands_in_place_of_a_date_is_no_date() {
    let html = "<meta property=article:published_time content='0001-01-01T00:00:00Z'><meta name=date content='1970-01-01'>
        <script type=application/ld+json>{\"@type\":\"Article\",\"datePublished\":\"soon\",\"dateModified\":\"0001-01-01\"}</script>";
    let found = facts(html);
    assert_eq!((found.published, found.modified), (None, None));
    let html = format!("{html}<h1>T</h1><time>14 March 2024</time>");
    assert_eq!(facts(&html).published.as_deref(), Some("2024-03-14"));
}

#[test]
fn dates_far_from_the_headline_or_of_other_pages_are_not_the_page_s() {
    let filler = "<p>Words of the page that go on and on.</p>".repeat(400);
    let html =
        format!("<h1>T</h1>{filler}<time datetime=2024-03-14>Mar 14</time><p>By Ann Lee</p>");
    let found = facts(&html);
    assert_eq!((found.published, found.author), (None, None));
    let html = "<h1>T</h1><div class=related><time datetime=2024-03-14>x</time><span class=author>Ann Lee</span></div><footer>© 14 March 2024</footer>";
    let found = facts(html);
    assert_eq!((found.published, found.author), (None, None));
    assert_eq!(
        facts("<h1>T</h1><p>On March 14, 2024 the spiders came back to the garden.</p>").published,
        None
    );
}

#[test]
fn the_date_of_a_web_page_counts_where_readers_are_shown_it() {
    let page = |kind: &str, shown: &str| {
        format!(
            "<script type=application/ld+json>{{\"@type\":\"{kind}\",\"datePublished\":\"2024-03-14T09:00:00Z\"}}</script>\
             <h1>Webs for sale</h1><p>{shown}</p>"
        )
    };
    let shown = "14 March 2024";
    let date = Some("2024-03-14T09:00:00Z");
    for (kind, shown, expected) in [
        ("WebPage", "", None),
        ("CollectionPage", "Ten webs", None),
        ("WebPage", shown, date),
        ("Article", "", date),
        ("Product", "", date),
    ] {
        let found = facts(&page(kind, shown)).published;
        assert_eq!(found.as_deref(), expected, "{kind} {shown}");
    }
    let found = at("https://host.example/2024/03/14/webs", &page("WebPage", ""));
    assert_eq!(found.published.as_deref(), date);
}

#[test]
fn the_release_of_a_product_is_not_its_page_s_publication() {
    for html in [
        "<h1>Web Builder 2</h1><div>Release Date:</div><div class=date>21 Aug, 2012</div>",
        "<h1>Web Builder 2</h1><p>Release date: 21 Aug, 2012</p>",
    ] {
        assert_eq!(facts(html).published, None, "{html}");
    }
    let html = "<h1>Webs</h1><div>Posted:</div><div class=date>21 Aug, 2012</div>";
    assert_eq!(facts(html).published.as_deref(), Some("2012-08-21"));
}

#[test]
fn the_page_s_footer_tells_when_it_was_changed() {
    let modified = |footer: &str| {
        let text = "<p>A sentence about webs and silk.</p>".repeat(120);
        facts(&format!(
            "<body lang=en><main><h1>Webs</h1>{text}</main>{footer}"
        ))
        .modified
    };
    for footer in [
        "<footer><ul><li>This page was last edited on 2 March 2026, at 10:32.</ul></footer>",
        "<div class=footer role=contentinfo>Last updated on Mar 02, 2026.</div>",
        "<footer><p>Updated <time datetime=2026-03-02>2 March</time></p></footer>",
    ] {
        let found = modified(footer).unwrap_or_default();
        assert!(found.starts_with("2026-03-02"), "{found} of {footer}");
    }
    for footer in [
        "<footer>Copyright 2 March 2026</footer>",
        "<footer>Founded on 2 March 2026</footer>",
        "<article><p>A post</p><footer>Last edited on 2 March 2026</footer></article>",
    ] {
        assert_eq!(modified(footer), None, "{footer}");
    }
}

#[test]
fn the_end_of_an_offer_is_no_publication() {
    let found = facts("<h1>Webs</h1><p>Offer ends on 2 March 2026</p>");
    assert_eq!(found.published, None);
}

#[test]
fn a_date_in_words_is_read_from_a_time_element() {
    let found =
        facts("<h1>Webs</h1><time datetime='on Friday December 19, 2025 @08:00PM'>then</time>");
    assert!(
        found
            .published
            .is_some_and(|date| date.starts_with("2025-12-19"))
    );
}

#[test]
fn what_is_to_come_is_no_publication() {
    let answered = |published: &str| {
        let html = format!(
            "<meta property=article:published_time content={published}><h1>Webs</h1><p>1 February 2026</p>"
        );
        of(&Document::new("https://e.example/", &html)
            .header("date", "Sat, 28 Feb 2026 23:00:00 GMT"))
        .published
    };
    assert_eq!(answered("2026-02-28").as_deref(), Some("2026-02-28"));
    assert_eq!(
        answered("2026-03-01T08:00:00+10:00").as_deref(),
        Some("2026-03-01T08:00:00+10:00")
    );
    assert_eq!(answered("2026-04-01").as_deref(), Some("2026-02-01"));
    assert_eq!(answered("2026-04").as_deref(), Some("2026-02-01"));
    assert_eq!(answered("2027").as_deref(), Some("2026-02-01"));
    for begun in ["2026", "2026-02"] {
        assert_eq!(answered(begun).as_deref(), Some(begun));
    }
    // The answer's date is English in every language.
    for language in ["de", "ja", "ru", "ar"] {
        let html = format!(
            "<html lang={language}><meta property=article:published_time content=2026-04-01>\
             <meta property=article:modified_time content=2026-05-01><h1>Webs</h1>"
        );
        let found = of(&Document::new("https://e.example/", &html)
            .header("date", "Sat, 28 Feb 2026 23:00:00 GMT"));
        assert_eq!(
            (found.published, found.modified),
            (None, None),
            "{language}"
        );
    }
}

#[test]
fn a_day_to_come_beside_the_headline_hides_no_other_one() {
    let html = "<h1>Webs</h1><p>Published on 1 May 2026</p><p>Published on 1 February 2026</p>";
    let found =
        of(&Document::new("https://e.example/", html)
            .header("date", "Sat, 28 Feb 2026 23:00:00 GMT"));
    assert_eq!(found.published.as_deref(), Some("2026-02-01"));
}

#[test]
fn one_line_may_tell_both_times() {
    for line in [
        "<p class=meta>Published March 5, 2024 | Updated March 7, 2024</p>",
        "<p>Published March 5, 2024 | Updated March 7, 2024</p>",
        "<p>March 5, 2024 (updated March 7, 2024)</p>",
        "<div class=date>March 5, 2024 – Last updated on March 7, 2024</div>",
        "<p>publié le 5 mars 2024 à 08h15, mis à jour le 7 mars 2024</p>",
        "<p class=date>2024年3月5日 公開 2024年3月7日 更新</p>",
    ] {
        let found = facts(&format!("<h1>Webs</h1>{line}<p>Spiders came back.</p>"));
        assert_eq!(
            (found.published.as_deref(), found.modified.as_deref()),
            (Some("2024-03-05"), Some("2024-03-07")),
            "{line}"
        );
    }
}

#[test]
fn the_footer_of_the_text_tells_of_it() {
    let facts_of = |footer: &str| {
        format!(
            "<footer class=node__meta><div>Submitted by <span><a class=username>{footer}</a></span> on <span>Tue, 03/05/2024 - 10:00</span></div></footer>"
        )
    };
    let anna = facts_of("Anna Lee");
    for html in [
        format!("<html lang=en><h1>T</h1><article class=node>{anna}<p>Words</p></article>"),
        format!("<html lang=en><article class=node><h1>T</h1><p>Words</p>{anna}</article>"),
        format!(
            "<html lang=en><article><h1>T</h1><p>Words</p>{anna}</article><footer>© Bo Lim</footer>"
        ),
    ] {
        let found = facts(&html);
        assert_eq!(
            (found.author.as_deref(), found.published.as_deref()),
            (Some("Anna Lee"), Some("2024-03-05")),
            "{html}"
        );
    }
    for html in [
        // Of several texts, of a comment, of the page.
        format!("<h1>Blog</h1><article>{anna}</article><article>{anna}</article>"),
        format!("<article><h1>T</h1><article class=comment>{anna}</article></article>"),
        format!("<h1>T</h1><article class=comment>{anna}</article>"),
        format!("<h1>T</h1><p>Words</p>{anna}"),
        // Whom the text is about.
        "<h1>T</h1><article>Words<footer>See <a href=/person/anna>Anna Lee</a></footer></article>"
            .to_owned(),
    ] {
        let found = facts(&html);
        assert_eq!((found.author, found.published), (None, None), "{html}");
    }
}

#[test]
fn a_change_is_a_change_in_every_language() {
    for (language, line) in [
        ("de", "Letzte Änderung: 14.03.2024"),
        ("nb", "Sist endret: 14.03.2024"),
        ("sv", "Senast ändrad 14 mars 2024"),
        ("nl", "Laatste wijziging: 14 maart 2024"),
        ("pl", "Ostatnia zmiana: 14.03.2024"),
        ("fi", "Muokattu 14.3.2024"),
        ("ru", "Отредактировано 14 марта 2024"),
        ("ja", "改訂日：2024年3月14日"),
        ("en", "Edited: March 14, 2024"),
    ] {
        let html = format!("<html lang={language}><h1>T</h1><p class=info>{line}</p><p>Words.</p>");
        let found = facts(&html);
        assert_eq!(
            (found.published.as_deref(), found.modified.as_deref()),
            (None, Some("2024-03-14")),
            "{line}"
        );
    }
}

#[test]
fn days_of_the_subject_are_not_the_page_s() {
    const EVENT: &str = r#"<script type=application/ld+json>{"@type":"Event","name":"Webs","startDate":"2024-03-14T19:00:00Z"}</script>"#;
    for line in [
        "<dl><dt>Born</dt><dd>March 14, 1990</dd></dl>",
        "<table><tr><th>Born</th><td>March 14, 1990 (age 34)</td></tr></table>",
        "<p>Geburtsdatum: 14.03.1990</p>",
        "<p>Died March 14, 2014</p>",
        "<p>When: March 14, 2024</p>",
        "<p>Effective date: March 14, 2024</p>",
        "<p>Opened on March 14, 2014</p>",
        "<dl><dt>Joined</dt><dd>March 14, 2014</dd></dl>",
        "<p><time itemprop=birthDate datetime=1990-03-14>March 14, 1990</time></p>",
        "<p><span itemprop=birthDate>March 14, 1990</span></p>",
        &format!("{EVENT}<p><time datetime=2024-03-14>March 14</time></p>"),
    ] {
        let html = format!("<h1>John Roe</h1>{line}<p>Words of the page.</p>");
        assert_eq!(facts(&html).published, None, "{line}");
    }
    // The headline is no label, and what else is near counts.
    for html in [
        "<h1>Born again</h1><time datetime=2024-03-15>March 15</time>".to_owned(),
        format!("<h1>T</h1>{EVENT}<p>March 15, 2024</p>"),
        format!("<h1>T</h1>{EVENT}<p>Born: 1 May 1990</p><p>Published: March 15, 2024</p>"),
    ] {
        assert_eq!(
            facts(&html).published.as_deref(),
            Some("2024-03-15"),
            "{html}"
        );
    }
}

#[test]
fn any_element_may_state_its_date() {
    for (element, published, modified) in [
        (
            "<span itemprop=datePublished content=2024-03-14>14 Mar</span>",
            Some("2024-03-14"),
            None,
        ),
        (
            "<abbr itemprop=datePublished title=2024-03-14>14 Mar</abbr>",
            Some("2024-03-14"),
            None,
        ),
        (
            "<div itemprop=datePublished>March 14, 2024</div>",
            Some("2024-03-14"),
            None,
        ),
        (
            "<b itemprop=dateModified datetime=2024-03-14>14 Mar</b>",
            None,
            Some("2024-03-14"),
        ),
        (
            "<b itemprop=datePublished>3 days ago</b><b itemprop=datePublished content=2024-03-14>14 Mar</b>",
            Some("2024-03-14"),
            None,
        ),
        (
            "<abbr class=published title=2024-03-14T10:00:00+00:00>10:00 AM</abbr>",
            Some("2024-03-14T10:00:00+00:00"),
            None,
        ),
        (
            "<span class=dt-updated title='14 March 2024'>Thursday</span>",
            None,
            Some("2024-03-14"),
        ),
        (
            "<span class=date title='All of them'>March 14, 2024</span>",
            Some("2024-03-14"),
            None,
        ),
    ] {
        let found = facts(&format!("<h1>T</h1><p>{element}</p><p>Words.</p>"));
        assert_eq!(
            (found.published.as_deref(), found.modified.as_deref()),
            (published, modified),
            "{element}"
        );
    }
}

#[test]
fn json_ld_may_state_a_time_as_a_number() {
    for number in ["1709287200", "1709287200000"] {
        let page = format!(
            r#"<script type=application/ld+json>{{"@type":"Article","datePublished":{number}}}</script>"#
        );
        assert_eq!(
            facts(&page).published.as_deref(),
            Some("2024-03-01T10:00:00Z"),
            "{page}"
        );
    }
}

#[test]
fn austria_has_names_of_its_own_for_two_months() {
    for (written, expected) in [
        ("3. Jänner 2024", "2024-01-03"),
        ("3. Feber 2024", "2024-02-03"),
    ] {
        let page = format!("<html lang=de-AT><h1>T</h1><p class=date>{written}</p>");
        assert_eq!(facts(&page).published.as_deref(), Some(expected), "{page}");
    }
}

#[test]
fn a_posting_may_say_when_it_was_posted() {
    let posting = |dates: &str| {
        facts(&format!(
            "<script type=application/ld+json>{{\"@type\":\"JobPosting\",\"title\":\"Weaver\",{dates}}}</script>"
        ))
        .published
    };
    let posted = r#""dateCreated":"2024-03-01","datePosted":"2024-03-14""#;
    assert_eq!(posting(posted).as_deref(), Some("2024-03-14"));
    let published = format!(r#"{posted},"datePublished":"2024-03-15""#);
    assert_eq!(posting(&published).as_deref(), Some("2024-03-15"));
}

#[test]
fn metas_of_libraries_tell_the_first_version_s_day() {
    for (metas, expected) in [
        (
            "<meta name=citation_date content=2017/06/12><meta name=citation_online_date content=2023/08/02>",
            "2017-06-12",
        ),
        ("<meta name=citation_date content=2020/05/01>", "2020-05-01"),
        (
            "<meta name=citation_publication_date content=2020/05>",
            "2020-05",
        ),
        (
            "<meta name=citation_publication_date content=2020/5>",
            "2020-05",
        ),
        (
            "<meta property=bytedance:published_time content=2024-03-14>",
            "2024-03-14",
        ),
    ] {
        assert_eq!(facts(metas).published.as_deref(), Some(expected), "{metas}");
    }
    let season = "<meta name=citation_publication_date content=2020/21>";
    assert_eq!(facts(season).published, None);
}

#[test]
fn a_heading_with_more_than_the_headline_is_the_headline_s_place() {
    // The same text is a heading of the comments, too.
    let more = "<p>Text</p>".repeat(300);
    let html = format!(
        "<title>On webs and silk</title><h1>On webs and silk <a href=https://e.example/>(e.example)</a></h1>\
         <p>Posted by ann <time datetime='on Thursday March 14, 2024 @11:40AM'></time></p>{more}<h2>On webs and silk</h2>"
    );
    assert_eq!(facts(&html).published.as_deref(), Some("2024-03-14T11:40"));
}

#[test]
fn components_and_other_calendars_have_dates_too() {
    for html in [
        "<relative-time datetime=2024-03-14>Mar 14</relative-time>",
        "<faceplate-timeago ts=2024-03-14></faceplate-timeago>",
        "<p class=date>令和6年3月14日</p>",
        "<p class=date>中華民國113年3月14日</p>",
        "<html lang=fa><p>تاریخ انتشار: ۲۴ اسفند ۱۴۰۲</p>",
        "<html lang=ar><p>14 آذار 2024</p>",
    ] {
        let found = facts(&format!("<h1>On webs</h1>{html}")).published;
        assert_eq!(found.as_deref(), Some("2024-03-14"), "{html}");
    }
}
