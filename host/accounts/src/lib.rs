//! Projects, their keys, quota and usage, signup and billing.

pub mod auth;
pub mod billing;
pub mod bootstrap;
pub mod clock;
pub mod config;
pub mod context;
pub mod customer_address;
pub mod due;
pub mod fair;
pub mod heartbeat;
pub mod key;
pub mod mail;
pub mod new_key;
mod outbound;
pub mod project_name;
pub mod project_secret;
pub mod quota;
pub mod random;
pub mod registry;
pub mod same_secret;
pub mod seal;
pub mod secret;
pub mod signup;
pub mod tiers;
pub mod usage;

pub use context::{Accounts, AccountsParts};

/// Boxes the future of a public async function, so that it is compiled here, once, and not in
/// every crate that awaits it.
pub(crate) use async_recursion::async_recursion as boxed;
