//! Pages are kept or dropped by their language.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_hook_language_filter::{Config, LanguageFilter};
use orbweaver_sdk::hook::{Hook, Made, RecordVerdict, Visit};
use orbweaver_sdk::testing::Document;

const FRENCH: &str = "<html><body><p>Le Conseil d'État a rendu aujourd'hui une décision très attendue sur la \
qualité de l'air dans les grandes villes françaises, et le gouvernement doit agir avant la fin de l'année.</p>";

fn verdict(languages: &[&str], keep_unknown: bool, html: &str) -> RecordVerdict {
    let config = Config {
        languages: languages.iter().map(|tag| (*tag).to_owned()).collect(),
        keep_unknown,
    };
    let document = Document::new("https://example.org/", html);
    LanguageFilter::record(
        &config,
        &Visit::default(),
        &document.page(),
        &Made::default(),
    )
    .expect("a verdict")
}

#[test]
fn a_declared_language_counts_with_its_regions() {
    let html = "<html lang=en_GB><p>Short";
    assert_eq!(verdict(&["de", "EN"], true, html), RecordVerdict::Keep);
    assert_eq!(verdict(&["en-GB"], true, html), RecordVerdict::Keep);
    let dropped = RecordVerdict::Drop("its language is en_GB".to_owned());
    assert_eq!(verdict(&["en-US", "e"], true, html), dropped);
}

#[test]
fn a_language_that_is_declared_later_counts() {
    let html = "<html><head><meta http-equiv=content-language content=de><p>Short";
    assert_eq!(verdict(&["de"], false, html), RecordVerdict::Keep);
    let far = format!("<!--{}--><html lang=de><p>Short", "x".repeat(4_000));
    assert_eq!(verdict(&["de"], false, &far), RecordVerdict::Keep);
}

#[test]
fn an_undeclared_language_is_detected() {
    assert_eq!(verdict(&["fr"], false, FRENCH), RecordVerdict::Keep);
    let dropped = RecordVerdict::Drop("its language is fr".to_owned());
    assert_eq!(verdict(&["en"], true, FRENCH), dropped);
}

#[test]
fn an_unknown_language_is_kept_unless_the_configuration_says_no() {
    assert_eq!(verdict(&["en"], true, "<p>42"), RecordVerdict::Keep);
    assert!(matches!(
        verdict(&["en"], false, "<p>42"),
        RecordVerdict::Drop(_)
    ));
}
