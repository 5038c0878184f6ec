//! Parser of robots.txt for host and plugins: RFC 9309, with the tolerance of Google's parser for
//! common mistakes (misspelt keys, `index.html`).

mod index;
mod matcher;
mod parse;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use url::Url;

use index::Index;
use matcher::Pattern;

/// Bytes of a robots.txt that are parsed: RFC 9309, section 2.5, requires at least 500 KiB.
pub const MAX_ROBOTS_BYTES: usize = 500 * 1024;

/// Longest pattern; no fetched URL is longer.
const MAX_PATTERN_BYTES: usize = 16 * 1024;

/// Most rules kept of one file. A file of 500 KiB can hold about 60,000 of the shortest; real sites
/// have less than a tenth of that.
const MAX_RULES: usize = 20_000;

/// Fewer rules are tried one after the other, each of which reads the path once.
const MIN_INDEXED: usize = 64;

/// As are more, where they read few bytes together: making an index would take longer.
const MAX_TRIED_BYTES: usize = 128 << 10;

/// A parsed robots.txt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Robots {
    groups: Vec<Group>,
    sitemaps: Vec<String>,
    /// Whether everything is disallowed because the file is unreachable (RFC 9309, 2.3.1.4).
    unreachable: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Group {
    agents: Vec<String>,
    rules: Vec<Rule>,
    crawl_delay: Option<f64>,
    signals: Vec<ContentSignal>,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    allow: bool,
    pattern: Pattern,
}

impl Rule {
    /// The longer rule decides, and of two of the same length the one that allows.
    const fn weight(&self) -> (usize, bool) {
        (self.pattern.len(), self.allow)
    }
}

/// A `Content-Signal` line: what a site's content may be used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentSignal {
    /// The path prefix that it applies to; `None` for the whole site.
    pub path: Option<String>,
    /// Maps a purpose such as `ai-train` to an answer such as `no`.
    pub signals: BTreeMap<String, String>,
}

/// The rules of one agent, with its groups merged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
    /// Seconds between requests, if the site asks for a delay.
    pub crawl_delay: Option<f64>,
    /// Permitted uses of the content.
    pub signals: Vec<ContentSignal>,
    unreachable: bool,
    arranged: Arranged,
}

/// The index of many rules, made when it is first needed. It follows from the rules.
#[derive(Clone, Debug, Default)]
struct Arranged(OnceLock<Arc<Index>>);

impl PartialEq for Arranged {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Robots {
    /// Parses a file. Never fails: invalid lines are ignored. Bytes beyond [`MAX_ROBOTS_BYTES`]
    /// are not parsed, nor is a line that is cut there.
    pub fn parse(body: &[u8]) -> Self {
        parse::parse(body)
    }

    /// The rules for a response (RFC 9309, section 2.3.1): those of the file if there is one; no
    /// restrictions if the server says that there is none (4xx); everything disallowed if the
    /// server fails (5xx, or no response: `None`). 429 counts as a server error, as for Google's
    /// crawler.
    pub fn from_answer(status: Option<u16>, body: &[u8]) -> Self {
        match status {
            Some(200..=299) => Self::parse(body),
            None | Some(0 | 429 | 500..) => Self::unreachable(),
            Some(_) => Self::default(),
        }
    }

    /// Rules that disallow everything.
    pub fn unreachable() -> Self {
        Self {
            unreachable: true,
            ..Self::default()
        }
    }

    /// Whether the file was unreachable, so that everything is disallowed.
    pub const fn is_unreachable(&self) -> bool {
        self.unreachable
    }

    /// Bytes that this takes in memory, allocations included: some ten times the file at worst.
    pub fn held_bytes(&self) -> usize {
        let groups = self.groups.iter().map(|group| {
            let agents = group.agents.iter().map(|agent| string_bytes(agent));
            size_of::<Group>()
                + agents.sum::<usize>()
                + rules_bytes(&group.rules)
                + signals_bytes(&group.signals)
        });
        let sitemaps = self.sitemaps.iter().map(|sitemap| string_bytes(sitemap));
        size_of::<Self>() + groups.sum::<usize>() + sitemaps.sum::<usize>()
    }

    /// The sitemaps named in the file, as written.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Whether a group names this agent, so that `*` does not apply to it.
    pub fn names(&self, agent: &str) -> bool {
        let agent = product_of(agent);
        self.groups.iter().any(|group| group.names(agent))
    }

    /// The rules for an agent, by its product token, name or `User-Agent` header: all groups that name
    /// it, else all groups of `*`.
    pub fn rules_for(&self, agent: &str) -> Rules {
        let agent = product_of(agent);
        let named = self.names(agent);
        let mut merged = Rules {
            unreachable: self.unreachable,
            ..Rules::default()
        };
        for group in &self.groups {
            if if named {
                group.names(agent)
            } else {
                group.agents.iter().any(|known| known == "*")
            } {
                merged.rules.extend(group.rules.iter().cloned());
                merged.signals.extend(group.signals.iter().cloned());
                merged.crawl_delay = longer(merged.crawl_delay, group.crawl_delay);
            }
        }
        merged
    }

