//! The open elements, as far as they are known without a tree: enough to find the end of
//! hidden content.

use orbweaver_markup::names::{self, Name};

/// Nested elements that are tracked; real pages have tens.
const MAX_DEPTH: usize = 256;

/// Open elements whose end tag may not be omitted, and a hidden one whose end tag may be.
#[derive(Debug, Default)]
pub(super) struct OpenElements {
    names: Vec<Name>,
    /// Number of elements opened beyond the limit.
    deeper: usize,
    /// Number of open elements when the outermost hidden one began.
    hidden: Option<usize>,
    /// Whether that one is a template.
    template: bool,
    /// The hidden element whose end tag may be omitted, and the number of open elements when it
    /// began.
    implied: Option<(Name, usize)>,
}

impl OpenElements {
    /// Whether what is hidden here is a template's, which is no part of the page.
    pub const fn is_template(&self) -> bool {
        self.template
    }

    /// Whether the current position is in a template, however deep: no part of the page until a script
    /// makes something of it.
    pub fn are_in_template(&self) -> bool {
        self.template || (self.hide() && self.names.contains(&names::TEMPLATE))
    }

    /// Whether the current position is hidden.
    pub const fn hide(&self) -> bool {
        self.hidden.is_some() || self.implied.is_some()
    }

    /// Opens an element. A hidden template is one whose content is not of the page. The page itself never
    /// hides: a script shows it.
    pub fn open(&mut self, name: Name, hidden: bool) {
        if let Some((open, depth)) = self.implied
            && ends(open, name)
            && !(self.names.iter().skip(depth)).any(|inner| inner.breaks())
        {
            self.implied = None;
        }
        if name.may_stay_open() {
            let is_page = matches!(name, names::HTML | names::HEAD | names::BODY);
            if hidden && !is_page && self.implied.is_none() && self.deeper == 0 {
                self.implied = Some((name, self.names.len()));
            }
            return;
        }
        if self.names.len() >= MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        if self.hidden.is_none() && hidden {
            self.hidden = Some(self.names.len());
            self.template = name == names::TEMPLATE;
        }
        self.names.push(name);
    }

    /// Closes an element and all elements open within it. An end tag without a start is ignored.
    pub fn close(&mut self, name: Name) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        if name.may_stay_open() {
            if self.implied.is_some_and(|(open, depth)| {
                (open == name || holds(name, open))
                    && !(self.names.iter().skip(depth)).any(|inner| inner.breaks())
            }) {
                self.implied = None;
            }
            return;
        }
        if let Some(at) = self.names.iter().rposition(|open| *open == name) {
            self.names.truncate(at);
            if self.hidden.is_some_and(|hidden| at <= hidden) {
                self.hidden = None;
                self.template = false;
            }
            if self.implied.is_some_and(|(_, depth)| at < depth) {
                self.implied = None;
            }
        }
    }
}

/// Whether a start tag ends an open element whose end tag was omitted.
const fn ends(open: Name, next: Name) -> bool {
    match open {
        // A line break is text.
        names::P => next.breaks() && !matches!(next, names::BR | names::TITLE | names::OPTION),
        names::LI => matches!(next, names::LI),
        names::DT | names::DD => matches!(next, names::DT | names::DD),
        names::OPTION => matches!(next, names::OPTION | names::OPTGROUP),
        names::OPTGROUP => matches!(next, names::OPTGROUP),
        names::RP | names::RT => matches!(next, names::RP | names::RT),
        names::TD | names::TH => {
            matches!(next, names::TD | names::TH | names::TR) || is_section(next)
        }
        names::TR => matches!(next, names::TR) || is_section(next),
        names::CAPTION | names::COLGROUP => {
            matches!(next, names::TD | names::TH | names::TR | names::COLGROUP) || is_section(next)
        }
        open => is_section(open) && is_section(next),
    }
}

