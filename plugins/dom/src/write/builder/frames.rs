//! The modes after the body, and those of framesets.

use super::super::names::Name;
use super::super::token::Tag;
use super::{Builder, Mode, Step};
use crate::names::tag;

impl Builder {
    pub(super) fn after_body_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::HTML => self.html_again(tag),
            _ => self.reenter_body(),
        }
    }

    pub(super) fn after_body_end(&mut self, name: Name) -> Step {
        if name.tag() == tag::HTML && self.mode == Mode::AfterBody {
            self.mode = Mode::AfterAfterBody;
            return Step::DONE;
        }
        self.reenter_body()
    }

    /// What stands after the body belongs to it.
    pub(super) fn reenter_body(&mut self) -> Step {
        self.mode = Mode::InBody;
        Step::Again
    }

    pub(super) fn frameset_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::HTML => return self.html_again(tag),
            tag::NOFRAMES => return self.head_start(tag),
            tag::FRAMESET => {
                self.insert(tag);
            }
            tag::FRAME => {
                self.insert_closed(tag);
            }
            _ => {}
        }
        Step::DONE
    }

    pub(super) fn frameset_end(&mut self, name: Name) -> Step {
        if name.tag() == tag::FRAMESET && self.open.len() > 1 {
            self.open.pop();
            if !self.open.current().is_tag(tag::FRAMESET) {
                self.mode = Mode::AfterFrameset;
            }
        }
        Step::DONE
    }

    pub(super) fn after_frameset_start(&mut self, tag: &Tag<'_>) -> Step {
        match tag.name.tag() {
            tag::HTML => self.html_again(tag),
            tag::NOFRAMES => self.head_start(tag),
            _ => Step::DONE,
        }
    }

    pub(super) fn after_frameset_end(&mut self, name: Name) -> Step {
        if name.tag() == tag::HTML {
            self.mode = Mode::AfterAfterFrameset;
        }
        Step::DONE
    }
}
