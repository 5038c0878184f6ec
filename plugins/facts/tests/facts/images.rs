//! The main image, however it is stated, and the facts of films.

use crate::facts;

#[test]
fn the_image_is_found_however_it_is_stated() {
    let json = |graph: &str| {
        format!(
            r#"<script type=application/ld+json>{{"@context":"https://schema.org","@graph":[{graph}]}}</script>"#
        )
    };
    let article = |image: &str| format!(r##"{{"@type":"Article",{image}}}"##);
    for html in [
        // Yoast's reference to an object of the same graph, before and behind it.
        json(&format!(
            r##"{},{{"@type":"ImageObject","@id":"https://e.example/#primaryimage","url":"/a.jpg"}}"##,
            article(r##""image":{"@id":"https://e.example/#primaryimage"}"##)
        )),
        json(&format!(
            r##"{{"@type":"ImageObject","@id":"#i","contentUrl":"/a.jpg"}},{}"##,
            article(r##""image":[{"@id":"#i"}]"##)
        )),
        json(&article(r#""thumbnailUrl":"/a.jpg""#)),
        json(&article(r#""image":{"@id":"https://e.example/#none"},"thumbnailUrl":"/a.jpg""#)),
        json(&article(r#""image":{"@type":"ImageObject","contentUrl":"/a.jpg"}"#)),
        json(&article(r#""image":{"@type":"ImageObject","url":["/a.jpg","/b.jpg"]}"#)),
        json(&article(r#""image":{"@id":"/a.jpg"}"#)),
        json(r#"{"@type":"VideoObject","thumbnailUrl":["/a.jpg","/b.jpg"]}"#),
        "<link rel=image_src href=/a.jpg>".to_owned(),
        "<div itemscope itemtype=https://schema.org/Article><div itemprop=image itemscope itemtype=https://schema.org/ImageObject><meta itemprop=url content=/a.jpg></div></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/Article><figure itemprop=image itemscope itemtype=https://schema.org/ImageObject><img itemprop=contentUrl src=/a.jpg></figure></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/Article><img itemprop=image src=/a.jpg></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/Product><img itemprop=image src=data:image/gif;base64,R0 data-src=/a.jpg></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/Product><a itemprop=image href=/a.jpg><img src=/small.jpg></a><img itemprop=image src=/b.jpg></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/Recipe><link itemprop=image href=/a.jpg></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/WebPage><div itemprop=mainEntity itemscope itemtype=https://schema.org/Product><img itemprop=image src=/a.jpg></div></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/VideoObject><link itemprop=thumbnailUrl href=/x.jpg><meta itemprop=thumbnailUrl content=/a.jpg></div>".to_owned(),
        // The product that the page is about, and others.
        "<div itemscope itemtype=https://schema.org/Product><img itemprop=image src=/b.jpg></div><div itemscope itemtype=https://schema.org/Product><h1>T</h1><img itemprop=image src=/a.jpg></div>".to_owned(),
    ] {
        assert_eq!(facts(&html).image.as_deref(), Some("/a.jpg"), "{html}");
    }
    let product =
        "<div itemscope itemtype=https://schema.org/Product><img itemprop=image src=/a.jpg></div>";
    for html in [
        format!("<h1>Webs</h1>{product}{product}"),
        "<div itemscope itemtype=https://schema.org/Article><div itemprop=author itemscope itemtype=https://schema.org/Person><img itemprop=image src=/a.jpg></div></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/Person><img itemprop=image src=/a.jpg></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/Comment><img itemprop=image src=/a.jpg></div>".to_owned(),
        "<div itemscope itemtype=https://schema.org/Product><div itemprop=isRelatedTo itemscope itemtype=https://schema.org/Product><img itemprop=image src=/a.jpg></div></div>".to_owned(),
        json(&article(r#""image":{"@id":"https://e.example/#none"}"#)),
        json(r#"{"@type":"Organization","image":"/a.jpg"}"#),
    ] {
        assert_eq!(facts(&html).image, None, "{html}");
    }
}

#[test]
fn a_film_s_upload_is_the_publication_of_a_page_that_has_nothing_else() {
    let film = r#"{"@type":"VideoObject","name":"Webs","uploadDate":"2024-03-05T10:00:00Z"}"#;
    let published = |rest: &str| {
        let html = format!("<script type=application/ld+json>[{film}{rest}]</script><h1>Webs</h1>");
        facts(&html).published
    };
    let date = Some("2024-03-05T10:00:00Z");
    let section = format!("<script type=application/ld+json>{film}</script><h1>All news</h1>");
    assert_eq!(facts(&section).published, None);
    for (rest, expected) in [
        ("", date),
        (
            r#",{"@type":"WebPage"},{"@type":"NewsMediaOrganization"},{"@type":"BreadcrumbList"},{"@type":"WebSite"},{"@type":"Comment","datePublished":"2024-04-01"}"#,
            date,
        ),
        (r#",{"@type":"Product"}"#, None),
        (r#",{"@type":"Article"}"#, None),
        (
            r#",{"@type":"VideoObject","uploadDate":"2024-03-06"}"#,
            None,
        ),
    ] {
        assert_eq!(published(rest).as_deref(), expected, "{rest}");
    }
}
