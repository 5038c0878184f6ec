//! `eval metadata`: what a page says about itself, field by field.

use std::collections::BTreeMap;

use anyhow::Result;
use orbweaver_facts::language;
use orbweaver_sdk::head::Head;
use serde_json::Value;

use crate::Common;
use crate::data::{self, TruePage};
use crate::metric;
use crate::peers;
use crate::report;
use crate::roles;
use crate::sites::{estimate, folds};
use crate::speed;
use crate::table::Table;
use crate::verdict::{Verdict, day, verdict};

/// No page of the Web is older.
const EARLY: &str = "1990-01-01";

/// A field of an answer, and the true fact that it is compared with.
struct Field {
    /// How it is called: `role.key`.
    name: &'static str,
    role: usize,
    key: &'static str,
    fact: &'static str,
}

const METADATA: usize = 0;
const ARTICLE: usize = 1;

const FIELDS: &[Field] = &[
    field("metadata.title", METADATA, "title", "title"),
    field("metadata.headline", METADATA, "headline", "title"),
    field("article.title", ARTICLE, "title", "title"),
    field("metadata.author", METADATA, "author", "author"),
    field("article.byline", ARTICLE, "byline", "author"),
    field("metadata.published", METADATA, "published", "published"),
    field("article.published", ARTICLE, "published", "published"),
    field("metadata.modified", METADATA, "modified", "modified"),
    field("metadata.lang", METADATA, "lang", "language"),
    field("article.lang", ARTICLE, "lang", "language"),
    field("metadata.site_name", METADATA, "site_name", "site_name"),
    field(
        "metadata.description",
        METADATA,
        "description",
        "description",
    ),
    field("metadata.image", METADATA, "image", "image"),
    field("metadata.section", METADATA, "section", "section"),
    field("metadata.tags", METADATA, "tags", "tags"),
];

const fn field(name: &'static str, role: usize, key: &'static str, fact: &'static str) -> Field {
    Field {
        name,
        role,
        key,
        fact,
    }
}

/// Runs the command.
///
/// # Errors
/// Pages cannot be read, an extractor fails, or the report cannot be written.
pub fn run(common: &Common) -> Result<()> {
    let pages = data::load(common)?;
    let mut answers = Vec::with_capacity(pages.len());
    for page in &pages {
        let document = page.document()?;
        let parsed = document.page();
        answers.push([
            roles::METADATA.answer(&parsed)?,
            roles::ARTICLE.answer(&parsed)?,
        ]);
    }
    if common.show.is_some() {
        for (page, [metadata, article]) in pages.iter().zip(&answers) {
            print_page(page, metadata, article);
        }
        return Ok(());
    }
    let mut tables = vec![agreement(&pages, &answers)];
    if common.peers {
        tables.push(peers_table(&pages)?);
    }
    tables.push(dates(&pages, &answers));
    tables.push(languages(&pages)?);
    tables.push(speed::table(speed::measure(&pages, common.runs)?));
    tables.extend(mistakes(&pages, &answers, common.worst));
    tables.iter().for_each(Table::print);
    if let Some(path) = &common.report {
        let mut all = tables;
        all.extend(mistakes(&pages, &answers, usize::MAX));
        report::write(path, "Metadata", &all, &[])?;
    }
    Ok(())
}

