//! Reads HTML source without building a tree: tags and texts as ranges of the source, character
//! references, and refreshes. Shared by the host's page pass, the parser's writer and plugins.

pub mod names;
pub mod references;
mod refresh;
mod tokens;
mod xml;

pub use names::Name;
pub use references::{Place, decode_into, is_encoded};
pub use refresh::Refresh;
pub use tokens::{Tag, Token, Tokens};
pub use xml::xml_root;
