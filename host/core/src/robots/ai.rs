//! AI-crawler policies of a robots.txt.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use orbweaver_robots::Robots;

#[derive(Deserialize)]
struct List {
    crawlers: Vec<String>,
}

static CRAWLERS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let list: Result<List, _> = serde_json::from_str(include_str!("../../data/ai-crawlers.json"));
    // The file is compiled in and tested; if it were broken, the service must still run.
    list.map(|list| list.crawlers).unwrap_or_default()
});

/// The names of all known AI crawlers. Source: the ai.robots.txt list;
/// `data/update-ai-crawlers.py` updates it.
pub fn ai_crawlers() -> &'static [String] {
    &CRAWLERS
}

/// The policies for these bots: `allowed`, `disallowed` (the site's root is disallowed),
/// `partial` (some paths are disallowed). A bot without its own group follows `*`.
pub fn ai_policy<'a>(
    robots: &Robots,
    bots: impl IntoIterator<Item = &'a str>,
) -> BTreeMap<String, String> {
    // Nearly every bot follows `*`, so the rules of `*` are evaluated once.
    let mut everyone = None;
    bots.into_iter()
        .map(|bot| {
            let word = if robots.names(bot) {
                policy_word(robots, bot)
            } else {
                *everyone.get_or_insert_with(|| policy_word(robots, "*"))
            };
            (bot.to_owned(), word.to_owned())
        })
        .collect()
}

/// The policy for one agent.
pub fn policy_word(robots: &Robots, agent: &str) -> &'static str {
    let rules = robots.rules_for(agent);
    if !rules.allows("/") {
        "disallowed"
    } else if rules.restricts() {
        "partial"
    } else {
        "allowed"
    }
}
