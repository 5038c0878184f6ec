//! The pages for users and the program know the same settings, commands, endpoints, codes and events.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use orbweaver_accounts::tiers::{self, Cap};
use orbweaver_core::setting::Settings as _;
use orbweaver_core::webhook::{ACTOR_RUN_COMPLETE, Event, PluginEvent};
use serde_json::Value;

use super::Cli;
use crate::config::Config;

/// Names in code that look like settings.
const NO_SETTINGS: [&str; 3] = ["plugins.lock", "http.fetch", "http.server"];

/// A page for users.
struct Page {
    name: String,
    text: String,
    /// The spans of code in its text, and the lines of its blocks of code.
    code: Vec<String>,
}

fn page(file: &Path) -> Page {
    let text = fs::read_to_string(file).unwrap();
    let mut code = Vec::new();
    // Blocks stand between fences; in the text around them, every second piece is a span of code.
    for (place, part) in text.split("```").enumerate() {
        match place % 2 {
            0 => code.extend(part.split('`').skip(1).step_by(2).map(str::to_owned)),
            _ => code.extend(part.lines().skip(1).map(|line| line.trim().to_owned())),
        }
    }
    let name = file.display().to_string();
    Page { name, text, code }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages in Markdown.
fn pages() -> Vec<Page> {
    let mut files = vec![
        root().join("README.md"),
        root().join("examples/webhooks/README.md"),
        root().join("plugins/sdk/README.md"),
        root().join("host/kit/templates/rust/README.md"),
        root().join("host/kit/templates/scripted.README.md"),
    ];
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let file = entry.unwrap().path();
        // The summary has links alone.
        if file.extension().is_some_and(|end| end == "md") && !file.ends_with("SUMMARY.md") {
            files.push(file);
        }
    }
    files.iter().map(|file| page(file)).collect()
}

/// What operators deploy, as text.
fn deployed() -> Vec<Page> {
    let mut folders = vec![root().join("deploy")];
    let mut files = vec![root().join("Containerfile")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.iter().map(|file| page(file)).collect()
}

/// The longest runs of these characters.
fn words(text: &str, is_part: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c: char| !is_part(c))
        .filter(|word| !word.is_empty())
}

fn settings() -> BTreeSet<String> {
    let mut all = Vec::new();
    Config::describe("", &mut all);
    all.into_iter().map(|setting| setting.path).collect()
}

/// Whether a path is a setting, a table of settings, or in a table that is one setting.
fn is_setting(known: &BTreeSet<String>, path: &str) -> bool {
    let below = |inner: &str, outer: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    known
        .iter()
        .any(|setting| below(setting, path) || below(path, setting))
}

