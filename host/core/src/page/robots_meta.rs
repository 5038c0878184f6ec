//! Directives for robots in a page and its response.

/// Directives of all sources together: the most restrictive wins, as in search engines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// The page must not be indexed.
    pub noindex: bool,
    /// Its links must not be followed.
    pub nofollow: bool,
    /// Every directive as written, lower-case, such as `max-snippet:20`.
    pub all: Vec<String>,
}

/// Most directives kept of one page.
const MAX_DIRECTIVES: usize = 64;

impl Directives {
    /// Adds a comma-separated list of directives.
    pub fn add(&mut self, list: &str) {
        for item in list
            .split([',', ';'])
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            let item = item.to_ascii_lowercase();
            match item.as_str() {
                "noindex" => self.noindex = true,
                "nofollow" => self.nofollow = true,
                "none" => {
                    self.noindex = true;
                    self.nofollow = true;
                }
                _ => {}
            }
            if self.all.len() < MAX_DIRECTIVES && !self.all.contains(&item) {
                self.all.push(item);
            }
        }
    }

    /// Adds the directives of another source.
    pub fn merge(&mut self, other: &Self) {
        for item in &other.all {
            self.add(item);
        }
    }
}

/// Directives with a value after a colon. In all other cases a colon ends an agent's name.
const VALUED: [&str; 4] = [
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
    "unavailable_after",
];

/// The directives of X-Robots-Tag headers for `agent`: those for all agents, and those that
/// name it (`agent: noindex, nofollow`).
pub fn x_robots_tag<'a>(values: impl IntoIterator<Item = &'a str>, agent: &str) -> Directives {
    let mut found = Directives::default();
    for value in values {
        match value.split_once(':') {
            Some((name, list)) if is_agent(name.trim()) => {
                if name.trim().eq_ignore_ascii_case(agent) {
                    found.add(list);
                }
            }
            _ => found.add(value),
        }
    }
    found
}

fn is_agent(name: &str) -> bool {
    !name.is_empty()
        && !name.contains([',', ' '])
        && !VALUED.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// A refresh, from a header or a `meta`: recorded, and followed only on request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// Seconds to wait.
    pub seconds: u32,
    /// Target as written; `None` for the page itself.
    pub url: Option<String>,
}

impl Refresh {
    /// The standard's "shared declarative refresh steps": `5; url=/next`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = text.split_at(digits);
        if digits == 0 && !rest.starts_with('.') {
            return None;
        }
        let seconds = if digits == 0 {
            0
        } else {
            number.parse().unwrap_or(u32::MAX)
        };
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let separated = rest.trim_start();
        if separated.is_empty() {
            return Some(Self { seconds, url: None });
        }
        if !rest.starts_with([';', ',']) && separated.len() == rest.len() {
            return None;
        }
        let target = separated.trim_start_matches([';', ',']).trim_start();
        let target = strip_url_key(target).unwrap_or(target);
        let target = match target.chars().next() {
            Some(quote @ ('"' | '\'')) => target
                .get(1..)
                .unwrap_or("")
                .split(quote)
                .next()
                .unwrap_or(""),
            _ => target,
        };
        let target = target.trim();
        Some(Self {
            seconds,
            url: (!target.is_empty()).then(|| target.to_owned()),
        })
    }
}

fn strip_url_key(text: &str) -> Option<&str> {
    let (key, rest) = text.split_at_checked(3)?;
    if !key.eq_ignore_ascii_case("url") {
        return None;
    }
    Some(rest.trim_start().strip_prefix('=')?.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fault 35.
    #[test]
    fn x_robots_tag_is_parsed_per_agent() {
        let read = |values: &[&str]| x_robots_tag(values.iter().copied(), "Orbweaver");
        assert!(read(&["noindex"]).noindex);
        assert!(!read(&["googlebot: noindex"]).noindex);
        assert!(read(&["googlebot: noindex", "orbweaver: none"]).nofollow);
        let valued = read(&[
            "max-snippet: 20, NoFollow",
            "unavailable_after: 25 Jun 2030 15:00:00 PST",
        ]);
        assert!(valued.nofollow && !valued.noindex);
        assert_eq!(valued.all[0], "max-snippet: 20");
    }

    /// Fault 16.
    #[test]
    fn refreshes_are_parsed_as_in_browsers() {
        let url = |text: &str| {
            Refresh::parse(text).map(|refresh| (refresh.seconds, refresh.url.unwrap_or_default()))
        };
        assert_eq!(url("5; url=/next"), Some((5, "/next".into())));
        assert_eq!(url(" 0;URL = 'a b'x"), Some((0, "a b".into())));
        assert_eq!(url("0,/x"), Some((0, "/x".into())));
        assert_eq!(url("1.5 url=x"), Some((1, "x".into())));
        assert_eq!(url("30"), Some((30, String::new())));
        assert_eq!(url("99999999999;x"), Some((u32::MAX, "x".into())));
        assert_eq!(url("0; urlx"), Some((0, "urlx".into())));
        for none in ["", "x", "url=/x", "5x", "-1;x"] {
            assert_eq!(url(none), None, "{none}");
        }
    }
}
