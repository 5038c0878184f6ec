//! Faults that a fetch must survive, on real connections. A test's number is that of the fault
//! in the list of crawler faults that this crate handles.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod body;
mod browser;
mod decoding;
mod dns;
mod guard;
mod headers;
mod network;
mod proxies;
mod redirects;
mod site_files;
mod support;
mod tls;
