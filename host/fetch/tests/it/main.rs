//! What a fetch survives, on real connections. Tests are named after the fault that they
//! are about; numbers are those of the list of crawler faults.

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
