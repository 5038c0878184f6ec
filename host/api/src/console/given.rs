//! What the query of a page's address says.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use serde::de::DeserializeOwned;

/// The query; nothing where it cannot be read: addresses of pages are typed and cut off, and a page shows what
/// it can.
pub(super) struct Given<T>(pub T);

impl<T: DeserializeOwned + Default, S: Sync> FromRequestParts<S> for Given<T> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let read = Query::try_from_uri(&parts.uri);
        Ok(Self(read.map(|Query(given)| given).unwrap_or_default()))
    }
}
