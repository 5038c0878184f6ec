//! Rules about links.

use std::collections::BTreeSet;

use orbweaver_sdk::dom::{Node, attr, tag};
use orbweaver_sdk::text;

use crate::facts::{Facts, Link, is_hidden, is_loopback, opening};
use crate::language_codes::primary;
use crate::report::Report;
use crate::rules;

/// Most links without a finding.
const MAX_LINKS: usize = 300;
/// Most followed links to other sites without a finding.
const MAX_EXTERNAL: usize = 10;

/// Link texts that do not describe their target. English ones apply to every page, others to
/// pages in their language or without a declared language, because "Plus" is a size in
/// English.
const GENERIC: &[(&str, &[&str])] = &[
    (
        "en",
        &[
            "click here",
            "click this",
            "click",
            "here",
            "right here",
            "more",
            "learn more",
            "read more",
            "see more",
            "view more",
            "more info",
            "more information",
            "details",
            "this link",
            "this page",
            "continue",
            "continue reading",
            "read",
            "find out more",
            "discover more",
            "know more",
        ],
    ),
    (
        "de",
        &[
            "hier",
            "hier klicken",
            "klicken sie hier",
            "mehr",
            "mehr erfahren",
            "mehr lesen",
            "weiterlesen",
            "weiter",
            "mehr infos",
            "mehr informationen",
        ],
    ),
    (
        "fr",
        &[
            "ici",
            "cliquez ici",
            "cliquer ici",
            "en savoir plus",
            "lire la suite",
            "plus",
            "voir plus",
            "lire plus",
            "plus d'informations",
        ],
    ),
    (
        "es",
        &[
            "aquí",
            "haga clic aquí",
            "haz clic aquí",
            "clic aquí",
            "más",
            "leer más",
            "ver más",
            "más información",
            "saber más",
        ],
    ),
    (
        "pt",
        &[
            "aqui",
            "clique aqui",
            "mais",
            "leia mais",
            "saiba mais",
            "ver mais",
            "mais informações",
        ],
    ),
    (
        "it",
        &[
            "qui",
            "clicca qui",
            "di più",
            "leggi di più",
            "leggi tutto",
            "scopri di più",
            "maggiori informazioni",
        ],
    ),
    (
        "nl",
        &[
            "hier",
            "klik hier",
            "lees meer",
            "meer",
            "meer informatie",
            "meer lezen",
        ],
    ),
    ("sv", &["klicka här", "här", "läs mer", "mer"]),
    ("da", &["klik her", "her", "læs mere"]),
    (
        "pl",
        &[
            "kliknij tutaj",
            "tutaj",
            "więcej",
            "czytaj więcej",
            "dowiedz się więcej",
        ],
    ),
    (
        "ru",
        &[
            "здесь",
            "тут",
            "подробнее",
            "читать далее",
            "нажмите здесь",
            "ещё",
        ],
    ),
    (
        "ja",
        &[
            "こちら",
            "ここをクリック",
            "詳細",
            "もっと見る",
            "続きを読む",
        ],
    ),
    ("zh", &["点击这里", "更多", "阅读更多", "了解更多"]),
    ("ko", &["여기", "더보기", "자세히 보기"]),
];

/// Checks the links.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    let links = &facts.links;
    let names: Vec<Option<String>> = links.iter().map(|link| name(link.node, facts)).collect();
    report.add_all(
        &rules::LINK_TEXT,
        "A link's text does not describe its target. Name the target in the text.",
        links.iter().zip(&names).filter_map(|(link, name)| {
            let leads = link
                .target
                .as_ref()
                .is_some_and(|target| !facts.is_self(target));
            let name = name.as_deref()?;
            (leads && is_generic(name, facts.head.lang) && !is_target(name, link))
                .then(|| format!("{name} → {}", link.href))
        }),
    );
    report.add_all(
        &rules::LINK_EMPTY,
        "A link has no text, image alt or label, so its target is unclear. Add a text.",
        links
            .iter()
            .zip(&names)
            .filter(|(link, name)| {
                name.is_none()
                    && link.target.is_some()
                    && !is_hidden(link.node)
                    && link.node.attr(attr::TABINDEX) != Some("-1")
            })
            .map(|(link, _)| opening(link.node)),
    );
    let scripted = links
        .iter()
        .map(|link| link.node)
        .chain(facts.tagged(tag::A));
    report.add_all(
        &rules::LINK_CRAWLABLE,
        "A link works only with a script, so robots cannot follow it. Add a URL, or use a button for an action.",
        scripted.filter(|node| is_scripted(*node)).map(opening),
    );
    let broken = links.iter().filter(|link| {
        let scheme = link.href.split("://").next().unwrap_or("");
        let web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
        link.target.is_none() && (web || link.href.starts_with("//"))
    });
    report.add_all(
        &rules::LINK_INVALID,
        "A link's URL is invalid. Correct it.",
        broken.map(|link| link.href),
    );
    let mut seen = BTreeSet::new();
    let insecure = links.iter().filter(|link| {
        facts.is_https()
            && link.internal
            && link
                .target
                .as_ref()
                .is_some_and(|target| target.scheme() == "http" && seen.insert(target.as_str()))
    });
    report.add_all(
        &rules::LINK_INSECURE,
        "The page uses HTTPS, but links to its own site over HTTP, which costs a redirect each. Change the links to HTTPS.",
        insecure.map(|link| link.href),
    );
    let own_is_private = facts.url.as_ref().is_none_or(|url| is_private(url.host()));
    let private = links.iter().filter(|link| {
        !own_is_private
            && link
                .target
                .as_ref()
                .is_some_and(|target| is_private(target.host()))
    });
    report.add_all(
        &rules::LINK_PRIVATE,
        "A link leads to a private or loopback address, which visitors cannot reach. Correct or remove it.",
        private.map(|link| link.href),
    );
    let missing = links.iter().filter(|link| lacks_place(link, facts));
    report.add_all(
        &rules::LINK_FRAGMENT,
        "A link leads to a fragment that the page does not have. Correct the fragment, or add an element with that id.",
        missing.map(|link| link.href),
    );
    numbers(facts, report);
    pagination(facts, report);
}

