//! Lists as NDJSON and as CSV, each an operation of its own with one content type: typed clients
//! can't use an operation that answers in several.

use axum::extract::Request;
use axum::middleware::map_request;
use axum::routing::MethodRouter;
use http::Uri;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{Paths, RefOr};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::error::ApiError;
use crate::validate::shown;

/// The forms of a list besides JSON: the end of their paths, which is also the value of the
/// parameter `format`, and their content type.
const FORMS: [(&str, &str); 2] = [("ndjson", "application/x-ndjson"), ("csv", "text/csv")];

/// Adds the routes `PATH.ndjson` and `PATH.csv` of a list at `path`, which do what it does with
/// the parameter `format`. `describe_forms` describes them.
pub(crate) fn with_forms(
    router: OpenApiRouter<App>,
    path: &str,
    list: &MethodRouter<App>,
) -> OpenApiRouter<App> {
    FORMS.iter().fold(router, |router, (form, _)| {
        let rewrite = map_request(async move |mut request: Request| {
            if let Some(uri) = with_format(request.uri(), form)? {
                *request.uri_mut() = uri;
            }
            Ok::<_, ApiError>(request)
        });
        router.route(&format!("{path}.{form}"), list.clone().layer(rewrite))
    })
}

/// The URL with the form as a parameter.
///
/// # Errors
/// When the query names another form.
fn with_format(uri: &Uri, form: &str) -> Result<Option<Uri>, ApiError> {
    let query = uri.query().unwrap_or_default();
    let mut given = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "format");
    if let Some((_, other)) = given.find(|(_, given)| given != form) {
        let other = shown(&other);
        let rule = format!("must be left out, or be {form}, as the path ends, not {other}");
        return Err(ApiError::invalid("format", rule));
    }
    if form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "format") {
        return Ok(None);
    }
    let query = match query {
        "" => String::new(),
        query => format!("{query}&"),
    };
    let mut parts = uri.clone().into_parts();
    let target = format!("{}?{query}format={form}", uri.path());
    parts.path_and_query = target.parse().ok();
    Ok(Uri::from_parts(parts).ok())
}

/// Describes the lists' forms as operations of their own, besides the list's, which has all of them.
pub(crate) fn describe_forms(paths: &mut Paths) {
    let mut forms = Vec::new();
    for (path, item) in &paths.paths {
        let Some(list) = &item.get else { continue };
        if !is_list(list) {
            continue;
        }
        for (form, kind) in FORMS {
            let mut one = list.clone();
            let id = one.operation_id.unwrap_or_default();
            one.operation_id = Some(format!("{id}_{form}"));
            one.summary = one
                .summary
                .map(|summary| format!("{} As {form}.", summary.trim_end()));
            if let Some(parameters) = &mut one.parameters {
                parameters.retain(
                    |parameter| !matches!(parameter, RefOr::T(known) if known.name == "format"),
                );
            }
            keep_content(&mut one, kind);
            forms.push((
                format!("{path}.{form}"),
                PathItem::new(utoipa::openapi::HttpMethod::Get, one),
            ));
        }
    }
    paths.paths.extend(forms);
}

/// Whether it answers as JSON and in all other forms, and in no further ones, as exports do.
fn is_list(operation: &Operation) -> bool {
    let Some(RefOr::T(response)) = operation.responses.responses.get("200") else {
        return false;
    };
    let mut kinds = FORMS
        .iter()
        .map(|(_, kind)| *kind)
        .chain(["application/json"]);
    response.content.len() == FORMS.len() + 1
        && kinds.all(|kind| response.content.contains_key(kind))
}

fn keep_content(operation: &mut Operation, kind: &str) {
    if let Some(RefOr::T(response)) = operation.responses.responses.get_mut("200") {
        response.content.retain(|known, _| known == kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_joins_the_query() {
        let rewritten = |uri: &str| {
            let uri = with_format(&uri.parse().unwrap(), "csv").unwrap();
            uri.map(|uri| uri.to_string()).unwrap_or_default()
        };
        assert_eq!(
            rewritten("/v1/crawls/1/pages.csv"),
            "/v1/crawls/1/pages.csv?format=csv"
        );
        assert_eq!(
            rewritten("/v1/crawls/1/pages.csv?limit=2"),
            "/v1/crawls/1/pages.csv?limit=2&format=csv"
        );
        assert_eq!(rewritten("/v1/crawls/1/pages.csv?format=csv"), "");
        let other = "/v1/crawls/1/pages.csv?format=csv&format=json".parse();
        let error = with_format(&other.unwrap(), "csv").unwrap_err();
        assert_eq!(
            error.message(),
            "format: must be left out, or be csv, as the path ends, not json"
        );
    }
}
