//! Collects findings.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::rules::{RULES, Rule, Severity};

/// Most samples of one finding.
const SAMPLES: usize = 10;
/// Longest sample, in characters.
const SAMPLE_CHARS: usize = 200;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// Its severity.
    pub severity: Severity,
    /// What is wrong, and what to do.
    pub message: String,
    /// Number of occurrences, if there can be more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The first ten values or elements that break it.
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

/// Collects findings by rule.
#[derive(Debug, Default)]
pub struct Report {
    findings: BTreeMap<&'static str, Finding>,
}

impl Report {
    /// Adds a finding of a rule that can be broken only once.
    pub fn add(&mut self, rule: &'static Rule, message: impl Into<String>) {
        self.findings.entry(rule.id).or_insert_with(|| Finding {
            rule: rule.id,
            severity: rule.severity,
            message: message.into(),
            count: None,
            samples: Vec::new(),
        });
    }

    /// Same as [`add`](Self::add), with the value that breaks the rule.
    pub fn add_value(&mut self, rule: &'static Rule, message: impl Into<String>, value: &str) {
        self.add(rule, message);
        if let Some(finding) = self.findings.get_mut(rule.id) {
            finding.samples.push(cut(value));
        }
    }

    /// Adds a finding with one occurrence per sample; nothing if there are no samples.
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

    /// All findings: errors first, otherwise in the order of the table.
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
