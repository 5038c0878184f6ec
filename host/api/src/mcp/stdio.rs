//! MCP over standard input and output, for a client that starts this program itself.

use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;

use super::face::{Caller, Face};
use crate::app::App;
use crate::context::Ctx;
use crate::rest;
use crate::scope::Scope;
use orbweaver_store::Principal;

/// Answers this process's client on behalf of a project, until standard input ends.
///
/// # Errors
/// When the client breaks the protocol's handshake.
pub async fn serve_stdio(app: App, principal: Principal) -> std::io::Result<()> {
    let principal = Arc::new(principal);
    let inside = rest::inside(&app);
    let local = {
        let app = app.clone();
        move || {
            let scope = Scope::new("stdio".into(), true);
            scope.identify(&principal, app.clock.now());
            Ctx {
                app: app.clone(),
                principal: Arc::clone(&principal),
                scope,
                idempotency_key: None,
                path: String::new(),
            }
        }
    };
    let face = Face {
        app,
        inside,
        caller: Caller::Local(Arc::new(local)),
    };
    let running = face
        .serve(stdio_pipes())
        .await
        .map_err(std::io::Error::other)?;
    running.waiting().await.map_err(std::io::Error::other)?;
    Ok(())
}
