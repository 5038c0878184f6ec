//! GET /console/assets/{file}: the console's own files, all inside the program.

use axum::extract::Path;
use axum::response::{IntoResponse as _, Response};
use http::header;

use crate::error::ApiError;

/// Name, type and content.
const FILES: [(&str, &str, &[u8]); 3] = [
    (
        "icon.svg",
        "image/svg+xml",
        include_bytes!("assets/icon.svg"),
    ),
    (
        "script.js",
        "text/javascript; charset=utf-8",
        include_bytes!("assets/script.js"),
    ),
    (
        "style.css",
        "text/css; charset=utf-8",
        include_bytes!("assets/style.css"),
    ),
];

pub(super) async fn asset(Path(file): Path<String>) -> Result<Response, ApiError> {
    let found = FILES.iter().find(|(name, ..)| *name == file);
    let (_, kind, content) = found.ok_or_else(ApiError::no_such_path)?;
    // Pages name them with the program's version: another version is another address.
    let headers = [
        (header::CONTENT_TYPE, *kind),
        (header::CACHE_CONTROL, "public, max-age=86400"),
    ];
    Ok((headers, *content).into_response())
}
