//! Someone who is signed in, as pages show it.

use crate::context::Ctx;

/// Someone who is signed in.
#[derive(Clone, Debug)]
pub(super) struct Visitor {
    /// The context of a request with the key.
    pub(super) ctx: Ctx,
    /// The token against forged requests, in every form.
    pub(super) csrf: String,
    /// Where clients reach the API.
    pub(super) base: String,
    /// What the answer to a form warned of, which led here.
    pub(super) warnings: Vec<String>,
}
