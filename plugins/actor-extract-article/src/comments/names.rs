//! Classifies elements by their names: comments and their parts.

use orbweaver_sdk::dom::{Node, attr, tag};

/// Reliability of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Markup for machines, numbered ids, class names of a comment.
    Strong,
    /// Class names of a comment's parts, if the comment itself has no name.
    Weak,
    /// Class names of forum posts.
    Post,
}

/// Words that may occur beside "comment" in the class name of a whole comment.
const BESIDE: &[&str] = &[
    "blog",
    "block",
    "box",
    "card",
    "cell",
    "comment",
    "container",
    "depth",
    "discussion",
    "entry",
    "holder",
    "item",
    "js",
    "listitem",
    "node",
    "root",
    "row",
    "single",
    "thread",
    "timeline",
    "unit",
    "user",
    "view",
    "wrap",
    "wrapper",
];

/// Class names of comments without such a word, by the systems that use them.
const OWN_NAMES: &[&str] = &[
    "comtr",       // Hacker News
    "ipscomment",  // Invision
    "u-comment",   // Microformats 2
    "p-comment",   // Microformats 2
    "commentarea", // TypePad
    "listcomment",
];

/// Words that together with "comment" name a part of a comment.
const INSIDE: &[&str] = &[
    "body", "content", "inner", "main", "text", "message", "copy",
];

/// Class names of forum posts.
const POSTS: &[&str] = &[
    "answer",
    "bbp-reply",
    "crawler-post",
    "forum-post",
    "js-post",
    "message",
    "message--post",
    "post",
    "post-container",
    "postbit",
    "postcontainer",
    "reply",
    "thread-post",
    "topic-post",
];

/// The words of a name: split at characters other than letters, and before a capital letter that
/// follows a small one.
pub fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| !c.is_alphabetic());
        if rest.is_empty() {
            return None;
        }
        let mut small = false;
        let end = rest
            .char_indices()
            .find(|(_, c)| {
                let cut = !c.is_alphabetic() || (small && c.is_uppercase());
                small = c.is_lowercase();
                cut
            })
            .map_or(rest.len(), |(at, _)| at);
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

fn one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// The names in an element's `class`.
pub fn classes<'v>(node: Node<'v>) -> impl Iterator<Item = &'v str> {
    node.attr(attr::CLASS)
        .unwrap_or("")
        .split_ascii_whitespace()
}

/// Class names of WordPress for links from other sites, which stand in the list of comments.
const PINGS: &[&str] = &["pingback", "trackback"];

/// Whether an element is, or is in, a link from another site in a list of comments.
pub fn is_ping(node: Node<'_>) -> bool {
    /// Levels between a list's item and the comment in it.
    const LEVELS: usize = 5;
    for node in std::iter::once(node).chain(node.ancestors()).take(LEVELS) {
        if has_ping_name(node) {
            return true;
        }
        // What is around the item is not about this comment.
        if node.tag() == tag::LI {
            return false;
        }
    }
    false
}

fn has_ping_name(node: Node<'_>) -> bool {
    classes(node).any(|name| one_of(name, PINGS))
}

/// Whether the names of an element call it a post.
pub fn is_post(node: Node<'_>) -> bool {
    let component = node.attr_named("component"); // NodeBB
    let mut names = classes(node).chain(component);
    names.any(|name| words(name).any(|word| word.eq_ignore_ascii_case("post")))
}

/// Whether an element is one comment, or one link from another site among them.
pub fn is_item(node: Node<'_>, sign: Sign) -> bool {
    let block = matches!(
        node.tag(),
        tag::DIV
            | tag::LI
            | tag::ARTICLE
            | tag::SECTION
            | tag::TR
            | tag::TABLE
            | tag::TD
            | tag::DD
            | tag::BLOCKQUOTE
    );
    match sign {
        Sign::Strong => {
            is_marked_up(node)
                || node.name().ends_with("-comment")
                || block && (classes(node).any(is_whole) || is_numbered(node))
                || node.tag() == tag::LI && has_ping_name(node)
        }
        Sign::Weak => block && classes(node).any(is_inside),
        Sign::Post => block && classes(node).any(|name| one_of(name, POSTS)),
    }
}

