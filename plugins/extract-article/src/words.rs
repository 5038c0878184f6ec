//! What class names and ids say about an element.
//!
//! A `class` or `id` value is cut into names at white space, a name into words at
//! everything that is no letter and where a capital follows a small letter
//! (`relatedPosts` is `related` and `posts`). Words are looked up in one table built at
//! compile time; a name's words together give its marks.

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
/// Page or article headers.
pub const HEAD: Marks = 1 << 7;
/// Overlays, cookie banners, sign-up boxes.
pub const POPUP: Marks = 1 << 8;
/// Data about the text: date, categories, tags.
pub const META: Marks = 1 << 9;
/// Who wrote it.
pub const BYLINE: Marks = 1 << 10;
/// Text about the author.
pub const BIO: Marks = 1 << 11;
/// Captions and credits of pictures.
pub const CAPTION: Marks = 1 << 12;
/// Headlines.
pub const TITLE: Marks = 1 << 13;
/// Invisible, or for screen readers only.
pub const HIDDEN: Marks = 1 << 14;
/// Words for content of any kind.
pub const CONTENT: Marks = 1 << 15;
/// A name that sites give to the text of an article: `article-body`, `entry-content`.
pub const STRONG: Marks = 1 << 16;
/// Words for a kind of text: article, post, story.
pub const ARTICLE: Marks = 1 << 17;
/// Words for the flesh of it: body, content, text. Used to find [`STRONG`].
pub const BODY: Marks = 1 << 18;
/// A first word that turns a name into a statement about the layout: `has-sidebar`.
pub const STATE: Marks = 1 << 19;
/// A unit of a thread: post, message, reply, answer.
pub const POST: Marks = 1 << 20;
/// A standfirst: summary, dek, lede.
pub const LEDE: Marks = 1 << 21;
/// Products and prices.
pub const PRODUCT: Marks = 1 << 22;
/// Media boxes: galleries, players.
pub const MEDIA: Marks = 1 << 23;
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

/// What usually is not content.
pub const BOILERPLATE: Marks =
    COMMENT | RELATED | SHARE | AD | NAV | SIDE | FOOT | POPUP | HIDDEN | TOOL | CONSENT | PROMO;

