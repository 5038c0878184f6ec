//! Reading XML that may be damaged: events with references decoded.

use orbweaver_markup::{Place, decode_into};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Deepest nesting of elements that is read.
const MAX_DEPTH: usize = 2_000;

/// One event.
pub(crate) enum Xml<'a> {
    /// A start tag. A tag that closes itself is followed by its [`Xml::End`].
    Start(Element<'a>),
    /// An end tag, by its name as written.
    End(String),
    /// Text, with references decoded.
    Text(String),
}

/// A start tag.
pub(crate) struct Element<'a>(BytesStart<'a>);

impl Element<'_> {
    /// The name as written, with its prefix.
    pub(crate) fn name(&self) -> &str {
        self.0.name().into_inner()
    }

    /// The name without its prefix.
    pub(crate) fn local(&self) -> &str {
        local(self.name())
    }

    /// The first attribute of this name, prefix ignored.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.0.attributes();
        let attributes = attributes.with_checks(false).flatten();
        let found = attributes
            .filter(|one| local(one.key.into_inner()) == name)
            .take(1)
            .next()?;
        let mut value = String::new();
        decode_into(&found.value, Place::Attribute, &mut value);
        Some(value)
    }
}

/// A name without its prefix.
pub(crate) fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// Calls `each` for every event until the end, or until the XML is so damaged that nothing more
/// can be read. Returns whether the end was reached.
pub(crate) fn read<'a>(xml: &'a str, mut each: impl FnMut(Xml<'a>)) -> bool {
    let mut reader = Reader::from_str(xml);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut depth = 0_usize;
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return false;
                }
                each(Xml::Start(Element(start)));
            }
            Ok(Event::Empty(start)) => {
                let name = start.name().into_inner().to_owned();
                each(Xml::Start(Element(start)));
                each(Xml::End(name));
            }
            Ok(Event::End(end)) => {
                depth = depth.saturating_sub(1);
                each(Xml::End(end.name().into_inner().to_owned()));
            }
            Ok(Event::Text(text)) => each(Xml::Text(text.into_inner().into_owned())),
            Ok(Event::CData(text)) => each(Xml::Text(text.into_inner().into_owned())),
            Ok(Event::GeneralRef(name)) => {
                let mut text = String::new();
                let written = format!("&{};", name.into_inner());
                decode_into(&written, Place::Text, &mut text);
                each(Xml::Text(text));
            }
            Ok(Event::Eof) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}
