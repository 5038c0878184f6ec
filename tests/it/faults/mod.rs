//! What the service survives: a server produces each fault, a scan or crawl meets it, and
//! afterwards the host is ready and a good page can be scanned. Each test is named after its
//! number in the list of crawler faults.

mod body;
mod charsets;
mod codings;
mod content;
mod crawls;
mod headers;
mod network;
mod redirects;
mod refreshes;
mod site_files;
mod support;
