//! Marks of an element by the words in its class names and id.
//!
//! The words and their marks; `names` finds them in a value.

/// A set of marks.
pub type Marks = u32;

/// Reader comments and the forms for them.
pub const COMMENT: Marks = 1;
/// Links to other content: related, recommended, popular, next.
pub const RELATED: Marks = 1 << 1;
/// Buttons for sharing and following.
pub const SHARE: Marks = 1 << 2;
/// Advertisements and promotion.
pub const AD: Marks = 1 << 3;
/// Menus, breadcrumbs, page numbers.
pub const NAV: Marks = 1 << 4;
/// Side columns and widgets.
pub const SIDE: Marks = 1 << 5;
/// Page footers, legal lines.
pub const FOOT: Marks = 1 << 6;
/// Overlays, cookie banners, sign-up boxes.
pub const POPUP: Marks = 1 << 8;
/// Data about the text: date, categories, tags.
pub const META: Marks = 1 << 9;
/// The author.
pub const BYLINE: Marks = 1 << 10;
/// Text about the author.
pub const BIO: Marks = 1 << 11;
/// Captions and credits of pictures.
pub const CAPTION: Marks = 1 << 12;
/// Headlines.
pub const TITLE: Marks = 1 << 13;
/// Invisible, or for screen readers only.
pub const HIDDEN: Marks = 1 << 14;
/// A name that sites give to the text of an article: `article-body`, `entry-content`.
pub const STRONG: Marks = 1 << 16;
/// Words for a kind of text: article, post, story.
pub const ARTICLE: Marks = 1 << 17;
/// Words for the flesh of it: body, content, text. Used to find [`STRONG`].
pub const BODY: Marks = 1 << 18;
/// A first word that turns a name into a statement about the layout: `has-sidebar`.
pub const STATE: Marks = 1 << 19;
/// Controls: buttons, toolbars, tools.
pub const TOOL: Marks = 1 << 24;
/// Who wrote a post: picture, rank, number of posts.
pub const USER: Marks = 1 << 25;
/// What stands under every post of its author.
pub const SIGNATURE: Marks = 1 << 26;
/// Names of people, by which a post's author stays known.
pub const NAME: Marks = 1 << 27;
/// Cookie banners and the like: never content, however long.
pub const CONSENT: Marks = 1 << 28;

/// Boxes that promote something, perhaps the page's own subject.
pub const PROMO: Marks = 1 << 29;

/// What is sold: prices, carts, specifications.
pub const PRODUCT: Marks = 1 << 20;
/// One of many: cards, tiles, rows of a list.
pub const CARD: Marks = 1 << 21;
/// What heads a part: heroes, introductions, summaries.
pub const HEAD: Marks = 1 << 22;
/// Opinions and their stars, questions and answers.
pub const REVIEW: Marks = 1 << 23;
/// Parts that a click shows: tabs and accordions.
pub const TAB: Marks = 1 << 30;
/// Controls that narrow a list down.
pub const FILTER: Marks = 1 << 31;

/// What usually is not content.
pub const BOILERPLATE: Marks =
    COMMENT | RELATED | SHARE | AD | NAV | SIDE | FOOT | POPUP | HIDDEN | TOOL | CONSENT | PROMO;

