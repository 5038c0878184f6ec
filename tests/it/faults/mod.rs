//! What the service survives: a server for each fault, the fault run through the service
//! as its users meet it, and after each the host ready and a good page scanned. Tests are
//! named after the rows of the list of crawler faults.

mod body;
mod charsets;
mod codings;
mod content;
mod crawls;
mod headers;
mod network;
mod redirects;
mod site_files;
mod support;
