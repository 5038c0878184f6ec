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

/// No page of the Web is older.
const EARLY: &str = "1990-01-01";

/// F1 of two values' words above which they are near.
const NEAR: f64 = 0.8;

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

/// How an answer compares with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The same but for case, white space, quotes and dashes; dates: the same day.
    Equal,
    /// Most words are the same; dates: a day apart (time zones).
    Near,
    /// Something else.
    Wrong,
    /// No answer.
    Missing,
    /// An answer where the set knows none.
    Surplus,
    /// Neither the set nor the answer has one.
    Neither,
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

fn verdict(fact: &str, truth: Option<&str>, answer: Option<&str>) -> Verdict {
    let (truth, answer) = match (truth, answer) {
        (Some(truth), Some(answer)) => (truth, answer),
        (Some(_), None) => return Verdict::Missing,
        (None, Some(_)) => return Verdict::Surplus,
        (None, None) => return Verdict::Neither,
    };
    if matches!(fact, "published" | "modified") {
        return match (day(truth), day(answer)) {
            (Some(a), Some(b)) if a == b => Verdict::Equal,
            (Some(a), Some(b)) if (a - b).abs() == 1 => Verdict::Near,
            _ => Verdict::Wrong,
        };
    }
    if fact == "language" {
        let primary = |tag: &str| tag.split(['-', '_']).next().unwrap_or(tag).to_lowercase();
        return if primary(truth) == primary(answer) {
            Verdict::Equal
        } else {
            Verdict::Wrong
        };
    }
    let (truth, answer) = (normal(truth), normal(answer));
    if truth == answer {
        Verdict::Equal
    } else if metric::words(&truth, &answer).f1() >= NEAR {
        Verdict::Near
    } else {
        Verdict::Wrong
    }
}

/// A text without differences that nobody sees.
fn normal(text: &str) -> String {
    let text: String = text
        .to_lowercase()
        .chars()
        .filter(|c| !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}'))
        .map(|c| match c {
            '‘' | '’' | 'ʼ' | '`' => '\'',
            '“' | '”' | '„' => '"',
            '‐'..='―' | '−' => '-',
            c => c,
        })
        .collect();
    text.replace('…', "...")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// The day that an ISO 8601 date begins with, as a count of days.
fn day(text: &str) -> Option<i64> {
    let bytes = text.trim().as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let dashes = bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    if !dashes || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days of the proleptic Gregorian calendar (Howard Hinnant, "days_from_civil").
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year)
}

/// The table of agreement by field.
fn agreement(pages: &[TruePage], answers: &[[Value; 2]]) -> Table {
    let mut table = Table::new(
        "Agreement by field",
        &[
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
        ],
    );
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
    let mut table = Table::new(
        "Peers",
        &[
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
        ],
    );
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

/// Pages with a wrong or missing value, by field.
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
                format!("{}: wrong or missing", field.name),
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
    fn verdicts_tell_equal_near_wrong_and_missing_apart() {
        use Verdict::{Equal, Missing, Near, Neither, Surplus, Wrong};
        let cases = [
            (
                "title",
                Some("What’s new — today"),
                Some("what's  new - Today"),
                Equal,
            ),
            (
                "title",
                Some("One two three four five"),
                Some("One two three four five six"),
                Near,
            ),
            (
                "title",
                Some("One two"),
                Some("One two | Three four"),
                Wrong,
            ),
            ("author", Some("A"), None, Missing),
            ("author", None, Some("A"), Surplus),
            ("author", None, None, Neither),
            (
                "published",
                Some("2024-02-29"),
                Some("2024-02-29T23:00:00Z"),
                Equal,
            ),
            (
                "published",
                Some("2024-03-01"),
                Some("2024-02-29T23:00:00Z"),
                Near,
            ),
            ("published", Some("2023-12-31"), Some("2024-01-01"), Near),
            ("published", Some("2024-02-29"), Some("Feb 29, 2024"), Wrong),
            ("language", Some("pt-BR"), Some("pt"), Equal),
            ("language", Some("no"), Some("da"), Wrong),
        ];
        for (fact, truth, answer, expected) in cases {
            assert_eq!(
                verdict(fact, truth, answer),
                expected,
                "{fact}: {truth:?} {answer:?}"
            );
        }
    }

    #[test]
    fn days_are_counted_over_leap_years() {
        let days = [
            "1970-01-01",
            "2000-02-28",
            "2000-02-29",
            "2000-03-01",
            "2100-03-01",
        ]
        .map(|d| day(d).expect("a day"));
        assert_eq!(
            days.map(|d| d - days[0]),
            [0, 11_015, 11_016, 11_017, 47_541]
        );
        for wrong in [
            "",
            "2024",
            "2024-13-01",
            "2024-1-1",
            "01-01-2024",
            "20240101",
        ] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_list_is_compared_as_its_items() {
        let answer = serde_json::json!({"tags": ["a", "b"], "none": [], "blank": " ", "n": 1});
        assert_eq!(value(&answer, "tags").as_deref(), Some("a, b"));
        for key in ["none", "blank", "n", "absent"] {
            assert_eq!(value(&answer, key), None, "{key}");
        }
    }
}
