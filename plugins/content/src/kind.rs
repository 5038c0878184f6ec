//! The kind of a page.
//!
//! Sites say it themselves in several places: the types of their JSON-LD, `og:type`, the
//! generator, the words of the URL. Each speaks for a kind with points; where none has
//! enough, the shape of the text decides later.

use orbweaver_sdk::dom::{Node, View, attr, tag};

/// The kinds of page that are treated differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One text: news, blog post, recipe, reference page.
    Article,
    /// Questions and answers, threads, comment pages.
    Forum,
    /// One thing for sale.
    Product,
    /// Many things with a line or a picture each.
    Listing,
    /// Manuals and references.
    Documentation,
    /// Anything else: home pages, services, landing pages.
    Other,
}

/// Points by kind.
#[derive(Default, Debug)]
pub struct Votes {
    pub article: i32,
    pub forum: i32,
    pub product: i32,
    pub listing: i32,
    pub documentation: i32,
}

impl Votes {
    /// Whether all that a page says of itself says that it is an article.
    pub fn is_clear_article(&self) -> bool {
        let others = [self.forum, self.product, self.listing, self.documentation];
        self.article >= 4 && others.iter().all(|points| *points <= 1)
    }

    /// The kind with the most points; `None` where no kind has two.
    pub fn winner(&self) -> Option<Kind> {
        let mut best = (1, None);
        for (points, kind) in [
            (self.forum, Kind::Forum),
            (self.product, Kind::Product),
            (self.article, Kind::Article),
            (self.documentation, Kind::Documentation),
            (self.listing, Kind::Listing),
        ] {
            if points > best.0 {
                best = (points, Some(kind));
            }
        }
        best.1
    }
}

/// Collects the votes of a page.
pub fn votes(view: &View<'_>, url: &str) -> Votes {
    let mut votes = Votes::default();
    vote_url(url, &mut votes);
    let mut is_manual = false;
    let mut id = 0;
    while let Some(node) = view.node(id) {
        match node.tag() {
            tag::SCRIPT => {
                is_manual |= is_of_manual(node);
                if node
                    .attr(attr::TYPE)
                    .is_some_and(|t| t.trim().eq_ignore_ascii_case("application/ld+json"))
                {
                    for text in node.children() {
                        vote_json_ld(text.text(), &mut votes);
                    }
                }
                id = node.end();
                continue;
            }
            tag::META => vote_meta(node, &mut votes),
            tag::BODY => vote_body(node, &mut votes),
            _ => {}
        }
        id += 1;
    }
    if is_manual && votes.documentation < 3 {
        votes.documentation += 3;
    }
    votes
}

/// Whether a script is one that a generator of manuals or references adds to each page. Their themes
/// leave out, as a rule, what else would tell of it.
fn is_of_manual(script: Node<'_>) -> bool {
    if matches!(
        script.attr(attr::ID),
        Some("documentation_options" | "tsd-nav-script")
    ) {
        return true;
    }
    let Some(src) = script.attr(attr::SRC) else {
        return false;
    };
    let path = src.split(['?', '#']).next().unwrap_or("");
    MANUALS.iter().any(|name| {
        path.strip_suffix(name)
            .is_some_and(|before| before.is_empty() || before.ends_with('/'))
    })
}

/// Ends of the addresses of such scripts: of Sphinx and Jupyter Book, of MkDocs, of JSDoc.
const MANUALS: [&str; 5] = [
    "documentation_options.js",
    "doctools.js",
    "search/main.js",
    "search/require.js",
    "scripts/linenumber.js",
];

fn vote_meta(node: Node<'_>, votes: &mut Votes) {
    let Some(name) = node.attr(attr::PROPERTY).or_else(|| node.attr(attr::NAME)) else {
        return;
    };
    let content = node.attr(attr::CONTENT).unwrap_or("");
    match name {
        "og:type" => match content {
            "article" | "blog" | "news" => votes.article += 1,
            "product" | "og:product" | "product.item" => votes.product += 3,
            "product.group" => votes.listing += 3,
            _ => {}
        },
        "article:published_time" => votes.article += 1,
        "product:price:amount" | "og:price:amount" => votes.product += 2,
        "generator" => {
            let is = |words: &[&str]| words.iter().any(|w| starts_with_ignoring_case(content, w));
            if is(&[
                "discourse",
                "phpbb",
                "vbulletin",
                "xenforo",
                "mybb",
                "flarum",
                "invision",
                "vanilla",
                "nodebb",
                "smf",
            ]) {
                votes.forum += 3;
            } else if is(&[
                "sphinx",
                "docusaurus",
                "mkdocs",
                "vitepress",
                "gitbook",
                "rustdoc",
                "hugo-book",
                "antora",
                "docfx",
                "doxygen",
                "javadoc",
                "mdbook",
                "pdoc",
                "pkgdown",
                "rspress",
                "starlight",
                "vuepress",
            ]) {
                votes.documentation += 3;
            }
        }
        _ => {}
    }
}

