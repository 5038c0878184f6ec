//! The kit of plugin authors: what `orbweaver plugin new`, `build`, `run`, `test` and `dev` do.
//!
//! A [`project`] is a folder with a `plugin.toml` and sources in one of three languages; [`new`]
//! creates one and [`build`](project::Project::build) makes its component. A [`Runner`] calls a
//! component outside the service: its requests go to the web, to the web and into files, or are
//! answered from those files ([`web`]). [`cases`] are calls with their expected answers. Nothing here needs a
//! database or a checkout of the source.

mod call;
pub mod cases;
mod files;
mod host;
pub mod new;
pub mod oci;
pub mod project;
mod report;
mod runner;
mod sdk;
mod state;
mod templates;
pub mod watch;
pub mod web;

pub use call::PluginCall;
pub use report::{HostCall, Report};
pub use runner::Runner;
