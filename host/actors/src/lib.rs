//! Actors and per-domain fetchers: plugin calls that use the host's services, and their bills.
//! Also runs of actors in the background ([`jobs`]), and the plugins that an administrator uploads.

mod call;
mod caller;
pub mod config;
mod context;
mod graph;
mod host;
pub mod jobs;
mod ledger;
pub mod plugins;
mod secrets;
mod state;
mod tariff;
mod urls;

pub use call::{ActorCall, CallError, directory, run_actor, run_fetcher};
pub use context::{Actors, ActorsParts};
pub use state::{PluginValues, StateTurns};
pub use urls::check_urls;

/// Boxes the future of a public async function, so that it is compiled here, once, and not in
/// every crate that awaits it.
pub(crate) use async_recursion::async_recursion as boxed;
