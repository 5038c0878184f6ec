//! The main content of a page: which of its texts a reader comes for.
//!
//! Every format that shows the main content is rendered from one [`Content`]: plain text and
//! HTML here, Markdown by the `markdown` extractor. Passes over the snapshot's flat list of
//! nodes, none of them recursive: `measure` counts characters, links and running text and
//! reads what class names say, `choose` sums that up the tree and picks the subtree that
//! holds the content, and `clean` takes out of it what is not content.

pub mod apart;
mod beside;
pub mod blocks;
mod brief;
mod choose;
mod clean;
mod comments;
mod content;
mod context;
mod control;
mod dealings;
mod decide;
pub mod features;
mod figure;
mod forest;
mod gaps;
pub mod headings;
mod html;
pub mod invisible;
mod kind;
pub mod label;
mod lexicon;
mod lines;
mod lower;
pub mod math;
pub mod measure;
mod menus;
mod names;
mod page_type;
mod parts;
mod phrases;
pub mod raw;
mod repeated;
mod scan;
mod sections;
mod select;
mod slug;
mod stated;
mod statements;
mod steps;
pub mod survey;
pub mod table;
#[cfg(test)]
mod testing;
mod text;
mod usual;
pub mod visible;
mod word;
pub mod words;

pub use content::{Content, Selection};
pub use kind::Kind;
pub use page_type::PageType;
