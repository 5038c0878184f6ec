//! Test servers on loopback: sites of given pages, one route for each way in which a server
//! can fail, TLS with bad certificates, proxies.
//!
//! A large site is made from a seed, for crawls that are counted, resumed or timed.
//!
//! They use plain sockets, so that they can break every rule of HTTP.

mod conn;
mod fault;
mod large;
mod proxy;
mod site;
mod smtp;
mod tls;

pub use conn::Recorded;
pub use fault::{BOMB_BYTES, bomb};
pub use large::{LargeSite, SiteSpec};
pub use proxy::Proxy;
pub use site::{Origin, Reply};
pub use smtp::{Mail, SmtpServer};
pub use tls::{Certificates, Flaw, TlsOrigin};
