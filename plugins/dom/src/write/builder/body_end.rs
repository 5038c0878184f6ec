//! End tags in the mode "in body".

use super::super::names::Name;
use super::super::token::Tag;
use super::{Builder, Mode, Step, class};
use crate::names::tag;

impl Builder {
    pub(super) fn body_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::TEMPLATE => return self.close_template(),
            tag::BODY => {
                self.leave_body();
            }
            tag::HTML => return self.leave_body(),
            tag::ADDRESS
            | tag::ARTICLE
            | tag::ASIDE
            | tag::BLOCKQUOTE
            | tag::BUTTON
            | tag::CENTER
            | tag::DETAILS
            | tag::DIALOG
            | tag::DIR
            | tag::DIV
            | tag::DL
            | tag::FIELDSET
            | tag::FIGCAPTION
            | tag::FIGURE
            | tag::FOOTER
            | tag::HEADER
            | tag::HGROUP
            | tag::LISTING
            | tag::MAIN
            | tag::MENU
            | tag::NAV
            | tag::OL
            | tag::PRE
            | tag::SEARCH
            | tag::SECTION
            | tag::SELECT
            | tag::SUMMARY
            | tag::UL => {
                self.close_in_scope(name.tag());
            }
            tag::FORM => self.end_form(),
            tag::P => {
                if !self.open.has_p_in_button_scope() {
                    self.insert_implied(tag::P);
                }
                self.open.close_p();
            }
            tag::LI => {
                if self.open.has_in_list_scope(tag::LI) {
                    self.close_item(name);
                }
            }
            tag::DD | tag::DT => {
                if self.open.has_in_scope(name.tag()) {
                    self.close_item(name);
                }
            }
            tag::H1 | tag::H2 | tag::H3 | tag::H4 | tag::H5 | tag::H6 => {
                if self
                    .open
                    .has_in(class::SCOPE, |open| open.is(class::HEADING))
                {
                    self.open.imply_end_tags();
                    self.open.pop_through(|open| open.is(class::HEADING));
                }
            }
            tag::A
            | tag::B
            | tag::BIG
            | tag::CODE
            | tag::EM
            | tag::FONT
            | tag::I
            | tag::NOBR
            | tag::S
            | tag::SMALL
            | tag::STRIKE
            | tag::STRONG
            | tag::TT
            | tag::U => self.end_formatting(name.tag()),
            tag::APPLET | tag::MARQUEE | tag::OBJECT => {
                if self.close_in_scope(name.tag()) {
                    self.formatting.clear_to_marker();
                }
            }
            tag::BR => {
                return self.body_start(&Tag {
                    name,
                    ..Tag::default()
                });
            }
            _ => self.close_any(name),
        }
        Step::DONE
    }

    fn leave_body(&mut self) -> Step {
        if !self.open.has_in_scope(tag::BODY) {
            return Step::DONE;
        }
        self.mode = Mode::AfterBody;
        Step::Again
    }

    /// Closes an element and what is in it. Returns whether it was in scope.
    fn close_in_scope(&mut self, tag: u16) -> bool {
        let is_open = self.open.has_in_scope(tag);
        if is_open {
            self.open.imply_end_tags();
            self.open.pop_through_tag(tag);
        }
        is_open
    }

    fn close_item(&mut self, name: Name) {
        self.open.imply_end_tags_except(name);
        self.open.pop_through(|open| open.is_html(name));
    }

    fn end_form(&mut self) {
        if self.open.has(tag::TEMPLATE) {
            self.close_in_scope(tag::FORM);
            return;
        }
        let Some(form) = self.form.take() else {
            return;
        };
        if self
            .open
            .has_in(class::SCOPE, |open| open.node == form.node)
        {
            self.open.imply_end_tags();
            self.open.remove_node(form.node);
        }
    }

    /// "Any other end tag": closes the innermost element of this name, unless a special one is open in it.
    pub(super) fn close_any(&mut self, name: Name) {
        for open in self.open.iter().rev() {
            if open.is_html(name) {
                self.close_item(name);
                return;
            }
            if open.is(class::SPECIAL) {
                return;
            }
        }
    }
}
