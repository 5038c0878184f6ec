//! The modes before the body: from "initial" to "after head".

use super::super::names::Name;
use super::super::token::{Raw, Tag};
use super::{Builder, Mode, Step};
use crate::names::tag;

impl Builder {
    /// What comes without a doctype.
    pub(super) fn leave_initial(&mut self) -> Step {
        self.arena.quirks = true;
        self.mode = Mode::BeforeHtml;
        Step::Again
    }

    pub(super) fn before_html_start(&mut self, tag: &Tag<'_>) -> Step {
        if tag.name.tag() != tag::HTML {
            return self.leave_before_html();
        }
        self.insert_root(tag);
        Step::DONE
    }

    pub(super) fn before_html_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::HEAD | tag::BODY | tag::HTML | tag::BR => self.leave_before_html(),
            _ => Step::DONE,
        }
    }

    pub(super) fn leave_before_html(&mut self) -> Step {
        self.insert_root(&Tag {
            name: Name::of(tag::HTML),
            ..Tag::default()
        });
        Step::Again
    }

    fn insert_root(&mut self, tag: &Tag<'_>) {
        self.insert(tag);
        self.mode = Mode::BeforeHead;
    }

    pub(super) fn before_head_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::HTML => self.html_again(tag),
            tag::HEAD => {
                self.head = Some(self.insert(tag));
                self.mode = Mode::InHead;
                Step::DONE
            }
            _ => self.leave_before_head(),
        }
    }

    pub(super) fn before_head_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::HEAD | tag::BODY | tag::HTML | tag::BR => self.leave_before_head(),
            _ => Step::DONE,
        }
    }

    pub(super) fn leave_before_head(&mut self) -> Step {
        self.head = Some(self.insert_implied(tag::HEAD));
        self.mode = Mode::InHead;
        Step::Again
    }

    pub(super) fn head_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::HTML => self.html_again(tag),
            tag::BASE | tag::BASEFONT | tag::BGSOUND | tag::LINK | tag::META => {
                self.insert_closed(tag);
                Step::DONE
            }
            tag::TITLE => self.insert_raw(tag, Raw::Rcdata),
            tag::NOFRAMES | tag::STYLE | tag::NOSCRIPT => self.insert_raw(tag, Raw::Rawtext),
            tag::SCRIPT => self.insert_raw(tag, Raw::Script),
            tag::TEMPLATE => self.open_template(tag),
            tag::HEAD => Step::DONE,
            _ => self.leave_head(),
        }
    }

    pub(super) fn head_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::HEAD => {
                self.leave_head();
                Step::DONE
            }
            tag::BODY | tag::HTML | tag::BR => self.leave_head(),
            tag::TEMPLATE => self.close_template(),
            _ => Step::DONE,
        }
    }

    pub(super) fn leave_head(&mut self) -> Step {
        self.open.pop();
        self.mode = Mode::AfterHead;
        Step::Again
    }

    pub(super) fn after_head_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::HTML => self.html_again(tag),
            tag::BODY => {
                self.insert(tag);
                self.frameset_ok = false;
                self.mode = Mode::InBody;
                Step::DONE
            }
            tag::FRAMESET => {
                self.insert(tag);
                self.mode = Mode::InFrameset;
                Step::DONE
            }
            head_content!() => self.head_start_after_head(tag),
            tag::HEAD => Step::DONE,
            _ => self.leave_after_head(),
        }
    }

    /// What belongs in the head goes there, although that is closed.
    fn head_start_after_head(&mut self, tag: &Tag<'_>) -> Step {
        let Some(head) = self.head else {
            return Step::DONE;
        };
        self.open.push(head);
        let step = self.head_start(tag);
        self.open.remove_node(head.node);
        step
    }

    pub(super) fn after_head_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::TEMPLATE => self.close_template(),
            tag::BODY | tag::HTML | tag::BR => self.leave_after_head(),
            _ => Step::DONE,
        }
    }

    pub(super) fn leave_after_head(&mut self) -> Step {
        self.insert_implied(tag::BODY);
        self.mode = Mode::InBody;
        Step::Again
    }

    /// A further `<html>` adds attributes to the element that is there.
    pub(super) fn html_again(&mut self, tag: &Tag<'_>) -> Step {
        if !self.open.has(tag::TEMPLATE) {
            self.arena.add_missing(self.open.html().node, &tag.attrs);
        }
        Step::DONE
    }
}
