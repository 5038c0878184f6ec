//! The flat DOM snapshot: what the host writes once per page and every plugin reads.
//!
//! A snapshot is two typed lists, `words` (fixed-size records of 32-bit integers) and
//! `text` (every string of the document), so that handing a parsed page to a sandboxed
//! guest is two copies and no decoding. [`format`](mod@format) describes the records, [`View`] reads
//! them, [`Selector`] runs CSS selectors over them. The host's side, which turns HTML into
//! a snapshot, is behind the feature `write` and never part of a plugin.
//!
//! Nodes are in document order, so a subtree is a contiguous range of ids and most
//! walks are a loop over integers. Nothing here recurses: a page a million levels
//! deep overflows no stack.

pub mod format;
pub mod html;
mod names;
mod node;
mod select;
mod snapshot;
pub mod text;
mod view;
mod work;
#[cfg(feature = "write")]
mod write;

pub use names::{attr, tag};
pub use node::{Attr, Kind, Namespace, Node};
pub use select::{Select, Selector, SelectorError};
pub use snapshot::{Snapshot, SnapshotError};
pub use view::View;
pub use work::Work;
#[cfg(feature = "write")]
pub use write::{Limits, ParseNeed, parse, parse_with};
