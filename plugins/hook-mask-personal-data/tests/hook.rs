//! What is masked, and what stays.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use orbweaver_hook_mask_personal_data::{Config, Kind, Kinds, MaskPersonalData, mask};
use orbweaver_sdk::hook::{Hook, Made, RecordVerdict, Visit};
use orbweaver_sdk::serde_json::{Value, from_str, json};
use orbweaver_sdk::testing::Document;

fn masked(text: &str) -> String {
    mask(text, Kinds::ALL).unwrap_or_else(|| text.to_owned())
}

#[test]
fn personal_data_is_replaced() {
    for (text, expected) in [
        (
            "Write to jane.doe+news@mail.example.org.",
            "Write to [email].",
        ),
        (
            "a@b.co, (x@y.de) and <Z@Q.INFO>",
            "[email], ([email]) and <[email]>",
        ),
        (
            "Call +49 30 901820 or (030) 901 82-0!",
            "Call [phone] or [phone]!",
        ),
        ("555-867-5309; 1 555 867 5309", "[phone]; [phone]"),
        ("0171 1234567, 030/123 45 67", "[phone], [phone]"),
        ("Card 4111 1111 1111 1111 (test)", "Card [card] (test)"),
        ("5500-0000-0000-0004", "[card]"),
        (
            "IBAN DE89 3704 0044 0532 0130 00, thanks",
            "IBAN [iban], thanks",
        ),
        ("GB82WEST12345698765432", "[iban]"),
        ("from 192.168.10.7 today", "from [ip] today"),
        (
            "Grüße an müller@example.de und ö",
            "Grüße an mü[email] und ö",
        ),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn numbers_that_name_nobody_stay() {
    for text in [
        "2026-11-22 and 01.02.2026 and 3/4/2026",
        "2026-11-22 10:15:00, 10:15",
        "4111 1111 1111 1112 fails the check",
        "ISBN 978-3-16-148410-0",
        "version 1.2.3.4567, 999.1.1.1 and v10.0.0.1",
        "order 12345678, price 1,299.00, 100 000 people",
        "DE00 3704 0044 0532 0130 00",
        "@handle, a@b, me@localhost, @example.org",
        "https://example.org/id/0301234567",
        "3.14159265358979",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn numbers_beside_other_numbers_are_found() {
    for (text, expected) in [
        ("4111 1111 1111 1111 12/26", "[card] 12/26"),
        ("12/26 4111 1111 1111 1111 123", "12/26 [card] 123"),
        ("4111111111111111 2", "[card] 2"),
        ("4111 1111 1111 1111 5500 0000 0000 0004", "[card] [card]"),
        ("10.0.0.1 200 512", "[ip] 200 512"),
        ("12 10.0.0.1 10.0.0.2", "12 [ip] [ip]"),
        ("10.0.0.0/24", "[ip]/24"),
        ("555-123-4567 555-123-4568", "[phone] [phone]"),
        ("555-123-4567. 24 hours", "[phone]. 24 hours"),
        ("555-123-4567 12th floor", "[phone] 12th floor"),
        ("Musterstr. 12 030 1234567", "Musterstr. 12 [phone]"),
        (
            "030 1234567 0171 7654321 0172 1111111",
            "[phone] [phone] [phone]",
        ),
        ("030 1234567 4111 1111 1111 1111", "[phone] [card]"),
        ("01.02.2026 030 1234567", "01.02.2026 [phone]"),
        ("12 (030) 901820", "12 [phone]"),
    ] {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn numbers_beside_other_numbers_that_name_nobody_stay() {
    for text in [
        "01 02 03 04 05 06 07 08 09 10 11 12",
        "29 30 31 01 02 03 04 05 06 07 08 09",
        "2015 2016 2017 2018 2019 2020 2021 2022 2023 2024",
        "5 000 000 000 and 1 050 000 1 200 000 12 030",
        "0.12345 0.23456 0.34567 0.45678 and 0.123456789",
        "06.15 07.15 08.15 09.15 10.15 11.15",
        "ISBN 978 0 306 40615 7",
        "01.02.2026 10:15",
        "12345678-1234-1234-1234-012345678901",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn only_the_wanted_kinds_are_masked() {
    let kinds = Kinds::of(&[Kind::Phone]);
    let text = "a@b.org +49 30 901820";
    assert_eq!(mask(text, kinds).as_deref(), Some("a@b.org [phone]"));
}

#[test]
fn any_text_is_read_to_its_end() {
    let mut long = "9 ".repeat(50_000);
    long.push_str(&"1".repeat(100_000));
    long.push_str(&"(+".repeat(10_000));
    long.push_str(&"@.".repeat(10_000));
    long.push_str(&"0-".repeat(50_000));
    long.push_str(&"0 12 ".repeat(20_000));
    long.push_str(&"1/".repeat(50_000));
    long.push_str("x@y.org");
    assert!(masked(&long).ends_with("[email]"));
}

fn record(config: &Config, made: &Made, html: &str) -> RecordVerdict {
    let document = Document::new("https://example.org/p", html);
    let visit = Visit {
        url: "https://example.org/p".to_owned(),
        ..Visit::default()
    };
    MaskPersonalData::record(config, &visit, &document.page(), made).expect("a verdict")
}

#[test]
fn a_page_without_a_record_gets_a_masked_one() {
    let html = "<title>Staff: a@b.org</title><body><p>Call <b>+49 30</b> 901820.</p><p>Room 12</p>";
    let RecordVerdict::Emit(records) = record(&Config::default(), &Made::default(), html) else {
        panic!("no record");
    };
    let record: Value = from_str(&records[0]).expect("JSON");
    assert_eq!(record["title"], "Staff: [email]");
    assert_eq!(record["url"], "https://example.org/p");
    let text = record["text"].as_str().expect("a text");
    assert!(
        text.contains("Call [phone].") && text.contains("Room 12"),
        "{text}"
    );
}

#[test]
fn records_of_earlier_hooks_are_masked_at_any_depth() {
    let made = Made {
        records: vec![
            json!({"a@b.org": ["x@y.org", {"n": 5, "deep": [["+49 30 901820"]]}]}).to_string(),
        ],
        ..Made::default()
    };
    let verdict = record(&Config::default(), &made, "");
    let expected = json!({"a@b.org": ["[email]", {"n": 5, "deep": [["[phone]"]]}]}).to_string();
    assert_eq!(verdict, RecordVerdict::Replace(vec![expected]));
}
