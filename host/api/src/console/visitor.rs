//! Someone who is signed in, as pages show it.

use crate::context::Ctx;

/// Someone who is signed in.
#[derive(Clone, Debug)]
pub(super) struct Visitor {
    /// As of a request with the key.
    pub(super) ctx: Ctx,
    /// To stand in every form.
    pub(super) csrf: String,
    /// Where clients reach the API.
    pub(super) base: String,
}
