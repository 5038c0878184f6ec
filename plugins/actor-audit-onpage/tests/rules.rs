//! Every rule, with a page that breaks it and a page that just satisfies it.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;

use orbweaver_actor_audit_onpage::rules::RULES;
use orbweaver_actor_audit_onpage::{RobotsFile, Severity};
use support::{Setup, URL, clean};

const TITLE: &str = "<title>How to prune an old apple tree in winter</title>";
const DESCRIPTION: &str = "Which branches to take from an old apple tree, which to leave, and how to make cuts that heal: a guide for the quiet months, step by step.";
const CANONICAL: &str =
    "<link rel=\"canonical\" href=\"https://garden.example/guides/pruning-apple-trees\">";
const OG_URL: &str =
    "<meta property=\"og:url\" content=\"https://garden.example/guides/pruning-apple-trees\">";
const OWN_VERSION: &str = "<link rel=\"alternate\" hreflang=\"en-GB\" href=\"https://garden.example/guides/pruning-apple-trees\">";
const DEFAULT_VERSION: &str = "<link rel=\"alternate\" hreflang=\"x-default\" href=\"https://garden.example/guides/pruning-apple-trees\">";
const H1: &str = "<h1>How to prune an old apple tree in winter</h1>";
const VIEWPORT: &str = "width=device-width, initial-scale=1";
const ROBOTS: &str = "index, follow, max-snippet:-1, max-image-preview:large";
const SAW: &str =
    "<img src=\"/images/saw.jpg\" alt=\"A folding saw on a bench\" width=\"640\" height=\"480\">";

fn canonical(url: &str) -> String {
    format!("<link rel=\"canonical\" href=\"{url}\">")
}

/// The page in the first language by its hreflang, in the second one by its lang.
fn of_languages(version: &str, lang: &str) -> Setup {
    let own = OWN_VERSION.replace("en-GB", version);
    clean()
        .swap(OWN_VERSION, &own)
        .swap("<html lang=\"en-GB\">", &format!("<html lang=\"{lang}\">"))
}

fn with_canonical(url: &str) -> Setup {
    clean().swap(CANONICAL, &canonical(url))
}

/// The page with a date behind which it is not shown, as of 27 November 2026.
fn expires(date: &str) -> Setup {
    clean()
        .header("date", "Fri, 27 Nov 2026 19:00:00 GMT")
        .header("x-robots-tag", &format!("unavailable_after: {date}"))
}

fn with_title(title: &str) -> Setup {
    clean().swap(TITLE, &format!("<title>{title}</title>"))
}

fn with_description(text: &str) -> Setup {
    clean().swap(DESCRIPTION, text)
}

fn on_http() -> Setup {
    let url = URL.replacen("https", "http", 1);
    clean().at(&url).header("strict-transport-security", "")
}

fn without_links() -> Setup {
    let page = clean();
    let html = page.html.replace("<a href", "<a data-was");
    let body = html.split("<body>").nth(1).expect("a body").to_owned();
    let old = page.html.split("<body>").nth(1).expect("a body").to_owned();
    page.swap(&old, &body)
}

fn json_ld(json: &str) -> Setup {
    clean().head(&format!(
        "<script type=\"application/ld+json\">{json}</script>"
    ))
}

fn many(count: usize, piece: impl Fn(usize) -> String) -> String {
    (0..count).map(piece).collect()
}