#[test]
fn every_setting_that_is_named_exists() {
    let known = settings();
    let sections: BTreeSet<&str> = known
        .iter()
        .filter_map(|path| path.split_once('.'))
        .map(|(section, _)| section)
        .collect();
    let events = Event::ALL.map(Event::as_str);
    let mut unknown = Vec::new();
    for page in pages() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
        for word in page.code.iter().flat_map(|code| words(code, is_part)) {
            let path = word.trim_matches('.');
            let is_name = !path.contains(|c: char| c.is_ascii_uppercase());
            let is_one = path
                .split_once('.')
                .is_some_and(|(section, _)| sections.contains(section));
            let is_file = path.ends_with(".md") || path.ends_with(".example.com");
            if is_one
                && is_name
                && !is_file
                && !NO_SETTINGS.contains(&path)
                && !events.contains(&path)
                && !is_setting(&known, path)
            {
                unknown.push(format!("{}: {path}", page.name));
            }
        }
    }
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn every_variable_that_is_named_exists() {
    let known = settings();
    let mut unknown = Vec::new();
    for page in pages().into_iter().chain(deployed()) {
        let variables = words(&page.text, |c| {
            c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
        });
        for variable in variables {
            // Other variables have no table: they are flags' or those of other programs.
            let path = variable.strip_prefix("ORBWEAVER_");
            let path = path.filter(|path| path.contains("__"));
            let path = path.map(|path| path.to_ascii_lowercase().replace("__", "."));
            if path.is_some_and(|path| !is_setting(&known, &path)) {
                unknown.push(format!("{}: {variable}", page.name));
            }
        }
    }
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn every_command_is_documented_and_every_documented_one_exists() {
    let program = Cli::command();
    let pages = pages();
    let code: Vec<&str> = pages
        .iter()
        .flat_map(|page| page.code.iter().map(String::as_str))
        .collect();
    let is_named = |command: &str| code.iter().any(|code| code.contains(command));
    let mut missing = Vec::new();
    for command in program.get_subcommands().filter(|one| !one.is_hide_set()) {
        let name = command.get_name();
        if !is_named(&format!("orbweaver {name}")) {
            missing.push(name.to_owned());
        }
        for inner in command.get_subcommands() {
            let both = format!("{name} {}", inner.get_name());
            if !is_named(&both) {
                missing.push(both);
            }
        }
    }
    assert_eq!(missing, [""; 0], "commands that no page names");

    let mut unknown = Vec::new();
    let is_word = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let called = code.iter().filter_map(|code| {
        let code = code.strip_prefix("target/release/").unwrap_or(code);
        code.strip_prefix("orbweaver ")
    });
    for call in called {
        let mut words = call.split_whitespace().take_while(is_word);
        let Some(name) = words.next().filter(|name| !name.starts_with('-')) else {
            continue;
        };
        let command = program.find_subcommand(name);
        let has_inner = command.is_some_and(|command| command.has_subcommands());
        let inner = words
            .next()
            .filter(|word| has_inner && !word.starts_with('-'));
        let is_known = command.is_some_and(|command| {
            inner.is_none_or(|inner| command.find_subcommand(inner).is_some())
        });
        if !is_known {
            unknown.push(call);
        }
    }
    assert_eq!(unknown, [""; 0], "commands that the program does not have");
}

/// Whether a path as a page writes it is one of the document's: names in braces stand for any segment.
fn is_path(known: &str, named: &str) -> bool {
    let (known, named) = (known.split('/'), named.split('/'));
    let mut pairs = known.clone().zip(named.clone());
    known.count() == named.count()
        && pairs.all(|(known, named)| known.starts_with('{') || known == named)
}

#[test]
fn every_endpoint_is_documented_and_every_documented_one_exists() {
    let document = serde_json::to_value(orbweaver_api::document()).unwrap();
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    let pages = pages();
    let code = || pages.iter().flat_map(|page| &page.code);

    let mut unknown = Vec::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || "/{}_-.…".contains(c);
    for word in code().flat_map(|code| words(code, is_part)) {
        // An address may stand before it, and its end may be left out.
        let Some((_, path)) = word.split_once("/v1/") else {
            continue;
        };
        let named = format!("/v1/{}", path.trim_end_matches(['.', '/']));
        if !named.contains('…') && !paths.iter().any(|path| is_path(path, &named)) {
            unknown.push(named);
        }
    }
    assert_eq!(unknown, [""; 0], "paths that the API does not have");

    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let named: BTreeSet<&str> = code().flat_map(|code| words(code, is_part)).collect();
    let missing: Vec<&&String> = paths
        .iter()
        .filter(|path| !path.ends_with(".csv") && !path.ends_with(".ndjson"))
        .filter(|path| {
            let last = path.rsplit('/').find(|part| !part.starts_with('{'));
            !last.is_none_or(|last| last.is_empty() || named.contains(last))
        })
        .collect();
    assert!(missing.is_empty(), "paths that no page names: {missing:?}");
}

#[test]
fn every_code_and_event_is_documented() {
    let api = page(&root().join("docs/api.md"));
    let document = serde_json::to_value(orbweaver_api::document()).unwrap();
    let codes = &document["components"]["schemas"]["ErrorCode"]["enum"];
    let codes = codes.as_array().unwrap().iter().filter_map(Value::as_str);
    let events = Event::ALL.map(Event::as_str).into_iter();
    let events = events.chain(PluginEvent::ALL.map(PluginEvent::as_str));
    let missing: Vec<&str> = codes
        .chain(events)
        .chain([ACTOR_RUN_COMPLETE])
        .filter(|name| !api.code.iter().any(|code| code == name))
        .collect();
    assert_eq!(missing, [""; 0]);
}

/// A cap as the table of tiers has it: with commas between thousands.
fn shown(cap: Cap) -> String {
    let Some(number) = cap.0 else {
        return "no cap".to_owned();
    };
    let digits = number.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[test]
fn the_table_of_tiers_has_their_caps() {
    let operations = page(&root().join("docs/operations.md"));
    for (name, tier) in tiers::defaults() {
        let caps = [
            tier.pages_per_day,
            tier.pages_per_month,
            tier.cloud_pages_per_day,
            tier.concurrent_runs,
            tier.monitors,
        ];
        let aggressive = if tier.aggressive { "yes" } else { "no" };
        let row = format!("| {} | {aggressive} |", caps.map(shown).join(" | "));
        let start = format!("| `{name}`");
        let line = operations
            .text
            .lines()
            .find(|line| line.starts_with(&start));
        assert!(
            line.is_some_and(|line| line.ends_with(&row)),
            "{name}: {row}"
        );
    }
}
