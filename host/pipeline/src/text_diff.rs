//! Compares the texts of two stored pages.

use std::time::Duration;

use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_store::Store;
use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use utoipa::ToSchema;

use crate::blocking::blocking_of;
use crate::document::Document;
use crate::error::ScanError;
use crate::pipeline::Pipeline;
use crate::roles::RoleRequest;

/// Maximum CPU time of one comparison; text not compared by then counts as replaced.
const COMPARISON_TIMEOUT: Duration = Duration::from_millis(500);
/// Longest text that is compared, in bytes.
const MAX_TEXT: usize = 2 << 20;
/// Maximum bytes of a reported difference.
const MAX_DIFF: usize = 64 << 10;
/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// The changes of a page's Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TextChange {
    /// Words that only the new page has.
    pub words_added: usize,
    /// Words that only the old page has.
    pub words_removed: usize,
    /// The change of the Markdown, line by line, as `diff -u` writes it; at most 64 KiB.
    pub unified: String,
    /// Whether more has changed than `unified` shows.
    pub truncated: bool,
}

impl Pipeline {
    /// Compares the Markdown of two stored pages of the project; `None` if one of them is
    /// deleted, was stored without its body, or has no text.
    ///
    /// # Errors
    /// A fault of ours.
    #[crate::boxed]
    pub async fn text_change(
        &self,
        store: &Store,
        project: ProjectId,
        old: PageId,
        new: PageId,
    ) -> Result<Option<TextChange>, ScanError> {
        let Some(old) = self.markdown_of(store, project, old).await? else {
            return Ok(None);
        };
        let Some(new) = self.markdown_of(store, project, new).await? else {
            return Ok(None);
        };
        blocking_of(old.len() + new.len(), move || compare(&old, &new))
            .await
            .map(Some)
    }

    async fn markdown_of(
        &self,
        store: &Store,
        project: ProjectId,
        page: PageId,
    ) -> Result<Option<String>, ScanError> {
        let record = store.page(project, page).await;
        let record = record.map_err(|error| ScanError::Internal(error.to_string()))?;
        let document = record.and_then(|record| Document::from_store(store, project, record.page));
        let Some(mut document) = document else {
            return Ok(None);
        };
        // The same options as for a page's content, so that both share the cache.
        let role = RoleRequest::new("markdown", r#"{"only_main_content":false}"#);
        let pipeline = self.of_project(project);
        let outcome = pipeline.extract(&mut document, &[role]).await?;
        Ok(outcome
            .role("markdown")
            .and_then(|json| serde_json::from_str(json.get()).ok()))
    }
}

fn compare(old: &str, new: &str) -> TextChange {
    let (old, new) = (start(old, MAX_TEXT), start(new, MAX_TEXT));
    let lines = TextDiff::configure()
        .timeout(COMPARISON_TIMEOUT)
        .diff_lines(old, new);
    let unified = lines
        .unified_diff()
        .context_radius(CONTEXT)
        .missing_newline_hint(false)
        .to_string();
    let (mut words_added, mut words_removed) = (0, 0);
    // Words are compared only within changed pieces, so the cost depends on the change.
    for op in lines.ops() {
        let text = |range: std::ops::Range<usize>, of_old: bool| -> String {
            range
                .filter_map(|at| match of_old {
                    true => lines.old_slice(at),
                    false => lines.new_slice(at),
                })
                .collect()
        };
        if op.tag() == similar::DiffTag::Equal {
            continue;
        }
        let (before, after) = (text(op.old_range(), true), text(op.new_range(), false));
        let before: Vec<&str> = before.split_whitespace().collect();
        let after: Vec<&str> = after.split_whitespace().collect();
        let words = TextDiff::configure()
            .timeout(COMPARISON_TIMEOUT)
            .diff_slices(&before, &after);
        for change in words.iter_all_changes() {
            match change.tag() {
                ChangeTag::Insert => words_added += 1,
                ChangeTag::Delete => words_removed += 1,
                ChangeTag::Equal => {}
            }
        }
    }
    TextChange {
        words_added,
        words_removed,
        truncated: unified.len() > MAX_DIFF,
        unified: start(&unified, MAX_DIFF).to_owned(),
    }
}

/// The beginning of a text, at most this many bytes.
fn start(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_and_words_are_reported() {
        let old = "# Prices\n\nOne orb costs 5 euros today.\n\nImprint\n";
        let new = "# Prices\n\nOne orb costs 7 euros.\n\nImprint\n";
        let change = compare(old, new);
        assert_eq!((change.words_added, change.words_removed), (2, 3));
        assert!(
            change
                .unified
                .contains("-One orb costs 5 euros today.\n+One orb costs 7 euros.\n")
        );
        assert!(!change.truncated);
        let same = compare(old, old);
        assert_eq!(
            (same.words_added, same.words_removed, same.unified.as_str()),
            (0, 0, "")
        );
    }

    #[test]
    fn unrelated_texts_are_compared_in_limited_time() {
        let text = |step: usize| -> String {
            (0..60_000)
                .map(|n| format!("{} é\n", n * step + step))
                .collect()
        };
        let started = std::time::Instant::now();
        let change = compare(&text(7), &text(11));
        assert!(change.truncated && change.unified.len() <= MAX_DIFF);
        assert!(change.words_added > 0 && change.words_removed > 0);
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{:?}",
            started.elapsed()
        );
    }
}