const TABLE: &[(&str, Marks)] = &[
    ("comment", COMMENT),
    ("comments", COMMENT),
    ("commenting", COMMENT),
    ("commentlist", COMMENT),
    ("commentform", COMMENT),
    ("commentary", 0),
    ("disqus", COMMENT),
    ("respond", COMMENT),
    ("livefyre", COMMENT),
    ("spotim", COMMENT),
    ("viafoura", COMMENT),
    ("coral", COMMENT),
    ("related", RELATED),
    ("relateds", RELATED),
    ("relatedposts", RELATED),
    ("relatedcontent", RELATED),
    ("relatedarticles", RELATED),
    ("relatedstories", RELATED),
    ("relatedlinks", RELATED),
    ("recommended", RELATED),
    ("recommend", RELATED),
    ("recommendation", RELATED),
    ("recommendations", RELATED),
    ("recirc", RELATED),
    ("recirculation", RELATED),
    ("trending", RELATED),
    ("popular", RELATED),
    ("mostpopular", RELATED),
    ("mostread", RELATED),
    ("suggested", RELATED),
    ("suggestions", RELATED),
    ("outbrain", RELATED),
    ("taboola", RELATED),
    ("revcontent", RELATED),
    ("zergnet", RELATED),
    ("mgid", RELATED),
    ("readmore", RELATED),
    ("morefrom", RELATED),
    ("upnext", RELATED),
    ("nextprev", NAV),
    ("prevnext", NAV),
    ("similar", RELATED),
    ("yarpp", RELATED),
    ("jp-relatedposts", RELATED),
    ("crosslinks", RELATED),
    ("teasers", RELATED),
    ("share", SHARE),
    ("shares", SHARE),
    ("sharing", SHARE),
    ("sharebar", SHARE),
    ("sharebuttons", SHARE),
    ("sharedaddy", SHARE),
    ("social", SHARE),
    ("socials", SHARE),
    ("socialmedia", SHARE),
    ("addthis", SHARE),
    ("addtoany", SHARE),
    ("sharethis", SHARE),
    ("shareaholic", SHARE),
    ("socialshare", SHARE),
    ("follow", SHARE),
    ("followus", SHARE),
    ("ad", AD),
    ("ads", AD),
    ("adv", AD),
    ("advert", AD),
    ("adverts", AD),
    ("advertisement", AD),
    ("advertisements", AD),
    ("advertising", AD),
    ("adsense", AD),
    ("adslot", AD),
    ("adbox", AD),
    ("adunit", AD),
    ("adwrap", AD),
    ("sponsor", AD),
    ("sponsors", AD),
    ("sponsored", AD),
    ("promo", PROMO),
    ("promos", PROMO),
    ("promoted", PROMO),
    ("promotion", PROMO),
    ("promotions", PROMO),
    ("dfp", AD),
    ("banner", PROMO),
    ("banners", PROMO),
    ("adchoices", AD),
    ("cta", PROMO),
    ("nav", NAV),
    ("navbar", NAV),
    ("navi", NAV),
    ("navigation", NAV),
    ("mainnav", NAV),
    ("subnav", NAV),
    ("topnav", NAV),
    ("menu", NAV),
    ("menus", NAV),
    ("submenu", NAV),
    ("megamenu", NAV),
    ("mainmenu", NAV),
    ("breadcrumb", NAV),
    ("breadcrumbs", NAV),
    ("crumbs", NAV),
    ("crumb", NAV),
    ("pagination", NAV),
    ("paginator", NAV),
    ("pager", NAV),
    ("pagenav", NAV),
    ("paging", NAV),
    ("sitemap", NAV),
    ("skip", NAV),
    ("skiplink", NAV),
    ("topbar", NAV),
    ("dropdown", NAV),
    ("hamburger", NAV),
    ("offcanvas", NAV),
    ("toc", NAV),
    ("navbox", NAV),
    ("sidebar", SIDE),
    ("sidebars", SIDE),
    ("sidenav", SIDE),
    ("sidemenu", SIDE),
    ("rail", SIDE),
    ("rightrail", SIDE),
    ("aside", SIDE),
    ("widget", SIDE),
    ("widgets", SIDE),
    ("sidecolumn", SIDE),
    ("footer", FOOT),
    ("foot", FOOT),
    ("footers", FOOT),
    ("copyright", FOOT),
    ("colophon", FOOT),
    ("legal", FOOT),
    ("disclaimer", FOOT),
    ("footnav", FOOT),
    ("pagefooter", FOOT),
    ("header", HEAD),
    ("masthead", HEAD),
    ("hdr", HEAD),
    ("topheader", HEAD),
    ("pageheader", HEAD),
    ("modal", POPUP),
    ("popup", POPUP),
    ("popover", POPUP),
    ("overlay", POPUP),
    ("lightbox", POPUP),
    ("cookie", CONSENT),
    ("cookies", CONSENT),
    ("consent", CONSENT),
    ("gdpr", CONSENT),
    ("onetrust", CONSENT),
    ("newsletter", POPUP),
    ("newsletters", POPUP),
    ("subscribe", POPUP),
    ("subscription", POPUP),
    ("signup", POPUP),
    ("signin", POPUP),
    ("login", POPUP),
    ("optin", POPUP),
    ("mailchimp", POPUP),
    ("tooltip", POPUP),
    ("toast", POPUP),
    ("dialog", POPUP),
    ("flyout", POPUP),
    ("drawer", POPUP),
    ("interstitial", POPUP),
    ("donate", POPUP),
    ("donation", POPUP),
    ("meta", META),
    ("metadata", META),
    ("postmeta", META),
    ("date", META),
    ("dateline", 0),
    ("datetime", META),
    ("timestamp", META),
    ("published", META),
    ("pubdate", META),
    ("updated", META),
    ("postdate", META),
    ("tags", META),
    ("tag", META),
    ("taglist", META),
    ("tagcloud", META),
    ("keywords", META),
    ("category", META),
    ("categories", META),
    ("kicker", META),
    ("eyebrow", META),
    ("readtime", META),
    ("views", META),
    ("topics", META),
    ("byline", BYLINE),
    ("bylines", BYLINE),
    ("author", BYLINE),
    ("authors", BYLINE),
    ("postauthor", BYLINE),
    ("writer", BYLINE),
    ("contributor", BYLINE),
    ("contributors", BYLINE),
    ("bio", BIO),
    ("biography", BIO),
    ("authorbio", BIO),
    ("authorbox", BIO),
    ("aboutauthor", BIO),
    ("caption", CAPTION),
    ("captions", CAPTION),
    ("figcaption", CAPTION),
    ("credit", CAPTION),
    ("credits", CAPTION),
    ("photocredit", CAPTION),
    ("imagecaption", CAPTION),
    ("title", TITLE),
    ("headline", TITLE),
    ("headlines", TITLE),
    ("heading", TITLE),
    ("subtitle", LEDE),
    ("subheadline", LEDE),
    ("summary", LEDE),
    ("dek", LEDE),
    ("lede", LEDE),
    ("standfirst", LEDE),
    ("excerpt", LEDE),
    ("deck", LEDE),
    ("intro", LEDE),
    ("lead", LEDE),
    ("visually", HIDDEN),
    ("visuallyhidden", HIDDEN),
    ("sr", HIDDEN),
    ("screenreader", HIDDEN),
    ("reader", HIDDEN),
    ("article", ARTICLE),
    ("articles", 0),
    ("post", ARTICLE | POST),
    ("entry", ARTICLE),
    ("story", ARTICLE),
    ("news", ARTICLE),
    ("blog", ARTICLE),
    ("page", ARTICLE),
    ("main", ARTICLE),
    ("review", ARTICLE),
    ("recipe", ARTICLE),
    ("release", ARTICLE),
    ("node", ARTICLE),
    ("body", BODY),
    ("content", BODY | CONTENT),
    ("text", BODY),
    ("copy", BODY),
    ("articlebody", STRONG),
    ("articlecontent", STRONG),
    ("articletext", STRONG),
    ("storybody", STRONG),
    ("storycontent", STRONG),
    ("storytext", STRONG),
    ("postbody", STRONG),
    ("postcontent", STRONG),
    ("entrycontent", STRONG),
    ("bodycopy", STRONG),
    ("bodytext", STRONG),
    ("maincontent", CONTENT),
    ("prose", STRONG),
    ("markdown", STRONG),
    ("fulltext", STRONG),
    ("richtext", STRONG),
    ("wysiwyg", STRONG),
    ("rte", STRONG),
    ("has", STATE),
    ("no", STATE),
    ("with", STATE),
    ("without", STATE),
    ("is", STATE),
    ("js", 0),
    ("not", STATE),
    ("show", STATE),
    ("hide", STATE),
    ("single", STATE),
    ("message", POST),
    ("messages", 0),
    ("reply", POST),
    ("replies", COMMENT),
    ("answer", POST),
    ("answers", 0),
    ("thread", POST),
    ("topic", POST),
    ("product", PRODUCT),
    ("price", PRODUCT),
    ("sku", PRODUCT),
    ("gallery", MEDIA),
    ("slideshow", MEDIA),
    ("carousel", MEDIA),
    ("player", MEDIA),
    ("video", MEDIA),
    ("audio", MEDIA),
    ("jwplayer", MEDIA),
    ("user", USER),
    ("userinfo", USER),
    ("userdetails", USER),
    ("userextras", USER),
    ("usertitle", USER),
    ("userbanner", USER),
    ("userpic", USER),
    ("avatar", USER),
    ("avatars", USER),
    ("profile", USER),
    ("postprofile", USER),
    ("poster", USER),
    ("member", USER),
    ("reputation", USER),
    ("badge", USER),
    ("badges", USER),
    ("rank", USER),
    ("authorpane", USER),
    ("signature", SIGNATURE),
    ("signatures", SIGNATURE),
    ("sig", SIGNATURE),
    ("usersig", SIGNATURE),
    ("username", NAME),
    ("bigusername", NAME),
    ("nickname", NAME),
    ("displayname", NAME),
    ("reactions", SIGNATURE),
    ("reaction", SIGNATURE),
    ("reactionsbar", SIGNATURE),
    ("likes", SIGNATURE),
    ("votes", SIGNATURE),
    ("vote", SIGNATURE),
    ("votecount", SIGNATURE),
    ("expand", SIGNATURE),
    ("expandlink", SIGNATURE),
    ("notice", SIGNATURE),
    ("notices", SIGNATURE),
    ("permalink", SIGNATURE),
    ("toolbar", TOOL),
    ("tools", TOOL),
    ("button", TOOL),
    ("buttons", TOOL),
    ("btn", TOOL),
    ("search", TOOL),
    ("searchbox", TOOL),
    ("filters", TOOL),
    ("print", TOOL),
    ("editsection", TOOL),
];

