//! Rules about the page on phones.

use crate::facts::Facts;
use crate::report::Report;
use crate::rules;

/// Smallest zoom limit without a finding (WCAG 1.4.4 requires two times; Lighthouse five times,
/// because not everyone who needs more can pinch).
const MIN_ZOOM: f64 = 5.0;

/// Checks the viewport.
pub fn check(facts: &Facts<'_>, report: &mut Report) {
    let Some(viewport) = facts.head.all(&["viewport"]).last() else {
        report.add(
            &rules::VIEWPORT_MISSING,
            "The page has no viewport meta, so phones show the desktop layout. Add <meta name=\"viewport\" content=\"width=device-width\">.",
        );
        return;
    };
    // Browsers ignore white space around the equals sign.
    let lower = viewport.to_ascii_lowercase();
    let parts: Vec<&str> = lower.split('=').map(str::trim_ascii).collect();
    let stated = parts.join("=");
    let property = |wanted: &str| {
        stated
            .split(|c: char| c.is_ascii_whitespace() || matches!(c, ',' | ';'))
            .filter_map(|part| part.split_once('='))
            .find_map(|(name, value)| (name == wanted).then_some(value))
    };
    let width = stated.contains("width=device-width");
    let scale = stated.contains("initial-scale=");
    if !width && !scale {
        report.add_value(
            &rules::VIEWPORT_WIDTH,
            "The viewport has a fixed width. Use width=device-width.",
            viewport,
        );
    }
    let fixed = matches!(property("user-scalable"), Some("no" | "0"));
    let most = property("maximum-scale").and_then(|scale| scale.parse::<f64>().ok());
    if fixed || most.is_some_and(|most| most < MIN_ZOOM) {
        let message = match most.filter(|most| *most > 1.0 && !fixed) {
            Some(most) => {
                format!("The viewport limits zoom to {most} times. Allow at least five times.")
            }
            None => "The viewport forbids zoom. Remove user-scalable=no.".to_owned(),
        };
        report.add_value(&rules::VIEWPORT_ZOOM, message, viewport);
    }
}
