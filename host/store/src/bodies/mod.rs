//! Bodies of pages: `encoding` has their stored form, `rows` the table that they are in.

pub(crate) mod encoding;
pub(crate) mod rows;
