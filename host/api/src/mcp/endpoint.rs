//! POST /mcp.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::face::{Caller, Face};
use crate::accept;
use crate::app::App;
use crate::context::Ctx;
use crate::error::{ApiError, CommonErrors, ErrorBody};
use crate::input;
use crate::inside::Inside;
use crate::memory_limit::Holder;
use crate::origin;
use orbweaver_pipeline::sized;

/// Longest reason of a refusal, in bytes.
const MAX_REASON: usize = 4_096;

type Server = Arc<StreamableHttpService<Face, NeverSessionManager>>;

/// The route; its tools send their requests to `inside`.
pub(crate) fn routes(app: &App, inside: &Inside) -> OpenApiRouter<App> {
    let face = Face {
        app: app.clone(),
        inside: inside.clone(),
        caller: Caller::Request,
    };
    // Origins are checked here, for programs as well as pages: see `crate::origin`.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(app.settings.max_body_bytes);
    let make = move || Ok(face.clone());
    let sessions = Arc::<NeverSessionManager>::default();
    let server = StreamableHttpService::new(make, sessions, config);
    described().layer(Extension(Arc::new(server)))
}

/// The route's description.
pub(crate) fn described() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(mcp))
}

/// The Model Context Protocol, streamable HTTP without sessions.
///
/// One JSON-RPC message. The tools are the endpoints that help an agent, and every loaded actor;
/// they are checked, limited and billed as the endpoints are. An error of the API is a tool's
/// result with `isError` and the error's code and message.
#[utoipa::path(
    post,
    path = "/mcp",
    operation_id = "mcp",
    tag = "MCP",
    extensions(("x-extension" = json!(true))),
    request_body(
        content = Object,
        description = "A JSON-RPC 2.0 request or notification",
        example = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ),
    responses(
        (status = 200, description = "The result, as JSON or, after progress, as server-sent events", content(
            (Object = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 202, description = "The notification is accepted"),
        (status = 400, description = "The body is no JSON, or MCP-Protocol-Version is unknown; errors of \
         the protocol itself, as a version that is not supported, are JSON-RPC errors", body = ErrorBody),
        (status = 406, description = "Accept must cover application/json and text/event-stream", body = ErrorBody),
        (status = 415, description = "Content-Type must be application/json", body = ErrorBody),
        (status = 422, description = "The body is no JSON-RPC message", body = ErrorBody),
        CommonErrors,
    )
)]
async fn mcp(
    ctx: Ctx,
    State(app): State<App>,
    Extension(server): Extension<Server>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    origin::check(&app, request.headers())?;
    let (mut parts, body) = request.into_parts();
    let limit = app.settings.max_body_bytes;
    // Read here, for this service's own limits of size and time.
    let head = Request::from_parts(parts.clone(), body);
    let body = input::body(head, &app, limit).await?;
    let is_json = is_json(&parts.headers);
    let (checked, scope) = (body.clone(), ctx.scope.clone());
    let values = app.request_memory.held(Holder::of(&scope));
    let check = move || {
        if is_json {
            input::check_json(&checked)?;
        }
        input::hold_values(&checked, &[], values, Some(&scope))
    };
    sized(body.len(), check).await??;
    parts.extensions.insert(ctx);
    name_accepted(&mut parts.headers);
    let answer = server
        .handle(Request::from_parts(parts, Full::new(body)))
        .await;
    let mut answer = answer.map(Body::new);
    match answer.status() {
        StatusCode::ACCEPTED => *answer.body_mut() = Body::empty(),
        // What the server says of JSON that is no message.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => {
            return Err(ApiError::invalid(
                "body",
                "must be one JSON-RPC 2.0 request or notification",
            ));
        }
        // An error of JSON-RPC is the client's to read: it may name the versions to choose from.
        StatusCode::BAD_REQUEST if !self::is_json(answer.headers()) => {
            let why = axum::body::to_bytes(answer.into_body(), MAX_REASON).await;
            let why = why.unwrap_or_default();
            return Err(ApiError::bad_request(
                String::from_utf8_lossy(&why).into_owned(),
            ));
        }
        _ => {}
    }
    Ok(answer)
}

/// Names both types of answers in `Accept` where its ranges cover them: the server looks for the names.
fn name_accepted(headers: &mut HeaderMap) {
    let takes = |kind, subtype| accept::wanted(headers, kind, subtype).is_accepted();
    if takes("application", "json") && takes("text", "event-stream") {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    let essence = content_type
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next());
    essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}