fn vote_body(node: Node<'_>, votes: &mut Votes) {
    let class = node.attr(attr::CLASS).unwrap_or("");
    for name in class.split_ascii_whitespace() {
        match name {
            "single-post" | "single-format-standard" => votes.article += 2,
            "single-product" | "template-product" | "catalog-product-view" => votes.product += 3,
            "archive"
            | "blog"
            | "category"
            | "tax-product_cat"
            | "template-collection"
            | "catalog-category-view"
            | "post-type-archive"
            | "search-results" => votes.listing += 2,
            "rustdoc" | "wy-body-for-nav" => votes.documentation += 3,
            _ => {}
        }
    }
}

fn starts_with_ignoring_case(text: &str, head: &str) -> bool {
    text.get(..head.len())
        .is_some_and(|t| t.eq_ignore_ascii_case(head))
}

/// The `@type`s of a JSON-LD text, found without parsing it: enough for a vote.
fn vote_json_ld(text: &str, votes: &mut Votes) {
    let mut seen = 0u32;
    for (at, _) in text.match_indices("\"@type\"") {
        let rest = text.get(at + 7..).unwrap_or("").trim_start();
        let rest = rest.strip_prefix(':').unwrap_or(rest).trim_start();
        let rest = rest.strip_prefix('[').unwrap_or(rest).trim_start();
        let Some(rest) = rest.strip_prefix('"') else {
            continue;
        };
        let name = rest.split('"').next().unwrap_or("");
        let bit = match name {
            "Article"
            | "NewsArticle"
            | "BlogPosting"
            | "ReportageNewsArticle"
            | "ScholarlyArticle"
            | "OpinionNewsArticle"
            | "AnalysisNewsArticle"
            | "LiveBlogPosting"
            | "Recipe" => 1,
            "TechArticle" | "APIReference" => 2,
            "DiscussionForumPosting" | "QAPage" => 4,
            "Product" | "ProductGroup" | "IndividualProduct" | "Vehicle" => 8,
            "CollectionPage" | "SearchResultsPage" | "OfferCatalog" => 16,
            "ItemList" => 32,
            "JobPosting" => 128,
            _ => 0,
        };
        // Many products are a listing.
        if bit == 8 && seen & 8 != 0 {
            seen |= 64;
        }
        seen |= bit;
    }
    votes.article += if seen & 1 != 0 { 3 } else { 0 };
    votes.documentation += if seen & 2 != 0 { 2 } else { 0 };
    votes.forum += if seen & 4 != 0 { 4 } else { 0 };
    votes.product += if seen & 8 != 0 && seen & (16 | 32) == 0 {
        4
    } else {
        0
    };
    votes.listing += if seen & 16 != 0 { 4 } else { 0 };
    votes.listing += if seen & 32 != 0 { 2 } else { 0 };
    if seen & 128 != 0 {
        // Sites of such advertisements are boards, too.
        votes.forum = 0;
    }
}

fn vote_url(url: &str, votes: &mut Votes) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.split(['?', '#']).next().unwrap_or("");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    for label in host.split('.') {
        match label {
            "forum" | "forums" | "community" | "boards" | "discuss" | "discussion"
            | "discussions" | "answers" | "stackexchange" | "stackoverflow" => votes.forum += 2,
            "docs" | "doc" | "developer" | "developers" | "documentation" | "readthedocs"
            | "wiki" | "man" | "api" | "learn" => votes.documentation += 2,
            "shop" | "store" => votes.product += 1,
            "blog" | "news" => votes.article += 1,
            _ => {}
        }
    }
    if is_thread(path) {
        votes.forum += 3;
    }
    let mut segments = path.split('/').filter(|s| !s.is_empty()).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "forum" | "forums" | "thread" | "threads" | "topic" | "t" | "comments"
            | "questions" | "discussion" | "discussions" | "viewtopic.php" | "showthread.php"
            | "boards" | "viewthread" => {
                votes.forum += if last && segment != "viewtopic.php" && segment != "showthread.php"
                {
                    0
                } else {
                    2
                }
            }
            "docs" | "doc" | "documentation" | "reference" | "manual" | "api" | "guide"
            | "handbook" => votes.documentation += 2,
            "product" | "products" | "p" | "dp" | "itm" | "item" | "pd" | "prod" => {
                if last {
                    votes.listing += 2
                } else {
                    votes.product += 2
                }
            }
            "collections" | "collection" | "category" | "categories" | "c" | "tag" | "tags"
            | "search" | "browse" | "list" | "catalog" | "b" | "shop" | "topics" => {
                votes.listing += 2
            }
            "blog" | "news" | "article" | "articles" | "story" | "posts" | "opinion" => {
                if last {
                    votes.listing += 1
                } else {
                    votes.article += 2
                }
            }
            _ => {}
        }
    }
}

