//! Directives for robots: `<meta name="robots">`, metas that name one robot, and the
//! `X-Robots-Tag` header.

use orbweaver_dom::{Namespace, attr, tag};

use crate::{Error, Page};

/// One directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive<'a> {
    /// The robot that it applies to, as written; `None` for all.
    pub agent: Option<&'a str>,
    /// Its name as written (`noindex`, `max-snippet`).
    pub name: &'a str,
    /// The value after the colon, if any.
    pub value: Option<&'a str>,
    /// Whether it is from the header, not from a meta.
    pub header: bool,
}

impl Directive<'_> {
    /// Whether it has this name, ignoring case.
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// Product tokens, in lower case, of robots that crawl for AI models and assistants.
pub const AI_ROBOTS: &[&str] = &[
    "ai2bot",
    "amazonbot",
    "anthropic-ai",
    "applebot-extended",
    "bytespider",
    "ccbot",
    "chatgpt-user",
    "claude-searchbot",
    "claude-user",
    "claude-web",
    "claudebot",
    "cohere-ai",
    "cohere-training-data-crawler",
    "deepseekbot",
    "diffbot",
    "duckassistbot",
    "facebookbot",
    "google-cloudvertexbot",
    "google-extended",
    "googleother",
    "gptbot",
    "imagesiftbot",
    "meta-externalagent",
    "meta-externalfetcher",
    "mistralai-user",
    "oai-searchbot",
    "omgili",
    "omgilibot",
    "pangubot",
    "perplexity-user",
    "perplexitybot",
    "petalbot",
    "timpibot",
    "webzio-extended",
    "youbot",
];

/// Search engines' robots that pages address with a meta of their own.
const SEARCH_ROBOTS: &[&str] = &[
    "applebot",
    "baiduspider",
    "bingbot",
    "duckduckbot",
    "googlebot",
    "googlebot-image",
    "googlebot-news",
    "googlebot-video",
    "msnbot",
    "naverbot",
    "seznambot",
    "slurp",
    "teoma",
    "yandex",
    "yandexbot",
    "yeti",
];

/// Whether this is the name of a robot that crawls for AI, ignoring case.
pub fn is_ai(name: &str) -> bool {
    AI_ROBOTS
        .iter()
        .any(|robot| robot.eq_ignore_ascii_case(name))
}

/// All directives of a page: metas in document order, then headers.
pub fn directives<'p>(page: &'p Page<'_>) -> Result<Vec<Directive<'p>>, Error> {
    let mut found = Vec::new();
    let metas = page
        .view()?
        .tagged_outside_templates(|id| id == tag::META)
        .filter(|node| node.namespace() == Namespace::Html);
    for node in metas {
        let (Some(name), Some(content)) = (node.attr(attr::NAME), node.attr(attr::CONTENT)) else {
            continue;
        };
        if let Some(agent) = meta_agent(name.trim_ascii()) {
            push_list(content, agent, false, &mut found);
        }
    }
    for value in page.header_values("x-robots-tag") {
        push_list(value, None, true, &mut found);
    }
    Ok(found)
}

/// This service's own robot, lower-case.
const OWN: &str = "orbweaver";

/// Whether the page forbids robots, all of them or this service's own, to follow its links.
pub fn forbid_following(directives: &[Directive<'_>]) -> bool {
    let is_for_us = |d: &&Directive<'_>| d.agent.is_none_or(|name| name.eq_ignore_ascii_case(OWN));
    directives
        .iter()
        .filter(is_for_us)
        .any(|d| d.is("nofollow") || d.is("none"))
}

/// Whether a link's `rel` forbids robots to follow it.
pub fn rel_forbids_following(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|token| {
        ["nofollow", "ugc", "sponsored"]
            .iter()
            .any(|no| token.eq_ignore_ascii_case(no))
    })
}

/// `Some(None)`: a meta for all robots; `Some(Some(name))`: for one robot; `None`: another meta.
fn meta_agent(name: &str) -> Option<Option<&str>> {
    if name.eq_ignore_ascii_case("robots") {
        return Some(None);
    }
    let known = |robot: &&&str| robot.eq_ignore_ascii_case(name);
    AI_ROBOTS
        .iter()
        .chain(SEARCH_ROBOTS)
        .chain([&OWN])
        .any(|robot| known(&robot))
        .then_some(Some(name))
}

/// Directives with a value behind a colon. Behind any other name a colon ends a robot's name.
const VALUED: &[&str] = &[
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
    "unavailable_after",
];

/// Splits `googlebot: noindex, nofollow`.
fn header_agent(list: &str) -> Option<(&str, &str)> {
    let mut parts = list.match_indices([',', ';', ':']);
    let (agent, rest) = match parts.next()? {
        (at, ":") => list.split_at_checked(at)?,
        _ => return None,
    };
    let agent = agent.trim_ascii();
    // A time of day has a colon, too.
    let is_token = agent.bytes().any(|byte| !byte.is_ascii_digit()) && !agent.contains(' ');
    let is_agent = is_token && !VALUED.iter().any(|known| known.eq_ignore_ascii_case(agent));
    is_agent.then_some((agent, rest.strip_prefix(':')?))
}

/// Adds the directives of a list. In a header each may name the robot that it and those behind it
/// are for: lines of one header may be joined with commas on their way (RFC 9110, section 5.3).
fn push_list<'p>(
    list: &'p str,
    mut agent: Option<&'p str>,
    header: bool,
    found: &mut Vec<Directive<'p>>,
) {
    let mut rest = Some(list);
    while let Some(mut list) = rest {
        if header && let Some((name, after)) = header_agent(list) {
            (agent, list) = (Some(name), after);
        }
        let (item, after) = first_item(list);
        rest = after;
        let (name, value) = match item.split_once(':') {
            Some((name, value)) => (name, Some(value.trim_ascii())),
            None => (item, None),
        };
        let name = name.trim_ascii();
        if !name.is_empty() {
            found.push(Directive {
                agent,
                name,
                value,
                header,
            });
        }
    }
}

/// The first item of a list, and the list behind it. A date has commas of its own
/// (`Fri, 25 Jun 2027`, `June 25, 2027`), behind which there is a number; no directive begins with
/// one.
fn first_item(list: &str) -> (&str, Option<&str>) {
    let name = list.split([',', ';', ':']).next().unwrap_or(list);
    let is_dated = name.trim_ascii().eq_ignore_ascii_case("unavailable_after");
    let goes_on = |after: &str| {
        let after = after.trim_ascii_start();
        after.starts_with(|c: char| c.is_ascii_digit())
    };
    let mut ends = list.match_indices([',', ';']).filter_map(|(at, mark)| {
        let after = list.get(at + mark.len()..)?;
        (!(is_dated && mark == "," && goes_on(after))).then_some((at, after))
    });
    match ends.next() {
        Some((at, after)) => (list.get(..at).unwrap_or(list), Some(after)),
        None => (list, None),
    }
}
