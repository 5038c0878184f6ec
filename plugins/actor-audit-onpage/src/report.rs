//! Findings as they come together.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::rules::{RULES, Rule};

/// Samples of one finding.
const SAMPLES: usize = 10;
/// The longest sample, in characters.
const SAMPLE_CHARS: usize = 200;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Keeps the page, or something of it, from being found or shown.
    Error,
    /// Makes it worse than it could be.
    Warning,
    /// Worth knowing.
    Info,
}

/// A rule that the page breaks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// How often, where it can be more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Where: values and elements, the first ten.
    pub samples: Vec<String>,
}

/// Findings by severity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Findings that are errors.
    pub errors: u64,
    /// Findings that are warnings.
    pub warnings: u64,
    /// Findings that are hints.
    pub info: u64,
}

impl Summary {
    /// Counts findings.
    pub fn of(findings: &[Finding]) -> Self {
        let count = |severity| findings.iter().filter(|f| f.severity == severity).count() as u64;
        Self {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            info: count(Severity::Info),
        }
    }
}

/// Findings, by rule.
#[derive(Debug, Default)]
pub struct Report {
    findings: BTreeMap<&'static str, Finding>,
}

impl Report {
    /// The page breaks a rule that it can break once.
    pub fn add(&mut self, rule: &'static Rule, message: impl Into<String>) {
        self.findings.entry(rule.id).or_insert_with(|| Finding {
            rule: rule.id,
            severity: rule.severity,
            message: message.into(),
            count: None,
            samples: Vec::new(),
        });
    }

    /// As [`add`](Self::add), with the value that breaks it.
    pub fn add_value(&mut self, rule: &'static Rule, message: impl Into<String>, value: &str) {
        self.add(rule, message);
        if let Some(finding) = self.findings.get_mut(rule.id) {
            finding.samples.push(cut(value));
        }
    }

    /// The page breaks a rule as often as there are samples; nothing where there are none.
    pub fn add_all<S: AsRef<str>>(
        &mut self,
        rule: &'static Rule,
        message: &str,
        samples: impl IntoIterator<Item = S>,
    ) {
        for sample in samples {
            let finding = self.findings.entry(rule.id).or_insert_with(|| Finding {
                rule: rule.id,
                severity: rule.severity,
                message: message.to_owned(),
                count: Some(0),
                samples: Vec::new(),
            });
            *finding.count.get_or_insert(0) += 1;
            if finding.samples.len() < SAMPLES {
                finding.samples.push(cut(sample.as_ref()));
            }
        }
    }

    /// All findings, in the order of the table, errors first.
    pub fn finish(mut self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = RULES
            .iter()
            .filter_map(|rule| self.findings.remove(rule.id))
            .collect();
        findings.sort_by_key(|finding| finding.severity);
        findings
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SAMPLE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text)),
        None => text.to_owned(),
    }
}