fn numbers(facts: &Facts<'_>, report: &mut Report) {
    let links = &facts.links;
    if links.len() > MAX_LINKS {
        report.add(
            &rules::LINKS_MANY,
            format!(
                "The page has {} links. Reduce them to 300 or fewer.",
                links.len()
            ),
        );
    }
    let leads_on = |link: &&Link<'_>| {
        link.target
            .as_ref()
            .is_some_and(|target| !facts.is_self(target))
    };
    if !links.iter().any(|link| leads_on(&link)) && !facts.noscript.contains("<a ") {
        report.add(
            &rules::LINKS_NONE,
            "The page has no link to another page. Add links to related pages.",
        );
    }
    report.add_all(
        &rules::LINK_NOFOLLOW,
        "Links to the page's own site are nofollow, so search engines do not count them. Remove nofollow.",
        links
            .iter()
            .filter(|link| {
                let rel = link.node.attr(attr::REL).unwrap_or("");
                link.internal
                    && leads_on(link)
                    && rel
                        .split_ascii_whitespace()
                        .any(|r| r.eq_ignore_ascii_case("nofollow"))
            })
            .map(|link| link.href),
    );
    let followed = |internal: bool| {
        let all = links
            .iter()
            .filter(|link| link.target.is_some() && !link.nofollow);
        let targets = all
            .filter(|link| link.internal == internal)
            .filter_map(|link| link.target.as_ref());
        targets
            .filter(|target| internal || !facts.is_related(target))
            .map(|target| target.without_fragment())
            .collect::<BTreeSet<_>>()
    };
    let external = followed(false);
    if external.len() > MAX_EXTERNAL && external.len() > followed(true).len() {
        report.add_all(
            &rules::LINKS_EXTERNAL,
            "The page has more followed links to other sites than to its own. Add rel=\"nofollow\" to links that the page does not endorse.",
            external,
        );
    }
}

fn pagination(facts: &Facts<'_>, report: &mut Report) {
    let mut unseen = String::new();
    for node in facts.view.elements().filter(|n| n.tag() == tag::NOSCRIPT) {
        node.push_text_content(&mut unseen);
    }
    let named = ["next", "prev"]
        .into_iter()
        .flat_map(|rel| facts.head_links(rel));
    let unlinked = named.filter(|(href, _)| {
        // Without an address it names no page.
        if href.trim_ascii().is_empty() {
            return false;
        }
        let Some(url) = facts.resolve(href) else {
            return true;
        };
        let linked = |link: &Link<'_>| {
            link.target
                .as_ref()
                .is_some_and(|target| Facts::is_same(target, &url))
        };
        // Forums load the next page by script, and link it only for robots.
        !facts.links.iter().any(linked) && !unseen.contains(&format!("{href}\""))
    });
    report.add_all(
        &rules::PAGINATION,
        "A page named by rel=next or rel=prev is not linked from this page. Add a link to it.",
        unlinked.map(|(href, _)| href),
    );
}

