//! The tables of tag and attribute names. Append only: an id is part of the snapshot
//! format, so that an old plugin never misreads a page written by a newer host.

macro_rules! table {
    ($(#[$doc:meta])* $module:ident: $($name:ident = $text:literal,)*) => {
        $(#[$doc])*
        pub mod $module {
            /// A name that is not in the table; the node or attribute carries its text.
            pub const UNKNOWN: u16 = 0;
            #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "only numbers the names")]
            #[repr(u16)]
            enum Number { _UNKNOWN, $($name),* }
            $(#[doc = concat!("`", $text, "`")] pub const $name: u16 = Number::$name as u16;)*
            /// Names by id; the empty string for [`UNKNOWN`].
            pub const NAMES: &[&str] = &["", $($text),*];

            /// The name of an id, empty for [`UNKNOWN`] and for ids of a newer table.
            pub fn name(id: u16) -> &'static str {
                NAMES.get(usize::from(id)).copied().unwrap_or("")
            }

            /// The id of a name, [`UNKNOWN`] if it is not in the table. Case counts.
            pub fn id(name: &str) -> u16 {
                match name { $($text => $name,)* _ => UNKNOWN }
            }
        }
    };
}

table! {
    /// Tag ids. A `match` on them is a jump table, a match on strings is not.
    tag:
    HTML = "html", HEAD = "head", BODY = "body", TITLE = "title", BASE = "base", LINK = "link",
    META = "meta", STYLE = "style", SCRIPT = "script", NOSCRIPT = "noscript",
    TEMPLATE = "template", ADDRESS = "address", ARTICLE = "article", ASIDE = "aside",
    FOOTER = "footer", HEADER = "header", H1 = "h1", H2 = "h2", H3 = "h3", H4 = "h4", H5 = "h5",
    H6 = "h6", HGROUP = "hgroup", MAIN = "main", NAV = "nav", SECTION = "section",
    SEARCH = "search", BLOCKQUOTE = "blockquote", DD = "dd", DIV = "div", DL = "dl", DT = "dt",
    FIGCAPTION = "figcaption", FIGURE = "figure", HR = "hr", LI = "li", MENU = "menu", OL = "ol",
    P = "p", PRE = "pre", UL = "ul", A = "a", ABBR = "abbr", B = "b", BDI = "bdi", BDO = "bdo",
    BR = "br", CITE = "cite", CODE = "code", DATA = "data", DFN = "dfn", EM = "em", I = "i",
    KBD = "kbd", MARK = "mark", Q = "q", RP = "rp", RT = "rt", RUBY = "ruby", S = "s",
    SAMP = "samp", SMALL = "small", SPAN = "span", STRONG = "strong", SUB = "sub", SUP = "sup",
    TIME = "time", U = "u", VAR = "var", WBR = "wbr", AREA = "area", AUDIO = "audio", IMG = "img",
    MAP = "map", TRACK = "track", VIDEO = "video", EMBED = "embed", IFRAME = "iframe",
    OBJECT = "object", PICTURE = "picture", SOURCE = "source", CANVAS = "canvas", SVG = "svg",
    MATH = "math", PORTAL = "portal", DEL = "del", INS = "ins", CAPTION = "caption", COL = "col",
    COLGROUP = "colgroup", TABLE = "table", TBODY = "tbody", TD = "td", TFOOT = "tfoot",
    TH = "th", THEAD = "thead", TR = "tr", BUTTON = "button", DATALIST = "datalist",
    FIELDSET = "fieldset", FORM = "form", INPUT = "input", LABEL = "label", LEGEND = "legend",
    METER = "meter", OPTGROUP = "optgroup", OPTION = "option", OUTPUT = "output",
    PROGRESS = "progress", SELECT = "select", TEXTAREA = "textarea", DETAILS = "details",
    DIALOG = "dialog", SUMMARY = "summary", SLOT = "slot", ACRONYM = "acronym", APPLET = "applet",
    BASEFONT = "basefont", BIG = "big", CENTER = "center", DIR = "dir", FONT = "font",
    FRAME = "frame", FRAMESET = "frameset", ISINDEX = "isindex", KEYGEN = "keygen",
    LISTING = "listing", MARQUEE = "marquee", MENUITEM = "menuitem", NOBR = "nobr",
    NOEMBED = "noembed", NOFRAMES = "noframes", PARAM = "param", PLAINTEXT = "plaintext",
    RB = "rb", RTC = "rtc", STRIKE = "strike", TT = "tt", XMP = "xmp", IMAGE = "image",
    PATH = "path", G = "g", USE = "use", DEFS = "defs", SYMBOL = "symbol", RECT = "rect",
    CIRCLE = "circle", ELLIPSE = "ellipse", LINE = "line", POLYLINE = "polyline",
    POLYGON = "polygon", TEXT = "text", TSPAN = "tspan", DESC = "desc",
    FOREIGN_OBJECT = "foreignObject", LINEAR_GRADIENT = "linearGradient",
    RADIAL_GRADIENT = "radialGradient", STOP = "stop", CLIP_PATH = "clipPath", MASK = "mask",
    FILTER = "filter", ANIMATE = "animate", PATTERN = "pattern", MARKER = "marker", MI = "mi",
    MO = "mo", MN = "mn", MS = "ms", MTEXT = "mtext", MROW = "mrow", MFRAC = "mfrac",
    MSQRT = "msqrt", MROOT = "mroot", MSUB = "msub", MSUP = "msup", MSUBSUP = "msubsup",
    MUNDER = "munder", MOVER = "mover", MUNDEROVER = "munderover", MTABLE = "mtable", MTR = "mtr",
    MTD = "mtd", MSPACE = "mspace", MSTYLE = "mstyle", SEMANTICS = "semantics",
    ANNOTATION = "annotation", ANNOTATION_XML = "annotation-xml", BGSOUND = "bgsound",
    BLINK = "blink",
}

table! {
    /// Attribute ids.
    attr:
    ID = "id", CLASS = "class", HREF = "href", SRC = "src", ALT = "alt", TITLE = "title",
    NAME = "name", CONTENT = "content", PROPERTY = "property", REL = "rel", TYPE = "type",
    VALUE = "value", LANG = "lang", DIR = "dir", STYLE = "style", WIDTH = "width",
    HEIGHT = "height", SRCSET = "srcset", SIZES = "sizes", MEDIA = "media", CHARSET = "charset",
    HTTP_EQUIV = "http-equiv", HREFLANG = "hreflang", TARGET = "target", ROLE = "role",
    DATA_SRC = "data-src", DATA_SRCSET = "data-srcset", DATA_ORIGINAL = "data-original",
    DATA_HREF = "data-href", LOADING = "loading", ITEMPROP = "itemprop", ITEMSCOPE = "itemscope",
    ITEMTYPE = "itemtype", ITEMID = "itemid", ITEMREF = "itemref", TYPEOF = "typeof",
    VOCAB = "vocab", PREFIX = "prefix", RESOURCE = "resource", ABOUT = "about",
    DATATYPE = "datatype", INLIST = "inlist", DATETIME = "datetime", REV = "rev",
    ACTION = "action", METHOD = "method", ENCTYPE = "enctype", FOR = "for",
    PLACEHOLDER = "placeholder", REQUIRED = "required", CHECKED = "checked",
    SELECTED = "selected", DISABLED = "disabled", READONLY = "readonly", MULTIPLE = "multiple",
    MAXLENGTH = "maxlength", MINLENGTH = "minlength", MIN = "min", MAX = "max", STEP = "step",
    PATTERN = "pattern", AUTOCOMPLETE = "autocomplete", ACCEPT = "accept", COLSPAN = "colspan",
    ROWSPAN = "rowspan", SCOPE = "scope", HEADERS = "headers", START = "start",
    REVERSED = "reversed", CITE = "cite", DOWNLOAD = "download", PING = "ping",
    REFERRERPOLICY = "referrerpolicy", INTEGRITY = "integrity", CROSSORIGIN = "crossorigin",
    NONCE = "nonce", ASYNC = "async", DEFER = "defer", NOMODULE = "nomodule", HIDDEN = "hidden",
    TABINDEX = "tabindex", ACCESSKEY = "accesskey", CONTENTEDITABLE = "contenteditable",
    DRAGGABLE = "draggable", SPELLCHECK = "spellcheck", TRANSLATE = "translate",
    ARIA_HIDDEN = "aria-hidden", ARIA_LABEL = "aria-label", ARIA_LABELLEDBY = "aria-labelledby",
    ARIA_DESCRIBEDBY = "aria-describedby", ARIA_LEVEL = "aria-level",
    ARIA_EXPANDED = "aria-expanded", ARIA_CONTROLS = "aria-controls", ARIA_MODAL = "aria-modal",
    ONCLICK = "onclick", ONLOAD = "onload", DATA_ID = "data-id", DATA_URL = "data-url",
    DATA_LANG = "data-lang", DATA_LANGUAGE = "data-language", POSTER = "poster",
    CONTROLS = "controls", AUTOPLAY = "autoplay", LOOP = "loop", MUTED = "muted",
    PRELOAD = "preload", SANDBOX = "sandbox", SRCDOC = "srcdoc", ALLOW = "allow",
    ALLOWFULLSCREEN = "allowfullscreen", FRAMEBORDER = "frameborder", COLOR = "color",
    FACE = "face", SIZE = "size", ALIGN = "align", VALIGN = "valign", BGCOLOR = "bgcolor",
    BORDER = "border", CELLPADDING = "cellpadding", CELLSPACING = "cellspacing",
    BACKGROUND = "background", LANGUAGE = "language", USEMAP = "usemap", ISMAP = "ismap",
    SHAPE = "shape", COORDS = "coords", OPEN = "open", LABEL = "label", KIND = "kind",
    FETCHPRIORITY = "fetchpriority", DECODING = "decoding", AS = "as", BLOCKING = "blocking",
    IS = "is", SLOT = "slot", PART = "part", XMLNS = "xmlns", VIEW_BOX = "viewBox", FILL = "fill",
    D = "d", XLINK_HREF = "xlink:href", XML_LANG = "xml:lang", VERSION = "version",
    ENCODING = "encoding", DATA_TYPE = "data-type", DATA_NAME = "data-name",
    DATA_TITLE = "data-title", DATA_COMPONENT = "data-component", DATA_TESTID = "data-testid",
}
