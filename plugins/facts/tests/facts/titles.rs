//! Titles with the site's name, in scripts without spaces between words and others.

use crate::{at, titles};

#[test]
fn the_stated_name_of_a_site_is_cut_behind_any_mark() {
    for (title, site, expected) in [
        ("大見出し｜毎日ニュース", "毎日ニュース", "大見出し"),
        ("大見出し│毎日ニュース", "毎日ニュース", "大見出し"),
        ("大見出し：毎日ニュース", "毎日ニュース", "大見出し"),
        ("大見出し（毎日ニュース）", "毎日ニュース", "大見出し"),
        ("大見出し(毎日ニュース)", "毎日ニュース", "大見出し"),
        ("大見出し【毎日ニュース】", "毎日ニュース", "大見出し"),
        ("【毎日ニュース】大見出し", "毎日ニュース", "大見出し"),
        ("毎日ニュース｜大見出し", "毎日ニュース", "大見出し"),
        (
            "大見出し ｜ 社会 ｜ 毎日ニュース",
            "毎日ニュース",
            "大見出し ｜ 社会",
        ),
        ("大見出し－毎日ニュース", "毎日ニュース", "大見出し"),
        ("大标题_新浪网", "新浪网", "大标题"),
        ("大标题-新浪网", "新浪网", "大标题"),
        ("大标题—新浪网", "新浪网", "大标题"),
        ("大标题——新浪网", "新浪网", "大标题"),
        ("大标题_新闻频道_新浪网", "新浪网", "大标题"),
        ("大标题_国内新闻-新浪网", "新浪网", "大标题"),
        ("主标题-副标题-新浪网", "新浪网", "主标题-副标题"),
        ("snake_case 变量_新浪网", "新浪网", "snake_case 变量"),
        ("iPhone 15-新浪网", "新浪网", "iPhone 15"),
        ("《大标题》_Sina", "Sina", "《大标题》"),
        ("제목입니다 : 네이버 뉴스", "네이버 뉴스", "제목입니다"),
        ("제목입니다 - 네이버 뉴스", "네이버 뉴스", "제목입니다"),
        ("제목입니다::네이버 뉴스", "네이버 뉴스", "제목입니다"),
        ("หัวข้อข่าว-ไทยรัฐ", "ไทยรัฐ", "หัวข้อข่าว"),
        ("Titre : Le Matin", "Le Matin", "Titre"),
        ("Headline—The Weaver", "The Weaver", "Headline"),
        ("Headline (The Weaver)", "The Weaver", "Headline"),
        ("[The Weaver] Headline", "The Weaver", "Headline"),
        ("Заголовок — Новости", "Новости", "Заголовок"),
        // A name is a part of a word, or what the title is about.
        ("Anti-Weaver", "Weaver", "Anti-Weaver"),
        (
            "Interview: The Weaver",
            "The Weaver",
            "Interview: The Weaver",
        ),
        ("use_weaver", "Weaver", "use_weaver"),
        ("use(Weaver)", "Weaver", "use(Weaver)"),
        ("大标题_新浪网", "网易", "大标题_新浪网"),
        ("毎日ニュース", "毎日ニュース", "毎日ニュース"),
        ("（毎日ニュース）", "毎日ニュース", "（毎日ニュース）"),
        ("大標題(上)", "新浪網", "大標題(上)"),
        (
            "大見出し：毎日ニュースの話",
            "毎日ニュース",
            "大見出し：毎日ニュースの話",
        ),
    ] {
        let html = format!("<title>{title}</title><meta property=og:site_name content='{site}'>");
        let found = titles(&html);
        assert_eq!(found, (expected.to_owned(), expected.to_owned()), "{title}");
    }
}

#[test]
fn a_heading_tells_where_the_title_ends_where_nobody_states_the_name() {
    for title in [
        "大标题在此_新浪网",
        "大标题在此-新浪网",
        "大标题在此｜新浪网",
        "大标题在此（新浪网）",
        "大标题在此：新浪网",
        "大标题在此【新浪网】",
        "新浪网_大标题在此",
    ] {
        let html = format!("<title>{title}</title><h1>大标题在此</h1>");
        let expected = "大标题在此".to_owned();
        assert_eq!(titles(&html), (expected.clone(), expected), "{title}");
    }
}

#[test]
fn a_name_that_the_host_is_made_of_is_cut_behind_wide_marks_alone() {
    for (title, expected) in [
        ("大标题_Weaver", "大标题"),
        ("大标题｜Weaver", "大标题"),
        ("The anti-weaver", "The anti-weaver"),
        ("use_weaver", "use_weaver"),
        ("大标题：织网", "大标题：织网"),
    ] {
        let found = at(
            "https://www.weaver.example/1",
            &format!("<title>{title}</title>"),
        );
        assert_eq!(found.title.as_deref(), Some(expected), "{title}");
    }
}

#[test]
fn a_name_with_a_mark_in_it_is_one_word() {
    let found = titles("<title>snake_case in Rust</title><h1>snake</h1>");
    assert_eq!(found.0, "snake_case in Rust");
}

#[test]
fn a_title_of_marks_alone_is_cut_at_once() {
    for mark in ["(", "_", "｜", "【", "-大"] {
        let title = mark.repeat(300);
        let html = format!("<title>{title}</title><meta property=og:site_name content=大>");
        assert!(!titles(&html).0.is_empty());
    }
}

#[test]
fn the_name_of_a_blog_before_a_colon_is_no_part_of_the_title() {
    let page = |title: &str, h1: &str| {
        format!(
            "<title>{title}</title><body><h1><a href=/>{h1}</a></h1><h3>How webs are built</h3><p>Text."
        )
    };
    let built = (
        "How webs are built".to_owned(),
        "How webs are built".to_owned(),
    );
    let html = page("The Weaver: How webs are built", "The Weaver");
    let found = at("https://notes.example/2024/03/webs.html", &html);
    assert_eq!(found.site_name.as_deref(), Some("The Weaver"));
    assert_eq!(titles(&html), built);
    // A subject, and what is said of it.
    let html = "<title>Garden spiders: the ten largest</title><h1>Garden spiders</h1><h2>The ten largest</h2>";
    assert_eq!(titles(html).1, "Garden spiders");
}

#[test]
fn what_stands_in_place_of_a_title_is_none() {
    for title in [
        "{{ pageTitle }}",
        "%%title%% %%sitename%%",
        "undefined",
        "Untitled Document",
    ] {
        let html = format!(
            "<title>{title}</title><meta property=og:title content='{title}'><h1>On webs</h1>"
        );
        assert_eq!(titles(&html).1, "On webs", "{title}");
    }
    // A page may be about one.
    let html = "<title>undefined - Reference</title><h1>undefined</h1>";
    assert_eq!(titles(html).1, "undefined");
}

#[test]
fn numbers_and_labels_around_a_heading_are_no_part_of_the_headline() {
    for (title, h1, expected) in [
        (
            "On webs · Issue #5 · orb/webs",
            "On webs <span>#5</span>",
            "On webs",
        ),
        (
            "北方的网 - 蜘蛛论坛",
            "<a href=/f>[分享]</a> 北方的网",
            "北方的网",
        ),
        (
            "[分享] 北方的网 - 蜘蛛论坛",
            "[分享] 北方的网",
            "[分享] 北方的网",
        ),
        ("Webs #5 | The Weaver", "Webs #5", "Webs #5"),
    ] {
        let html = format!("<title>{title}</title><h1>{h1}</h1>");
        assert_eq!(titles(&html).1, expected, "{title}");
    }
}
