//! The one place in Orbweaver that talks to the network.
//!
//! [`Fetcher::fetch`] judges the URL, resolves and judges every address and connects to
//! just those, follows redirects by the same rules, and decodes the body under limits of
//! time and size. Whatever goes wrong is a [`FetchError`] with a stable word. The HTTP
//! library behind it shows nowhere in this interface.

mod bodies;
mod browser;
mod classify;
mod client;
mod config;
mod cookies;
mod course;
mod decode;
mod error;
mod exchange;
mod fetcher;
mod pools;
mod proxy;
mod proxy_answer;
mod request;
mod resolve;
mod response;
mod site;

pub use browser::{
    BROWSERS, BrowserConfig, Isolation, RenderRequest, Rendered, Renderer, Sandbox, WaitFor,
    find_browser,
};
pub use client::ConfigError;
pub use config::{FetchConfig, Limits};
pub use cookies::CookieJar;
pub use course::{check_header, is_impersonal};
pub use error::{FetchError, Kind, SubKind};
pub use fetcher::{Fetcher, PROXY_TRIES};
pub use http::Method;
pub use pools::Candidate;
pub use proxy::{InvalidProxy, Pool, ProxyUrl};
pub use request::{HopCheck, HopVerdict, Oversize, Request};
pub use resolve::{ResolveError, Resolver, SystemResolver};
pub use response::{Headers, Hop, Raw, Response, Timings};
pub use site::{RobotsAnswer, RobotsFailure, RobotsVerdict, SiteFiles, TextFile};