/// Rule, a page that breaks it, and one that does not.
fn cases() -> Vec<(&'static str, Setup, Setup)> {
    let root = "https://garden.example/";
    vec![
        // URL and response
        ("http-status", clean().status(404), clean().status(203)),
        ("redirect", clean().from(&["https://garden.example/old"]), clean()),
        (
            "redirect-chain",
            clean().from(&["http://garden.example/old", "https://garden.example/old"]),
            clean().from(&["https://garden.example/old"]),
        ),
        ("https-missing", on_http(), clean().at("http://127.0.0.1:8000/guides/apple")),
        ("not-html", clean().header("content-type", "application/pdf"), clean().header("content-type", "application/xhtml+xml")),
        ("media-type-mismatch", clean().at("https://garden.example/apple.pdf"), clean().at("https://garden.example/apple.html")),
        ("media-type-mismatch", clean().at("https://garden.example/apple.JPG"), clean().at("https://garden.example/wiki/Node.js")),
        ("media-type-mismatch", clean().at("https://garden.example/apple.css"), clean().at("https://garden.example/docs/package.json")),
        ("media-type-mismatch", clean().at("https://garden.example/app.js").header("content-type", "text/css"), clean().at("https://garden.example/app.js").header("content-type", "text/javascript")),
        ("media-type-mismatch", clean().header("content-type", ""), clean().header("content-type", "TEXT/HTML")),
        ("url-underscore", clean().at("https://garden.example/apple_trees"), clean().at("https://garden.example/apple-trees?a_b=1")),
        ("url-space", clean().at("https://garden.example/apple%20trees"), clean().at("https://garden.example/apple-trees?q=a%20b")),
        ("url-multiple-slashes", clean().at("https://garden.example//apple"), clean().at("https://garden.example/apple/?u=//x")),
        ("url-uppercase", clean().at("https://garden.example/Apple"), clean().at("https://garden.example/%C3%A4pfel?Q=A")),
        ("url-too-long", clean().at(&format!("{root}{}", "a".repeat(200))), clean().at(&format!("{root}{}", "a".repeat(170)))),
        ("url-parameters", clean().at("https://garden.example/?a=1&b=2&c=3&d=4"), clean().at("https://garden.example/?a=1&b=2&c=3")),
        ("url-session-id", clean().at("https://garden.example/?PHPSESSID=12ab"), clean().at("https://garden.example/?side=1")),
        ("url-session-id", clean().at("https://garden.example/a;jsessionid=12ab"), clean().at("https://garden.example/a;version=2")),
        // Indexing
        ("noindex", clean().swap(ROBOTS, "noindex"), clean().head("<meta name=bingbot content=noindex>")),
        ("noindex", clean().header("x-robots-tag", "googlebot: none"), clean().header("x-robots-tag", "otherbot: noindex")),
        ("noindex", expires("2026-11-26"), expires("Friday, 27-Nov-26 15:00:00 UTC")),
        ("noindex", expires("25 Jun 2010 15:00:00 PST"), clean().header("x-robots-tag", "unavailable_after: 2010-06-25")),
        ("robots-txt-blocked", clean().robots("User-agent: Googlebot\nDisallow: /guides\n"), clean().robots("User-agent: Otherbot\nDisallow: /\n")),
        ("robots-txt-unreachable", clean().no_robots(RobotsFile::Unreachable("HTTP 503".into())), clean().no_robots(RobotsFile::Missing)),
        ("robots-txt-invalid", clean().robots("User-agent: *\nDisalow /x\nNonsense: 1\nDisallow: x\nSitemap: /map.xml\n"), clean().robots("\u{feff}# hi\nUSER-AGENT: *\nDisallow:\nAllow: /*.css$\nContent-Signal: ai-train=no\n")),
        ("robots-txt-invalid", clean().robots("<!DOCTYPE html><title>Home"), clean().robots("")),
        ("nofollow-page", clean().swap(ROBOTS, "nofollow"), clean()),
        ("robots-conflict", clean().swap(ROBOTS, "index, follow").head("<meta name=robots content='noindex'>"), clean().swap(ROBOTS, "noindex, follow")),
        ("robots-unknown-directive", clean().swap(ROBOTS, "noidnex"), clean().swap(ROBOTS, "index, unavailable_after: 25 Jun 2030 15:00:00 PST")),
        ("nosnippet", clean().swap(ROBOTS, "max-snippet:0"), clean().swap(ROBOTS, "max-snippet:50")),
        ("noimageindex", clean().swap(ROBOTS, "noimageindex"), clean()),
        ("meta-refresh", clean().head("<meta http-equiv=refresh content='5; url=/other'>"), clean().head("<noscript><meta http-equiv=refresh content='0; url=/plain'></noscript>")),
        ("metas-in-body", clean().body("<meta name=description content='too late'>"), clean().body("<meta itemprop=x content=y><link rel=stylesheet href=/b.css>")),
        ("metas-in-body", clean().body("<link rel=alternate hreflang=fr href=/fr>"), clean().body("<link rel=alternate type=application/rss+xml hreflang=fr href=/fr/feed>")),
        ("metas-in-body", clean().body("<link rel=canonical href=/late>"), clean().body("<meta name=robots content=noindex>")),
        ("noindex", clean().body("<meta name=robots content=noindex>"), clean()),
        ("metas-in-body", clean().swap(TITLE, "").body("<title>How to prune an old apple tree in winter</title>"), clean().body("<title>A drawing</title>")),
        // Title and description
        ("title-missing", with_title(" "), clean()),
        ("title-missing", clean().swap(TITLE, "").body("<svg><title>A drawing</title></svg>"), clean().body("<svg><title>A drawing</title></svg>")),
        ("title-too-short", with_title("Pruning apple trees"), with_title("Pruning apple trees!")),
        ("title-too-long", with_title(&"x".repeat(61)), with_title(&"x".repeat(60))),
        ("title-too-long", with_title(&"冬".repeat(31)), with_title(&"冬".repeat(30))),
        ("title-too-long", with_title(&"नु".repeat(61)), with_title(&"नु".repeat(60))),
        ("title-too-long", with_title(&"e\u{301}".repeat(61)), with_title(&"e\u{301}\u{200d}\u{fe0f}".repeat(60))),
        ("title-too-short", with_title(&"n\u{303}".repeat(19)), with_title(&"n\u{303}".repeat(20))),
        ("title-too-long", with_title(&"👩\u{200d}🌾".repeat(31)), with_title(&"👩\u{200d}🌾".repeat(30))),
        ("title-multiple", clean().head("<title>Another title of the page</title>"), clean().body("<svg><title>A drawing</title></svg>")),
        ("description-missing", with_description(" "), clean()),
        ("description-too-short", with_description(&"x".repeat(79)), with_description(&"x".repeat(80))),
        ("description-too-long", with_description(&"x".repeat(161)), with_description(&"x".repeat(160))),
        ("description-multiple", clean().head("<meta name=Description content='Another'>"), clean().head("<meta property=og:description content='Another'>")),
        ("description-multiple", clean().head("<meta name=description itemprop=description content='Another'>"), clean().body("<div itemscope><meta itemprop=description content='Of a product'></div>")),
        ("description-multiple", clean().head("<meta property=description content='Another'>"), clean().swap("name=\"description\"", "name=\"description\" property=\"description\"")),
        ("description-missing", with_description(" ").body("<div itemscope><meta itemprop=description content='Of a product'></div>"), clean()),
        ("description-is-title", with_description("How to prune an old apple tree in Winter"), clean()),
        // Canonical URL
        ("canonical-missing", clean().swap(CANONICAL, ""), clean().swap(CANONICAL, "").header("link", "</guides/pruning-apple-trees>; rel=canonical")),
        ("canonical-multiple", clean().head(&canonical("https://garden.example/other")), clean().head(CANONICAL)),
        ("canonical-invalid", with_canonical("https://"), clean()),
        ("canonical-invalid", with_canonical(""), clean()),
        ("canonical-relative", with_canonical("/guides/pruning-apple-trees"), with_canonical("HTTPS://garden.example/guides/pruning-apple-trees")),
        ("canonical-mismatch", clean().header("link", "</other>; rel=\"canonical\""), clean().header("link", "</guides/pruning-apple-trees>; rel=\"canonical\", </x>; rel=next")),
        ("canonical-elsewhere", with_canonical("https://garden.example/guides/other"), clean().moved(&format!("{URL}?utm_source=mail"))),
        ("canonical-root", with_canonical(root), with_canonical(root).moved("https://garden.example/index.html")),
        ("canonical-insecure", with_canonical("http://garden.example/guides/pruning-apple-trees"), clean()),
        ("canonical-fragment", with_canonical(&format!("{URL}#main")), clean()),
        ("canonical-noindex", with_canonical("https://garden.example/guides/other").swap(ROBOTS, "noindex"), clean().swap(ROBOTS, "noindex")),
        // Language
        ("lang-missing", clean().swap("<html lang=\"en-GB\">", "<html>"), clean().header("content-type", "application/xhtml+xml").swap("<html lang=\"en-GB\">", "<html xml:lang=\"en\">")),
        ("lang-missing", clean().swap("<html lang=\"en-GB\">", "<html xml:lang=\"en-GB\">"), clean().swap("<html lang=\"en-GB\">", "<html lang=en xml:lang=\"en-GB\">")),
        ("lang-invalid", clean().swap("<html lang=\"en-GB\">", "<html lang=\"english\">"), clean().swap("<html lang=\"en-GB\">", "<html lang=\"en-Latn-GB\">")),
        ("hreflang-invalid", clean().swap("hreflang=\"de\"", "hreflang=\"en-UK\""), clean().swap("hreflang=\"de\"", "hreflang=\"zh-Hant\"")),
        ("hreflang-relative", clean().swap("href=\"https://garden.example/de/anleitungen/apfelbaum-schneiden\"", "href=\"/de/apfelbaum\""), clean()),
        ("hreflang-no-self", clean().moved("https://garden.example/guides/other").swap(CANONICAL, ""), clean()),
        ("hreflang-no-x-default", clean().swap("hreflang=\"x-default\"", "hreflang=\"fr\""), clean().swap("hreflang=\"x-default\"", "hreflang=\"X-Default\"")),
        ("hreflang-lang-mismatch", clean().swap("<html lang=\"en-GB\">", "<html lang=\"fr\">"), clean().swap("<html lang=\"en-GB\">", "<html lang=\"en\">")),
        ("hreflang-lang-mismatch", of_languages("nb", "nn"), of_languages("nb-NO", "no")),
        ("hreflang-lang-mismatch", of_languages("iw", "ar"), of_languages("iw", "he")),
        ("hreflang-lang-mismatch", of_languages("yue", "zh"), of_languages("cmn-Hans", "zh-CN")),
        ("hreflang-invalid", clean().head("<link rel=alternate type=text/html hreflang=en-UK href=https://garden.example/uk>"), clean().head("<link rel=alternate type=application/rss+xml hreflang=en-UK href=https://garden.example/feed>")),
        ("hreflang-no-self", clean().swap(OWN_VERSION, "<link rel=alternate hreflang=en-GB href=''>").swap(DEFAULT_VERSION, ""), clean().swap(DEFAULT_VERSION, "")),
        ("hreflang-conflict", clean().head("<link rel=alternate type='TEXT/HTML; charset=utf-8' hreflang=de href=https://garden.example/de/other>"), clean().head("<link rel=alternate type=application/atom+xml hreflang=de href=https://garden.example/de/feed>")),
        ("hreflang-conflict", clean().head("<link rel=alternate hreflang=DE href=https://garden.example/de/other>"), clean().head("<link rel=alternate hreflang=de-AT href=https://garden.example/de/other>")),
        ("hreflang-not-canonical", with_canonical("https://garden.example/guides/other"), clean()),
        // Headings
        ("h1-missing", clean().swap(H1, "<h1> </h1>"), clean().swap(H1, "<h1><img src=/l.png alt='The guide' width=1 height=9></h1>")),
        ("h1-multiple", clean().body("<h1>Another</h1>"), clean().body("<h2>Another</h2>")),
        ("heading-empty", clean().body("<h3><img src=/l.png alt='' width=9 height=9></h3>"), clean().body("<h3 hidden></h3><h3 aria-label='Named'></h3>")),
        ("heading-order", clean().body("<h5>Deep</h5>"), clean().body("<h4>Deeper</h4><h2>Up again</h2>")),
        // Images
        ("image-alt-missing", clean().swap("alt=\"A folding saw on a bench\" ", ""), clean().body("<img src=/a.png aria-hidden=true width=9 height=9><img src=/t.gif width=1 height=1>")),
        ("image-alt-too-long", clean().swap("A folding saw on a bench", &"x".repeat(101)), clean().swap("A folding saw on a bench", &"é".repeat(100))),
        ("image-alt-file-name", clean().swap("A folding saw on a bench", "IMG_0042.JPG"), clean().swap("A folding saw on a bench", "The file saw.jpg on a screen")),
        ("image-size-missing", clean().swap(" width=\"640\" height=\"480\"", ""), clean().swap(" width=\"640\" height=\"480\"", " style=\"width:50%;height:auto\"")),
        ("image-size-missing", clean().swap("width=\"640\"", "width=\"auto\""), clean().swap("width=\"640\"", "width=\" 640px\"")),
        ("image-source-missing", clean().body("<img alt=Nothing width=9 height=9>"), clean().body("<img data-src=/late.jpg alt=Late width=9 height=9>")),
        ("picture-without-img", clean().swap(SAW, ""), clean()),
        // Links
        ("link-text-generic", clean().body("<a href=/shop>Click here!</a>"), clean().body("<a href=/shop>Click here for secateurs</a><a href=#tools>More</a>")),
        ("link-text-generic", clean().swap("<html lang=\"en-GB\">", "<html lang=\"FR\">").body("<a href=/grande>Plus</a>"), clean().body("<a href=/plus-size-gloves>Plus</a>")),
        ("link-text-generic", clean().body("<a href=/guides>continue</a>"), clean().body("<a href=/statements/continue><code>continue</code></a><a href=/read-more.html>Read more</a>")),
        ("link-without-text", clean().body("<a href=/shop><img src=/s.png alt='' width=9 height=9></a>"), clean().body("<a href=/shop aria-label=Shop></a><a href=/s><svg><title>Shop</title></svg></a><a href=/t hidden></a>")),
        ("link-not-crawlable", clean().body("<a href='javascript:go()'>Shop</a>"), clean().body("<a href='javascript:void(0)' role=button>Open</a><a id=place></a>")),
        ("link-not-crawlable", clean().body("<a onclick=\"window.open('/shop')\">Shop</a>"), clean().body("<a class=empty>Shop</a>")),
        ("link-invalid", clean().body("<a href='https://exa mple/'>Shop</a>"), clean().body("<a href='mailto:a@garden.example'>Write</a>")),
        ("link-insecure", clean().body("<a href='http://www.garden.example/shop'>Shop</a>"), clean().body("<a href='http://old-site.example/'>An old site</a>")),
        ("link-private", clean().body("<a href='http://localhost:3000/a'>Shop</a>"), clean().body("<a href='https://172.32.0.1/'>A public address</a>")),
        ("link-private", clean().body("<a href='http://192.168.0.7/a'>Shop</a>"), clean().at("http://127.0.0.1/a").body("<a href='http://127.0.0.1/b'>Shop</a>")),
        ("link-fragment-missing", clean().body("<a href='#a%+9b'>Tab</a><b id='a&#9;b'></b>"), clean().body("<a href='#a%09b'>Tab</a><b id='a&#9;b'></b>")),
        ("link-fragment-missing", clean().body("<a href=#nowhere>Down</a>"), clean().body("<a href=#top>Up</a><a href='#na%C3%AFve'>x</a><b id=naïve></b><a href='#/route'>Route</a><a href=#menu data-toggle>Menu</a>")),
        ("links-too-many", clean().body(&many(300, |i| format!("<a href=/{i}>Page {i}</a>"))), clean().body(&many(200, |i| format!("<a href=/{i}>Page {i}</a>")))),
        ("dead-end", without_links(), without_links().body("<a href=https://other.example/>Another site</a>")),
        ("internal-nofollow", clean().body("<a href=/login rel=nofollow>Log in</a>"), clean().body("<a href=https://other.example/ rel=nofollow>Advertisement</a>")),
        ("external-links-followed", clean().body(&many(15, |i| format!("<a href=https://s{i}.example/>Site {i}</a>"))), clean().body(&many(15, |i| format!("<a rel=ugc href=https://s{i}.example/>Site {i}</a>")))),
        ("external-links-followed", clean().at("https://garden.co.uk/a").body(&many(15, |i| format!("<a href=https://s{i}.co.uk/>Site {i}</a>"))), clean().body(&many(15, |i| format!("<a href=https://shop{i}.garden.example/>Shop {i}</a>")))),
        ("pagination-not-linked", clean().swap("<a href=\"/guides/pruning-pear-trees\">", "<a href=\"/guides/plums\">"), clean()),
        ("pagination-not-linked", without_links(), without_links().swap("rel=\"next\" href=\"https://garden.example/guides/pruning-pear-trees\"", "rel=\"next\" href=\"\"")),
        ("pagination-not-linked", clean().head("<link rel=next href=\"/guides?page=2\">"), clean().head("<link rel=next href=\"/guides?page=2\">").body("<noscript><a rel=next href=\"/guides?page=2\">Next</a></noscript>")),
        // Structured data
        ("structured-data-missing", clean().swap("application/ld+json", "text/plain"), clean().swap("application/ld+json", "text/plain").body("<p itemscope itemtype=https://schema.org/Person><span itemprop=name>Ann</span></p>")),
        ("json-ld-invalid", json_ld("{\"@context\":\"https://schema.org\",\"@type\":\"Person\",\"name\":\"Ann\",}"), json_ld("{\"@context\":\"https://schema.org\",\"@type\":\"Person\",\"name\":\"Ann\"}")),
        ("json-ld-without-context", json_ld("{\"@type\":\"Person\"}"), json_ld("[{\"@context\":\"https://schema.org\",\"@type\":\"Person\"}]")),
        ("json-ld-without-type", json_ld("{\"@context\":\"https://schema.org\",\"name\":\"Ann\"}"), clean()),
        ("structured-data-incomplete", json_ld("{\"@context\":\"https://schema.org\",\"@type\":\"Product\",\"name\":\"Saw\"}"), json_ld("{\"@context\":\"https://schema.org\",\"@type\":\"Product\",\"name\":\"Saw\",\"offers\":{\"@type\":\"Offer\",\"price\":9}}")),
        ("structured-data-incomplete", json_ld("{\"@context\":{\"schema\":\"https://schema.org/\"},\"@type\":\"schema:Dataset\",\"schema:name\":\"Rain\",\"schema:description\":\"\"}"), json_ld("{\"@context\":{\"schema\":\"https://schema.org/\"},\"@type\":\"schema:Dataset\",\"schema:name\":\"Rain\",\"https://schema.org/description\":\"By day\"}")),
        ("microdata-outside-item", clean().body("<span itemprop=name>Ann</span>"), clean().body("<p itemscope><span itemprop=name>Ann</span></p>")),
        // Social media
        ("open-graph-missing", clean().swap("property=\"og:", "property=\"no:"), clean()),
        ("open-graph-incomplete", clean().swap(OG_URL, ""), clean().swap("property=\"og:image\"", "property=\"og:image:url\"")),
        ("open-graph-image-relative", clean().swap("content=\"https://garden.example/images/apple-tree.jpg\"", "content=\"/images/apple-tree.jpg\""), clean()),
        ("open-graph-url-mismatch", clean().swap(OG_URL, "<meta property=og:url content=https://garden.example/>"), clean().moved(&format!("{URL}?utm_source=x"))),
        ("twitter-card-missing", clean().swap("name=\"twitter:card\"", "name=x").swap("property=\"og:type\"", "name=y"), clean().swap("name=\"twitter:card\"", "name=x")),
        ("twitter-card-invalid", clean().swap("summary_large_image", "big"), clean().swap("summary_large_image", "Summary")),
        // Content and markup
        ("thin-content", clean().swap("<p>", "<template>").swap("</p>", "</template>"), clean()),
        ("thin-content", clean().document("<!DOCTYPE html><body><div id=app></div>"), clean().document(&format!("<!DOCTYPE html><body><div id=app></div><noscript><h1>Post</h1>{}</noscript>", "<p>word and word</p>".repeat(100)))),
        ("placeholder-text", clean().body("<p>Lorem  Ipsum dolor sit amet"), clean().body("<p>Lorem is a word")),
        ("doctype-missing", clean().swap("<!DOCTYPE html>", ""), clean().swap("<!DOCTYPE html>", "<!doctype html SYSTEM 'about:legacy-compat'>")),
        ("charset-missing", clean().header("content-type", "text/html").swap("<meta charset=\"utf-8\">", ""), clean().header("content-type", "text/html")),
        ("charset-missing", clean().header("content-type", "text/html; x=charset=utf-8").swap("<meta charset=\"utf-8\">", "<meta property=og:url content='/nocharset'>"), clean().header("content-type", "text/html").swap("<meta charset=\"utf-8\">", "<meta http-equiv=Content-Type content='text/html; charset=utf-8'>")),
        ("charset-missing", clean().header("content-type", "text/html").swap("<meta charset=\"utf-8\">", &format!("<!--{}--><meta charset=utf-8>", " ".repeat(1024))), clean().swap("<meta charset=\"utf-8\">", "")),
        ("dom-too-large", clean().body(&"<b>x</b>".repeat(1_500)), clean().body(&"<b>x</b>".repeat(1_300))),
        ("dom-too-deep", clean().body(&"<div>".repeat(33)), clean().body(&"<div>".repeat(20))),
        ("html-too-large", clean().body(&format!("<!--{}-->", "x".repeat(2 << 20))), clean().body(&format!("<!--{}-->", "x".repeat(1 << 20)))),
        ("duplicate-id", clean().body("<b id=cuts>x</b>"), clean().body("<b id=Cuts>x</b><template><b id=cuts>x</b></template><b id=''>x</b><b id=''>x</b>")),
        ("plugin-content", clean().body("<object data=/film.swf?x=1></object>"), clean().body("<object data=/map.svg type=image/svg+xml></object>")),
        ("frameset", clean().document("<!DOCTYPE html><html lang=en><head><title>Frames of a garden</title></head><frameset><frame src=/a></frameset></html>"), clean()),
        ("iframe-title-missing", clean().swap(" title=\"Film: three cuts on one branch\"", ""), clean().body("<iframe src=/t width=0 height=0></iframe><iframe src=/u style='display: none'></iframe>")),
        // Mobile
        ("viewport-missing", clean().swap("name=\"viewport\"", "name=\"port\""), clean()),
        ("viewport-fixed-width", clean().swap(VIEWPORT, "width=1024"), clean().swap(VIEWPORT, "width = device-width")),
        ("viewport-no-zoom", clean().swap(VIEWPORT, "width=device-width, user-scalable=no"), clean().swap(VIEWPORT, "width=device-width, maximum-scale=5")),
        ("viewport-no-zoom", clean().swap(VIEWPORT, "width=device-width, user-scalable = no"), clean().swap(VIEWPORT, "width = device-width , maximum-scale\t=\n5")),
        ("viewport-no-zoom", clean().swap(VIEWPORT, "width=device-width\nmaximum-scale  =  1"), clean().swap(VIEWPORT, "width=device-width, user-scalable = yes")),
        ("viewport-fixed-width", clean().swap(VIEWPORT, "width  =  1024"), clean().swap(VIEWPORT, "width  =  device-width")),
        ("viewport-no-zoom", clean().swap(VIEWPORT, "width=device-width,maximum-scale=1.0"), clean().swap(VIEWPORT, "width=device-width; user-scalable=yes")),
        // Security
        ("mixed-content-active", clean().body("<script src=http://cdn.example/a.js></script>"), on_http().body("<script src=http://cdn.example/a.js></script>")),
        ("mixed-content-active", clean().head("<link rel=stylesheet href=http://cdn.example/a.css>"), clean().header("content-security-policy", "upgrade-insecure-requests; frame-ancestors 'self'").head("<link rel=stylesheet href=http://cdn.example/a.css>")),
        ("mixed-content-passive", clean().body("<img src=/a.png srcset='/a.png 1x, http://cdn.example/b.png 2x' alt=A width=9 height=9>"), clean().body("<img src=//cdn.example/b.png alt=A width=9 height=9>")),
        ("form-insecure", clean().swap("action=\"/newsletter\"", "action=\"http://garden.example/newsletter\""), clean()),
        ("form-on-http", on_http(), clean().at("http://localhost/guides/apple")),
        ("hsts-missing", clean().header("strict-transport-security", ""), on_http()),
        ("csp-missing", clean().header("content-security-policy", ""), clean().header("content-security-policy", "").head("<meta http-equiv=Content-Security-Policy content=\"default-src 'self'\">")),
        ("csp-missing", clean().header("content-security-policy", "").head("<meta name=Content-Security-Policy content=\"default-src 'self'\">"), clean()),
        ("content-type-options-missing", clean().header("x-content-type-options", "sniff"), clean().header("x-content-type-options", "NoSniff")),
        ("frame-options-missing", clean().header("content-security-policy", "default-src 'self'"), clean().header("content-security-policy", "default-src 'self'").header("x-frame-options", "DENY")),
    ]
}