    /// Whether an agent may fetch a URL. For many URLs call [`rules_for`](Self::rules_for) once.
    pub fn allows(&self, agent: &str, url: &str) -> bool {
        self.rules_for(agent).allows(url)
    }
}

/// What an allocation takes besides its bytes, roughly, and what growing vectors leave unused.
const ALLOCATION: usize = 16;

fn string_bytes(text: &str) -> usize {
    size_of::<String>() + text.len() + ALLOCATION
}

fn rules_bytes(rules: &[Rule]) -> usize {
    let each = rules
        .iter()
        .map(|rule| size_of::<Rule>() + ALLOCATION + rule.pattern.held_bytes());
    each.sum()
}

fn signals_bytes(signals: &[ContentSignal]) -> usize {
    let each = signals.iter().map(|signal| {
        let path = signal.path.as_deref().map_or(0, string_bytes);
        let pairs = signal.signals.iter();
        let pairs = pairs.map(|(purpose, answer)| string_bytes(purpose) + string_bytes(answer));
        size_of::<ContentSignal>() + ALLOCATION + path + pairs.sum::<usize>()
    });
    each.sum()
}

fn longer(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

impl Group {
    /// Whether a line of this group names the agent. Google compares the leading token of
    /// letters, `-` and `_`; names with digits (`AI2Bot`) only match as a whole.
    fn names(&self, agent: &str) -> bool {
        self.agents.iter().any(|line| {
            line != "*"
                && (product_word(line).eq_ignore_ascii_case(agent)
                    || token(line).eq_ignore_ascii_case(agent))
        })
    }
}

/// The product that a user agent is of. Robots that call themselves a browser name themselves behind
/// `compatible;`: `Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)`.
fn product_of(agent: &str) -> &str {
    let product = product_word(agent);
    if !product.eq_ignore_ascii_case("mozilla") {
        return product;
    }
    let behind = agent.split_once("compatible;").map(|(_, behind)| behind);
    let name = behind.map(|behind| product_word(behind.split([';', ')']).next().unwrap_or(behind)));
    name.filter(|name| !name.is_empty()).unwrap_or(product)
}

/// The name without version and comment: `MistralAI-User` in `MistralAI-User/1.0`.
fn product_word(agent: &str) -> &str {
    let agent = agent.trim();
    agent
        .split(|c: char| c == '/' || c.is_whitespace())
        .next()
        .unwrap_or(agent)
}

/// The product token of RFC 9309.
fn token(line: &str) -> &str {
    let end = line
        .find(|c: char| !(c.is_ascii_alphabetic() || c == '-' || c == '_'))
        .unwrap_or(line.len());
    line.get(..end).unwrap_or(line)
}

impl Rules {
    /// Bytes that this takes in memory, allocations included, once it has been asked.
    pub fn held_bytes(&self) -> usize {
        let index = match self.rules.len() < MIN_INDEXED {
            true => 0,
            false => Index::most_bytes(&self.rules),
        };
        size_of::<Self>() + rules_bytes(&self.rules) + signals_bytes(&self.signals) + index
    }

    /// Whether a URL may be fetched: the longest matching rule decides, `allow` wins a tie.
    /// A URL may be given as its path. Many rules are found in one pass over it.
    /// Where thousands of rules make even that take long, which no site needs, it may not be fetched.
    pub fn allows(&self, url: &str) -> bool {
        self.allows_counted(url, &mut 0)
    }

    /// Same as [`allows`](Self::allows), for callers that limit the work of many URLs. Adds that of
    /// this one to `steps`, of a nanosecond or a few.
    pub fn allows_counted(&self, url: &str, steps: &mut u64) -> bool {
        let path = matcher::path_of(url);
        *steps += path.len() as u64;
        if path == "/robots.txt" {
            return true;
        }
        if self.unreachable {
            return false;
        }
        let few = self.rules.len() < MIN_INDEXED
            || self.rules.len().saturating_mul(path.len()) <= MAX_TRIED_BYTES;
        let best = if few {
            Ok(self.tried(&path, steps))
        } else {
            let index = self
                .arranged
                .0
                .get_or_init(|| Arc::new(Index::new(&self.rules)));
            index.best(&self.rules, &path, steps)
        };
        best.is_ok_and(|best| best.is_none_or(|(_, allow)| allow))
    }

    /// The weight of the best rule that matches, by trying one after the other.
    fn tried(&self, path: &str, steps: &mut u64) -> Option<(usize, bool)> {
        let mut best: Option<(usize, bool)> = None;
        for rule in &self.rules {
            let candidate = rule.weight();
            *steps += 1;
            if best.is_none_or(|best| candidate > best) && rule.pattern.matches(path, steps) {
                best = Some(candidate);
            }
        }
        best
    }

    /// Same as [`allows`](Self::allows), for a parsed URL.
    pub fn allows_url(&self, url: &Url) -> bool {
        self.allows(url.as_str())
    }

    /// Whether anything is disallowed.
    pub fn restricts(&self) -> bool {
        self.unreachable || self.rules.iter().any(|rule| !rule.allow)
    }
}

#[cfg(test)]
mod tests;
