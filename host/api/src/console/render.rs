//! Pages from templates.

use std::sync::LazyLock;

use axum::response::{Html, IntoResponse as _, Response};
use http::{HeaderValue, header};
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value};
use orbweaver_engine::Kind;
use serde_json::json;

use super::markdown;
use super::visitor::Visitor;
use crate::error::ApiError;
use crate::inside::Failure;

/// Files of this server alone, and no inline script or style.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);
/// Under `no-referrer` a browser would send `Origin: null` with our own forms.
const REFERRER: HeaderValue = HeaderValue::from_static("same-origin");

/// All templates; what they print is escaped, since their names end in `.html`.
pub(super) const TEMPLATES: [(&str, &str); 19] = [
    ("actor.html", include_str!("templates/actor.html")),
    ("actors.html", include_str!("templates/actors.html")),
    ("crawls.html", include_str!("templates/crawls.html")),
    ("diff.html", include_str!("templates/diff.html")),
    ("error.html", include_str!("templates/error.html")),
    ("keys.html", include_str!("templates/keys.html")),
    ("layout.html", include_str!("templates/layout.html")),
    ("macros.html", include_str!("templates/macros.html")),
    ("monitor.html", include_str!("templates/monitor.html")),
    ("monitors.html", include_str!("templates/monitors.html")),
    ("page.html", include_str!("templates/page.html")),
    ("playground.html", include_str!("templates/playground.html")),
    ("plugin.html", include_str!("templates/plugin.html")),
    ("plugins.html", include_str!("templates/plugins.html")),
    ("render.html", include_str!("templates/render.html")),
    ("run.html", include_str!("templates/run.html")),
    ("search.html", include_str!("templates/search.html")),
    ("usage.html", include_str!("templates/usage.html")),
    ("welcome.html", include_str!("templates/welcome.html")),
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.add_filter("markdown", |text: String| {
        Value::from_safe_string(markdown::render(&text))
    });
    environment.add_filter("described", |text: Option<String>| {
        Value::from_safe_string(markdown::description(text.as_deref().unwrap_or_default()))
    });
    environment.add_filter("link", |address: String| markdown::safe_link(&address));
    environment.add_filter("pretty", |value: Value| {
        serde_json::to_string_pretty(&value).unwrap_or_default()
    });
    environment.add_filter("moment", |time: Option<String>| moment(time.as_deref()));
    environment.add_filter("file_prefix", |kind: String| {
        let kind = Kind::ALL.into_iter().find(|known| known.as_str() == kind);
        kind.map(Kind::file_prefix)
    });
    environment.add_filter("words", |name: String| words(&name));
    environment.add_filter("span", |seconds: i64| span(seconds));
    environment.add_filter("grouped", |number: Option<i64>| number.map(grouped));
    for (name, source) in TEMPLATES {
        if let Err(error) = environment.add_template(name, source) {
            tracing::error!(name, %error, "a template of the console is wrong");
        }
    }
    environment
});

/// `2026-03-01 12:00:05` of an RFC 3339 time in UTC; a dash where there is none.
fn moment(time: Option<&str>) -> String {
    let Some(time) = time.filter(|time| !time.is_empty()) else {
        return "–".to_owned();
    };
    match time.get(..19) {
        Some(short) => short.replace('T', " "),
        None => time.to_owned(),
    }
}

/// `Include links` of a field's name `include_links`.
fn words(name: &str) -> String {
    let words: Vec<String> = name
        .split('_')
        .enumerate()
        .map(|(place, word)| match word {
            "url" | "id" | "html" | "css" => word.to_uppercase(),
            "urls" => "URLs".to_owned(),
            "ms" => "(ms)".to_owned(),
            _ if place > 0 => word.to_owned(),
            _ => {
                let mut letters = word.chars();
                let first = letters.next().map(|first| first.to_uppercase().to_string());
                first.unwrap_or_default() + letters.as_str()
            }
        })
        .collect();
    words.join(" ")
}

