//! Parses lines into groups.

use std::collections::BTreeMap;

use super::matcher::Pattern;
use super::{ContentSignal, Group, MAX_PATTERN_BYTES, MAX_ROBOTS_BYTES, MAX_RULES, Robots, Rule};

/// Most sitemaps and signals kept of one file.
const MAX_LINES: usize = 1_000;
/// Most agents kept of one file.
const MAX_AGENTS: usize = 20_000;
const MAX_AGENT_BYTES: usize = 256;
/// Longest accepted delay, in seconds: a day.
const MAX_CRAWL_DELAY: f64 = 86_400.0;

enum Key {
    Agent,
    Allow,
    Disallow,
    Sitemap,
    CrawlDelay,
    ContentSignal,
    Unknown,
}

/// Parses a key without case, with the misspellings that Google's parser accepts.
fn key(text: &str) -> Key {
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(&["user-agent", "useragent", "user agent"]) {
        Key::Agent
    } else if is(&[
        "disallow",
        "dissallow",
        "dissalow",
        "disalow",
        "diasllow",
        "disallaw",
    ]) {
        Key::Disallow
    } else if is(&["allow"]) {
        Key::Allow
    } else if is(&["sitemap", "site-map"]) {
        Key::Sitemap
    } else if is(&["crawl-delay", "crawldelay"]) {
        Key::CrawlDelay
    } else if is(&["content-signal"]) {
        Key::ContentSignal
    } else {
        Key::Unknown
    }
}

pub(super) fn parse(body: &[u8]) -> Robots {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let (body, cut) = body
        .get(..MAX_ROBOTS_BYTES)
        .map_or((body, false), |head| (head, head.len() < body.len()));
    let mut parser = Parser::default();
    let mut lines = body.split(|&b| b == b'\n' || b == b'\r').peekable();
    while let Some(line) = lines.next() {
        // Half a rule may mean the opposite of the whole rule.
        if cut && lines.peek().is_none() {
            break;
        }
        parser.line(&String::from_utf8_lossy(line));
    }
    parser.finish()
}

#[derive(Default)]
struct Parser {
    robots: Robots,
    group: Group,
    /// Whether a rule has ended the list of the group's agents.
    closed: bool,
    rules: usize,
    agents: usize,
    signals: usize,
}

impl Parser {
    fn line(&mut self, line: &str) {
        let line = line.split('#').next().unwrap_or("").trim_matches(is_blank);
        let Some((name, value)) = split(line) else {
            return;
        };
        match key(name) {
            Key::Agent => self.agent(value),
            Key::Allow => self.rule(true, value),
            Key::Disallow => self.rule(false, value),
            Key::Sitemap => {
                if self.robots.sitemaps.len() < MAX_LINES
                    && !value.is_empty()
                    && value.len() <= MAX_PATTERN_BYTES
                {
                    self.robots.sitemaps.push(value.to_owned());
                }
            }
            // These do not end the list of agents, because RFC 9309 does not define them.
            Key::CrawlDelay => {
                if let Some(delay) = value
                    .parse::<f64>()
                    .ok()
                    .filter(|delay| delay.is_finite() && *delay >= 0.0)
                {
                    self.group.crawl_delay = Some(delay.min(MAX_CRAWL_DELAY));
                }
            }
            Key::ContentSignal => {
                if self.signals < MAX_LINES
                    && let Some(signal) = content_signal(value)
                {
                    self.signals += 1;
                    self.group.signals.push(signal);
                }
            }
            Key::Unknown => {}
        }
    }

    fn agent(&mut self, value: &str) {
        if self.closed {
            self.end_group();
        }
        // `*` may be followed by a blank and other text.
        let all = value == "*"
            || value
                .strip_prefix('*')
                .is_some_and(|rest| rest.starts_with(is_blank));
        let agent = if all { "*" } else { value };
        if self.agents < MAX_AGENTS && !agent.is_empty() && agent.len() <= MAX_AGENT_BYTES {
            self.agents += 1;
            self.group.agents.push(agent.to_owned());
        }
    }

    fn rule(&mut self, allow: bool, value: &str) {
        self.closed = true;
        // An empty value means nothing, and rules before the first agent apply to nobody.
        if value.is_empty() || self.group.agents.is_empty() || value.len() > MAX_PATTERN_BYTES {
            return;
        }
        if self.rules >= MAX_RULES {
            return;
        }
        self.rules += 1;
        self.group.rules.push(Rule {
            allow,
            pattern: Pattern::new(value),
        });
        // Allowing `index.html` allows its directory (Google).
        if allow && let Some(at) = value.rfind('/') {
            let (directory, file) = value.split_at(at + 1);
            if file.starts_with("index.htm") {
                self.group.rules.push(Rule {
                    allow,
                    pattern: Pattern::new(&format!("{directory}$")),
                });
            }
        }
    }

    fn end_group(&mut self) {
        self.closed = false;
        let group = std::mem::take(&mut self.group);
        if !group.agents.is_empty() {
            self.robots.groups.push(group);
        }
    }

    fn finish(mut self) -> Robots {
        self.end_group();
        self.robots
    }
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// Splits key and value at the colon, or, in a line without one, at its only blank (Google).
fn split(line: &str) -> Option<(&str, &str)> {
    if let Some((name, value)) = line.split_once(':') {
        return Some((name.trim_matches(is_blank), value.trim_matches(is_blank)));
    }
    let (name, value) = line.split_once(is_blank)?;
    let value = value.trim_matches(is_blank);
    (!value.contains(is_blank)).then_some((name, value))
}

/// Parses `[/path] purpose=answer, purpose=answer`.
fn content_signal(value: &str) -> Option<ContentSignal> {
    let (path, rest) = match value.starts_with('/') {
        true => value
            .split_once(is_blank)
            .map(|(path, rest)| (Some(path.to_owned()), rest))?,
        false => (None, value),
    };
    let signals: BTreeMap<String, String> = rest
        .split(',')
        .take(32)
        .filter_map(|pair| pair.split_once('='))
        .map(|(purpose, answer)| {
            (
                purpose.trim().to_ascii_lowercase(),
                answer.trim().to_ascii_lowercase(),
            )
        })
        .filter(|(purpose, answer)| !purpose.is_empty() && !answer.is_empty())
        .collect();
    (!signals.is_empty()).then_some(ContentSignal { path, signals })
}
