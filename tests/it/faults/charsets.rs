//! Faults 28 to 31: decoding bytes as text.

use orbweaver_origin::Reply;
use serde_json::Value;

use super::support::Faulty;

/// The title of a page with these bytes, sent with this Content-Type.
async fn title(faulty: &Faulty, content_type: Option<&str>, body: &[u8]) -> Value {
    let reply = Reply::new(200, body);
    let reply = match content_type {
        Some(content_type) => reply.header("Content-Type", content_type),
        None => reply,
    };
    faulty.origin.set("/page", reply);
    faulty.scan("/page").await["metadata"]["title"].clone()
}

#[tokio::test]
async fn fault_28_contradicting_charsets() {
    let faulty = Faulty::start().await;
    let windows = "text/html; charset=windows-1251";
    let meta = "<meta charset=shift_jis><title>caf\u{e9}</title>";
    let with_mark = [b"\xef\xbb\xbf", meta.as_bytes()].concat();
    assert_eq!(title(&faulty, Some(windows), &with_mark).await, "café");
    // "да" in windows-1251: the header wins over the meta element.
    let body = b"<meta charset=shift_jis><title>\xe4\xe0</title>";
    assert_eq!(title(&faulty, Some(windows), body).await, "да");
    // "テ" in Shift_JIS: only the meta element names the charset.
    let body = b"<meta charset=shift_jis><title>\x83e</title>";
    assert_eq!(title(&faulty, Some("text/html"), body).await, "テ");
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_29_wrong_charsets() {
    let faulty = Faulty::start().await;
    let bodies: [&[u8]; 3] = [
        b"<title>ok \x83e\x83X</title>",
        b"<title>ok \xb2\xe2\xca\xd4\x81\x30\x81\x30</title>",
        b"<title>ok \xef\xf0\xe8\xe2\xe5\xf2</title>",
    ];
    for body in bodies {
        let title = title(&faulty, Some("text/html; charset=utf-8"), body).await;
        let title = title.as_str().unwrap();
        assert!(
            title.starts_with("ok ") && title.contains('\u{fffd}'),
            "{title}"
        );
    }
    for (label, body, expected) in [
        ("x-sjis", b"<title>\x83e</title>".as_slice(), "テ"),
        ("gb2312", b"<title>\xb2\xe2</title>", "测"),
        ("cp1251", b"<title>\xe4\xe0</title>", "да"),
    ] {
        let content_type = format!("text/html; charset={label}");
        assert_eq!(
            title(&faulty, Some(&content_type), body).await,
            expected,
            "{label}"
        );
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_30_charset_labels_with_another_meaning() {
    let faulty = Faulty::start().await;
    for label in ["latin1", "iso-8859-1", "us-ascii"] {
        let content_type = format!("text/html; charset={label}");
        let body = b"<title>\x80 5</title>";
        assert_eq!(
            title(&faulty, Some(&content_type), body).await,
            "€ 5",
            "{label}"
        );
    }
    let hidden = b"<title>+ADw-b+AD4-</title>";
    let decoded = title(&faulty, Some("text/html; charset=utf-7"), hidden).await;
    assert_eq!(decoded, "+ADw-b+AD4-");
    for label in ["x-user-defined", "replacement", "iso-2022-kr", "nonsense"] {
        let content_type = format!("text/html; charset={label}");
        title(&faulty, Some(&content_type), b"<title>\x80\xff</title>").await;
    }
    faulty.is_well().await;
}

#[tokio::test]
async fn fault_31_content_types_missing_quoted_or_generic() {
    let faulty = Faulty::start().await;
    let body = "<!doctype html><title>naïve</title>".as_bytes();
    for content_type in [
        None,
        Some("text/html; charset=\"utf-8\""),
        Some("text/html;charset=utf8"),
        Some("application/octet-stream"),
        Some("unknown/unknown"),
    ] {
        assert_eq!(
            title(&faulty, content_type, body).await,
            "naïve",
            "{content_type:?}"
        );
    }
    faulty.is_well().await;
}