/// Whether a path is of an issue tracker's page about one issue, or of an archive of mailing lists: there,
/// what looks like comments on a text is the text.
fn is_thread(path: &str) -> bool {
    /// Parts of the path that are looked at.
    const MOST: usize = 12;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let mut parts = path
        .split('/')
        .filter(|part| !part.is_empty())
        .take(MOST)
        .enumerate()
        .peekable();
    while let Some((at, part)) = parts.next() {
        let next = parts.peek().map_or("", |(_, next)| *next);
        let found = match part {
            "show_bug.cgi" => true,
            "pipermail" | "hyperkitty" | "mailarchive" | "mailman3" => !next.is_empty(),
            "archives" => next == "list" && path.contains("/thread/"),
            // Behind a project's name: magazines have issues, too.
            "issues" => at >= 2 && is_number(next),
            "ticket" => is_number(next),
            "browse" => is_issue_key(next),
            _ => false,
        };
        if found {
            return true;
        }
    }
    false
}

/// Whether a name is a project's letters and a number: `ORB-1182`.
fn is_issue_key(name: &str) -> bool {
    name.rsplit_once('-').is_some_and(|(project, number)| {
        project.starts_with(|c: char| c.is_ascii_uppercase())
            && project
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issues_and_messages_are_threads() {
        for (path, is) in [
            ("show_bug.cgi", true),
            ("orb/loom/-/issues/2204", true),
            ("orb/loom/issues/7", true),
            ("browse/ORB-1182", true),
            ("ticket/4121", true),
            ("pipermail/loom-devel/2026-March/004411.html", true),
            ("archives/list/spin@lists.example.org/thread/ABC/", true),
            ("issues/42", false),
            ("orb/loom/issues", false),
            ("browse/fiction-2026", false),
            ("browse/ORB-new", false),
            ("ticket/buy", false),
            ("archives/list/", false),
        ] {
            assert_eq!(is_thread(path), is, "{path}");
        }
        let of = |url: &str, html: &str| {
            let snapshot = orbweaver_sdk::dom::parse(html);
            votes(&snapshot.view().expect("view"), url).winner()
        };
        assert_eq!(
            of("https://orb.example.org/browse/ORB-7", ""),
            Some(Kind::Forum)
        );
        let job = "<script type=application/ld+json>{\"@type\": \"JobPosting\"}</script>";
        let board = "https://boards.example.org/orb/jobs/7";
        assert_eq!(of(board, ""), Some(Kind::Forum));
        assert_eq!(
            of(board, job),
            None,
            "an advertisement of work is no thread"
        );
    }

    fn kind(html: &str) -> Option<Kind> {
        let snapshot = orbweaver_sdk::dom::parse(html);
        let view = snapshot.view().expect("view");
        votes(&view, "https://example.org/cache.html").winner()
    }

    #[test]
    fn manuals_and_references_are_told_by_their_generators() {
        for (html, is_manual) in [
            ("<meta name=generator content='Doxygen 1.9.8'>", true),
            (
                "<meta name=generator content='javadoc/ClassWriterImpl'>",
                true,
            ),
            ("<meta name=generator content='pdoc 16.0.0'>", true),
            ("<meta name=generator content='WordPress 6.7'>", false),
            (
                "<script src=../_static/documentation_options.js?v=1></script>",
                true,
            ),
            ("<script id=documentation_options src=x.js></script>", true),
            ("<script src=search/main.js></script>", true),
            ("<script src=/research/main.js></script>", false),
            ("<script src=/js/main.js></script>", false),
        ] {
            let is = kind(html) == Some(Kind::Documentation);
            assert_eq!(is, is_manual, "{html}");
        }
    }
}
