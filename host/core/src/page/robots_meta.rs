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
/// name it (`agent: noindex, nofollow`). A line may name several, one after the other: lines of
/// one header may be joined with commas on their way (RFC 9110, section 5.3).
pub fn x_robots_tag<'a>(values: impl IntoIterator<Item = &'a str>, agent: &str) -> Directives {
    let mut found = Directives::default();
    for value in values {
        let mut is_meant = true;
        for item in value.split([',', ';']) {
            let item = match item.split_once(':') {
                Some((name, directive)) if is_agent(name.trim()) => {
                    is_meant = name.trim().eq_ignore_ascii_case(agent);
                    directive
                }
                _ => item,
            };
            if is_meant {
                found.add(item);
            }
        }
    }
    found
}

fn is_agent(name: &str) -> bool {
    // A time of day has a colon, too.
    name.bytes().any(|byte| !byte.is_ascii_digit())
        && !name.contains(' ')
        && !VALUED.iter().any(|known| known.eq_ignore_ascii_case(name))
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

    #[test]
    fn a_line_may_name_several_agents() {
        let read = |value: &str| x_robots_tag([value], "Orbweaver");
        let several =
            read("googlebot: nofollow, orbweaver: noindex; noarchive, otherbot: nofollow");
        assert_eq!(several.all, ["noindex", "noarchive"]);
        let first = read("nofollow, googlebot: noindex");
        assert!(first.nofollow && !first.noindex);
        let dated = read("unavailable_after: Fri, 25 Jun 2027 15:00:00 GMT, noindex");
        assert!(dated.noindex);
    }
}
