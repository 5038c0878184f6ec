//! Exports as Parquet.

use std::collections::HashMap;

use bytes::Bytes;
use parquet::basic::{LogicalType, Type};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, RowAccessor as _};
use serde_json::Value;

use super::export::{ALL, three};
use super::{get, leaf};
use crate::support::runs::{SEED, Written, begin, done, end, without_workers, write};
use crate::support::site::ARTICLE;

type File = SerializedFileReader<Bytes>;

fn opened(body: &[u8]) -> File {
    SerializedFileReader::new(Bytes::copy_from_slice(body)).expect("a Parquet file")
}

/// The rows, each with its fields by the names of the columns.
fn rows(file: &File) -> Vec<HashMap<String, Field>> {
    let rows = file.get_row_iter(None).expect("rows");
    rows.map(|row| {
        let row = row.expect("a row");
        let fields = row.get_column_iter();
        fields
            .map(|(name, field)| (name.clone(), field.clone()))
            .collect()
    })
    .collect()
}

fn text(field: &Field) -> &str {
    match field {
        Field::Str(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

#[tokio::test]
async fn a_row_has_the_columns_of_csv_with_types_and_nulls() {
    for postgres in [false, true] {
        let service = without_workers(postgres, |_| {}).await;
        let client = service.client();
        let run = three(&service).await;
        let query = format!("/export?format=parquet&include={ALL},extracted");
        let answer = get(&client, run, &query).await;
        let kind = "application/vnd.apache.parquet";
        assert_eq!(answer.header("content-type"), Some(kind));
        let name = format!("attachment; filename=\"crawl-{run}.parquet\"");
        assert_eq!(answer.header("content-disposition"), Some(name.as_str()));
        let file = opened(&answer.body);
        let csv = get(&client, run, &query.replace("parquet", "csv")).await;
        let names: Vec<String> = csv
            .text()
            .lines()
            .next()
            .unwrap_or_default()
            .split(',')
            .map(str::to_owned)
            .collect();
        let schema = file.metadata().file_metadata().schema_descr();
        let columns: Vec<&str> = schema
            .root_schema()
            .get_fields()
            .iter()
            .map(|field| field.name())
            .collect();
        assert_eq!(columns[..names.len()], names);
        assert_eq!(columns[names.len()..], ["errors", "notice"]);
        let leaf = |name: &str| {
            let leaf = schema
                .columns()
                .iter()
                .find(|leaf| leaf.path().string() == name);
            leaf.unwrap_or_else(|| panic!("no column {name}"))
        };
        let at = leaf("fetched_at");
        assert_eq!(at.physical_type(), Type::INT64);
        assert!(matches!(
            at.logical_type_ref(),
            Some(LogicalType::Timestamp { .. })
        ));
        assert_eq!(leaf("status").physical_type(), Type::INT32);
        assert_eq!(leaf("url").max_def_level(), 0);
        assert_eq!(leaf("title").logical_type_ref(), Some(&LogicalType::String));
        assert_eq!(
            leaf("metadata").logical_type_ref(),
            Some(&LogicalType::Json)
        );
        assert_eq!(leaf("redirects.list.element.url").max_rep_level(), 1);

        let rows = rows(&file);
        assert_eq!(rows.len(), 3);
        let page = &rows[0];
        assert_eq!(text(&page["url"]), SEED);
        assert_eq!(page["status"], Field::Int(200));
        assert_eq!(page["bytes"], Field::Long(ARTICLE.len() as i64));
        // 2026-03-01T12:00:00Z
        assert_eq!(
            page["fetched_at"],
            Field::TimestampMicros(1_772_366_400_000_000)
        );
        assert_eq!(
            text(&page["title"]),
            "=HYPERLINK(\"https://evil.example/\")"
        );
        assert_eq!(
            (&page["depth"], &page["elapsed_ms"]),
            (&Field::Int(0), &Field::Long(12))
        );
        assert_eq!(page["inlinks"], Field::Long(1));
        assert!(text(&page["markdown"]).contains("# How orb weavers build"));
        assert!(text(&page["article_text"]).contains("bridge thread"));
        assert_eq!(text(&page["html"]), ARTICLE);
        let metadata: Value = serde_json::from_str(text(&page["metadata"])).expect("JSON");
        assert_eq!(metadata["title"], "How orb weavers build");
        // What is absent is null, not an empty text.
        assert_eq!(rows[2]["title"], Field::Null);
        assert_eq!(rows[2]["status"], Field::Int(404));
        for name in ["extensions", "extracted", "notice"] {
            assert_eq!(page[name], Field::Null, "{name}");
        }
        for name in ["redirects", "extract_errors", "errors"] {
            let Field::ListInternal(list) = &page[name] else {
                panic!("{name} is no list");
            };
            assert_eq!(list.len(), 0, "{name}");
        }
    }
}

#[tokio::test]
async fn lists_keep_their_pages_and_their_order() {
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let redirected = |path: &str, json: &str| Written {
        redirects: Some(json.to_owned()),
        ..leaf(path)
    };
    let two =
        r#"[{"url":"http://e.example/1","status":301},{"url":"http://e.example/2","status":302}]"#;
    let one = r#"[{"url":"http://e.example/3","status":308}]"#;
    let pages = [
        leaf("a"),
        redirected("b", two),
        leaf("c"),
        redirected("d", one),
        redirected("e", "[]"),
    ];
    let run = done(&service, &pages).await;
    let answer = get(
        &client,
        run,
        "/export?format=parquet&include=redirects,depth",
    )
    .await;
    let file = opened(&answer.body);
    let expected: [&[(&str, i32)]; 5] = [
        &[],
        &[("http://e.example/1", 301), ("http://e.example/2", 302)],
        &[],
        &[("http://e.example/3", 308)],
        &[],
    ];
    let rows = rows(&file);
    assert_eq!(rows.len(), 5);
    for (row, expected) in rows.iter().zip(expected) {
        let Field::ListInternal(list) = &row["redirects"] else {
            panic!("no list: {row:?}");
        };
        let found: Vec<(&str, i32)> = list
            .elements()
            .iter()
            .map(|element| match element {
                Field::Group(group) => (
                    group.get_string(0).expect("a URL").as_str(),
                    group.get_int(1).expect("a status"),
                ),
                other => panic!("{other:?} is no object"),
            })
            .collect();
        assert_eq!(found, expected);
    }
    // No column of content, so none of its errors.
    assert!(!rows[0].contains_key("errors"), "{rows:?}");
}

#[tokio::test]
async fn rows_are_written_in_groups_of_bounded_bytes() {
    const MAX_BYTES: i64 = 9 << 20;
    let service = without_workers(false, |_| {}).await;
    let client = service.client();
    let body = |n: usize| format!("<title>{n}</title><p>{}", format!("{n} ").repeat(120_000));
    let pages: Vec<Written> = (0..60)
        .map(|n| Written::new(&format!("p/{n}"), &body(n), &[]))
        .collect();
    let leased = begin(&service).await;
    for (at, piece) in (0..).step_by(20).zip(pages.chunks(20)) {
        write(&service, &leased, at, piece).await;
    }
    let run = end(&service, &leased).await;
    let answer = get(&client, run, "/export?format=parquet&include=html,title").await;
    let file = opened(&answer.body);
    let groups = file.metadata().row_groups();
    assert!(groups.len() >= 2, "{} groups", groups.len());
    for group in groups {
        assert!(
            group.total_byte_size() <= MAX_BYTES,
            "{}",
            group.total_byte_size()
        );
    }
    let rows = rows(&file);
    assert_eq!(rows.len(), 60);
    for (n, row) in rows.iter().enumerate() {
        assert!(text(&row["html"]) == body(n), "page {n}");
    }
    // Continued behind a page.
    let Field::Long(after) = rows[39]["id"] else {
        panic!("no id");
    };
    let rest = get(
        &client,
        run,
        &format!("/export?format=parquet&after={after}"),
    )
    .await;
    let rest = self::rows(&opened(&rest.body));
    assert_eq!(rest.len(), 20);
    assert_eq!(rest[0]["id"], rows[40]["id"]);
    // A file without rows has its columns all the same.
    let none = get(
        &client,
        run,
        "/export?format=parquet&status=500&include=title",
    )
    .await;
    let none = opened(&none.body);
    assert_eq!(none.metadata().file_metadata().num_rows(), 0);
    assert_eq!(
        none.metadata().file_metadata().schema().get_fields().len(),
        6
    );
}
