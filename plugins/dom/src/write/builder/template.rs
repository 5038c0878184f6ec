//! `<template>` and the mode "in template".

use super::super::names::Name;
use super::super::token::{Attr, Tag};
use super::{Builder, Mode, Open, Step, class};
use crate::format::NS_HTML;
use crate::names::tag;

impl Builder {
    /// The start tag of a template. A declarative shadow root is parsed like any other, but what it holds
    /// is shown: the snapshot has it as an element of no id, named `template`.
    /// <https://html.spec.whatwg.org/multipage/scripting.html#attr-template-shadowrootmode>
    pub(super) fn open_template(&mut self, tag: &Tag<'_>) -> Step {
        if is_shadow_root(tag) {
            let attrs = tag.attrs.iter().map(Attr::parts);
            let name = tag::name(tag::TEMPLATE);
            let node = (self.arena).create_element(NS_HTML, tag::UNKNOWN, name, attrs);
            self.insert_at(self.place_in(self.open.current()), node);
            self.open.push(Open {
                node,
                name: tag.name,
                class: class::of(NS_HTML, tag.name),
            });
        } else {
            self.insert(tag);
        }
        self.formatting.push_marker();
        self.frameset_ok = false;
        self.mode = Mode::InTemplate;
        self.template_modes.push(Mode::InTemplate);
        Step::DONE
    }

    /// The end tag of a template.
    pub(super) fn close_template(&mut self) -> Step {
        if self.open.has(tag::TEMPLATE) {
            self.open.imply_end_tags_of(class::IMPLIED_END_IN_TEMPLATE);
            self.pop_template();
        }
        Step::DONE
    }

    fn pop_template(&mut self) {
        self.open.pop_through_tag(tag::TEMPLATE);
        self.formatting.clear_to_marker();
        self.template_modes.pop();
        self.reset_mode();
    }

    /// The end of the page in the modes from "in body" to "in template": templates are closed, one at a time.
    pub(super) fn end_of_templates(&mut self) -> Step {
        if !self.open.has(tag::TEMPLATE) {
            return Step::DONE;
        }
        self.pop_template();
        Step::Again
    }

    pub(super) fn template_start(&mut self, tag: &Tag<'_>) -> Step {
        let mode = match tag.name.tag() {
            head_content!() => return self.head_start(tag),
            tag::CAPTION | tag::COLGROUP | tag::TBODY | tag::TFOOT | tag::THEAD => Mode::InTable,
            tag::COL => Mode::InColumnGroup,
            tag::TR => Mode::InTableBody,
            tag::TD | tag::TH => Mode::InRow,
            _ => Mode::InBody,
        };
        self.template_modes.pop();
        self.template_modes.push(mode);
        self.mode = mode;
        Step::Again
    }

    pub(super) fn template_mode_end(&mut self, name: Name) -> Step {
        match name.tag() {
            tag::TEMPLATE => self.close_template(),
            _ => Step::DONE,
        }
    }
}

/// Whether a template is a declarative shadow root.
fn is_shadow_root(tag: &Tag<'_>) -> bool {
    let mode = tag.attrs.iter().find(|a| a.name == "shadowrootmode");
    mode.is_some_and(|mode| {
        let is = |value| mode.value.eq_ignore_ascii_case(value);
        is("open") || is("closed")
    })
}
