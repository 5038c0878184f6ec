//! The content as HTML of a few plain elements.
//!
//! Only the elements and attributes named here are written, and every attribute value and
//! text is escaped: whatever the page holds, the result has no script, style, form, event
//! handler or address of another scheme than `http` and `https`.

use orbweaver_sdk::dom::{Node, View, attr, tag};
use orbweaver_sdk::text::{push_escaped_html as escape, stretches};
use orbweaver_sdk::urls::{Base, Resolved};

use crate::invisible;
use crate::math;
use crate::measure::{BLOCK, DROP, Info, SKIP, get};

/// Where an element goes in the output.
enum Role {
    /// Written under this name.
    Keep(u16),
    /// A box without meaning: its contents are written in its place.
    Open,
    /// Written without an end tag.
    Void,
}

/// Writes what is left of a subtree.
pub fn render(view: &View<'_>, info: &[Info], root: u32, base: Option<&Base>) -> String {
    let Some(node) = view.node(root) else {
        return String::new();
    };
    let mut writer = Writer {
        out: String::with_capacity(get(info, root).chars as usize * 3 / 2 + 64),
        open: Vec::with_capacity(32),
        base,
        url: Resolved::default(),
        space: false,
        lists: 0,
        tables: 0,
        pre: 0,
    };
    let mut id = root;
    while id < node.end() {
        let Some(here) = view.node(id) else { break };
        writer.close(id);
        let me = get(info, id);
        if me.state & (SKIP | DROP) != 0 {
            writer.space |= me.state & BLOCK == 0;
            id = here.end();
            continue;
        }
        if me.tag == tag::MATH {
            writer.formula(here);
            id = here.end();
            continue;
        }
        if here.is_text() {
            writer.text(here.text());
        } else if here.is_element() {
            writer.element(here, &me);
        }
        id += 1;
    }
    writer.close(u32::MAX);
    writer.out
}

struct Writer<'b> {
    out: String,
    /// Elements to be closed: the id at which each ends, and its tag.
    open: Vec<(u32, u16)>,
    base: Option<&'b Base>,
    url: Resolved,
    /// White space owed before the next text.
    space: bool,
    lists: u32,
    tables: u32,
    pre: u32,
}

