//! User agents.

use std::sync::LazyLock;

use serde::Deserialize;

/// Product token for robots.txt rules, whatever user agent is sent.
pub const PRODUCT_TOKEN: &str = "Orbweaver";

/// Prefix of user agents that name this crawler; they are replaced by a browser's.
pub const INTERNAL_PREFIX: &str = "Orbweaver/";

#[derive(Deserialize)]
struct List {
    user_agents: Vec<String>,
}

static BROWSERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let list: Result<List, _> = serde_json::from_str(include_str!("../data/user-agents.json"));
    list.map(|list| list.user_agents).unwrap_or_default()
});

/// User agents of current desktop browsers, most common first.
pub fn browsers() -> &'static [String] {
    &BROWSERS
}

/// Whether a user agent is replaced by a browser's: none is requested, or it names this
/// crawler.
pub fn is_rotated(asked: Option<&str>) -> bool {
    asked.is_none_or(|asked| asked.is_empty() || asked.starts_with(INTERNAL_PREFIX))
}

/// The user agent to send: `asked`, unless it [is rotated](is_rotated); then one of `pool`
/// picked by `random`, or of [`browsers`] if `pool` is empty.
pub fn choose<'a>(asked: Option<&'a str>, pool: &'a [String], random: u64) -> &'a str {
    match asked {
        Some(asked) if !is_rotated(Some(asked)) => asked,
        _ => {
            let pool = if pool.is_empty() { browsers() } else { pool };
            let at = usize::try_from(random % (pool.len().max(1) as u64)).unwrap_or(0);
            pool.get(at).map_or(PRODUCT_TOKEN, String::as_str)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_agent_is_kept_unless_it_names_our_crawler() {
        let pool = ["a".to_owned(), "b".to_owned()];
        assert_eq!(choose(Some("curl/8"), &pool, 1), "curl/8");
        assert_eq!(choose(Some("Orbweaver/1.0"), &pool, 1), "b");
        assert_eq!(choose(Some(""), &pool, 2), "a");
        assert_eq!(choose(None, &pool, u64::MAX), "b");
        assert_eq!(choose(Some("Orbweaverish"), &pool, 0), "Orbweaverish");
    }

    #[test]
    fn the_built_in_user_agents_are_browsers() {
        assert!(browsers().len() >= 8);
        assert!(
            browsers()
                .iter()
                .all(|agent| agent.starts_with("Mozilla/5.0 (") && agent.is_ascii())
        );
        assert!(browsers().iter().any(|agent| agent.contains("Firefox/")));
        assert!(browsers().contains(&choose(None, &[], 12345).to_owned()));
    }
}