/// A link's name: its text, its images' texts, or its label.
fn name(node: Node<'_>, facts: &Facts<'_>) -> Option<String> {
    let filled = |text: String| (!text.is_empty()).then_some(text);
    if node.tag() == tag::A {
        if let Some(line) = filled(text::line(node)) {
            return Some(line);
        }
        let parts = node.elements().filter_map(|n| match n.tag() {
            tag::IMG => n
                .attr(attr::ALT)
                .filter(|alt| !alt.trim().is_empty())
                .or_else(|| n.attr(attr::TITLE)),
            tag::INPUT => n.attr(attr::ALT),
            _ => n.attr(attr::ARIA_LABEL),
        });
        let parts = text::collapse(&parts.collect::<Vec<_>>().join(" "));
        if let Some(parts) = filled(parts) {
            return Some(parts);
        }
        // The title of an SVG drawing.
        let drawn = node.elements().find(|n| n.tag() == tag::TITLE);
        if let Some(title) = drawn.and_then(|n| filled(text::collapse(&n.text_content()))) {
            return Some(title);
        }
    }
    if let Some(ids) = node.attr(attr::ARIA_LABELLEDBY)
        && ids
            .split_ascii_whitespace()
            .any(|id| facts.ids.contains_key(id))
    {
        return Some(ids.to_owned());
    }
    [attr::ARIA_LABEL, attr::TITLE, attr::ALT]
        .iter()
        .find_map(|id| node.attr(*id).map(text::collapse).and_then(filled))
}

fn is_generic(name: &str, lang: Option<&str>) -> bool {
    let name = bare(name);
    GENERIC
        .iter()
        .filter(|(code, _)| {
            *code == "en" || lang.is_none_or(|lang| primary(lang).eq_ignore_ascii_case(code))
        })
        .any(|(_, texts)| texts.contains(&name.as_str()))
}

/// The name in lower case, without surrounding punctuation.
fn bare(name: &str) -> String {
    let name = name.to_lowercase();
    let name = name.trim_matches(|c: char| !c.is_alphanumeric());
    name.to_owned()
}

/// Whether the text equals the name of the target: a manual's `continue` leads to
/// `/statements/continue`.
fn is_target(name: &str, link: &Link<'_>) -> bool {
    let Some(target) = &link.target else {
        return false;
    };
    let path = target.path().trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or(path);
    let file = last.rsplit_once('.').map_or(last, |(name, _)| name);
    let words = |text: &str| text.to_lowercase().replace(['-', '_'], " ");
    words(file) == bare(name)
}

/// Whether the link works only with a script.
fn is_scripted(node: Node<'_>) -> bool {
    if node.has_attr(attr::ROLE) || is_hidden(node) {
        return false;
    }
    match node.attr(attr::HREF).map(str::trim_ascii) {
        Some(href) => {
            let scheme = href.split(':').next().unwrap_or("");
            scheme.eq_ignore_ascii_case("javascript") || scheme.eq_ignore_ascii_case("file")
        }
        None => node
            .attr(attr::ONCLICK)
            .is_some_and(|script| script.contains("location") || script.contains("window.open")),
    }
}

/// Whether it is an address of a private network.
fn is_private(host: &str) -> bool {
    let numbers: Vec<u8> = host
        .split('.')
        .filter_map(|part| part.parse().ok())
        .collect();
    is_loopback(host)
        || host.ends_with(".local")
        || host.ends_with(".internal")
        || match numbers.as_slice() {
            [10, _, _, _] | [192, 168, _, _] | [169, 254, _, _] | [0, _, _, _] => true,
            [172, second, _, _] => (16..32).contains(second),
            _ => false,
        }
}

/// Whether a link leads to a fragment of this page without a matching id or name. Fragments used
/// by scripts (routes, toggles) are not checked.
fn lacks_place(link: &Link<'_>, facts: &Facts<'_>) -> bool {
    let Some(target) = &link.target else {
        return false;
    };
    let Some(fragment) = target.fragment().filter(|f| !f.is_empty()) else {
        return false;
    };
    let own = facts
        .url
        .as_ref()
        .is_some_and(|own| own.without_fragment() == target.without_fragment());
    let scripted = fragment.starts_with(['!', '/', ':'])
        || fragment.contains(['=', '&'])
        || fragment.contains("%3D")
        || fragment.contains(":~:")
        || link.node.has_attr(attr::ONCLICK)
        || link.node.has_attr(attr::ROLE)
        || link
            .node
            .attrs()
            .any(|a| a.name().starts_with("data-") || a.name().starts_with("aria-"));
    if !own || scripted || fragment.eq_ignore_ascii_case("top") {
        return false;
    }
    let decoded = decode(fragment);
    let is_place = |id: &str| facts.ids.contains_key(id) || facts.names.contains(id);
    !is_place(fragment) && !is_place(&decoded)
}

/// A fragment with its escapes decoded.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => hex_byte(*high, *low),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() {
            after.get(2..).unwrap_or_default()
        } else {
            after
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The byte of two hexadecimal digits.
fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}
