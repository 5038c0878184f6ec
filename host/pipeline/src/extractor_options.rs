//! Options of extractors, from the field `extractor_options` of requests.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Checked options as JSON text, by role.
pub type ExtractorOptions = BTreeMap<String, String>;

/// The options of a role: the host's own, where it has some, under those of the request.
pub(crate) fn options_of(role: &str, own: &str, given: &ExtractorOptions) -> String {
    let Some(given) = given.get(role) else {
        return own.to_owned();
    };
    if own.is_empty() {
        return given.clone();
    }
    let object = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default();
    let mut merged = object(own);
    merged.extend(object(given));
    Value::Object(merged).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_s_options_come_over_the_host_s() {
        let given = ExtractorOptions::from([
            (
                "markdown".to_owned(),
                r#"{"only_main_content":true,"x":1}"#.to_owned(),
            ),
            ("links".to_owned(), r#"{"a":2}"#.to_owned()),
        ]);
        let own = r#"{"only_main_content":false}"#;
        assert_eq!(
            options_of("markdown", own, &given),
            r#"{"only_main_content":true,"x":1}"#
        );
        assert_eq!(options_of("links", "", &given), r#"{"a":2}"#);
        assert_eq!(options_of("article", "", &given), "");
        assert_eq!(options_of("article", own, &given), own);
    }
}