/// Whether Microdata marks it: an item of a comment type, or a comment property. Answers in a list
/// of frequent questions are the page's own content.
fn is_marked_up(node: Node<'_>) -> bool {
    let is_faq = |n: Node<'_>| {
        n.attr(attr::ITEMTYPE)
            .is_some_and(|t| t.contains("FAQPage"))
    };
    if !node.has_attr(attr::ITEMSCOPE) || node.ancestors().any(is_faq) {
        return false;
    }
    let types = node.attr(attr::ITEMTYPE).unwrap_or("");
    let properties = node.attr(attr::ITEMPROP).unwrap_or("");
    types
        .split_ascii_whitespace()
        .filter_map(|name| name.rsplit('/').next())
        .any(|name| matches!(name, "Comment" | "UserComments" | "Answer"))
        || properties
            .split_ascii_whitespace()
            .any(|name| matches!(name, "comment" | "suggestedAnswer" | "acceptedAnswer"))
}

/// Matches `comment`, `comment-item`, `blogComment`, but not `comment-form` or `comments`.
fn is_whole(name: &str) -> bool {
    if one_of(name, OWN_NAMES) {
        return true;
    }
    let mut comment = false;
    for word in words(name) {
        if word.eq_ignore_ascii_case("comment") {
            comment = true;
        } else if !one_of(word, BESIDE) {
            return false;
        }
    }
    comment
}

fn is_inside(name: &str) -> bool {
    let (mut comment, mut inside) = (false, false);
    for word in words(name) {
        if word.eq_ignore_ascii_case("comment") {
            comment = true;
        } else if one_of(word, INSIDE) {
            inside = true;
        } else {
            return false;
        }
    }
    comment && inside
}

/// Whether it counts only with an author or a date: answers in a list of frequent questions, and
/// hints in a form, have neither.
pub fn is_doubtful(node: Node<'_>) -> bool {
    let types = node.attr(attr::ITEMTYPE).unwrap_or("");
    types.ends_with("/Answer") || node.ancestors().any(|n| n.tag() == tag::FORM)
}

