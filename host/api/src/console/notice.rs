//! What the answer to a form warns of, on the page that follows: that page's address carries it, sealed, so
//! that nobody else's words are shown.

use axum::response::{IntoResponse as _, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::app::App;

/// What the warnings are sealed for.
const PURPOSE: &str = "console notice";
/// The parameter that holds them.
const NAME: &str = "notice";
/// Longest warning that is shown, in characters.
const MAX_CHARS: usize = 300;
/// Most bytes of all of them: an address is short.
const MAX_BYTES: usize = 3_000;

/// Leads to a page, which shows what the answer warns of.
pub(super) fn redirect(app: &App, path: &str, answer: &Value) -> Response {
    let to = sealed(app, answer).map(|sealed| format!("{path}?{NAME}={sealed}"));
    Redirect::to(to.as_deref().unwrap_or(path)).into_response()
}

fn sealed(app: &App, answer: &Value) -> Option<String> {
    let warnings = answer.get("warnings")?.as_array()?;
    let mut left = MAX_BYTES;
    let fitting: Vec<String> = warnings
        .iter()
        .filter_map(Value::as_str)
        .map(|warning| warning.chars().take(MAX_CHARS).collect::<String>())
        .take_while(|warning| {
            let fits = warning.len() <= left;
            left = left.saturating_sub(warning.len());
            fits
        })
        .collect();
    let text = serde_json::to_string(&fitting).ok()?;
    let sealed = app.accounts.seal.seal(&text, PURPOSE).ok()?;
    Some(URL_SAFE_NO_PAD.encode(sealed))
}

/// The warnings that a page's query holds.
pub(super) fn read(app: &App, query: Option<&str>) -> Vec<String> {
    let held = || {
        let query = query?.as_bytes();
        let (_, sealed) = form_urlencoded::parse(query).find(|(name, _)| name == NAME)?;
        let sealed = URL_SAFE_NO_PAD.decode(sealed.as_bytes()).ok()?;
        let text = app.accounts.seal.open(&sealed, PURPOSE)?;
        serde_json::from_str(&text).ok()
    };
    held().unwrap_or_default()
}
