//! The columns of a Parquet file of pages, and the values that wait to be written.

use parquet::basic::Type as PhysicalType;
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::ColumnDescriptor;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::csv_lines::COLUMNS;
use super::super::include::Include;
use super::super::page::{ExportedPage, text_of};

/// Memory of a value besides its text.
const VALUE_BYTES: usize = 40;

/// The columns of pages: those of every list, those that are included, and, with content, what
/// went wrong with it.
pub(super) fn columns(include: &Include) -> Vec<Column> {
    let errors: &[&str] = match include.needs_content() {
        true => &["errors", "notice"],
        false => &[],
    };
    let names = COLUMNS.into_iter().chain(include.columns());
    names
        .chain(errors.iter().copied())
        .map(Column::new)
        .collect()
}

/// A column, with one leaf, or one for each member of a list's objects.
pub(super) struct Column {
    name: &'static str,
    leaves: Vec<Leaf>,
}

/// The value of a column for a page.
enum Cell {
    One(Option<Value>),
    List(Vec<Vec<Option<Value>>>),
}

enum Value {
    Number(i64),
    Text(Vec<u8>),
}

impl Column {
    fn new(name: &'static str) -> Self {
        let members = list_members(name).map_or(1, <[_]>::len);
        Self {
            name,
            leaves: (0..members).map(|_| Leaf::default()).collect(),
        }
    }

    pub(super) const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn leaves(&mut self) -> impl Iterator<Item = &mut Leaf> {
        self.leaves.iter_mut()
    }

    /// Whether many pages have the same value.
    pub(super) fn has_few_values(&self) -> bool {
        matches!(self.name, "status" | "depth" | "content_type" | "notice")
    }

    /// Whether a value may be as long as the page.
    pub(super) fn is_content(&self) -> bool {
        matches!(
            self.name,
            "markdown"
                | "article_text"
                | "article_html"
                | "html"
                | "metadata"
                | "signals"
                | "extensions"
                | "extracted"
        )
    }

    /// The field of the schema.
    pub(super) fn schema(&self) -> String {
        let name = self.name;
        if let Some(members) = list_members(name) {
            // Three levels, as the specification of lists wants them.
            let members = members.concat();
            return format!(
                "required group {name} (LIST) {{ repeated group list {{ required group element \
                 {{ {members} }} }} }} "
            );
        }
        let kind = match name {
            "id" | "bytes" => return format!("required int64 {name}; "),
            "fetched_at" => return format!("required int64 {name} (TIMESTAMP(MICROS,true)); "),
            "url" => return format!("required binary {name} (STRING); "),
            "status" => return format!("required int32 {name}; "),
            "depth" => return format!("optional int32 {name}; "),
            "elapsed_ms" | "inlinks" => return format!("optional int64 {name}; "),
            "metadata" | "signals" | "extensions" | "extracted" => "JSON",
            _ => "STRING",
        };
        format!("optional binary {name} ({kind}); ")
    }

    /// Adds the value of a page. Returns its bytes.
    pub(super) fn push(&mut self, page: &ExportedPage) -> usize {
        match cell(self.name, page) {
            Cell::One(value) => {
                let leaves = self.leaves.iter_mut().take(1);
                leaves
                    .zip([value])
                    .map(|(leaf, value)| leaf.one(value))
                    .sum()
            }
            Cell::List(items) if items.is_empty() => self.leaves.iter_mut().map(Leaf::empty).sum(),
            Cell::List(items) => {
                let mut bytes = 0;
                for (index, item) in items.into_iter().enumerate() {
                    for (leaf, value) in self.leaves.iter_mut().zip(item) {
                        bytes += leaf.item(value, index == 0);
                    }
                }
                bytes
            }
        }
    }
}

/// Members of the objects of a column that is a list.
fn list_members(column: &str) -> Option<&'static [&'static str]> {
    Some(match column {
        "redirects" => &["required binary url (STRING); ", "optional int32 status; "],
        "extract_errors" => &[
            "required binary field (STRING); ",
            "required binary message (STRING); ",
        ],
        "errors" => &[
            "required binary role (STRING); ",
            "optional binary plugin (STRING); ",
            "required binary code (STRING); ",
            "required binary message (STRING); ",
        ],
        _ => return None,
    })
}

/// A redirect of a page's row.
#[derive(Deserialize)]
struct Redirect {
    url: String,
    #[serde(default)]
    status: Option<u16>,
}