#[test]
fn a_correct_page_has_no_finding() {
    let output = clean().audit();
    assert_eq!(output.findings, [], "{:#?}", output.findings);
    assert_eq!(output.summary, Default::default());
}

#[test]
fn every_rule_distinguishes_its_two_pages() {
    for (rule, failing, passing) in cases() {
        assert!(
            failing.broken().contains(&rule),
            "{rule} is not found: {:?}",
            failing.broken()
        );
        assert!(
            !passing.broken().contains(&rule),
            "{rule} is found: {:#?}",
            passing.audit().findings
        );
    }
}

#[test]
fn every_rule_is_tested_and_no_id_is_used_twice() {
    let tested: BTreeSet<&str> = cases().iter().map(|(rule, ..)| *rule).collect();
    let known: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    let unique: BTreeSet<&str> = known.iter().copied().collect();
    assert_eq!(unique.len(), known.len(), "an id is used twice");
    assert_eq!(tested, unique);
    assert!(known.len() >= 60, "{}", known.len());
}

#[test]
fn findings_have_counts_and_samples() {
    let output = clean()
        .body(&"<img src=/x.png width=9 height=9>".repeat(14))
        .audit();
    let finding = output.findings.first().expect("a finding");
    assert_eq!(
        (finding.rule, finding.count, finding.samples.len()),
        ("image-alt-missing", Some(14), 10)
    );
    assert_eq!(
        finding.samples[0],
        "<img src=\"/x.png\" width=\"9\" height=\"9\">"
    );
    assert_eq!(
        (
            output.summary.errors,
            output.summary.warnings,
            output.summary.info
        ),
        (0, 1, 0)
    );
    let once = with_title("Short").audit();
    assert_eq!(once.findings[0].count, None);
    assert_eq!(once.findings[0].samples, ["Short"]);
}

