//! Asks the caller before the main frame of a page requests another document.

use std::fmt;
use std::sync::{Arc, Weak};

use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::cdp::Connection;
use super::events::Watch;
use super::render::RenderExtras;
use super::request_headers::send_on;
use crate::error::{Fault, Kind};

/// Most documents of one page that the caller is asked about.
const MAX_ASKED: u32 = 32;

/// Decides whether the main frame may request a document at a URL: by a redirect, a refresh, a script or an
/// action. The document that was asked for itself is not asked about.
#[derive(Clone)]
pub struct MayRequest(pub Arc<dyn Fn(String) -> BoxFuture<'static, bool> + Send + Sync>);

impl fmt::Debug for MayRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MayRequest")
    }
}

/// The gate of one page.
pub(super) struct Gate {
    /// The document that was asked for.
    pub own: String,
    pub may: MayRequest,
    pub connection: Connection,
    pub session: String,
    /// The page's state, which holds the gate.
    pub watch: Weak<Watch>,
    /// How often the caller was asked.
    pub asked: u32,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

/// A request that the browser has stopped before it is sent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Paused {
    request_id: String,
    frame_id: String,
    resource_type: String,
    request: PausedRequest,
}

#[derive(Deserialize)]
struct PausedRequest {
    url: String,
}

impl Gate {
    /// Takes a stopped request if it is one of the main frame for another document: sends it on once the
    /// caller has allowed it, or ends the render. `false` if it is none.
    pub fn takes(
        &mut self,
        params: &str,
        frame: Option<&str>,
        extras: Option<&RenderExtras>,
    ) -> bool {
        let Ok(paused) = serde_json::from_str::<Paused>(params) else {
            return false;
        };
        let Paused {
            request_id,
            frame_id,
            resource_type,
            request: PausedRequest { url },
        } = paused;
        if resource_type != "Document" || frame != Some(&*frame_id) || url == self.own {
            return false;
        }
        self.asked += 1;
        let answer = (self.asked <= MAX_ASKED).then(|| (self.may.0)(url.clone()));
        let (connection, session) = (self.connection.clone(), self.session.clone());
        let (watch, extras) = (Weak::clone(&self.watch), extras.cloned());
        let params = params.to_owned();
        tokio::spawn(async move {
            let may = match answer {
                Some(answer) => answer.await,
                None => false,
            };
            let command = if may {
                send_on(&params, extras.as_ref())
            } else {
                if let Some(watch) = watch.upgrade() {
                    let message = format!("the page leads to {url}, which is not to be requested");
                    watch.refuse(Fault::new(Kind::Scope, None, message));
                }
                let params = json!({"requestId": request_id, "errorReason": "BlockedByClient"});
                Some(("Fetch.failRequest", params))
            };
            if let Some((method, params)) = command {
                connection.tell(Some(&session), method, &params);
            }
        });
        true
    }
}
