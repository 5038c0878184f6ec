//! Server-sent events that follow something until it ends.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use http::HeaderMap;

/// A comment is sent after this long without an event, so that proxies keep the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// What is followed.
pub(crate) trait Follow: Send + 'static {
    /// The next event; none at the end.
    fn next(&mut self) -> impl Future<Output = Option<Event>> + Send;
}

/// Answers with the events of what is followed.
pub(crate) fn answer(follower: impl Follow) -> Response {
    let events = stream::unfold(follower, |mut follower| async move {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    Sse::new(events)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response()
}

/// The id of the last event that the client has, if it connects again.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get("last-event-id")?;
    value.to_str().ok().map(str::trim)
}
