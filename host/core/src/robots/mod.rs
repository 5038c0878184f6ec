//! robots.txt: the rules (`plugins/robots`, which actors read too), and what they say to AI
//! crawlers.

mod ai;

pub use ai::{ai_crawlers, ai_policy, policy_word};
pub use orbweaver_robots::{ContentSignal, Robots, Rules};

#[cfg(test)]
mod tests;
