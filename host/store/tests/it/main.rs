//! The store's behaviour, on both databases.

mod crawls;
mod monitors;
mod schema;
mod store;
mod support;