/// `5 h 12 min` of a number of seconds.
fn span(seconds: i64) -> String {
    let minutes = (seconds.max(0) + 59) / 60;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// A number with thin spaces between thousands.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = if number < 0 {
        "−".to_owned()
    } else {
        String::new()
    };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{2009}');
        }
        out.push(digit);
    }
    out
}

/// A page for someone who is signed in; `values` is an object.
pub(super) fn page(visitor: &Visitor, template: &str, mut values: serde_json::Value) -> Response {
    let principal = &visitor.ctx.principal;
    values["project"] = json!(principal.project_name);
    let tier = visitor.ctx.app.accounts.quota.tier(&principal.tier);
    let has_plugins = principal.administrator || tier.plugins.may_install();
    values["has_plugins"] = json!(has_plugins);
    values["csrf"] = json!(visitor.csrf);
    values["base"] = json!(visitor.base);
    values["path"] = json!(visitor.ctx.path);
    if values["warnings"].is_null() {
        values["warnings"] = json!(visitor.warnings);
    }
    open_page(template, values)
}

/// A page for anybody; `values` is an object.
pub(super) fn open_page(template: &str, mut values: serde_json::Value) -> Response {
    values["version"] = json!(env!("CARGO_PKG_VERSION"));
    let rendered = ENVIRONMENT
        .get_template(template)
        .and_then(|template| template.render(Serde(values)));
    let html = match rendered {
        Ok(html) => html,
        Err(error) => return ApiError::internal(&format!("{error:#}")).into_response(),
    };
    let mut response = Html(html).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(header::REFERRER_POLICY, REFERRER);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An error as templates show it.
pub(super) fn said(failure: &Failure) -> serde_json::Value {
    json!({"code": failure.code(), "message": failure.message()})
}

/// A page that says what went wrong, with the error's status.
pub(super) fn error(failure: &Failure) -> Response {
    with_status(
        open_page("error.html", json!({"failure": said(failure)})),
        failure,
    )
}

/// The same for someone who is signed in.
pub(super) fn error_to(visitor: &Visitor, failure: &Failure) -> Response {
    let values = json!({"failure": said(failure)});
    with_status(page(visitor, "error.html", values), failure)
}

fn with_status(mut response: Response, failure: &Failure) -> Response {
    *response.status_mut() = failure.status;
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_compiles_and_prints_nothing_unescaped() {
        for (name, source) in TEMPLATES {
            assert!(ENVIRONMENT.get_template(name).is_ok(), "{name}");
            assert!(name.ends_with(".html"), "{name} would not be escaped");
            for word in [
                "|safe",
                "| safe",
                "autoescape",
                "<script>",
                "style=",
                " onclick",
                "javascript:",
            ] {
                assert!(!source.contains(word), "{name} has {word}");
            }
        }
    }

    #[test]
    fn options_that_were_entered_are_open_wherever_they_stand() {
        let field = |value: &str| json!({"name": "a", "kind": "text", "value": value});
        let shown = |values: [&str; 3]| {
            let form = r#"{% import "macros.html" as m %}{{ m.form("/x", "", [], more, "Go") }}"#;
            let more = json!({"more": values.map(field)});
            ENVIRONMENT.render_str(form, Serde(more)).unwrap()
        };
        assert!(shown(["", "", "x"]).contains("<details open>"));
        assert!(shown(["x", "", "x"]).contains("<details open>"));
        assert!(shown([""; 3]).contains("<details>"));
    }

    #[test]
    fn times_and_numbers_are_short() {
        assert_eq!(
            moment(Some("2026-03-01T12:00:05.123Z")),
            "2026-03-01 12:00:05"
        );
        assert_eq!(moment(None), "–");
        assert_eq!(grouped(1_234_567), "1\u{2009}234\u{2009}567");
        assert_eq!(grouped(-12), "−12");
        assert_eq!(words("max_age_seconds"), "Max age seconds");
        assert_eq!(
            (words("url"), words("delay_ms")),
            ("URL".into(), "Delay (ms)".into())
        );
        assert_eq!(span(18_720), "5 h 12 min");
        assert_eq!((span(59), span(7_200)), ("1 min".into(), "2 h".into()));
    }
}
