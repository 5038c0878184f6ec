//! Frames, films, sounds and other things that are not text: links to what they show.

use orbweaver_sdk::dom::{Node, attr, tag};

use crate::marks::Kind;
use crate::walk::Walker;
use crate::writer::{Mode, Space};

impl<'a> Walker<'a> {
    /// `<iframe>`, `<frame>`, `<embed>`: a link of its own line.
    pub(crate) fn embedded(&mut self, node: Node<'a>) -> u32 {
        let side = |id| {
            node.attr(id)
                .and_then(|v| v.trim_ascii().trim_end_matches("px").parse::<u32>().ok())
        };
        // Frames of no size count visitors.
        let is_empty =
            side(attr::WIDTH).is_some_and(|w| w <= 1) || side(attr::HEIGHT).is_some_and(|h| h <= 1);
        let source = node
            .attr(attr::SRC)
            .filter(|s| !s.trim().is_empty() && !s.trim().starts_with("about:"))
            .or_else(|| node.attr(attr::DATA_SRC));
        if let Some(source) = source.filter(|_| !is_empty) {
            let name = [attr::TITLE, attr::ARIA_LABEL]
                .into_iter()
                .find_map(|id| node.attr(id));
            self.w.block();
            self.named_link(source, name.unwrap_or(""));
            self.w.block();
        }
        self.pass(node)
    }

    /// `<video>`, `<audio>`, `<object>`: a link to the first source; without one, what the
    /// element holds for readers that cannot play it.
    pub(crate) fn media(&mut self, node: Node<'a>) -> u32 {
        let tag = node.tag();
        let source = match tag {
            tag::OBJECT => node.attr_named("data"),
            tag::APPLET => None,
            _ => node
                .attr(attr::SRC)
                .or_else(|| node.attr(attr::DATA_SRC))
                .or_else(|| {
                    let mut sources = node.child_elements().filter(|n| n.tag() == tag::SOURCE);
                    sources.find_map(|n| n.attr(attr::SRC).or_else(|| n.attr(attr::DATA_SRC)))
                }),
        };
        let Some(source) =
            source.filter(|s| !s.trim().is_empty() && !s.trim_start().starts_with("blob:"))
        else {
            return node.id() + 1;
        };
        // What an object holds is said instead of it, and says more.
        if tag == tag::OBJECT && node.child_elements().any(|n| n.tag() != tag::PARAM) {
            return node.id() + 1;
        }
        let own = [attr::TITLE, attr::ARIA_LABEL]
            .into_iter()
            .find_map(|id| node.attr(id));
        let name = own.filter(|n| !n.trim().is_empty()).unwrap_or(match tag {
            tag::VIDEO => "Video",
            tag::AUDIO => "Audio",
            _ => "",
        });
        self.w.block();
        self.named_link(source, name);
        self.w.block();
        self.pass(node)
    }

    /// `<area>`: a link with its description.
    pub(crate) fn area(&mut self, node: Node<'a>) -> u32 {
        let name = [attr::ALT, attr::TITLE]
            .into_iter()
            .find_map(|id| node.attr(id));
        if let (Some(href), Some(name)) = (node.attr(attr::HREF), name)
            && !name.trim().is_empty()
        {
            self.w.soft_space(Space::Blank);
            self.named_link(href, name);
            self.w.soft_space(Space::Blank);
        }
        self.pass(node)
    }

    /// Custom elements that are pictures and films: those of AMP, and frames of YouTube that are
    /// loaded late. A film is no part of the main content, as other frames are none.
    pub(crate) fn player(&mut self, node: Node<'a>) {
        let id = match node.name() {
            "amp-img" => return self.image(node),
            "amp-youtube" => node.attr_named("data-videoid"),
            "lite-youtube" => node.attr_named("videoid"),
            _ => return,
        };
        let is_id = |id: &&str| {
            let mut bytes = id.bytes();
            !id.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        };
        if let Some(id) = id.filter(is_id)
            && !self.is_planned()
        {
            let names = [node.attr(attr::TITLE), node.attr_named("playlabel")];
            let name = names.into_iter().flatten().next().unwrap_or("Video");
            let film = format!("https://www.youtube.com/watch?v={id}");
            self.w.block();
            self.named_link(&film, name);
            self.w.block();
        }
    }

    /// A link that is not an element's content. Without a name its address stands for it.
    /// Inside of another link only the name is written.
    fn named_link(&mut self, href: &str, name: &str) {
        let name = name.trim();
        if self.w.has_mark(Kind::Link) {
            return self.w.text(name);
        }
        let mut tail = std::mem::take(&mut self.w.link_tail);
        tail.clear();
        tail.push_str("](");
        let in_cell = self.w.mode == Mode::Cell;
        if self.to.push(href, in_cell, &mut tail) {
            tail.push(')');
            let url = tail.get(2..tail.len() - 1).unwrap_or("");
            let autolink = url.starts_with("https://") || url.starts_with("http://");
            if name.is_empty() && autolink {
                self.scratch.clear();
                self.scratch.push('<');
                self.scratch.push_str(url);
                self.scratch.push('>');
                let autolink = std::mem::take(&mut self.scratch);
                self.w.raw(&autolink);
                self.scratch = autolink;
                self.w.link_tail = tail;
            } else {
                let name = if name.is_empty() { href.trim() } else { name };
                self.w.link_tail = tail;
                self.w.begin_mark(Kind::Link);
                self.w.text(name);
                self.w.end_mark(Kind::Link);
            }
        } else {
            self.w.link_tail = tail;
        }
    }
}
