//! Masks personal data in the records of a page.

mod mask;
mod numbers;

use orbweaver_sdk::head::Head;
use orbweaver_sdk::hook::{Hook, Made, RecordVerdict, Visit};
use orbweaver_sdk::serde_json::{self, Value, json};
use orbweaver_sdk::{Error, Page, text};
use serde::Deserialize;

pub use mask::{Kind, Kinds, mask};

orbweaver_sdk::hook! { hook: MaskPersonalData }

/// Longest text of a record that is made of a page, in bytes.
const MAX_TEXT_BYTES: usize = 256 << 10;

/// The configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    /// What to mask; all if it is absent.
    pub kinds: Option<Vec<Kind>>,
}

/// The hook.
pub struct MaskPersonalData;

impl Hook for MaskPersonalData {
    type Config = Config;

    fn record(
        config: &Config,
        visit: &Visit,
        page: &Page<'_>,
        made: &Made,
    ) -> Result<RecordVerdict, Error> {
        let kinds = match &config.kinds {
            Some(kinds) => Kinds::of(kinds),
            None => Kinds::ALL,
        };
        if made.records.is_empty() {
            let mut record = of_page(visit, page)?;
            mask_strings(&mut record, kinds);
            return RecordVerdict::emit(&record);
        }
        let masked = made.records.iter().map(|record| {
            let mut record: Value = serde_json::from_str(record)?;
            mask_strings(&mut record, kinds);
            Ok(record.to_string())
        });
        Ok(RecordVerdict::Replace(
            masked.collect::<Result<_, Error>>()?,
        ))
    }
}

fn of_page(visit: &Visit, page: &Page<'_>) -> Result<Value, Error> {
    let view = page.view()?;
    let title = Head::of(page)?.title.map(|title| text::collapse(&title));
    let mut body = view.body().map(text::lines).unwrap_or_default();
    body.truncate(body.floor_char_boundary(MAX_TEXT_BYTES));
    Ok(json!({ "url": visit.url, "title": title, "text": body }))
}

/// Masks every string of a value; its names stay. Without recursion: a record may be deep.
fn mask_strings(value: &mut Value, kinds: Kinds) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(string) => {
                if let Some(masked) = mask(string, kinds) {
                    *string = masked;
                }
            }
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.iter_mut().map(|(_, value)| value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