#[rustfmt::skip]
/// Words by what they mark; letters only, in small letters.
pub const TABLE: &[(Marks, &[&str])] = &[
    (COMMENT, &[
        "comment", "comments", "commenting", "commentlist", "commentform", "disqus", "respond",
        "livefyre", "spotim", "viafoura", "coral", "replies", "allcomments", "commentarea",
        "commentblock", "commentbody", "commentbox", "commentcontainer", "commentcontent",
        "commentpost", "commentsection", "commentslist", "commenttext", "commentthread",
        "commentwrap", "postcomments", "readercomments", "usercomments",
    ]),
    (RELATED, &[
        "related", "relateds", "relatedposts", "relatedcontent", "relatedarticles",
        "relatedstories", "relatedlinks", "recommended", "recommend", "recommendation",
        "recommendations", "recirc", "recirculation", "trending", "popular", "mostpopular",
        "mostread", "suggested", "suggestions", "outbrain", "taboola", "revcontent", "zergnet",
        "mgid", "readmore", "morefrom", "upnext", "similar", "yarpp", "crosslinks", "teasers",
    ]),
    (NAV, &[
        "nextprev", "prevnext", "nav", "navbar", "navi", "navigation", "mainnav", "subnav",
        "topnav", "menu", "menus", "submenu", "megamenu", "mainmenu", "breadcrumb", "breadcrumbs",
        "crumbs", "crumb", "pagination", "paginator", "pager", "pagenav", "paging", "sitemap",
        "skip", "skiplink", "topbar", "dropdown", "hamburger", "offcanvas", "toc", "navbox",
    ]),
    (SHARE, &[
        "share", "shares", "sharing", "sharebar", "sharebuttons", "sharedaddy", "social",
        "socials", "socialmedia", "addthis", "addtoany", "sharethis", "shareaholic",
        "socialshare", "follow", "followus",
    ]),
    (AD, &[
        "ad", "ads", "adv", "advert", "adverts", "advertisement", "advertisements", "advertising",
        "adsense", "adslot", "adbox", "adunit", "adwrap", "sponsor", "sponsors", "sponsored",
        "dfp", "adchoices",
    ]),
    (PROMO, &[
        "promo", "promos", "promoted", "promotion", "promotions", "banner", "banners", "cta",
    ]),
    (SIDE, &[
        "sidebar", "sidebars", "sidenav", "sidemenu", "rail", "rightrail", "aside", "widget",
        "widgets", "sidecolumn",
    ]),
    (FOOT, &[
        "footer", "foot", "footers", "copyright", "colophon", "legal", "disclaimer", "footnav",
        "pagefooter",
    ]),
    (POPUP, &[
        "modal", "popup", "popover", "overlay", "lightbox", "newsletter", "newsletters",
        "subscribe", "subscription", "signup", "signin", "login", "optin", "mailchimp", "tooltip",
        "toast", "dialog", "flyout", "drawer", "interstitial", "donate", "donation",
    ]),
    (CONSENT, &[
        "cookie", "cookies", "consent", "gdpr", "onetrust", "cookiebanner", "cookiebar",
        "cookieconsent", "cookienotice", "cookiebot", "cookieyes", "cmplz", "usercentrics",
        "didomi", "klaro", "axeptio", "tarteaucitron", "osano",
    ]),
    (META, &[
        "meta", "metadata", "postmeta", "date", "datetime", "timestamp", "published", "pubdate",
        "updated", "postdate", "tags", "tag", "taglist", "tagcloud", "keywords", "category",
        "categories", "kicker", "eyebrow", "readtime", "views", "topics",
    ]),
    (BYLINE, &[
        "byline", "bylines", "author", "authors", "postauthor", "writer", "contributor",
        "contributors",
    ]),
    (BIO, &[
        "bio", "biography", "authorbio", "authorbox", "aboutauthor",
    ]),
    (CAPTION, &[
        "caption", "captions", "figcaption", "credit", "credits", "photocredit", "imagecaption",
    ]),
    (TITLE, &[
        "title", "headline", "headlines", "heading",
    ]),
    (HIDDEN, &[
        "visually", "visuallyhidden", "sr", "screenreader", "reader",
    ]),
    (ARTICLE, &[
        "article", "post", "entry", "story", "news", "blog", "page", "main", "review", "recipe",
        "release", "node",
    ]),
    (BODY, &[
        "body", "content", "text", "copy",
    ]),
    (STRONG, &[
        "articlebody", "articlecontent", "articletext", "storybody", "storycontent", "storytext",
        "postbody", "postcontent", "entrycontent", "bodycopy", "bodytext", "prose", "markdown",
        "fulltext", "richtext", "wysiwyg", "rte",
    ]),
    (STATE, &[
        "has", "no", "with", "without", "is", "not", "show", "hide", "single",
    ]),
    (USER, &[
        "user", "userinfo", "userdetails", "userextras", "usertitle", "userbanner", "userpic",
        "avatar", "avatars", "profile", "postprofile", "poster", "member", "reputation", "badge",
        "badges", "rank", "authorpane",
    ]),
    (SIGNATURE, &[
        "signature", "signatures", "sig", "usersig", "reactions", "reaction", "reactionsbar",
        "likes", "votes", "vote", "votecount", "expand", "expandlink", "notice", "notices",
        "permalink",
    ]),
    (NAME, &[
        "username", "bigusername", "nickname", "displayname",
    ]),
    (TOOL, &[
        "toolbar", "tools", "button", "buttons", "btn", "search", "searchbox", "print",
        "editsection",
    ]),
    (TOOL | FILTER, &[
        "filters",
    ]),
    (PRODUCT, &[
        "product", "products", "price", "prices", "pricing", "buy", "cart", "sku", "offer",
        "offers", "specs", "spec", "specification", "specifications", "stock", "variant",
        "variants", "basket", "shop", "shipping", "delivery", "feature", "features", "plan",
        "plans",
    ]),
    (CARD, &[
        "card", "cards", "item", "items", "tile", "tiles", "grid", "list", "listing", "listings",
        "result", "results", "collection", "catalog", "carousel", "slider", "swiper", "slide",
        "row", "col", "column", "columns",
    ]),
    (HEAD, &[
        "hero", "intro", "lead", "lede", "summary", "description", "desc", "excerpt", "subtitle",
        "subheading", "standfirst", "dek", "header", "masthead",
    ]),
    (REVIEW, &[
        "reviews", "rating", "ratings", "stars", "testimonial", "testimonials", "question",
        "questions", "answer", "answers", "qa",
    ]),
    (TAB, &[
        "tab", "tabs", "tabpanel", "accordion", "panel", "panels", "collapse", "collapsible",
        "faq", "faqs", "details", "expandable",
    ]),
    (FILTER, &[
        "filter", "facet", "facets", "sort", "sorting", "refine", "refinement", "option",
        "options", "form", "field", "quantity", "select", "swatch",
    ]),
];

/// The marks that the block model reads, with their names.
pub const MARKS: [(&str, Marks); 29] = [
    ("comment", COMMENT),
    ("related", RELATED),
    ("share", SHARE),
    ("ad", AD),
    ("nav", NAV),
    ("side", SIDE),
    ("foot", FOOT),
    ("popup", POPUP),
    ("meta", META),
    ("byline", BYLINE),
    ("bio", BIO),
    ("caption", CAPTION),
    ("title", TITLE),
    ("hidden", HIDDEN),
    ("strong", STRONG),
    ("article", ARTICLE),
    ("body", BODY),
    ("tool", TOOL),
    ("user", USER),
    ("signature", SIGNATURE),
    ("name", NAME),
    ("consent", CONSENT),
    ("promo", PROMO),
    ("product", PRODUCT),
    ("card", CARD),
    ("head", HEAD),
    ("review", REVIEW),
    ("tab", TAB),
    ("filter", FILTER),
];
