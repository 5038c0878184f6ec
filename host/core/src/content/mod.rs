//! The kind of a body, and the hash by which its content is compared.

mod document;
mod kind;
mod mime;

use sha2::{Digest, Sha256};

pub use kind::{Kind, Sniffed, after_comments, is_text_type, looks_like_html, sniff};
pub use mime::{charset_param, essence};

/// The content hash of a body that is not HTML, or the digest of any body: SHA-256 over
/// the decoded bytes, lower-case hex. HTML has [`page_pass`](crate::page::page_pass).
pub fn bytes_hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
