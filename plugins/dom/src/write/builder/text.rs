//! Text in every mode.

use super::{Builder, Mode, Step, class};
use crate::names::tag;

impl Builder {
    /// Processes text without NULs.
    pub(in super::super) fn text(&mut self, mut text: &str) {
        if std::mem::take(&mut self.skip_line_feed) {
            text = text.strip_prefix('\n').unwrap_or(text);
        }
        while !text.is_empty() {
            text = self.text_step(text);
        }
    }

    /// Processes some of the text. Returns the rest.
    fn text_step<'t>(&mut self, text: &'t str) -> &'t str {
        if self.is_foreign_text() {
            self.frameset_ok = self.frameset_ok && is_blank(text);
            self.insert_text(text);
            return "";
        }
        match self.mode {
            Mode::InBody | Mode::InCell | Mode::InCaption | Mode::InTemplate => {
                self.body_text(text);
                ""
            }
            Mode::Text => {
                self.insert_text(text);
                ""
            }
            Mode::InTableText => {
                self.table_text.push_str(text);
                ""
            }
            Mode::InTable | Mode::InTableBody | Mode::InRow => {
                self.text_in_table(text);
                ""
            }
            mode => self.text_around_body(mode, text),
        }
    }

    fn body_text(&mut self, text: &str) {
        self.reconstruct_formatting();
        self.frameset_ok = self.frameset_ok && is_blank(text);
        self.insert_text(text);
    }

    /// In the modes where white space and other text are two things: one of them.
    fn text_around_body<'t>(&mut self, mode: Mode, text: &'t str) -> &'t str {
        let (blank, rest) = split_blank(text);
        if !blank.is_empty() {
            match mode {
                Mode::InHead
                | Mode::AfterHead
                | Mode::InColumnGroup
                | Mode::InFrameset
                | Mode::AfterFrameset => self.insert_text(blank),
                Mode::AfterBody | Mode::AfterAfterBody | Mode::AfterAfterFrameset => {
                    self.body_text(blank);
                }
                _ => {}
            }
            return rest;
        }
        match self.leave_for_text(mode) {
            Step::Again => rest,
            Step::Done(_) => rest.trim_start_matches(|c: char| !c.is_ascii_whitespace()),
        }
    }

    /// What text that is no white space, or a NUL, does to the mode.
    fn leave_for_text(&mut self, mode: Mode) -> Step {
        match mode {
            Mode::Initial => self.leave_initial(),
            Mode::BeforeHtml => self.leave_before_html(),
            Mode::BeforeHead => self.leave_before_head(),
            Mode::InHead => self.leave_head(),
            Mode::AfterHead => self.leave_after_head(),
            Mode::InColumnGroup => self.leave_column_group(),
            Mode::AfterBody | Mode::AfterAfterBody => self.reenter_body(),
            _ => Step::DONE,
        }
    }

    /// Processes a NUL: mostly nothing, but it counts as something that is there.
    pub(in super::super) fn null(&mut self) {
        self.skip_line_feed = false;
        if self.is_foreign_text() {
            self.insert_text("\u{fffd}");
            return;
        }
        while let Step::Again = self.leave_for_text(self.mode) {}
    }

    fn text_in_table(&mut self, text: &str) {
        if self.open.current().is(class::FOSTERS) {
            self.return_mode = self.mode;
            self.mode = Mode::InTableText;
            self.table_text.push_str(text);
        } else {
            self.foster_parenting = true;
            self.body_text(text);
            self.foster_parenting = false;
        }
    }

    /// What is no text ends the text in a table.
    pub(super) fn leave_table_text(&mut self) -> Step {
        self.end_table_text();
        Step::Again
    }

    /// Inserts the text in a table: white space in the table, other text before it.
    pub(super) fn end_table_text(&mut self) {
        self.mode = self.return_mode;
        let mut text = std::mem::take(&mut self.table_text);
        if is_blank(&text) {
            if !text.is_empty() {
                self.insert_text(&text);
            }
        } else {
            self.foster_parenting = true;
            self.body_text(&text);
            self.foster_parenting = false;
        }
        text.clear();
        self.table_text = text;
    }

    /// What is neither a column nor white space ends a group of columns.
    pub(super) fn leave_column_group(&mut self) -> Step {
        if !self.open.current().is_tag(tag::COLGROUP) {
            return Step::DONE;
        }
        self.open.pop();
        self.mode = Mode::InTable;
        Step::Again
    }
}

/// Whether the text is white space only.
fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// The white space that the text begins with, and the rest.
fn split_blank(text: &str) -> (&str, &str) {
    let is_text = |byte: u8| !byte.is_ascii_whitespace();
    text.split_at(text.bytes().position(is_text).unwrap_or(text.len()))
}
