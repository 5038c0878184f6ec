//! The modes of tables, but for their text.

use super::super::names::Name;
use super::super::token::Tag;
use super::{Builder, Mode, Open, Step, class};
use crate::names::{attr, tag};

impl Builder {
    pub(super) fn table_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::CAPTION => {
                self.open.pop_to(class::TABLE_SCOPE);
                self.formatting.push_marker();
                self.insert(tag);
                self.mode = Mode::InCaption;
                Step::DONE
            }
            tag::COLGROUP => {
                self.open.pop_to(class::TABLE_SCOPE);
                self.insert(tag);
                self.mode = Mode::InColumnGroup;
                Step::DONE
            }
            tag::COL => {
                self.open.pop_to(class::TABLE_SCOPE);
                self.insert_implied(tag::COLGROUP);
                self.mode = Mode::InColumnGroup;
                Step::Again
            }
            tag::TBODY | tag::TFOOT | tag::THEAD => {
                self.open.pop_to(class::TABLE_SCOPE);
                self.insert(tag);
                self.mode = Mode::InTableBody;
                Step::DONE
            }
            tag::TD | tag::TH | tag::TR => {
                self.open.pop_to(class::TABLE_SCOPE);
                self.insert_implied(tag::TBODY);
                self.mode = Mode::InTableBody;
                Step::Again
            }
            tag::TABLE if self.open.has_in_table_scope(tag::TABLE) => {
                self.close_table();
                Step::Again
            }
            tag::TABLE => Step::DONE,
            tag::STYLE | tag::SCRIPT | tag::TEMPLATE => self.head_start(tag),
            tag::INPUT if is_hidden_input(tag) => {
                self.insert_closed(tag);
                Step::DONE
            }
            tag::FORM => {
                if self.form.is_none() && !self.open.has(tag::TEMPLATE) {
                    self.form = Some(self.insert_closed(tag));
                }
                Step::DONE
            }
            _ => {
                self.foster_parenting = true;
                let step = self.body_start(tag);
                self.foster_parenting = false;
                step
            }
        }
    }

    pub(super) fn table_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::TABLE => {
                if self.open.has_in_table_scope(tag::TABLE) {
                    self.close_table();
                }
                Step::DONE
            }
            tag::BODY
            | tag::CAPTION
            | tag::COL
            | tag::COLGROUP
            | tag::HTML
            | tag::TBODY
            | tag::TD
            | tag::TFOOT
            | tag::TH
            | tag::THEAD
            | tag::TR => Step::DONE,
            tag::TEMPLATE => self.close_template(),
            _ => {
                self.foster_parenting = true;
                let step = self.body_end(name);
                self.foster_parenting = false;
                step
            }
        }
    }

    fn close_table(&mut self) {
        self.open.pop_through_tag(tag::TABLE);
        self.reset_mode();
    }

    pub(super) fn caption_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::CAPTION
            | tag::COL
            | tag::COLGROUP
            | tag::TBODY
            | tag::TD
            | tag::TFOOT
            | tag::TH
            | tag::THEAD
            | tag::TR => self.close_caption(),
            _ => self.body_start(tag),
        }
    }

    pub(super) fn caption_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::TABLE => self.close_caption(),
            tag::CAPTION => {
                self.close_caption();
                Step::DONE
            }
            tag::BODY
            | tag::COL
            | tag::COLGROUP
            | tag::HTML
            | tag::TBODY
            | tag::TD
            | tag::TFOOT
            | tag::TH
            | tag::THEAD
            | tag::TR => Step::DONE,
            _ => self.body_end(name),
        }
    }

    fn close_caption(&mut self) -> Step {
        if !self.open.has_in_table_scope(tag::CAPTION) {
            return Step::DONE;
        }
        self.open.imply_end_tags();
        self.open.pop_through_tag(tag::CAPTION);
        self.formatting.clear_to_marker();
        self.mode = Mode::InTable;
        Step::Again
    }

    pub(super) fn column_group_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::HTML => self.html_again(tag),
            tag::COL => {
                self.insert_closed(tag);
                Step::DONE
            }
            tag::TEMPLATE => self.head_start(tag),
            _ => self.leave_column_group(),
        }
    }

    pub(super) fn column_group_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::COLGROUP => {
                self.leave_column_group();
                Step::DONE
            }
            tag::COL => Step::DONE,
            tag::TEMPLATE => self.close_template(),
            _ => self.leave_column_group(),
        }
    }

    pub(super) fn table_body_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::TR => {
                self.open.pop_to(class::ROW_PARENT);
                self.insert(tag);
                self.mode = Mode::InRow;
                Step::DONE
            }
            tag::TH | tag::TD => {
                self.open.pop_to(class::ROW_PARENT);
                self.insert_implied(tag::TR);
                self.mode = Mode::InRow;
                Step::Again
            }
            tag::CAPTION | tag::COL | tag::COLGROUP | tag::TBODY | tag::TFOOT | tag::THEAD => {
                self.leave_table_body()
            }
            _ => self.table_start(tag),
        }
    }

    pub(super) fn table_body_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::TBODY | tag::TFOOT | tag::THEAD => {
                if self.open.has_in_table_scope(name.tag()) {
                    self.close_table_body();
                }
                Step::DONE
            }
            tag::TABLE => self.leave_table_body(),
            tag::BODY
            | tag::CAPTION
            | tag::COL
            | tag::COLGROUP
            | tag::HTML
            | tag::TD
            | tag::TH
            | tag::TR => Step::DONE,
            _ => self.table_end(name),
        }
    }

    fn close_table_body(&mut self) {
        self.open.pop_to(class::ROW_PARENT);
        self.open.pop();
        self.mode = Mode::InTable;
    }

    fn leave_table_body(&mut self) -> Step {
        let is_outer = |open: &Open| {
            matches!(open.name.tag(), tag::TABLE | tag::TBODY | tag::TFOOT) && open.is(class::HTML)
        };
        if !self.open.has_in(class::TABLE_SCOPE, is_outer) {
            return Step::DONE;
        }
        self.close_table_body();
        Step::Again
    }

    pub(super) fn row_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::TH | tag::TD => {
                self.open.pop_to(class::CELL_PARENT);
                self.insert(tag);
                self.mode = Mode::InCell;
                self.formatting.push_marker();
                Step::DONE
            }
            tag::CAPTION
            | tag::COL
            | tag::COLGROUP
            | tag::TBODY
            | tag::TFOOT
            | tag::THEAD
            | tag::TR => self.close_row(),
            _ => self.table_start(tag),
        }
    }

    pub(super) fn row_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::TR => {
                self.close_row();
                Step::DONE
            }
            tag::TABLE => self.close_row(),
            tag::TBODY | tag::TFOOT | tag::THEAD => {
                if self.open.has_in_table_scope(name.tag()) {
                    self.close_row()
                } else {
                    Step::DONE
                }
            }
            tag::BODY | tag::CAPTION | tag::COL | tag::COLGROUP | tag::HTML | tag::TD | tag::TH => {
                Step::DONE
            }
            _ => self.table_end(name),
        }
    }

    fn close_row(&mut self) -> Step {
        if !self.open.has_in_table_scope(tag::TR) {
            return Step::DONE;
        }
        self.open.pop_to(class::CELL_PARENT);
        self.open.pop();
        self.mode = Mode::InTableBody;
        Step::Again
    }

    pub(super) fn cell_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::CAPTION
            | tag::COL
            | tag::COLGROUP
            | tag::TBODY
            | tag::TD
            | tag::TFOOT
            | tag::TH
            | tag::THEAD
            | tag::TR => {
                let has_cell = |open: &Open| open.is(class::CELL);
                if !self.open.has_in(class::TABLE_SCOPE, has_cell) {
                    return Step::DONE;
                }
                self.close_cell()
            }
            _ => self.body_start(tag),
        }
    }

    pub(super) fn cell_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::TD | tag::TH => {
                if self.open.has_in_table_scope(name.tag()) {
                    self.open.imply_end_tags();
                    self.open.pop_through_tag(name.tag());
                    self.formatting.clear_to_marker();
                    self.mode = Mode::InRow;
                }
                Step::DONE
            }
            tag::TABLE | tag::TBODY | tag::TFOOT | tag::THEAD | tag::TR => {
                if self.open.has_in_table_scope(name.tag()) {
                    self.close_cell()
                } else {
                    Step::DONE
                }
            }
            tag::BODY | tag::CAPTION | tag::COL | tag::COLGROUP | tag::HTML => Step::DONE,
            _ => self.body_end(name),
        }
    }

    fn close_cell(&mut self) -> Step {
        self.open.imply_end_tags();
        self.open.pop_through(|open| open.is(class::CELL));
        self.formatting.clear_to_marker();
        self.mode = Mode::InRow;
        Step::Again
    }
}

/// Whether an `<input>` shows nothing.
pub(super) fn is_hidden_input(tag: &Tag<'_>) -> bool {
    tag.attr(attr::TYPE)
        .is_some_and(|value| value.eq_ignore_ascii_case("hidden"))
}
