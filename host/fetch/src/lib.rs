//! HTTP client of Orbweaver: the only crate that sends HTTP requests to the web.
//!
//! [`Fetcher::fetch`] checks the URL, resolves its name, checks every address and connects only
//! to those. It follows redirects by the same rules, and decodes the body within limits of time
//! and size. Every failure is a [`FetchError`] with a stable kind. The HTTP library is not part
//! of this interface.

mod allowance;
mod bodies;
mod browser;
mod classify;
mod client;
mod config;
mod cookies;
mod decode;
mod error;
mod exchange;
mod fetcher;
mod hop_state;
mod lookups;
mod pools;
mod proxy;
mod proxy_answer;
mod request;
mod resolve;
mod response;
mod site;
mod traffic;

pub use allowance::Allowance;
pub use browser::{
    Action, BROWSERS, BrowserConfig, CUT, Isolation, MayRequest, NoPicture, PictureFormat,
    PictureOptions, Receives, RenderExtras, RenderRequest, Rendered, Renderer, Sandbox,
    ScrollDirection, SessionCookies, Viewport, WaitFor, find_browser, key_names,
};
pub use client::ConfigError;
pub use config::{FetchConfig, Limits};
pub use cookies::CookieJar;
pub use error::{FetchError, Kind, SubKind};
pub use fetcher::{Download, Fetcher, PROXY_TRIES};
pub use hop_state::{is_impersonal, is_same_site};
pub use http::Method;
pub use lookups::Lookups;
pub use pools::Candidate;
pub use proxy::{InvalidProxy, ProxyPool, ProxyUrl};
pub use request::{HopCheck, HopVerdict, Oversize, PersonalOf, Request};
pub use resolve::{ResolveError, Resolver, SystemResolver};
pub use response::{Headers, Hop, INCOMPLETE, Raw, Response, Timings};
pub use site::{
    Personal, RobotsAnswer, RobotsFailure, RobotsRead, RobotsVerdict, SiteFiles, TextFile, Way,
};
pub use traffic::Traffic;

/// Boxes the future of a public async function, so that it is compiled here, once, and not in
/// every crate that awaits it.
pub(crate) use async_recursion::async_recursion as boxed;
