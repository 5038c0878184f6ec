//! A site's robots.txt, for the audit.

use orbweaver_robots::Robots;
use orbweaver_sdk::{Error, Page};

/// Result of requesting robots.txt.
#[derive(Clone, Debug)]
pub enum RobotsFile {
    /// It does not exist: everything is allowed.
    Missing,
    /// A server error, or no response: everything is disallowed (RFC 9309, section 2.3.1.4).
    Unreachable(String),
    /// Its text.
    File(String),
}

impl RobotsFile {
    /// From the response.
    pub fn of(answer: Result<&Page<'_>, &Error>) -> Self {
        match answer {
            Err(error) => Self::Unreachable(error.message().to_owned()),
            Ok(page) => match page.status() {
                200..=299 => Self::File(String::from_utf8_lossy(&page.body()).into_owned()),
                // As everywhere, "too many requests" says nothing of the file.
                status @ (429 | 500..) => Self::Unreachable(format!("HTTP {status}")),
                _ => Self::Missing,
            },
        }
    }

    /// Whether a robot may fetch a URL; true if unknown.
    pub fn allows(&self, agent: &str, url: &str) -> bool {
        match self {
            Self::File(text) => Robots::parse(text.as_bytes()).allows(agent, url),
            _ => true,
        }
    }

    /// Invalid lines, with their numbers and the fault.
    pub fn faults(&self) -> Vec<String> {
        let Self::File(text) = self else {
            return Vec::new();
        };
        let text = text.trim_start_matches('\u{feff}');
        let start = text.trim_start();
        if start
            .get(..5)
            .is_some_and(|t| t.eq_ignore_ascii_case("<html") || t.eq_ignore_ascii_case("<!doc"))
        {
            return vec!["an HTML page, not a robots.txt".to_owned()];
        }
        let mut agent = false;
        let faults = text.lines().enumerate().filter_map(|(number, line)| {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                return None;
            }
            fault(line, &mut agent).map(|why| format!("line {}: {line}: {why}", number + 1))
        });
        faults.collect()
    }
}

/// The fault of a line; `agent` is whether a user-agent line came before it.
fn fault(line: &str, agent: &mut bool) -> Option<&'static str> {
    const OTHERS: &[&str] = &[
        "crawl-delay",
        "clean-param",
        "host",
        "request-rate",
        "visit-time",
        "noindex",
        "content-signal",
        "content-usage",
        "license",
    ];
    let Some((name, value)) = line.split_once(':') else {
        return Some("no colon");
    };
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    match name.as_str() {
        "user-agent" => {
            *agent = true;
            value.is_empty().then_some("no user-agent named")
        }
        "allow" | "disallow" if !*agent => Some("before any user-agent"),
        "allow" | "disallow" => {
            let inner = value.strip_suffix('$').unwrap_or(value);
            if !value.is_empty() && !value.starts_with(['/', '*']) {
                Some("a path begins with / or *")
            } else if inner.contains('$') {
                Some("$ only means something at the end")
            } else {
                None
            }
        }
        "sitemap" => {
            let absolute = value
                .get(..4)
                .is_some_and(|s| s.eq_ignore_ascii_case("http"));
            (!absolute || orbweaver_sdk::urls::Resolved::parse(value).is_none())
                .then_some("a sitemap's URL is absolute")
        }
        name if OTHERS.contains(&name) => None,
        _ => Some("no such directive"),
    }
}
