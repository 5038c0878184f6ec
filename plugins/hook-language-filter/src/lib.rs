//! Stores only pages in given languages: as declared, else as detected in the text.

use orbweaver_facts::language;
use orbweaver_sdk::head::Head;
use orbweaver_sdk::hook::{Hook, Made, RecordVerdict, Visit};
use orbweaver_sdk::{Error, Page};
use serde::Deserialize;

/// Bytes of a page that are read for its first tag.
const START: u32 = 2 << 10;

orbweaver_sdk::hook! { hook: LanguageFilter }

/// The configuration.
#[derive(Clone, Debug, Deserialize)]
pub struct Config {
    /// BCP 47 tags; `en` includes `en-GB`.
    pub languages: Vec<String>,
    /// Whether pages whose language is not known are stored.
    #[serde(default = "yes")]
    pub keep_unknown: bool,
}

fn yes() -> bool {
    true
}

/// The hook.
pub struct LanguageFilter;

impl Hook for LanguageFilter {
    type Config = Config;

    fn record(
        config: &Config,
        _visit: &Visit,
        page: &Page<'_>,
        _made: &Made,
    ) -> Result<RecordVerdict, Error> {
        let start = page.read(0, START);
        // Most pages say it in their first tag, and need not be parsed.
        let language = match language::of_root(&start) {
            Some(tag) => Some(tag),
            None => of_document(page)?,
        };
        let Some(language) = language else {
            return Ok(if config.keep_unknown {
                RecordVerdict::Keep
            } else {
                RecordVerdict::Drop("its language is not known".to_owned())
            });
        };
        if config
            .languages
            .iter()
            .any(|wanted| includes(wanted, language))
        {
            return Ok(RecordVerdict::Keep);
        }
        Ok(RecordVerdict::Drop(format!("its language is {language}")))
    }
}

/// The language that a page declares anywhere, else the one that is detected.
fn of_document<'p>(page: &'p Page<'_>) -> Result<Option<&'p str>, Error> {
    let view = page.view()?;
    let head = Head::of(page)?;
    let declared = head
        .language(page)
        .map(str::trim)
        .filter(|tag| !tag.is_empty());
    Ok(declared.or_else(|| language::detect(view)))
}

/// Whether a tag is the wanted one or a narrower one: RFC 4647, basic filtering.
fn includes(wanted: &str, tag: &str) -> bool {
    let (start, rest) = match tag.split_at_checked(wanted.len()) {
        Some(parts) => parts,
        None => return false,
    };
    let separated = rest.is_empty() || rest.starts_with(['-', '_']);
    separated && start.replace('_', "-").eq_ignore_ascii_case(wanted)
}
