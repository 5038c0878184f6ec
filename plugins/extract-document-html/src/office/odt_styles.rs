//! What the styles of an ODT say of lists and of parts of text.

use std::collections::HashMap;

use super::sink::Script;
use crate::xml::Element;

/// What a style makes of a part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It is not shown.
    Hidden,
    Script(Script),
}

/// The styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    /// Levels of lists by style and level from 1: the number of the first item, if items have one.
    levels: HashMap<(String, usize), Option<u32>>,
    looks: HashMap<String, Look>,
    /// The style that is being read.
    name: String,
}

impl Styles {
    /// Reads a start tag. Returns whether it is one of a style.
    pub(super) fn start(&mut self, element: &Element<'_>) -> bool {
        match element.name() {
            "text:list-style" | "style:style" => {
                self.name = element.attribute("name").unwrap_or_default();
            }
            kind if kind.starts_with("text:list-level-style-") => {
                let number = |name| element.attribute(name).and_then(|n| n.parse().ok());
                // A level without a format has no numbers.
                let is_numbered = kind.ends_with("-number")
                    && element.attribute("num-format").as_deref() != Some("");
                let level = number("level").map_or(1, |level: u32| level as usize);
                let start = is_numbered.then(|| number("start-value").unwrap_or(1));
                self.levels.insert((self.name.clone(), level), start);
            }
            "style:text-properties" => {
                if let Some(look) = look(element) {
                    self.looks.insert(self.name.clone(), look);
                }
            }
            _ => return false,
        }
        true
    }

    /// What a style says of a level from 1, if it says anything: the number of the first item, if
    /// items have one.
    pub(super) fn level(&self, style: &str, level: usize) -> Option<Option<u32>> {
        self.levels.get(&(style.to_owned(), level)).copied()
    }

    /// What a style makes of a part of a text.
    pub(super) fn look(&self, style: Option<&str>) -> Option<Look> {
        self.looks.get(style?).copied()
    }
}

/// What properties of text say (OpenDocument 1.3, 20.432, 20.396).
fn look(element: &Element<'_>) -> Option<Look> {
    if element.attribute("display").as_deref() == Some("none") {
        return Some(Look::Hidden);
    }
    let position = element.attribute("text-position")?;
    let position = position.split_whitespace().next()?;
    let raised = position
        .strip_suffix('%')
        .and_then(|p| p.parse::<f32>().ok());
    match (position, raised) {
        ("super", _) => Some(Look::Script(Script::Super)),
        ("sub", _) => Some(Look::Script(Script::Sub)),
        (_, Some(raised)) if raised > 0.0 => Some(Look::Script(Script::Super)),
        (_, Some(raised)) if raised < 0.0 => Some(Look::Script(Script::Sub)),
        _ => None,
    }
}
