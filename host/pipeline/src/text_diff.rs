//! Compares the texts of two stored pages.

use std::time::Duration;

use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_core::page::page_pass;
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

/// The changes of a page's Markdown, before which its title and its canonical URL have a line each where
/// they differ: they are content, too.
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

/// What is compared of a page.
#[derive(Default)]
struct Text {
    title: Option<String>,
    canonical: Option<String>,
    markdown: String,
}

impl Pipeline {
    /// Compares the title, the canonical URL and the Markdown of two stored pages of the project; `None` if one of them is
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
        let Some(old) = self.text_of(store, project, old).await? else {
            return Ok(None);
        };
        let Some(new) = self.text_of(store, project, new).await? else {
            return Ok(None);
        };
        let work = old.markdown.len() + new.markdown.len();
        blocking_of(work, move || {
            let (old, new) = together(old, new);
            compare(&old, &new)
        })
        .await
        .map(Some)
    }

    async fn text_of(
        &self,
        store: &Store,
        project: ProjectId,
        page: PageId,
    ) -> Result<Option<Text>, ScanError> {
        let record = store.page(project, page).await?;
        let document = record.and_then(|record| Document::from_store(store, project, record.page));
        let Some(mut document) = document else {
            return Ok(None);
        };
        // The same options as for a page's content, so that both share the cache.
        let role = RoleRequest::new("markdown", r#"{"only_main_content":false}"#);
        let pipeline = self.of_project(project);
        let outcome = pipeline.extract(&mut document, &[role]).await?;
        let markdown = outcome.role("markdown");
        let Some(markdown) = markdown.and_then(|json| serde_json::from_str(json.get()).ok()) else {
            return Ok(None);
        };
        let Some(page) = pipeline.content_page(&mut document).await? else {
            return Ok(Some(Text {
                markdown,
                ..Text::default()
            }));
        };
        let parts = page.parts();
        let work = parts.html.len();
        let read = move || {
            let parts = page.parts();
            let facts = page_pass(&parts.html, &parts.final_url);
            Text {
                title: facts.title,
                canonical: facts.canonical,
                markdown,
            }
        };
        blocking_of(work, read).await.map(Some)
    }
}

/// The texts that are compared.
fn together(old: Text, new: Text) -> (String, String) {
    let (mut before, mut after) = (String::new(), String::new());
    for (name, old, new) in [
        ("Title", &old.title, &new.title),
        ("Canonical URL", &old.canonical, &new.canonical),
    ] {
        if old != new {
            for (text, value) in [(&mut before, old), (&mut after, new)] {
                let value = value.iter().map(|value| format!("{name}: {value}\n"));
                text.extend(value);
            }
        }
    }
    (before + &old.markdown, after + &new.markdown)
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
    fn a_title_is_compared_where_it_differs() {
        let text = |title: Option<&str>, canonical: &str| Text {
            title: title.map(str::to_owned),
            canonical: Some(canonical.to_owned()),
            markdown: "Text\n".to_owned(),
        };
        let change = |old, new| {
            let (old, new) = together(old, new);
            compare(&old, &new)
        };
        let same = change(text(Some("Orbs"), "/"), text(Some("Orbs"), "/"));
        assert_eq!(same.unified, "");
        let title = change(text(Some("Orbs"), "/"), text(Some("All orbs"), "/"));
        let lines = "-Title: Orbs\n+Title: All orbs\n Text\n";
        assert!(title.unified.ends_with(lines), "{}", title.unified);
        assert_eq!((title.words_added, title.words_removed), (2, 1));
        let both = change(text(None, "/a"), text(Some("Orbs"), "/b"));
        let lines = "-Canonical URL: /a\n+Title: Orbs\n+Canonical URL: /b\n Text\n";
        assert!(both.unified.ends_with(lines), "{}", both.unified);
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
