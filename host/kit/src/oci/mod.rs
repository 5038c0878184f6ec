//! Components in OCI registries, in the form of the CNCF's Wasm OCI artefact: a manifest with a config of type
//! `application/vnd.wasm.config.v0+json` and one layer of type `application/wasm`.
//!
//! A [`Registry`] speaks the distribution protocol by the one fetcher and its guard. A [`Reference`] names an
//! artefact, [`Lock`] keeps which one was installed, and [`signature`] checks and makes signatures in the
//! simple-signing form of cosign.

mod artifact;
mod credentials;
mod lock;
mod reference;
mod registry;
pub mod signature;

pub use artifact::{Pulled, Pushed};
pub use credentials::Credentials;
pub use lock::{Lock, Locked};
pub use reference::{Digest, Reference};
pub use registry::Registry;
