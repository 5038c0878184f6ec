//! Start tags in the mode "in body".

use super::super::names::Name;
use super::super::token::{Content, Raw, Tag};
use super::table::is_hidden_input;
use super::{Builder, Mode, Open, Step, class};
use crate::format::{NS_MATHML, NS_SVG};
use crate::names::tag;

impl Builder {
    pub(super) fn body_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::HTML => return self.html_again(tag),
            head_content!() => return self.head_start(tag),
            tag::BODY => self.body_again(tag),
            tag::FRAMESET => self.frameset_instead_of_body(tag),
            tag::ADDRESS
            | tag::ARTICLE
            | tag::ASIDE
            | tag::BLOCKQUOTE
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
            | tag::MAIN
            | tag::MENU
            | tag::NAV
            | tag::OL
            | tag::P
            | tag::SEARCH
            | tag::SECTION
            | tag::SUMMARY
            | tag::UL => {
                self.open.close_p_in_button_scope();
                self.insert(tag);
            }
            tag::H1 | tag::H2 | tag::H3 | tag::H4 | tag::H5 | tag::H6 => {
                self.open.close_p_in_button_scope();
                if self.open.current().is(class::HEADING) {
                    self.open.pop();
                }
                self.insert(tag);
            }
            tag::PRE | tag::LISTING => {
                self.open.close_p_in_button_scope();
                self.insert(tag);
                self.skip_line_feed = true;
                self.frameset_ok = false;
            }
            tag::FORM => self.start_form(tag),
            tag::LI => self.start_item(tag, |open| open.is_tag(tag::LI)),
            tag::DD | tag::DT => {
                self.start_item(tag, |open| open.is_tag(tag::DD) || open.is_tag(tag::DT));
            }
            tag::PLAINTEXT => {
                self.open.close_p_in_button_scope();
                self.insert(tag);
                return Step::Done(Content::Plaintext);
            }
            tag::BUTTON => {
                if self.open.has_in_scope(tag::BUTTON) {
                    self.open.imply_end_tags();
                    self.open.pop_through_tag(tag::BUTTON);
                }
                self.reconstruct_formatting();
                self.insert(tag);
                self.frameset_ok = false;
            }
            tag::A => {
                self.close_a();
                self.reconstruct_formatting();
                self.insert_formatting(tag);
            }
            tag::B
            | tag::BIG
            | tag::CODE
            | tag::EM
            | tag::FONT
            | tag::I
            | tag::S
            | tag::SMALL
            | tag::STRIKE
            | tag::STRONG
            | tag::TT
            | tag::U => {
                self.reconstruct_formatting();
                self.insert_formatting(tag);
            }
            tag::NOBR => {
                self.reconstruct_formatting();
                if self.open.has_in_scope(tag::NOBR) {
                    self.end_formatting(tag::NOBR);
                    self.reconstruct_formatting();
                }
                self.insert_formatting(tag);
            }
            tag::APPLET | tag::MARQUEE | tag::OBJECT => {
                self.reconstruct_formatting();
                self.insert(tag);
                self.formatting.push_marker();
                self.frameset_ok = false;
            }
            tag::TABLE => {
                if !self.arena.quirks {
                    self.open.close_p_in_button_scope();
                }
                self.insert(tag);
                self.frameset_ok = false;
                self.mode = Mode::InTable;
            }
            tag::AREA | tag::BR | tag::EMBED | tag::IMG | tag::KEYGEN | tag::WBR => {
                self.insert_void(tag.name, tag);
            }
            tag::IMAGE => self.insert_void(Name::of(tag::IMG), tag),
            tag::INPUT => {
                if self.open.has_in_scope(tag::SELECT) {
                    self.open.pop_through_tag(tag::SELECT);
                }
                self.reconstruct_formatting();
                self.insert_closed(tag);
                self.frameset_ok &= is_hidden_input(tag);
            }
            tag::PARAM | tag::SOURCE | tag::TRACK => {
                self.insert_closed(tag);
            }
            tag::HR => {
                self.open.close_p_in_button_scope();
                if self.open.has_in_scope(tag::SELECT) {
                    self.open.imply_end_tags();
                }
                self.insert_closed(tag);
                self.frameset_ok = false;
            }
            tag::TEXTAREA => {
                self.skip_line_feed = true;
                self.frameset_ok = false;
                return self.insert_raw(tag, Raw::Rcdata);
            }
            tag::XMP => {
                self.open.close_p_in_button_scope();
                self.reconstruct_formatting();
                self.frameset_ok = false;
                return self.insert_raw(tag, Raw::Rawtext);
            }
            tag::IFRAME => {
                self.frameset_ok = false;
                return self.insert_raw(tag, Raw::Rawtext);
            }
            tag::NOEMBED | tag::NOSCRIPT => return self.insert_raw(tag, Raw::Rawtext),
            tag::SELECT => {
                if self.open.has_in_scope(tag::SELECT) {
                    self.open.pop_through_tag(tag::SELECT);
                } else {
                    self.reconstruct_formatting();
                    self.insert(tag);
                    self.frameset_ok = false;
                }
            }
            tag::OPTION => {
                if self.open.has_in_scope(tag::SELECT) {
                    self.open.imply_end_tags_except(Name::of(tag::OPTGROUP));
                } else {
                    self.pop_option();
                }
                self.reconstruct_formatting();
                self.insert(tag);
            }
            tag::OPTGROUP => {
                if self.open.has_in_scope(tag::SELECT) {
                    self.open.imply_end_tags();
                } else {
                    self.pop_option();
                }
                self.reconstruct_formatting();
                self.insert(tag);
            }
            tag::RB | tag::RTC => {
                if self.open.has_in_scope(tag::RUBY) {
                    self.open.imply_end_tags();
                }
                self.insert(tag);
            }
            tag::RP | tag::RT => {
                if self.open.has_in_scope(tag::RUBY) {
                    self.open.imply_end_tags_except(Name::of(tag::RTC));
                }
                self.insert(tag);
            }
            tag::MATH => {
                self.reconstruct_formatting();
                self.insert_foreign(NS_MATHML, tag);
            }
            tag::SVG => {
                self.reconstruct_formatting();
                self.insert_foreign(NS_SVG, tag);
            }
            tag::CAPTION
            | tag::COL
            | tag::COLGROUP
            | tag::FRAME
            | tag::HEAD
            | tag::TBODY
            | tag::TD
            | tag::TFOOT
            | tag::TH
            | tag::THEAD
            | tag::TR => {}
            _ => {
                self.reconstruct_formatting();
                self.insert(tag);
            }
        }
        Step::DONE
    }

    /// A further `<body>` adds attributes to the element that is there.
    fn body_again(&mut self, tag: &Tag<'_>) {
        if let Some(body) = self.open.body()
            && !self.open.has(tag::TEMPLATE)
        {
            self.frameset_ok = false;
            self.arena.add_missing(body.node, &tag.attrs);
        }
    }

    /// As long as a page has shown nothing, a frameset may replace its body.
    fn frameset_instead_of_body(&mut self, tag: &Tag<'_>) {
        if let Some(body) = self.open.body()
            && self.frameset_ok
        {
            self.arena.detach(body.node);
            self.open.truncate(1);
            self.insert(tag);
            self.mode = Mode::InFrameset;
        }
    }

    fn start_form(&mut self, tag: &Tag<'_>) {
        let in_template = self.open.has(tag::TEMPLATE);
        if self.form.is_some() && !in_template {
            return;
        }
        self.open.close_p_in_button_scope();
        let form = self.insert(tag);
        if !in_template {
            self.form = Some(form);
        }
    }

    /// A list's item ends the one before it.
    fn start_item(&mut self, tag: &Tag<'_>, is_item: impl Fn(&Open) -> bool) {
        self.frameset_ok = false;
        let mut before = None;
        for open in self.open.iter().rev() {
            if is_item(open) {
                before = Some(open.name);
                break;
            }
            let is_block = matches!(open.name.tag(), tag::ADDRESS | tag::DIV | tag::P);
            if open.is(class::SPECIAL) && !is_block {
                break;
            }
        }
        if let Some(name) = before {
            self.open.imply_end_tags_except(name);
            self.open.pop_through(|open| open.is_html(name));
        }
        self.open.close_p_in_button_scope();
        self.insert(tag);
    }

    fn insert_void(&mut self, name: Name, tag: &Tag<'_>) {
        self.reconstruct_formatting();
        self.insert_closed_as(name, tag);
        self.frameset_ok = false;
    }

    fn pop_option(&mut self) {
        if self.open.current().is_tag(tag::OPTION) {
            self.open.pop();
        }
    }
}