/// The value of a field as text; lists are joined, empty ones are none.
fn value(answer: &Value, key: &str) -> Option<String> {
    let text = match answer.get(key)? {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            items.join(", ")
        }
        _ => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// Columns of both tables.
const COLUMNS: [&str; 10] = [
    "field",
    "truths",
    "equal",
    "±",
    "near",
    "wrong",
    "missing",
    "surplus",
    "answered",
    "folds by site",
];

/// The table of agreement by field.
fn agreement(pages: &[TruePage], answers: &[[Value; 2]]) -> Table {
    let mut table = Table::new("Agreement by field", &COLUMNS);
    for field in FIELDS {
        let answered: Vec<Option<String>> = answers
            .iter()
            .map(|roles| value(roles.get(field.role)?, field.key))
            .collect();
        table.row(agreement_row(field.name, field.fact, pages, &answered));
    }
    table
}

fn agreement_row(
    name: &str,
    fact: &str,
    pages: &[TruePage],
    answered: &[Option<String>],
) -> Vec<String> {
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    let mut hits: Vec<f64> = Vec::new();
    let mut sites: Vec<&str> = Vec::new();
    for (page, answer) in pages.iter().zip(answered) {
        let truth = page.facts.get(fact).map(String::as_str);
        let verdict = verdict(fact, truth, answer.as_deref());
        *counts.entry(verdict as u8).or_default() += 1;
        if truth.is_some() {
            hits.push(f64::from(u8::from(verdict == Verdict::Equal)));
            sites.push(&page.site);
        }
    }
    let count = |verdict: Verdict| {
        counts
            .get(&(verdict as u8))
            .copied()
            .unwrap_or(0)
            .to_string()
    };
    let share =
        |pages: &[usize]| metric::mean(pages.iter().filter_map(|at| hits.get(*at)).copied());
    let known = !hits.is_empty();
    let equal = estimate(&sites, share);
    let folds: Vec<String> = folds(&sites, share)
        .iter()
        .map(|f| format!("{f:.2}"))
        .collect();
    let or_dash = |text: String| if known { text } else { "-".to_owned() };
    vec![
        name.to_owned(),
        hits.len().to_string(),
        or_dash(format!("{:.3}", equal.value)),
        or_dash(format!("{:.3}", equal.error)),
        or_dash(count(Verdict::Near)),
        or_dash(count(Verdict::Wrong)),
        or_dash(count(Verdict::Missing)),
        or_dash(count(Verdict::Surplus)),
        answered.iter().flatten().count().to_string(),
        or_dash(folds.join(" ")),
    ]
}

fn peers_table(pages: &[TruePage]) -> Result<Table> {
    let mut table = Table::new("Peers", &COLUMNS);
    for mut peer in peers::start()? {
        let mut answers: Vec<peers::Answer> = Vec::with_capacity(pages.len());
        for page in pages {
            answers.push(peer.ask(&page.url, &page.html()?)?);
        }
        type Get = fn(&peers::Answer) -> &Option<String>;
        let fields: [(&str, Get); 6] = [
            ("title", |a| &a.title),
            ("author", |a| &a.author),
            ("published", |a| &a.published),
            ("language", |a| &a.language),
            ("site_name", |a| &a.site_name),
            ("description", |a| &a.description),
        ];
        for (fact, get) in fields {
            let answered: Vec<Option<String>> = answers
                .iter()
                .map(|answer| get(answer).clone().filter(|v| !v.trim().is_empty()))
                .collect();
            let name = format!("{}.{fact}", peer.name);
            table.row(agreement_row(&name, fact, pages, &answered));
        }
    }
    Ok(table)
}

/// Whether dates can be read by a program, and whether they are plausible.
fn dates(pages: &[TruePage], answers: &[[Value; 2]]) -> Table {
    let mut table = Table::new(
        "Form of dates",
        &[
            "field",
            "answered",
            "ISO 8601",
            "year below 1990",
            "modified before published",
        ],
    );
    for (name, role, key) in [
        ("metadata.published", METADATA, "published"),
        ("metadata.modified", METADATA, "modified"),
        ("article.published", ARTICLE, "published"),
    ] {
        let (mut answered, mut iso, mut early, mut before) = (0, 0, 0, 0);
        for (_, roles) in pages.iter().zip(answers) {
            let Some(role) = roles.get(role) else {
                continue;
            };
            let Some(date) = value(role, key) else {
                continue;
            };
            answered += 1;
            let found = day(&date);
            iso += usize::from(found.is_some());
            early += usize::from(found < day(EARLY) && found.is_some());
            let published = value(role, "published").and_then(|date| day(&date));
            before +=
                usize::from(key == "modified" && found.zip(published).is_some_and(|(m, p)| m < p));
        }
        table.row([
            name.to_owned(),
            answered.to_string(),
            iso.to_string(),
            early.to_string(),
            before.to_string(),
        ]);
    }
    table
}

/// How often the language that is detected from the text is the declared one.
fn languages(pages: &[TruePage]) -> Result<Table> {
    let (mut declared, mut equal, mut other, mut none) = (0, 0, 0, 0);
    let mut differing: BTreeMap<String, usize> = BTreeMap::new();
    for page in pages {
        let document = page.document()?;
        let parsed = document.page();
        let head = Head::of(&parsed)?;
        let Some(tag) = page
            .facts
            .get("language")
            .map(String::as_str)
            .or_else(|| head.language(&parsed))
        else {
            continue;
        };
        declared += 1;
        match language::detect(parsed.view()?) {
            None => none += 1,
            Some(found) if verdict("language", Some(tag), Some(found)) == Verdict::Equal => {
                equal += 1
            }
            Some(found) => {
                other += 1;
                *differing
                    .entry(format!("{tag} taken for {found}"))
                    .or_default() += 1;
            }
        }
    }
    let mut table = Table::new(
        "Detected language against the declared one",
        &["pages", "equal", "other", "not detected", "others"],
    );
    let differing: Vec<String> = differing
        .iter()
        .map(|(pair, n)| format!("{pair} {n}"))
        .collect();
    let numbers = [declared, equal, other, none].map(|n: usize| n.to_string());
    table.row(numbers.into_iter().chain([differing.join(", ")]));
    Ok(table)
}

/// Pages with a value that is not the truth, by field.
fn mistakes(pages: &[TruePage], answers: &[[Value; 2]], count: usize) -> Vec<Table> {
    let fields = FIELDS.iter().filter(|field| {
        matches!(
            field.name,
            "metadata.headline" | "metadata.author" | "metadata.published" | "metadata.lang"
        )
    });
    fields
        .map(|field| {
            let mut table = Table::new(
                format!("{}: not equal", field.name),
                &["truth", "answer", "verdict", "type", "id"],
            );
            for (page, roles) in pages.iter().zip(answers) {
                let answer = roles
                    .get(field.role)
                    .and_then(|role| value(role, field.key));
                let truth = page.facts.get(field.fact).map(String::as_str);
                let verdict = verdict(field.fact, truth, answer.as_deref());
                if matches!(
                    verdict,
                    Verdict::Equal | Verdict::Surplus | Verdict::Neither
                ) {
                    continue;
                }
                if table.rows.len() == count {
                    break;
                }
                table.row([
                    truth.unwrap_or_default().to_owned(),
                    answer.unwrap_or_default(),
                    format!("{verdict:?}"),
                    page.page_type.clone(),
                    page.id.chars().take(10).collect(),
                ]);
            }
            table
        })
        .collect()
}

fn print_page(page: &TruePage, metadata: &Value, article: &Value) {
    println!("{}\ntruth: {:?}", page.url, page.facts);
    for field in FIELDS {
        let role = if field.role == METADATA {
            metadata
        } else {
            article
        };
        println!(
            "{:22} {}",
            field.name,
            value(role, field.key).unwrap_or_default()
        );
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_compared_as_its_items() {
        let answer = serde_json::json!({"tags": ["a", "b"], "none": [], "blank": " ", "n": 1});
        assert_eq!(value(&answer, "tags").as_deref(), Some("a, b"));
        for key in ["none", "blank", "n", "absent"] {
            assert_eq!(value(&answer, key), None, "{key}");
        }
    }
}
