//! Helpers of the tests: a service, a site to scan, and an HTTP client.

pub mod database;
pub mod described;
pub mod http;
pub mod http2;
pub mod names;
pub mod receiver;
pub mod runs;
pub mod service;
pub mod site;
pub mod vendor;
pub mod wait;

pub use http::{Client, closed_port};
pub use names::Names;
pub use receiver::{ReceivedRequest, Receiver, Reply};
pub use service::{KEY, Service, fixture, plugin_dir};
pub use site::Site;