fn cell(name: &str, page: &ExportedPage) -> Cell {
    let json = |value: &Option<Option<Box<RawValue>>>| {
        let json = value.as_ref()?.as_deref();
        json.map(|json| json.get().to_owned())
            .filter(|json| json != "null")
    };
    let number = |value: Option<u64>| {
        Cell::One(value.map(|value| Value::Number(i64::try_from(value).unwrap_or(i64::MAX))))
    };
    let text = match name {
        "id" => return Cell::One(Some(Value::Number(page.id.get()))),
        "fetched_at" => {
            let at = page.fetched_at.timestamp_micros();
            return Cell::One(Some(Value::Number(at)));
        }
        "status" => return number(Some(page.status.into())),
        "bytes" => return number(Some(page.bytes)),
        "depth" => return number(page.depth.flatten().map(u64::from)),
        "elapsed_ms" => return number(page.elapsed_ms.flatten()),
        "inlinks" => return number(page.inlinks.map(u64::from)),
        "redirects" => return redirects(page),
        "extract_errors" => {
            let errors = page.extract_errors.iter().flatten();
            let items = errors.map(|error| vec![some(&error.field), some(&error.message)]);
            return Cell::List(items.collect());
        }
        "errors" => {
            let items = page.errors.iter().map(|error| {
                vec![
                    some(&error.role),
                    error.plugin.as_deref().and_then(some),
                    some(&error.code),
                    some(&error.message),
                ]
            });
            return Cell::List(items.collect());
        }
        "url" => Some(page.url.clone()),
        "title" => page.title.clone().flatten(),
        "final_url" => page.final_url.clone(),
        "content_type" => page.content_type.clone().flatten(),
        "content_hash" => page.content_hash.clone().flatten(),
        "markdown" => text_of(&page.markdown),
        "article_text" => text_of(&page.article_text),
        "article_html" => text_of(&page.article_html),
        "html" => page.html.clone().flatten(),
        "metadata" => json(&page.metadata),
        "signals" => json(&page.signals),
        "extensions" => json(&page.extensions),
        "extracted" => json(&page.extracted),
        "notice" => page.notice.clone(),
        _ => None,
    };
    Cell::One(text.map(|text| Value::Text(text.into_bytes())))
}

fn some(text: &str) -> Option<Value> {
    Some(Value::Text(text.as_bytes().to_vec()))
}

fn redirects(page: &ExportedPage) -> Cell {
    let json = page.redirects.as_deref().map_or("[]", RawValue::get);
    let redirects: Vec<Redirect> = serde_json::from_str(json).unwrap_or_default();
    let items = redirects.into_iter().map(|redirect| {
        let status = redirect.status.map(|status| Value::Number(status.into()));
        vec![Some(Value::Text(redirect.url.into_bytes())), status]
    });
    Cell::List(items.collect())
}

/// The values of a leaf of the schema, and their levels (Dremel encoding).
#[derive(Default)]
pub(super) struct Leaf {
    values: Values,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    max_definition: i16,
    max_repetition: i16,
}

enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Text(Vec<ByteArray>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Text(Vec::new())
    }
}

impl Leaf {
    /// Takes type and levels from the schema.
    pub(super) fn describe(&mut self, described: &ColumnDescriptor) {
        self.values = match described.physical_type() {
            PhysicalType::INT32 => Values::Int32(Vec::new()),
            PhysicalType::INT64 => Values::Int64(Vec::new()),
            _ => Values::Text(Vec::new()),
        };
        self.max_definition = described.max_def_level();
        self.max_repetition = described.max_rep_level();
    }

    /// The value of a column that is no list.
    fn one(&mut self, value: Option<Value>) -> usize {
        let level = if value.is_some() {
            self.max_definition
        } else {
            0
        };
        self.add(value, level, 0)
    }

    /// A list without items.
    fn empty(&mut self) -> usize {
        self.add(None, 0, 0)
    }

    /// A member of an item of a list.
    fn item(&mut self, value: Option<Value>, is_first: bool) -> usize {
        let missing = i16::from(value.is_none());
        let repetition = if is_first { 0 } else { self.max_repetition };
        self.add(value, self.max_definition - missing, repetition)
    }

    fn add(&mut self, value: Option<Value>, definition: i16, repetition: i16) -> usize {
        self.definitions.push(definition);
        self.repetitions.push(repetition);
        let mut bytes = VALUE_BYTES;
        match (&mut self.values, value) {
            (Values::Int32(values), Some(Value::Number(number))) => {
                values.push(i32::try_from(number).unwrap_or(i32::MAX));
            }
            (Values::Int64(values), Some(Value::Number(number))) => values.push(number),
            (Values::Text(values), Some(Value::Text(text))) => {
                bytes += text.len();
                values.push(ByteArray::from(text));
            }
            _ => {}
        }
        bytes
    }

    /// Writes the values and forgets them.
    pub(super) fn write(
        &mut self,
        column: &mut SerializedColumnWriter<'_>,
    ) -> Result<(), ParquetError> {
        let definitions = std::mem::take(&mut self.definitions);
        let repetitions = std::mem::take(&mut self.repetitions);
        let levels = (
            (self.max_definition > 0).then_some(&definitions[..]),
            (self.max_repetition > 0).then_some(&repetitions[..]),
        );
        match &mut self.values {
            Values::Int32(values) => batch(column.typed::<Int32Type>(), values, levels),
            Values::Int64(values) => batch(column.typed::<Int64Type>(), values, levels),
            Values::Text(values) => batch(column.typed::<ByteArrayType>(), values, levels),
        }
    }
}

fn batch<T: DataType>(
    column: &mut ColumnWriterImpl<'_, T>,
    values: &mut Vec<T::T>,
    (definitions, repetitions): (Option<&[i16]>, Option<&[i16]>),
) -> Result<(), ParquetError> {
    let values = std::mem::take(values);
    column.write_batch(&values, definitions, repetitions)?;
    Ok(())
}
