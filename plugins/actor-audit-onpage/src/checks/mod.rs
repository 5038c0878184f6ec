//! The rules' checks, one file per area.

mod address;
mod canonical;
mod content;
mod data;
mod expiry;
mod headings;
mod images;
mod indexing;
mod language;
mod links;
mod mobile;
mod security;
mod social;
mod titles;

use crate::facts::Facts;
use crate::report::Report;
use crate::robots_file::RobotsFile;

/// Checks every rule.
pub fn run(facts: &Facts<'_>, robots: &RobotsFile, report: &mut Report) {
    address::check(facts, report);
    indexing::check_robots(facts, robots, report);
    security::check_headers(facts, report);
    if !facts.is_page {
        return;
    }
    indexing::check(facts, report);
    titles::check(facts, report);
    canonical::check(facts, report);
    language::check(facts, report);
    headings::check(facts, report);
    images::check(facts, report);
    links::check(facts, report);
    data::check(facts, report);
    social::check(facts, report);
    content::check(facts, report);
    mobile::check(facts, report);
    security::check(facts, report);
}
