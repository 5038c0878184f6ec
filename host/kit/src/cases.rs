//! Calls with their expected answers, as files: `NAME.case.json` is a call, `NAME.expected.json` beside
//! it what it answered when somebody accepted it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use similar::TextDiff;

use crate::call::PluginCall;
use crate::report::Report;

/// End of the name of a call's file.
const CASE: &str = ".case.json";

/// A call with the file of its expected answer.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name: that of its file without the end.
    pub name: String,
    /// The call.
    pub call: PluginCall,
    expected: PathBuf,
}

/// How an answer compares with the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They are equal.
    Same,
    /// Nothing is expected yet.
    New,
    /// They differ; a unified diff from the expected answer to this one.
    Different(String),
}

impl Case {
    /// The cases of a folder, by name; none if there is no such folder.
    ///
    /// # Errors
    /// A file that cannot be read, or is no call.
    pub fn find(folder: &Path) -> Result<Vec<Self>> {
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let mut cases = Vec::new();
        let entries =
            fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let file = entry?.file_name().to_string_lossy().into_owned();
            if let Some(name) = file.strip_suffix(CASE) {
                cases.push(Self::read(folder, name)?);
            }
        }
        cases.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(cases)
    }

    /// One case of a folder.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn read(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(format!("{name}{CASE}"));
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let call = serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
        Ok(Self {
            name: name.to_owned(),
            call,
            expected: folder.join(format!("{name}.expected.json")),
        })
    }

    /// Compares a call's answer with the expected one.
    ///
    /// # Errors
    /// If the expected answer cannot be read.
    pub fn compare(&self, report: &Report) -> Result<Comparison> {
        let expected = match fs::read_to_string(&self.expected) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Comparison::New);
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot read {}", self.expected.display()));
            }
        };
        // Compared as values, so that the file may be formatted by hand.
        let wanted: Value = serde_json::from_str(&expected)
            .with_context(|| format!("{}", self.expected.display()))?;
        let found = shown(report);
        if wanted == found {
            return Ok(Comparison::Same);
        }
        let (wanted, found) = (pretty(&wanted)?, pretty(&found)?);
        let diff = TextDiff::from_lines(&wanted, &found);
        let text = diff.unified_diff().header("expected", "answer").to_string();
        Ok(Comparison::Different(text))
    }

    /// Makes this answer the expected one.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn accept(&self, report: &Report) -> Result<()> {
        fs::write(&self.expected, pretty(&shown(report))?)
            .with_context(|| format!("cannot write {}", self.expected.display()))
    }
}

/// An answer as it is kept.
fn shown(report: &Report) -> Value {
    let mut shown = match &report.answer {
        Ok(answer) => json!({"answer": answer}),
        Err(error) => json!({"error": error}),
    };
    if let (false, Some(fields)) = (report.items.is_empty(), shown.as_object_mut()) {
        fields.insert("items".to_owned(), report.items.clone().into());
    }
    shown
}

fn pretty(value: &Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn report(answer: Value) -> Report {
        Report {
            answer: Ok(answer),
            items: Vec::new(),
            host_calls: Vec::new(),
            cpu: Duration::ZERO,
            wall: Duration::ZERO,
            memory: 0,
        }
    }

    #[test]
    fn an_accepted_answer_is_expected_from_then_on() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.case.json"), r#"{"input": {"n": 1}}"#).unwrap();
        let case = Case::find(folder.path()).unwrap().remove(0);
        assert_eq!(case.compare(&report(json!(1))).unwrap(), Comparison::New);
        case.accept(&report(json!(1))).unwrap();
        assert_eq!(case.compare(&report(json!(1))).unwrap(), Comparison::Same);
        let Comparison::Different(diff) = case.compare(&report(json!(2))).unwrap() else {
            panic!("a difference is noticed");
        };
        assert!(
            diff.contains("-  \"answer\": 1\n+  \"answer\": 2"),
            "{diff}"
        );
    }

    #[test]
    fn a_call_with_an_unknown_field_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.case.json"), r#"{"inputs": {}}"#).unwrap();
        let error = format!("{:#}", Case::find(folder.path()).unwrap_err());
        assert!(
            error.contains("a.case.json") && error.contains("inputs"),
            "{error}"
        );
    }
}
