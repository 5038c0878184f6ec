//! Projects, their keys, quota and usage, signup and billing.

pub mod address;
pub mod auth;
pub mod billing;
pub mod bootstrap;
pub mod clock;
pub mod config;
pub mod context;
pub mod fair;
pub mod issue;
pub mod key;
pub mod mail;
mod outbound;
pub mod project_name;
pub mod quota;
pub mod random;
pub mod registry;
pub mod seal;
pub mod secret;
pub mod signup;
pub mod tiers;
pub mod usage;

pub use context::{Accounts, AccountsParts};
