//! Every command that a page names exists, and the README names every benchmark.

use std::fs;
use std::process::Command as Process;

use clap::{Command, CommandFactory as _};

use crate::Cli;
use crate::shell::{output, root};

/// What stands behind `cargo xtask ` on the pages: the name of the page, and the words up to the next
/// sign that is no part of a command.
fn calls() -> Vec<(String, Vec<String>)> {
    let pages = output(
        Process::new("git")
            .args(["ls-files", "*.md"])
            .current_dir(root()),
    );
    let mut all = Vec::new();
    // The changelog names commands that are gone.
    for page in pages
        .unwrap()
        .lines()
        .filter(|page| *page != "CHANGELOG.md")
    {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for call in text.split("cargo xtask ").skip(1) {
            let is_part = |c: char| c.is_ascii_lowercase() || "-| ".contains(c);
            let end = call.find(|c: char| !is_part(c)).unwrap_or(call.len());
            let (call, _) = call.split_at(end);
            let words = call.split(' ').map(str::to_owned).collect();
            all.push((page.to_owned(), words));
        }
    }
    all
}

/// The commands that one word stands for: `a|b`.
fn unknown<'w>(program: &Command, word: &'w str) -> Vec<&'w str> {
    let known = |name: &&str| program.find_subcommand(name).is_none();
    word.split('|').filter(known).collect()
}

#[test]
fn every_command_that_a_page_names_exists() {
    let program = Cli::command();
    let mut wrong = Vec::new();
    for (page, words) in calls() {
        let mut words = words.iter().filter(|word| !word.starts_with('-'));
        let Some(name) = words.next().filter(|name| !name.is_empty()) else {
            continue;
        };
        let Some(command) = program.find_subcommand(name) else {
            wrong.push(format!("{page}: {name}"));
            continue;
        };
        let inner = words.next().filter(|_| command.has_subcommands());
        for inner in inner.iter().flat_map(|word| unknown(command, word)) {
            wrong.push(format!("{page}: {name} {inner}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_readme_names_every_benchmark() {
    let program = Cli::command();
    let bench = program.find_subcommand("bench").unwrap();
    let named: Vec<String> = calls()
        .into_iter()
        .filter(|(page, words)| {
            page == "README.md" && words.first().is_some_and(|one| one == "bench")
        })
        .flat_map(|(_, words)| words)
        .flat_map(|word| word.split('|').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let missing: Vec<&str> = bench
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(Command::get_name)
        .filter(|name| !named.iter().any(|known| known == name))
        .collect();
    assert_eq!(missing, [""; 0]);
}