/// Matches `id="comment-12"`, `li-comment-12` and `comment_ab12`.
fn is_numbered(node: Node<'_>) -> bool {
    let id = node.attr(attr::ID).unwrap_or("");
    let id = id.strip_prefix("li-").unwrap_or(id);
    id.strip_prefix("comment").is_some_and(|rest| {
        let number = rest.trim_start_matches(['-', '_']);
        number.bytes().any(|b| b.is_ascii_digit())
            && number.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

/// Whether the name says that a forum post is an answer.
pub fn is_answer(node: Node<'_>) -> bool {
    classes(node).any(|name| one_of(name, &["answer", "reply", "bbp-reply"]))
}

/// The depth stated by an element: WordPress's `depth-2` counts from 1, the `depth` attribute and
/// the indent of Hacker News from 0.
pub fn indent(node: Node<'_>) -> Option<u32> {
    if let Some(depth) = node.attr_named("depth").and_then(|d| d.parse().ok()) {
        return Some(depth);
    }
    if let Some(depth) =
        classes(node).find_map(|name| name.strip_prefix("depth-")?.parse::<u32>().ok())
    {
        return Some(depth.saturating_sub(1));
    }
    if classes(node).any(|name| name == "comtr") {
        let cell = node.elements().find(|n| n.has_class("ind"))?;
        return cell.attr_named("indent")?.parse().ok();
    }
    None
}

/// Words that name parts of a comment other than its text.
const ASIDE: &[&str] = &[
    "action",
    "actions",
    "avatar",
    "badge",
    "button",
    "buttons",
    "controls",
    "count",
    "flag",
    "foot",
    "footer",
    "gravatar",
    "info",
    "likes",
    "links",
    "menu",
    "meta",
    "metadata",
    "nav",
    "navs",
    "permalink",
    "reactions",
    "reply",
    "report",
    "score",
    "share",
    "sharing",
    "signature",
    "tools",
    "toolbar",
    "vote",
    "votes",
    "voting",
    "awaiting",
    "header",
    "head",
    "heading",
    "tagline",
    "byline",
    "edit",
    "memberaction",
    "popup",
    "popupbody",
];

/// Last words of class names of a comment's text.
const TEXT: &[&str] = &[
    "body",
    "bodytext",
    "content",
    "contents",
    "copy",
    "message",
    "text",
    "commtext",
    "usertext",
    "excerpt",
    "cooked",
    "postcontent",
    "postbody",
    "postmessage",
    "posttext",
];

/// Class names of a comment's text.
const TEXT_NAMES: &[&str] = &["bbWrapper", "s-prose", "md", "e-content", "p-content"];

/// Words that name a comment's author.
const AUTHOR: &[&str] = &[
    "author",
    "authorname",
    "commenter",
    "commentator",
    "fn",
    "hnuser",
    "nickname",
    "poster",
    "username",
    "userid",
    "displayname",
    "by",
];

/// Words that show that a name is not the author's, but that of a surrounding element.
const NOT_AUTHOR: &[&str] = &[
    "avatar",
    "badge",
    "block",
    "container",
    "details",
    "image",
    "info",
    "joined",
    "link",
    "menu",
    "meta",
    "photo",
    "posts",
    "rank",
    "stats",
    "title",
    "wrapper",
];

/// Words that name a comment's date.
const DATE: &[&str] = &[
    "age",
    "ago",
    "date",
    "datetime",
    "published",
    "time",
    "timeago",
    "timestamp",
];

fn has_word(node: Node<'_>, list: &[&str]) -> bool {
    classes(node).any(|name| words(name).any(|word| one_of(word, list)))
}

/// Whether an element is not part of a comment's text.
pub fn is_aside(node: Node<'_>) -> bool {
    matches!(
        node.tag(),
        tag::FORM | tag::BUTTON | tag::FOOTER | tag::HEADER | tag::NAV | tag::INPUT | tag::LABEL
    ) || node.attr(attr::ROLE) == Some("button")
        || has_word(node, ASIDE)
}

/// Whether an element contains the text.
pub fn is_text(node: Node<'_>) -> bool {
    let property = node.attr(attr::ITEMPROP).unwrap_or("");
    property
        .split_ascii_whitespace()
        .any(|name| matches!(name, "text" | "commentText" | "description" | "articleBody"))
        || node.attr(attr::SLOT) == Some("comment")
        || !has_word(node, ASIDE) && classes(node).any(is_text_name)
}

/// Matches `comment-body`, `message-content`, but not `message-user`.
fn is_text_name(name: &str) -> bool {
    let last = words(name).last();
    one_of(name, TEXT_NAMES) || last.is_some_and(|word| one_of(word, TEXT))
}

/// Whether an element is a link to a user's profile.
pub fn is_profile(node: Node<'_>) -> bool {
    const PLACES: &[&str] = &[
        "/user", "/u/", "/~", "/profile", "/member", "/people/", "/author", "/@",
    ];
    let href = node.attr(attr::HREF).unwrap_or("").to_ascii_lowercase();
    node.tag() == tag::A && PLACES.iter().any(|place| href.contains(place))
}

/// Whether an element contains the author's name.
pub fn is_author(node: Node<'_>) -> bool {
    let property = node.attr(attr::ITEMPROP).unwrap_or("");
    property
        .split_ascii_whitespace()
        .any(|name| matches!(name, "author" | "creator"))
        || node
            .attr(attr::REL)
            .is_some_and(|rel| rel.split_ascii_whitespace().any(|r| r == "author"))
        || classes(node).any(|name| {
            let all: Vec<&str> = words(name).collect();
            let has = |list: &[&str]| all.iter().any(|word| one_of(word, list));
            has(AUTHOR) && !has(NOT_AUTHOR) || has(&["user", "display"]) && has(&["name"])
        })
}

/// Whether an element contains the date.
pub fn is_date(node: Node<'_>) -> bool {
    let property = node.attr(attr::ITEMPROP).unwrap_or("");
    property.split_ascii_whitespace().any(|name| {
        matches!(
            name,
            "dateCreated" | "datePublished" | "commentTime" | "dateModified"
        )
    }) || has_word(node, DATE)
}
