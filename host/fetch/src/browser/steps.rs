//! Steps that a caller may request in a loaded page, and the options of its screenshots.

use orbweaver_core::json_number::whole;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A step in a loaded page. There is none that runs a script.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "lowercase", try_from = "Given")]
#[schema(as = BrowserAction)]
pub enum Action {
    /// Clicks the first element that matches, as soon as it is visible.
    Click {
        /// A CSS selector.
        #[schema(min_length = 1, max_length = 1_024)]
        selector: String,
    },
    /// Clicks a field and enters a text.
    Type {
        /// A CSS selector.
        #[schema(min_length = 1, max_length = 1_024)]
        selector: String,
        /// The text.
        #[schema(max_length = 10_000)]
        text: String,
    },
    /// Presses a key.
    Press {
        /// `Enter`, `Tab`, `Escape`, `Backspace`, `Delete`, `Space`, `ArrowUp`, `ArrowDown`,
        /// `ArrowLeft`, `ArrowRight`, `Home`, `End`, `PageUp` or `PageDown`.
        #[schema(
            pattern = "^(Enter|Tab|Escape|Backspace|Delete|Space|ArrowUp|ArrowDown|ArrowLeft|ArrowRight|Home|End|PageUp|PageDown)$"
        )]
        key: String,
    },
    /// Scrolls the page, by default one screen down.
    Scroll {
        /// Where to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        direction: Option<ScrollDirection>,
        /// A CSS selector: scrolls to the first element that matches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(min_length = 1, max_length = 1_024)]
        selector: Option<String>,
    },
    /// Waits for an element, or for a time.
    Wait {
        /// Milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(minimum = 1, maximum = 10_000)]
        milliseconds: Option<u64>,
        /// A CSS selector that an element has to match.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schema(min_length = 1, max_length = 1_024)]
        selector: Option<String>,
    },
    /// Takes a screenshot, with the request's options of screenshots.
    Screenshot {},
}

/// A step as it is written. Of an enum with a tag serde keeps a copy until it knows the tag, and what is
/// wrong or unknown in the copy has no path.
#[derive(Deserialize)]
struct Given {
    #[serde(rename = "type")]
    kind: Kind,
    selector: Option<String>,
    text: Option<String>,
    key: Option<String>,
    direction: Option<ScrollDirection>,
    #[serde(default, deserialize_with = "whole")]
    milliseconds: Option<u64>,
}

/// The kind of a step.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Click,
    Type,
    Press,
    Scroll,
    Wait,
    Screenshot,
}

impl TryFrom<Given> for Action {
    type Error = String;

    /// An error has the words of serde for a member that is missing.
    fn try_from(given: Given) -> Result<Self, String> {
        let Given {
            kind,
            selector,
            text,
            key,
            direction,
            milliseconds,
        } = given;
        let needed = |member: Option<String>, name: &str| {
            member.ok_or_else(|| format!("missing field `{name}`"))
        };
        Ok(match kind {
            Kind::Click => Self::Click {
                selector: needed(selector, "selector")?,
            },
            Kind::Type => Self::Type {
                selector: needed(selector, "selector")?,
                text: needed(text, "text")?,
            },
            Kind::Press => Self::Press {
                key: needed(key, "key")?,
            },
            Kind::Scroll => Self::Scroll {
                direction,
                selector,
            },
            Kind::Wait => Self::Wait {
                milliseconds,
                selector,
            },
            Kind::Screenshot => Self::Screenshot {},
        })
    }
}

/// Where a page is scrolled to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScrollDirection {
    /// One screen down.
    #[default]
    Down,
    /// One screen up.
    Up,
    /// To the end of the page.
    Bottom,
    /// To its beginning.
    Top,
}

/// Options of screenshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[schema(as = ScreenshotOptions)]
pub struct PictureOptions {
    /// The size of the browser's window.
    pub viewport: Option<Viewport>,
    /// The whole page, and not only what the window shows.
    #[schema(default = true)]
    pub full_page: Option<bool>,
    /// The form of the file.
    #[schema(default = "png")]
    pub format: Option<PictureFormat>,
    /// Quality of JPEG and WebP.
    #[schema(minimum = 1, maximum = 100, default = 80)]
    pub quality: Option<u8>,
    /// A CSS selector: only the first element that matches.
    #[schema(min_length = 1, max_length = 1_024)]
    pub selector: Option<String>,
    /// Tell the page that its visitor prefers dark colours.
    #[schema(default = false)]
    pub dark_mode: Option<bool>,
}

/// The size of a browser's window, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub struct Viewport {
    /// Its width.
    #[schema(minimum = 64, maximum = 4_096)]
    pub width: u32,
    /// Its height.
    #[schema(minimum = 64, maximum = 4_096)]
    pub height: u32,
}

/// The form of a screenshot's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ScreenshotFormat)]
pub enum PictureFormat {
    /// Without loss.
    #[default]
    Png,
    /// Small, with loss.
    Jpeg,
    /// Smaller, with loss.
    Webp,
}

impl PictureFormat {
    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpeg",
            Self::Webp => "webp",
        }
    }

    /// Its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
        }
    }
}

/// Keys that can be pressed: name, code, number and text.
pub(super) const KEYS: [Key; 14] = [
    Key::new("Enter", "Enter", 13, "\r"),
    Key::new("Tab", "Tab", 9, ""),
    Key::new("Escape", "Escape", 27, ""),
    Key::new("Backspace", "Backspace", 8, ""),
    Key::new("Delete", "Delete", 46, ""),
    Key::new("Space", "Space", 32, " "),
    Key::new("ArrowUp", "ArrowUp", 38, ""),
    Key::new("ArrowDown", "ArrowDown", 40, ""),
    Key::new("ArrowLeft", "ArrowLeft", 37, ""),
    Key::new("ArrowRight", "ArrowRight", 39, ""),
    Key::new("Home", "Home", 36, ""),
    Key::new("End", "End", 35, ""),
    Key::new("PageUp", "PageUp", 33, ""),
    Key::new("PageDown", "PageDown", 34, ""),
];

/// A key of a keyboard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) code: &'static str,
    pub(super) number: u8,
    /// What it enters.
    pub(super) text: &'static str,
}

impl Key {
    const fn new(name: &'static str, code: &'static str, number: u8, text: &'static str) -> Self {
        Self {
            name,
            code,
            number,
            text,
        }
    }
}

/// Names of the keys that [`Action::Press`] knows.
pub fn key_names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.name)
}
