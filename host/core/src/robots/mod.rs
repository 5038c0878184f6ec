//! robots.txt: the parser (`plugins/robots`, shared with actors), and the policies for AI
//! crawlers.

mod ai;

pub use ai::{ai_crawlers, ai_policy, policy_word};
pub use orbweaver_robots::{ContentSignal, Robots, Rules};

#[cfg(test)]
mod tests;
