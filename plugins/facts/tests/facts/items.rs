//! Whose the properties of Microdata are.

use crate::facts;

#[test]
fn what_others_say_has_dates_and_authors_of_its_own() {
    const STATED: &str = r#"<script type=application/ld+json>{"@type":"Article","datePublished":"2020-01-02","dateModified":"2020-03-04"}</script>
        <script type=application/ld+json>{"@type":"Book","author":{"@type":"Person","name":"Anna Weber"}}</script>"#;
    let metas = "<meta itemprop=datePublished content=2023-05-06><meta itemprop=dateModified content=2023-07-08><meta itemprop=author content='Otto Rezensent'>";
    let item = |kind: &str, inner: &str| {
        format!("<div itemprop=x itemscope itemtype='https://schema.org/{kind}'>{inner}</div>")
    };
    let told = |html: &str| {
        let found = facts(html);
        [found.published, found.modified, found.author].map(Option::unwrap_or_default)
    };
    let page = ["2020-01-02", "2020-03-04", "Anna Weber"];
    let of_item = ["2023-05-06", "2023-07-08", "Otto Rezensent"];
    for (inner, expected) in [
        (item("Review", metas), page),
        (item("Comment", metas), page),
        (item("Comment Thing", metas), page),
        // In an item inside of it, too.
        (item("Review", &item("Rating", metas)), page),
        (item("Article", metas), of_item),
        (item("Review", &format!("<h1>On webs</h1>{metas}")), page),
        // The page is the review.
        (
            format!(
                "<div itemscope itemtype=http://schema.org/Review><h1>On webs</h1>{metas}</div>"
            ),
            of_item,
        ),
    ] {
        assert_eq!(told(&format!("{STATED}<body>{inner}")), expected, "{inner}");
    }
    let linked = item("Comment", "<a rel=author>Otto Rezensent</a>");
    let linked = format!("<h1>On webs</h1><p class=byline>By Anna Weber</p>{linked}");
    assert_eq!(facts(&linked).author.as_deref(), Some("Anna Weber"));
    let alone = item(
        "Comment",
        "By <b itemprop=author>Otto Lee</b> <time itemprop=dateCreated datetime=2024-06-01>June 1</time>",
    );
    let found = facts(&format!("<h1>On webs</h1><p>The text.</p>{alone}"));
    assert_eq!((found.author, found.published), (None, None));
    let picture = "<meta itemprop=image content=/otto.png>";
    for kind in ["Review", "Person", "Organization"] {
        assert_eq!(facts(&item(kind, picture)).image, None, "{kind}");
    }
    assert_eq!(
        facts(&item("Article", picture)).image.as_deref(),
        Some("/otto.png")
    );
}

#[test]
fn what_the_page_says_goes_before_what_a_thing_on_it_says() {
    let item = "<div itemscope itemtype=https://schema.org/Product><meta itemprop=author content='Otto Hersteller'><meta itemprop=keywords content=thing></div>";
    let page = "<meta name=author content='Anna Weber'><meta name=keywords content=page>";
    let told = |html: &str| {
        let found = facts(html);
        (found.author.unwrap_or_default(), found.tags.join(","))
    };
    let of_item = ("Otto Hersteller".to_owned(), "thing".to_owned());
    assert_eq!(told(&format!("<body>{item}")), of_item);
    let of_page = ("Anna Weber".to_owned(), "page".to_owned());
    assert_eq!(told(&format!("<body>{item}{page}")), of_page);
}

#[test]
fn metas_of_teasers_are_not_the_page_s() {
    let teaser = |day: u32| {
        format!(
            "<div itemscope itemtype=https://schema.org/NewsArticle>\
             <meta itemprop=datePublished content=2024-03-0{day}><h3>One</h3></div>"
        )
    };
    let list: String = (1..4).map(teaser).collect();
    let page = |heading: &str| facts(&format!("{heading}<p>Text</p>{list}")).published;
    assert_eq!(page("<h1>On webs</h1>"), None);
    let own = "<main itemscope itemtype=https://schema.org/Article><h1>On webs</h1>\
               <meta itemprop=datePublished content=2024-01-01></main>";
    assert_eq!(page(own).as_deref(), Some("2024-01-01"));
}

#[test]
fn an_item_may_state_the_section() {
    let html = "<h1>On webs</h1><div itemscope itemtype=http://schema.org/DiscussionForumPosting>\
                <meta itemprop=articleSection content=Weaving></div>";
    assert_eq!(facts(html).section.as_deref(), Some("Weaving"));
}