/// Whether an end tag of an outer element ends an inner one, both of whose tags may be omitted.
const fn holds(outer: Name, inner: Name) -> bool {
    match inner {
        names::TD | names::TH => matches!(outer, names::TR) || is_section(outer),
        names::TR => is_section(outer),
        names::OPTION => matches!(outer, names::OPTGROUP),
        names::P => matches!(
            outer,
            names::LI | names::DT | names::DD | names::TD | names::TH | names::TR
        ),
        _ => false,
    }
}

/// The parts of a table.
const fn is_section(name: Name) -> bool {
    matches!(name, names::TBODY | names::THEAD | names::TFOOT)
}

/// Whether an inline style hides its element.
pub(super) fn style_hides(style: &str) -> bool {
    // Shorter than any that does.
    style.len() > 11
        && style.split(';').any(|declaration| {
            let Some((name, value)) = declaration.split_once(':') else {
                return false;
            };
            let (name, value) = (name.trim_ascii(), value.trim_ascii());
            let end = value.find(|c: char| c == '!' || c.is_ascii_whitespace());
            let value = value.get(..end.unwrap_or(value.len())).unwrap_or("");
            let is = |wanted: &str| value.eq_ignore_ascii_case(wanted);
            name.eq_ignore_ascii_case("display") && is("none")
                || name.eq_ignore_ascii_case("visibility") && (is("hidden") || is("collapse"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_content_ends_with_its_element_or_an_outer_one() {
        let mut elements = OpenElements::default();
        for name in [names::SECTION, names::DIV] {
            elements.open(name, false);
        }
        elements.open(names::DIV, true);
        elements.open(names::DIV, true);
        elements.close(names::SPAN);
        elements.close(names::DIV);
        assert!(elements.hide());
        elements.close(names::DIV);
        assert!(!elements.hide());
        elements.open(names::TEMPLATE, true);
        assert!(elements.hide());
        elements.close(names::SECTION);
        assert!(!elements.hide());
        elements.open(names::BODY, true);
        assert!(!elements.hide());
    }

    #[test]
    fn hidden_content_ends_where_its_end_is_implied() {
        for (hidden, next) in [
            (names::P, names::P),
            (names::P, names::DIV),
            (names::LI, names::LI),
            (names::DT, names::DD),
            (names::TD, names::TR),
            (names::TR, names::TBODY),
            (names::OPTION, names::OPTION),
        ] {
            let mut elements = OpenElements::default();
            elements.open(names::SECTION, false);
            elements.open(hidden, true);
            elements.open(names::B, false);
            assert!(elements.hide());
            elements.open(next, false);
            assert!(!elements.hide());
            elements.open(hidden, true);
            elements.close(hidden);
            assert!(!elements.hide());
            elements.open(hidden, true);
            elements.close(names::SECTION);
            assert!(!elements.hide());
        }
        let mut elements = OpenElements::default();
        elements.open(names::LI, true);
        elements.open(names::UL, false);
        elements.open(names::LI, false);
        elements.close(names::LI);
        assert!(elements.hide());
        elements.close(names::UL);
        elements.close(names::LI);
        assert!(!elements.hide());
    }

    #[test]
    fn styles_that_hide_are_known() {
        for style in [
            "display:none",
            "color: red; DISPLAY : None !important",
            "visibility:hidden",
        ] {
            assert!(style_hides(style), "{style}");
        }
        for style in [
            "display:block",
            "",
            "background:url(display:none)",
            "--x: none",
        ] {
            assert!(!style_hides(style), "{style}");
        }
    }

    #[test]
    fn endless_nesting_is_bounded() {
        let mut elements = OpenElements::default();
        for _ in 0..1_000 {
            elements.open(names::DIV, false);
        }
        elements.open(names::DIV, true);
        assert!(!elements.hide());
        for _ in 0..2_000 {
            elements.close(names::DIV);
        }
        elements.open(names::DIV, true);
        assert!(elements.hide());
    }
}