const SLOTS: usize = 1024;

const fn hash(word: &[u8]) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < word.len() {
        h = step(h, word[i]);
        i += 1;
    }
    h
}

const fn step(h: u64, byte: u8) -> u64 {
    (h ^ byte as u64).wrapping_mul(0x0100_0000_01b3)
}

/// Open addressing; a key of 0 is an empty slot.
static SLOT: [(u64, Marks); SLOTS] = {
    let mut slots = [(0, 0); SLOTS];
    let mut i = 0;
    while i < TABLE.len() {
        let (word, marks) = TABLE[i];
        let key = hash(word.as_bytes());
        let mut at = place(key);
        while slots[at].0 != 0 {
            at = (at + 1) % SLOTS;
        }
        slots[at] = (key, marks);
        i += 1;
    }
    slots
};

const fn place(key: u64) -> usize {
    (key ^ key >> 32) as usize % SLOTS
}

fn look_up(key: u64) -> Marks {
    let mut at = place(key);
    loop {
        let (k, marks) = SLOT[at % SLOTS];
        if k == key {
            return marks;
        }
        if k == 0 {
            return 0;
        }
        at += 1;
    }
}

/// The marks of a `class` or `id` value; names of more words say nothing.
pub fn marks(value: &str, max_words: u32) -> Marks {
    let mut all = 0;
    let mut name = Name::default();
    let mut key = hash(b"");
    let mut len = 0u32;
    let mut small = false;
    for &byte in value.as_bytes() {
        if byte.is_ascii_alphabetic() {
            if byte.is_ascii_uppercase() && small {
                name.word(key, len);
                key = hash(b"");
                len = 0;
            }
            small = byte.is_ascii_lowercase();
            key = step(key, byte.to_ascii_lowercase());
            len += 1;
            continue;
        }
        name.word(key, len);
        key = hash(b"");
        len = 0;
        small = false;
        if byte.is_ascii_whitespace() {
            all |= name.marks(max_words);
            name = Name::default();
        }
    }
    name.word(key, len);
    all | name.marks(max_words)
}

/// One class name under way.
#[derive(Default)]
struct Name {
    marks: Marks,
    last: Marks,
    words: u32,
}

impl Name {
    fn word(&mut self, key: u64, len: u32) {
        if len < 2 {
            return;
        }
        let marks = look_up(key);
        if self.words == 0 || marks & STATE == 0 {
            self.marks |= marks;
        }
        self.last = marks;
        self.words += 1;
    }

    fn marks(&self, max_words: u32) -> Marks {
        if self.marks & STATE != 0 || self.words > max_words {
            return 0;
        }
        let mut marks = self.marks;
        if marks & ARTICLE != 0 && self.last & BODY != 0 && marks & BOILERPLATE == 0 {
            marks |= STRONG;
        }
        marks
    }
}
