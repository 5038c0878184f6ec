//! The layout of a snapshot's words. Version [`VERSION`]; frozen together with the WIT package.
//!
//! ```text
//! header  [MAGIC | VERSION] [nodes] [attributes] [flags] [reserved x 4]
//! nodes   NODE_WORDS words each, document order; node 0 is the document
//! attrs   ATTR_WORDS words each
//! ```
//!
//! A node:
//!
//! | word | element | text, comment, doctype |
//! |---|---|---|
//! | 0 | kind (bits 0–7), namespace (8–15), tag id (16–31; 0: see below) | kind |
//! | 1 | parent, [`NONE`] for the document | the same |
//! | 2 | end of its subtree: the id after its last descendant | own id + 1 |
//! | 3 | previous sibling or [`NONE`] | the same |
//! | 4 | index of its first attribute | offset in `text` |
//! | 5 | number of attributes | length in bytes |
//!
//! First child and next sibling follow from these: a node has children if its end is
//! more than its id + 1, and the first is id + 1; the next sibling is its end, unless
//! that is the parent's end. The contents of `<template>` are its children.
//!
//! An element whose name is not in the tag table has tag id 0, and the attribute record
//! *before* its first holds the name as a value.
//!
//! An attribute: `[name id | namespace << 16] [value offset] [value length] [name length]`. A
//! name that is not in the table has id 0 and stands in `text` directly before the value,
//! `name length` bytes long (0 for names of the table).

/// First word of every snapshot: a mark in the upper half, the version in the lower.
pub const MAGIC: u32 = 0x4f57_0000;
/// This crate writes and reads version 1.
pub const VERSION: u32 = 1;
/// Words before the first node.
pub const HEADER_WORDS: usize = 8;
/// Words of one node.
pub const NODE_WORDS: usize = 6;
/// Words of one attribute.
pub const ATTR_WORDS: usize = 4;
/// "No node" where a node id is expected.
pub const NONE: u32 = u32::MAX;

/// Header flag: the document is in quirks mode.
pub const FLAG_QUIRKS: u32 = 1;
/// Header flag: the tree was cut at the writer's depth or node limit.
pub const FLAG_TRUNCATED: u32 = 2;

/// Node kind, word 0 bits 0–7: the document.
pub const KIND_DOCUMENT: u32 = 0;
/// Node kind: an element.
pub const KIND_ELEMENT: u32 = 1;
/// Node kind: a text.
pub const KIND_TEXT: u32 = 2;
/// Node kind: a comment.
pub const KIND_COMMENT: u32 = 3;
/// Node kind: a doctype; its text is its name.
pub const KIND_DOCTYPE: u32 = 4;

/// Namespace, word 0 bits 8–15 of an element and bits 16–23 of an attribute: HTML for an element,
/// none for an attribute.
pub const NS_HTML: u32 = 0;
/// Namespace: SVG.
pub const NS_SVG: u32 = 1;
/// Namespace: MathML.
pub const NS_MATHML: u32 = 2;
/// Namespace: XLink, of attributes.
pub const NS_XLINK: u32 = 3;
/// Namespace: XML, of attributes.
pub const NS_XML: u32 = 4;
/// Namespace: XMLNS, of attributes.
pub const NS_XMLNS: u32 = 5;
/// Namespace: none of these.
pub const NS_OTHER: u32 = 6;