#[test]
fn errors_come_first() {
    let output = clean()
        .swap(ROBOTS, "noindex, noimageindex, nosnippet")
        .swap(H1, "")
        .audit();
    let severities: Vec<Severity> = output.findings.iter().map(|f| f.severity).collect();
    assert!(
        severities.is_sorted() && severities.len() >= 4,
        "{severities:?}"
    );
    assert_eq!(output.findings[0].rule, "noindex");
}

#[test]
fn only_url_and_headers_of_an_error_page_are_checked() {
    let broken = clean()
        .status(404)
        .swap(TITLE, "")
        .header("content-security-policy", "")
        .broken();
    assert_eq!(
        broken,
        ["http-status", "csp-missing", "frame-options-missing"]
    );
}

#[test]
fn the_figures_of_the_page_are_right() {
    let stats = clean().audit().stats;
    assert_eq!(
        (stats.link_count, stats.image_count, stats.heading_count),
        (8, 3, 5)
    );
    assert!(stats.has_json_ld && stats.word_count > 250);
    assert_eq!(stats.html_bytes, clean().html.len() as u64);
    assert!(stats.text_bytes > 1_500 && stats.text_bytes < stats.html_bytes);
    assert!((stats.content_ratio - stats.text_bytes as f64 / stats.html_bytes as f64).abs() < 1e-3);
}

#[test]
fn damaged_pages_are_checked_without_a_panic() {
    for html in [
        "",
        "\0\0\0",
        "<",
        &"<div>".repeat(5_000),
        &"<a href=x>".repeat(2_000),
        &"<h1>".repeat(500),
    ] {
        let page = clean().document(html);
        assert!(!page.audit().findings.is_empty());
    }
}
