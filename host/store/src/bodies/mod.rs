//! Bodies of pages: `encoding` has their stored form, `rows` the table of bodies, `segments` that of
//! the blob store's objects. `upload` writes a commit's bodies to the blob store, `reading` reads
//! bodies, `moving` moves them between database and blob store, `sweep` deletes what nobody refers to.

pub(crate) mod encoding;
pub(crate) mod moving;
mod owner;
mod reading;
pub(crate) mod rows;
pub(crate) mod segments;
pub(crate) mod sweep;
pub(crate) mod upload;