impl Writer<'_> {
    fn element(&mut self, node: Node<'_>, me: &Info) {
        if me.state & BLOCK != 0 {
            self.space = false;
        }
        match self.role(me) {
            Role::Open => {}
            Role::Void => self.void(node, me.tag),
            Role::Keep(name) => {
                self.flush_space(me);
                self.out.push('<');
                self.out.push_str(tag::name(name));
                self.attributes(node, name);
                self.out.push('>');
                self.count(name, 1);
                self.open.push((node.end(), name));
            }
        }
    }

    fn role(&self, me: &Info) -> Role {
        match me.tag {
            tag::P
            | tag::H1..=tag::H6
            | tag::BLOCKQUOTE
            | tag::PRE
            | tag::FIGURE
            | tag::FIGCAPTION
            | tag::UL
            | tag::OL
            | tag::DL
            | tag::TABLE
            | tag::CODE
            | tag::KBD
            | tag::SAMP
            | tag::VAR
            | tag::EM
            | tag::STRONG
            | tag::B
            | tag::I
            | tag::S
            | tag::DEL
            | tag::INS
            | tag::SUB
            | tag::SUP
            | tag::MARK
            | tag::ABBR
            | tag::CITE
            | tag::Q
            | tag::DFN
            | tag::TIME
            | tag::A => Role::Keep(me.tag),
            tag::LI if self.lists > 0 => Role::Keep(tag::LI),
            tag::DT | tag::DD if self.lists > 0 => Role::Keep(me.tag),
            tag::TR | tag::TD | tag::TH | tag::THEAD | tag::TBODY | tag::TFOOT | tag::CAPTION
                if self.tables > 0 =>
            {
                Role::Keep(me.tag)
            }
            tag::BR | tag::HR | tag::IMG | tag::WBR => Role::Void,
            // A box with text of its own is a paragraph if it holds nothing else.
            _ if me.state & BLOCK != 0 && me.own > 0 => {
                Role::Keep(if me.own >= me.chars { tag::P } else { tag::DIV })
            }
            _ => Role::Open,
        }
    }

    fn void(&mut self, node: Node<'_>, name: u16) {
        if name == tag::IMG {
            self.image(node);
        } else if name != tag::WBR {
            self.out.push('<');
            self.out.push_str(tag::name(name));
            self.out.push('>');
            self.space = false;
        }
    }

    fn image(&mut self, node: Node<'_>) {
        let tiny = |id| node.attr(id).is_some_and(|v| matches!(v.trim(), "0" | "1"));
        if tiny(attr::WIDTH) || tiny(attr::HEIGHT) {
            return;
        }
        let Some(base) = self.base else { return };
        // Lazy loading leaves a placeholder in `src`.
        let sources = [attr::DATA_SRC, attr::DATA_ORIGINAL, attr::SRC];
        let found = sources
            .iter()
            .filter_map(|&id| node.attr(id))
            .any(|src| !src.trim().is_empty() && base.join_into(src, &mut self.url));
        if !found {
            return;
        }
        if std::mem::take(&mut self.space) {
            self.out.push(' ');
        }
        self.out.push_str("<img src=\"");
        escape(self.url.as_str(), &mut self.out);
        self.out.push('"');
        self.attribute("alt", node.attr(attr::ALT));
        for (name, id) in [("width", attr::WIDTH), ("height", attr::HEIGHT)] {
            self.attribute(name, node.attr(id).filter(|v| is_number(v)));
        }
        self.out.push('>');
    }

    fn attributes(&mut self, node: Node<'_>, name: u16) {
        match name {
            tag::A => {
                let Some((base, href)) = self.base.zip(node.attr(attr::HREF)) else {
                    return;
                };
                if base.join_into(href, &mut self.url) {
                    self.out.push_str(" href=\"");
                    escape(self.url.as_str(), &mut self.out);
                    self.out.push('"');
                }
            }
            tag::TD | tag::TH => {
                for (name, id) in [("colspan", attr::COLSPAN), ("rowspan", attr::ROWSPAN)] {
                    self.attribute(name, node.attr(id).filter(|v| is_number(v)));
                }
            }
            tag::OL => self.attribute("start", node.attr(attr::START).filter(|v| is_number(v))),
            tag::TIME => self.attribute("datetime", node.attr(attr::DATETIME)),
            tag::ABBR | tag::DFN => self.attribute("title", node.attr(attr::TITLE)),
            _ => {}
        }
    }

    fn attribute(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            escape(value, &mut self.out);
            self.out.push('"');
        }
    }

    fn text(&mut self, text: &str) {
        if self.pre > 0 {
            return escape(&invisible::of_code(text), &mut self.out);
        }
        self.space |= text.starts_with(char::is_whitespace);
        for stretch in stretches(text) {
            if std::mem::replace(&mut self.space, true) {
                self.push_space();
            }
            escape(&invisible::of_text(stretch), &mut self.out);
        }
        self.space &= text.ends_with(char::is_whitespace);
    }

    /// A formula as TeX, apart from the words beside it.
    fn formula(&mut self, math: Node<'_>) {
        let mut tex = String::new();
        math::push_tex(math, &mut tex);
        self.space = true;
        self.text(math::bare(&tex));
        self.space = true;
    }

    /// A space, but none at the start of a line.
    fn push_space(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push(' ');
        }
    }

    /// White space before an inline element belongs outside of it, before a block nowhere.
    fn flush_space(&mut self, me: &Info) {
        if std::mem::take(&mut self.space) && me.state & BLOCK == 0 {
            self.push_space();
        }
    }

    /// Closes what ends at this node.
    fn close(&mut self, id: u32) {
        while let Some((_, name)) = self.open.pop_if(|(end, _)| *end <= id) {
            self.out.push_str("</");
            self.out.push_str(tag::name(name));
            self.out.push('>');
            self.count(name, -1);
            if is_line(name) {
                self.out.push('\n');
                self.space = false;
            }
        }
    }

    fn count(&mut self, name: u16, by: i32) {
        let counter = match name {
            tag::UL | tag::OL | tag::DL => &mut self.lists,
            tag::TABLE => &mut self.tables,
            tag::PRE => &mut self.pre,
            _ => return,
        };
        *counter = counter.saturating_add_signed(by);
    }
}

/// Elements that end a line of the output, which makes it readable.
fn is_line(name: u16) -> bool {
    matches!(
        name,
        tag::P | tag::H1
            ..=tag::H6
                | tag::BLOCKQUOTE
                | tag::PRE
                | tag::FIGURE
                | tag::FIGCAPTION
                | tag::UL
                | tag::OL
                | tag::DL
                | tag::LI
                | tag::DT
                | tag::DD
                | tag::TABLE
                | tag::TR
                | tag::DIV
    )
}

fn is_number(value: &str) -> bool {
    (1..=6).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_digit())
}
