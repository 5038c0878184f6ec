//! The table of all rules. Ids are stable, because clients store findings by them.

use self::Severity::{Error, Info, Warning};
use serde::Serialize;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Prevents the page, or a part of it, from being found or shown.
    Error,
    /// Makes the page worse than necessary.
    Warning,
    /// Useful to know.
    Info,
}

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Its id, which never changes.
    pub id: &'static str,
    /// Severity of a finding.
    pub severity: Severity,
    /// Group of rules.
    pub area: &'static str,
    /// Condition under which a page breaks it.
    pub breaks: &'static str,
    /// Other tools that check it, or the source of the rule.
    pub source: &'static str,
}

macro_rules! rules {
    ($($area:literal { $($name:ident $id:literal $severity:ident $breaks:literal $source:literal;)* })*) => {
        $($(#[doc = $breaks] pub static $name: Rule = Rule {
            id: $id, severity: $severity, area: $area, breaks: $breaks, source: $source,
        };)*)*
        /// Every rule, by area.
        pub static RULES: &[&Rule] = &[$($(&$name),*),*];
    };
}

rules! {
    "URL and response" {
        HTTP_STATUS "http-status" Error "The response has a status of 400 or above." "Lighthouse http-status-code; SEOnaut 40x, 50x";
        REDIRECT "redirect" Info "The URL redirects to another." "SEOnaut 30x";
        REDIRECT_CHAIN "redirect-chain" Warning "Several redirects lead to the page." "SEOnaut redirect chain";
        HTTPS_MISSING "https-missing" Error "The page is served over plain HTTP (loopback addresses are exempt)." "Lighthouse is-on-https; SEOnaut HTTP scheme";
        NOT_HTML "not-html" Warning "The response is not HTML: only its URL and headers are checked." "";
        MEDIA_TYPE "media-type-mismatch" Warning "The Content-Type is missing, or does not match the URL's extension." "SEOnaut incorrect media type";
        URL_UNDERSCORE "url-underscore" Info "The path has an underscore: search engines join the words around it." "SEOnaut underscore in URL";
        URL_SPACE "url-space" Warning "The path has a space." "SEOnaut space in URL";
        URL_SLASHES "url-multiple-slashes" Warning "The path has two slashes in a row." "SEOnaut multiple slashes";
        URL_UPPERCASE "url-uppercase" Info "The path has capital letters: links in lower case may fail." "";
        URL_LENGTH "url-too-long" Info "The URL is longer than 200 characters." "";
        URL_PARAMETERS "url-parameters" Info "The URL has more than three parameters." "";
        URL_SESSION "url-session-id" Warning "The URL has a session id: the page has another URL for every visitor." "";
    }
    "Indexing" {
        NOINDEX "noindex" Error "A robots meta or X-Robots-Tag keeps the page out of the index." "Lighthouse is-crawlable; SEOnaut noindex";
        ROBOTS_BLOCKED "robots-txt-blocked" Error "robots.txt disallows the page for Googlebot." "Lighthouse is-crawlable; SEOnaut blocked by robots.txt";
        ROBOTS_UNREACHABLE "robots-txt-unreachable" Error "robots.txt answers with a server error or not at all: search engines stop crawling the whole site." "Lighthouse robots-txt; RFC 9309";
        ROBOTS_INVALID "robots-txt-invalid" Warning "robots.txt has invalid lines." "Lighthouse robots-txt";
        NOFOLLOW_PAGE "nofollow-page" Warning "A robots meta or X-Robots-Tag says nofollow for all links." "";
        ROBOTS_CONFLICT "robots-conflict" Warning "Robots directives contradict each other; the strictest applies." "";
        ROBOTS_UNKNOWN "robots-unknown-directive" Warning "A robots meta or X-Robots-Tag has a directive that search engines do not know." "";
        NOSNIPPET "nosnippet" Warning "A robots directive forbids snippets of the page's text." "SEOnaut nosnippet";
        NOIMAGEINDEX "noimageindex" Info "A robots directive keeps the page's images out of image search." "SEOnaut noimageindex";
        META_REFRESH "meta-refresh" Warning "A meta refresh reloads or redirects the page." "Lighthouse meta-refresh";
        METAS_IN_BODY "metas-in-body" Warning "Metas or links for search engines are in the body, where they are ignored." "SEOnaut metas in body";
    }
    "Title and description" {
        TITLE_MISSING "title-missing" Error "The page has no title, or an empty one." "Lighthouse document-title; SEOnaut empty title";
        TITLE_SHORT "title-too-short" Warning "The title is narrower than 20 characters." "SEOnaut short title";
        TITLE_LONG "title-too-long" Warning "The title is wider than 60 characters: search results cut it." "SEOnaut long title";
        TITLE_MULTIPLE "title-multiple" Warning "The head has more than one title." "SEOnaut multiple titles";
        DESCRIPTION_MISSING "description-missing" Warning "The page has no meta description, or an empty one." "Lighthouse meta-description; SEOnaut empty description";
        DESCRIPTION_SHORT "description-too-short" Info "The meta description is narrower than 80 characters." "SEOnaut short description";
        DESCRIPTION_LONG "description-too-long" Info "The meta description is wider than 160 characters: search results cut it." "SEOnaut long description";
        DESCRIPTION_MULTIPLE "description-multiple" Warning "The page has more than one meta description." "SEOnaut multiple descriptions";
        DESCRIPTION_IS_TITLE "description-is-title" Info "The meta description repeats the title." "";
    }
    "Canonical URL" {
        CANONICAL_MISSING "canonical-missing" Info "The page has no canonical URL." "";
        CANONICAL_MULTIPLE "canonical-multiple" Error "The page has several different canonical URLs: search engines ignore all of them." "Lighthouse canonical; SEOnaut multiple canonicals";
        CANONICAL_INVALID "canonical-invalid" Error "The canonical URL is empty or invalid." "Lighthouse canonical";
        CANONICAL_RELATIVE "canonical-relative" Warning "The canonical URL is relative." "Lighthouse canonical; SEOnaut relative canonical";
        CANONICAL_MISMATCH "canonical-mismatch" Error "The Link header and the page name different canonical URLs." "SEOnaut canonical mismatch";
        CANONICAL_ELSEWHERE "canonical-elsewhere" Warning "The canonical URL is another page: search engines do not show this one." "SEOnaut canonicalised pages";
        CANONICAL_ROOT "canonical-root" Error "The canonical URL is the site's home page, and this is another page." "Lighthouse canonical";
        CANONICAL_INSECURE "canonical-insecure" Warning "The page uses HTTPS, but its canonical URL uses HTTP." "";
        CANONICAL_FRAGMENT "canonical-fragment" Warning "The canonical URL has a fragment, which search engines ignore." "";
        CANONICAL_NOINDEX "canonical-noindex" Warning "The page is noindex and has another page as canonical URL, a contradiction." "";
    }
    "Language" {
        LANG_MISSING "lang-missing" Warning "The html element has no lang." "Lighthouse html-has-lang; SEOnaut missing lang";
        LANG_INVALID "lang-invalid" Warning "The html element's lang is not a valid language tag." "Lighthouse html-lang-valid; SEOnaut invalid lang";
        HREFLANG_INVALID "hreflang-invalid" Error "An hreflang has an unknown language or region." "Lighthouse hreflang";
        HREFLANG_RELATIVE "hreflang-relative" Error "An hreflang link's URL is not absolute." "Lighthouse hreflang; SEOnaut relative hreflang";
        HREFLANG_SELF "hreflang-no-self" Warning "The hreflang links do not include the page itself." "SEOnaut hreflang self reference";
        HREFLANG_DEFAULT "hreflang-no-x-default" Info "The hreflang links have no x-default." "SEOnaut x-default missing";
        HREFLANG_LANG "hreflang-lang-mismatch" Warning "The page's hreflang and its lang are different languages." "SEOnaut hreflang mismatch";
        HREFLANG_CONFLICT "hreflang-conflict" Error "Two hreflang links give different pages for one language." "";
        HREFLANG_CANONICAL "hreflang-not-canonical" Warning "The page has hreflang links, but its canonical URL is another page: search engines ignore them." "";
    }
    "Headings" {
        H1_MISSING "h1-missing" Warning "The page has no h1 with a text." "SEOnaut missing h1";
        H1_MULTIPLE "h1-multiple" Info "The page has more than one h1." "";
        HEADING_EMPTY "heading-empty" Warning "A heading has no text." "Lighthouse empty-heading";
        HEADING_ORDER "heading-order" Warning "A heading skips a level, such as an h4 after an h2." "Lighthouse heading-order; SEOnaut heading order";
    }
    "Images" {
        IMAGE_ALT "image-alt-missing" Warning "An image has no alt (an empty one is right for decoration)." "Lighthouse image-alt; SEOnaut images without alt";
        IMAGE_ALT_LONG "image-alt-too-long" Info "An image's alt is longer than 100 characters." "SEOnaut long alt";
        IMAGE_ALT_FILE "image-alt-file-name" Info "An image's alt is a file name." "";
        IMAGE_SIZE "image-size-missing" Info "An image has no width and height: the layout shifts while it loads." "Lighthouse unsized-images; SEOnaut image without size";
        IMAGE_SOURCE "image-source-missing" Info "An image has no source." "";
        PICTURE_IMG "picture-without-img" Error "A picture element has no img: it shows nothing." "SEOnaut picture without img";
    }
    "Links" {
        LINK_TEXT "link-text-generic" Warning "A link's text does not describe its target (\"click here\")." "Lighthouse link-text";
        LINK_EMPTY "link-without-text" Warning "A link has no text, image text or label." "Lighthouse link-name";
        LINK_CRAWLABLE "link-not-crawlable" Warning "A link works only with a script: robots cannot follow it." "Lighthouse crawlable-anchors";
        LINK_INVALID "link-invalid" Warning "A link's URL is invalid." "Lighthouse crawlable-anchors";
        LINK_INSECURE "link-insecure" Warning "The page uses HTTPS, but links to its own site over HTTP." "SEOnaut HTTP links";
        LINK_PRIVATE "link-private" Warning "A link leads to a private or loopback address." "";
        LINK_FRAGMENT "link-fragment-missing" Info "A link leads to a fragment that the page does not have." "";
        LINKS_MANY "links-too-many" Info "The page has more than 300 links." "SEOnaut too many links";
        LINKS_NONE "dead-end" Warning "The page has no link to another page." "SEOnaut dead end";
        LINK_NOFOLLOW "internal-nofollow" Info "Links to the page's own site are nofollow." "SEOnaut internal nofollow";
        LINKS_EXTERNAL "external-links-followed" Info "The page has more than ten followed links to other sites, and more of them than links to its own site." "SEOnaut external links without nofollow";
        PAGINATION "pagination-not-linked" Info "The page named by rel=next or rel=prev is not linked from the page." "SEOnaut pagination";
    }
    "Structured data" {
        DATA_MISSING "structured-data-missing" Info "The page has no structured data (JSON-LD, Microdata, RDFa)." "";
        JSON_LD_INVALID "json-ld-invalid" Error "A JSON-LD block is not valid JSON." "Lighthouse structured-data";
        JSON_LD_CONTEXT "json-ld-without-context" Warning "A JSON-LD object has no @context." "";
        JSON_LD_TYPE "json-ld-without-type" Warning "A JSON-LD object has no @type." "";
        DATA_REQUIRED "structured-data-incomplete" Warning "An item lacks a property that search engines require for a rich result." "Google's documentation of rich results";
        MICRODATA_STRAY "microdata-outside-item" Info "A Microdata property is outside any item." "HTML standard";
    }
    "Social media" {
        OG_MISSING "open-graph-missing" Info "The page has no Open Graph properties." "";
        OG_INCOMPLETE "open-graph-incomplete" Warning "The page has Open Graph properties, but not all four required ones (title, type, image, url)." "ogp.me";
        OG_IMAGE "open-graph-image-relative" Warning "og:image is not absolute." "ogp.me";
        OG_URL "open-graph-url-mismatch" Info "og:url is neither the canonical URL nor the page's own." "ogp.me";
        TWITTER_MISSING "twitter-card-missing" Info "The page has no twitter:card and no Open Graph properties to replace it." "";
        TWITTER_INVALID "twitter-card-invalid" Warning "The twitter:card has an unknown type." "";
    }
    "Content and markup" {
        THIN "thin-content" Warning "The page has fewer than 200 words." "SEOnaut little content";
        PLACEHOLDER "placeholder-text" Warning "The page shows placeholder text (\"lorem ipsum\")." "";
        DOCTYPE "doctype-missing" Warning "The document is in quirks mode: its doctype is missing or old." "Lighthouse doctype";
        CHARSET "charset-missing" Warning "Neither the Content-Type nor a meta in the first 1,024 bytes declares the charset." "Lighthouse charset";
        DOM_SIZE "dom-too-large" Warning "The document has more than 1,500 elements." "Lighthouse dom-size; SEOnaut DOM size";
        DOM_DEPTH "dom-too-deep" Info "Elements are nested more than 32 deep." "Lighthouse dom-size";
        HTML_SIZE "html-too-large" Warning "The HTML is larger than 2 MB: Googlebot ignores the rest." "Google's documentation of Googlebot";
        DUPLICATE_ID "duplicate-id" Info "More than one element has the same id." "Lighthouse duplicate-id; SEOnaut duplicated id";
        PLUGINS "plugin-content" Error "Content needs a browser plugin that no longer exists (Flash, Java, Silverlight)." "Lighthouse plugins";
        FRAMESET "frameset" Error "The page is a frameset: search engines assign its content to other pages." "";
        IFRAME_TITLE "iframe-title-missing" Info "An iframe that visitors see has no title." "Lighthouse frame-title";
    }
    "Mobile" {
        VIEWPORT_MISSING "viewport-missing" Error "The page has no viewport meta: phones show the desktop layout." "Lighthouse viewport; SEOnaut missing viewport";
        VIEWPORT_WIDTH "viewport-fixed-width" Warning "The viewport has a fixed width." "Lighthouse viewport";
        VIEWPORT_ZOOM "viewport-no-zoom" Warning "The viewport forbids or limits zoom." "Lighthouse meta-viewport";
    }
    "Security" {
        MIXED_ACTIVE "mixed-content-active" Error "The page uses HTTPS, but loads scripts, styles or frames over HTTP: browsers block them." "Lighthouse is-on-https";
        MIXED_PASSIVE "mixed-content-passive" Warning "The page uses HTTPS, but loads images, audio or video over HTTP." "Lighthouse is-on-https";
        FORM_INSECURE "form-insecure" Error "A form sends its data over HTTP." "SEOnaut insecure form";
        FORM_ON_HTTP "form-on-http" Error "A page served over HTTP has a form that takes input (loopback addresses are exempt)." "SEOnaut form on HTTP";
        HSTS "hsts-missing" Info "The response over HTTPS has no Strict-Transport-Security header." "SEOnaut missing HSTS";
        CSP "csp-missing" Info "The response has no Content-Security-Policy." "Lighthouse csp-xss; SEOnaut missing CSP";
        NOSNIFF "content-type-options-missing" Info "The response has no X-Content-Type-Options: nosniff." "SEOnaut X-Content-Type-Options";
        FRAMING "frame-options-missing" Info "Neither X-Frame-Options nor frame-ancestors restricts who may frame the page." "Lighthouse clickjacking-mitigation";
    }
}
