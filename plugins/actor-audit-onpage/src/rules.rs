//! The table of all rules. Ids are stable: callers file findings by them.

use crate::report::Severity::{self, Error, Info, Warning};

/// A rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name, for ever.
    pub id: &'static str,
    /// How much it matters that a page breaks it.
    pub severity: Severity,
    /// What it is about.
    pub area: &'static str,
    /// When a page breaks it.
    pub breaks: &'static str,
    /// Who else checks it, or says so.
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
    "Address and answer" {
        HTTP_STATUS "http-status" Error "The page answers with a status of 400 or above." "Lighthouse http-status-code; SEOnaut 40x, 50x";
        REDIRECT "redirect" Info "The URL redirects to another." "SEOnaut 30x";
        REDIRECT_CHAIN "redirect-chain" Warning "More than one redirect leads to the page." "SEOnaut redirect chain";
        HTTPS_MISSING "https-missing" Error "The page is served over plain HTTP (loopback addresses are exempt)." "Lighthouse is-on-https; SEOnaut HTTP scheme";
        NOT_HTML "not-html" Warning "The answer is no HTML: nothing but its address and headers is judged." "";
        MEDIA_TYPE "media-type-mismatch" Warning "The Content-Type is missing, or is not what the URL's extension says." "SEOnaut incorrect media type";
        URL_UNDERSCORE "url-underscore" Info "The path has an underscore: search engines read the words around it as one." "SEOnaut underscore in URL";
        URL_SPACE "url-space" Warning "The path has a space." "SEOnaut space in URL";
        URL_SLASHES "url-multiple-slashes" Warning "The path has two slashes in a row." "SEOnaut multiple slashes";
        URL_UPPERCASE "url-uppercase" Info "The path has capital letters: links in small letters lead elsewhere." "";
        URL_LENGTH "url-too-long" Info "The URL is longer than 200 characters." "";
        URL_PARAMETERS "url-parameters" Info "The URL has more than three parameters." "";
        URL_SESSION "url-session-id" Warning "The URL carries a session's identifier: every visitor finds the page at another address." "";
    }
    "Indexing" {
        NOINDEX "noindex" Error "A robots meta or X-Robots-Tag keeps the page out of the index." "Lighthouse is-crawlable; SEOnaut noindex";
        ROBOTS_BLOCKED "robots-txt-blocked" Error "robots.txt forbids Googlebot the page." "Lighthouse is-crawlable; SEOnaut blocked by robots.txt";
        ROBOTS_UNREACHABLE "robots-txt-unreachable" Error "robots.txt answers with a server error or not at all: search engines then take the whole site for forbidden." "Lighthouse robots-txt; RFC 9309";
        ROBOTS_INVALID "robots-txt-invalid" Warning "robots.txt has lines that no robot understands." "Lighthouse robots-txt";
        NOFOLLOW_PAGE "nofollow-page" Warning "A robots meta or X-Robots-Tag says nofollow for all links." "";
        ROBOTS_CONFLICT "robots-conflict" Warning "Robots directives contradict one another; the strictest counts." "";
        ROBOTS_UNKNOWN "robots-unknown-directive" Warning "A robots meta or X-Robots-Tag has a directive that search engines do not know." "";
        NOSNIPPET "nosnippet" Warning "Search results may not show a piece of the page's text." "SEOnaut nosnippet";
        NOIMAGEINDEX "noimageindex" Info "Images of the page are kept out of image search." "SEOnaut noimageindex";
        META_REFRESH "meta-refresh" Warning "A meta refresh reloads or redirects the page." "Lighthouse meta-refresh";
        METAS_IN_BODY "metas-in-body" Warning "Metas or links for search engines stand in the body, where they do not count." "SEOnaut metas in body";
    }
    "Title and description" {
        TITLE_MISSING "title-missing" Error "The page has no title, or an empty one." "Lighthouse document-title; SEOnaut empty title";
        TITLE_SHORT "title-too-short" Warning "The title is narrower than 20 characters." "SEOnaut short title";
        TITLE_LONG "title-too-long" Warning "The title is wider than 60 characters, and will be cut." "SEOnaut long title";
        TITLE_MULTIPLE "title-multiple" Warning "The head has more than one title." "SEOnaut multiple titles";
        DESCRIPTION_MISSING "description-missing" Warning "The page has no meta description, or an empty one." "Lighthouse meta-description; SEOnaut empty description";
        DESCRIPTION_SHORT "description-too-short" Info "The meta description is narrower than 80 characters." "SEOnaut short description";
        DESCRIPTION_LONG "description-too-long" Info "The meta description is wider than 160 characters, and will be cut." "SEOnaut long description";
        DESCRIPTION_MULTIPLE "description-multiple" Warning "The page has more than one meta description." "SEOnaut multiple descriptions";
        DESCRIPTION_IS_TITLE "description-is-title" Info "The meta description only repeats the title." "";
    }
    "Canonical URL" {
        CANONICAL_MISSING "canonical-missing" Info "The page names no canonical URL." "";
        CANONICAL_MULTIPLE "canonical-multiple" Error "The page names more than one canonical URL: search engines ignore them all." "Lighthouse canonical; SEOnaut multiple canonicals";
        CANONICAL_INVALID "canonical-invalid" Error "The canonical URL is empty or no URL." "Lighthouse canonical";
        CANONICAL_RELATIVE "canonical-relative" Warning "The canonical URL is relative." "Lighthouse canonical; SEOnaut relative canonical";
        CANONICAL_MISMATCH "canonical-mismatch" Error "The Link header and the page name different canonical URLs." "SEOnaut canonical mismatch";
        CANONICAL_ELSEWHERE "canonical-elsewhere" Warning "The canonical URL is another page: this one will not be shown." "SEOnaut canonicalised pages";
        CANONICAL_ROOT "canonical-root" Error "The canonical URL is the site's home page, and this is another page." "Lighthouse canonical";
        CANONICAL_INSECURE "canonical-insecure" Warning "The page is served over HTTPS and names a canonical URL without." "";
        CANONICAL_FRAGMENT "canonical-fragment" Warning "The canonical URL has a fragment, which search engines drop." "";
        CANONICAL_NOINDEX "canonical-noindex" Warning "The page is noindex and names another page as canonical: two contradicting wishes." "";
    }
    "Language" {
        LANG_MISSING "lang-missing" Warning "The html element has no lang." "Lighthouse html-has-lang; SEOnaut missing lang";
        LANG_INVALID "lang-invalid" Warning "The html element's lang is no language tag." "Lighthouse html-lang-valid; SEOnaut invalid lang";
        HREFLANG_INVALID "hreflang-invalid" Error "An hreflang is no language that exists, or a region that does not." "Lighthouse hreflang";
        HREFLANG_RELATIVE "hreflang-relative" Error "An hreflang link's URL is not absolute." "Lighthouse hreflang; SEOnaut relative hreflang";
        HREFLANG_SELF "hreflang-no-self" Warning "The hreflang links do not name the page itself." "SEOnaut hreflang self reference";
        HREFLANG_DEFAULT "hreflang-no-x-default" Info "The hreflang links have no x-default." "SEOnaut x-default missing";
        HREFLANG_LANG "hreflang-lang-mismatch" Warning "The page's hreflang is not the language of its lang." "SEOnaut hreflang mismatch";
        HREFLANG_CONFLICT "hreflang-conflict" Error "One language is given two pages by hreflang." "";
        HREFLANG_CANONICAL "hreflang-not-canonical" Warning "The page has hreflang links, and another page is canonical: search engines ignore them." "";
    }
    "Headings" {
        H1_MISSING "h1-missing" Warning "The page has no h1 with a text." "SEOnaut missing h1";
        H1_MULTIPLE "h1-multiple" Info "The page has more than one h1." "";
        HEADING_EMPTY "heading-empty" Warning "A heading has no text." "Lighthouse empty-heading";
        HEADING_ORDER "heading-order" Warning "A heading skips a level: an h4 after an h2, say." "Lighthouse heading-order; SEOnaut heading order";
    }
    "Images" {
        IMAGE_ALT "image-alt-missing" Warning "An image has no alt (an empty one is right for decoration)." "Lighthouse image-alt; SEOnaut images without alt";
        IMAGE_ALT_LONG "image-alt-too-long" Info "An image's alt is longer than 100 characters." "SEOnaut long alt";
        IMAGE_ALT_FILE "image-alt-file-name" Info "An image's alt is a file's name." "";
        IMAGE_SIZE "image-size-missing" Info "An image has no width and height: the page moves while it loads." "Lighthouse unsized-images; SEOnaut image without size";
        IMAGE_SOURCE "image-source-missing" Info "An image has no source." "";
        PICTURE_IMG "picture-without-img" Error "A picture element has no img, and shows nothing." "SEOnaut picture without img";
    }
    "Links" {
        LINK_TEXT "link-text-generic" Warning "A link's text says nothing of its target (\"click here\")." "Lighthouse link-text";
        LINK_EMPTY "link-without-text" Warning "A link has no text, image text or label." "Lighthouse link-name";
        LINK_CRAWLABLE "link-not-crawlable" Warning "A link leads on by script alone: robots cannot follow it." "Lighthouse crawlable-anchors";
        LINK_INVALID "link-invalid" Warning "A link's URL cannot be read." "Lighthouse crawlable-anchors";
        LINK_INSECURE "link-insecure" Warning "A page served over HTTPS links to its own site without." "SEOnaut HTTP links";
        LINK_PRIVATE "link-private" Warning "A link leads to a private address or this machine: left from development." "";
        LINK_FRAGMENT "link-fragment-missing" Info "A link leads to a place in the page that is not there." "";
        LINKS_MANY "links-too-many" Info "The page has more than 300 links." "SEOnaut too many links";
        LINKS_NONE "dead-end" Warning "The page has no link to another." "SEOnaut dead end";
        LINK_NOFOLLOW "internal-nofollow" Info "Links to the own site say nofollow." "SEOnaut internal nofollow";
        LINKS_EXTERNAL "external-links-followed" Info "More than ten links to other sites are followed, and they are more than the links to the own site." "SEOnaut external links without nofollow";
        PAGINATION "pagination-not-linked" Info "The page named by rel=next or rel=prev is not linked from the page." "SEOnaut pagination";
    }
    "Structured data" {
        DATA_MISSING "structured-data-missing" Info "The page has no structured data (JSON-LD, Microdata, RDFa)." "";
        JSON_LD_INVALID "json-ld-invalid" Error "A JSON-LD block is not valid JSON." "Lighthouse structured-data";
        JSON_LD_CONTEXT "json-ld-without-context" Warning "A JSON-LD object has no @context." "";
        JSON_LD_TYPE "json-ld-without-type" Warning "A JSON-LD object has no @type." "";
        DATA_REQUIRED "structured-data-incomplete" Warning "An item lacks a property without which search engines show no rich result." "Google's documentation of rich results";
        MICRODATA_STRAY "microdata-outside-item" Info "A Microdata property stands outside any item." "HTML standard";
    }
    "Social media" {
        OG_MISSING "open-graph-missing" Info "The page has no Open Graph properties." "";
        OG_INCOMPLETE "open-graph-incomplete" Warning "The page has Open Graph properties, and not the four that are required (title, type, image, url)." "ogp.me";
        OG_IMAGE "open-graph-image-relative" Warning "og:image is not absolute." "ogp.me";
        OG_URL "open-graph-url-mismatch" Info "og:url is neither the canonical URL nor the page's own." "ogp.me";
        TWITTER_MISSING "twitter-card-missing" Info "The page has neither a twitter:card nor the Open Graph properties that stand in for it." "";
        TWITTER_INVALID "twitter-card-invalid" Warning "The twitter:card is of a type that does not exist." "";
    }
    "Content and markup" {
        THIN "thin-content" Warning "The page has fewer than 200 words." "SEOnaut little content";
        PLACEHOLDER "placeholder-text" Warning "The page shows text that only fills the place (\"lorem ipsum\")." "";
        DOCTYPE "doctype-missing" Warning "The document is in quirks mode: its doctype is missing or old." "Lighthouse doctype";
        CHARSET "charset-missing" Warning "Neither the Content-Type nor a meta in the first 1,024 bytes declares the charset." "Lighthouse charset";
        DOM_SIZE "dom-too-large" Warning "The document has more than 1,500 elements." "Lighthouse dom-size; SEOnaut DOM size";
        DOM_DEPTH "dom-too-deep" Info "Elements are nested more than 32 deep." "Lighthouse dom-size";
        HTML_SIZE "html-too-large" Warning "The HTML is larger than 2 MB: Googlebot reads no further." "Google's documentation of Googlebot";
        DUPLICATE_ID "duplicate-id" Info "More than one element has the same id." "Lighthouse duplicate-id; SEOnaut duplicated id";
        PLUGINS "plugin-content" Error "Content needs a browser plugin that no longer exists (Flash, Java, Silverlight)." "Lighthouse plugins";
        FRAMESET "frameset" Error "The page is a frameset: its content belongs to other pages." "";
        IFRAME_TITLE "iframe-title-missing" Info "An iframe that visitors see has no title." "Lighthouse frame-title";
    }
    "Mobile" {
        VIEWPORT_MISSING "viewport-missing" Error "The page has no viewport meta: phones show it as small as on a desk." "Lighthouse viewport; SEOnaut missing viewport";
        VIEWPORT_WIDTH "viewport-fixed-width" Warning "The viewport is not as wide as the device." "Lighthouse viewport";
        VIEWPORT_ZOOM "viewport-no-zoom" Warning "The viewport forbids to enlarge the page." "Lighthouse meta-viewport";
    }
    "Security" {
        MIXED_ACTIVE "mixed-content-active" Error "A page served over HTTPS loads scripts, styles or frames without: browsers block them." "Lighthouse is-on-https";
        MIXED_PASSIVE "mixed-content-passive" Warning "A page served over HTTPS loads images, audio or video without." "Lighthouse is-on-https";
        FORM_INSECURE "form-insecure" Error "A form sends what visitors enter over plain HTTP." "SEOnaut insecure form";
        FORM_ON_HTTP "form-on-http" Error "A page served over plain HTTP has a form that takes input (loopback addresses are exempt)." "SEOnaut form on HTTP";
        HSTS "hsts-missing" Info "The answer over HTTPS has no Strict-Transport-Security header." "SEOnaut missing HSTS";
        CSP "csp-missing" Info "The answer has no Content-Security-Policy." "Lighthouse csp-xss; SEOnaut missing CSP";
        NOSNIFF "content-type-options-missing" Info "The answer has no X-Content-Type-Options: nosniff." "SEOnaut X-Content-Type-Options";
        FRAMING "frame-options-missing" Info "Neither X-Frame-Options nor frame-ancestors says who may frame the page." "Lighthouse clickjacking-mitigation";
    }
}
