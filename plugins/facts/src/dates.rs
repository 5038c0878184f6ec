//! Dates as pages write them, in many languages, read as ISO 8601.
//!
//! What is read: ISO 8601 and its compact form, RFC 2822, seconds and milliseconds since
//! 1970, dates with a month's name in any language of `data/months.txt` (CLDR), the forms of
//! Chinese, Japanese and Korean, the Buddhist calendar, and numbers alone.

mod months;
mod scan;
mod stamp;

pub use months::month;
pub use scan::{Found, find};
pub use stamp::{day_number, is_date, iso};

/// The order of day and month where both are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `3/14/2024`: the United States.
    MonthFirst,
    /// `14/3/2024`: nearly everywhere else.
    DayFirst,
}

/// What is known about a page's way of writing dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner<'l> {
    /// The page's language, a BCP 47 tag, or empty.
    pub language: &'l str,
    /// The order of numbers divided by slashes.
    pub slashes: Order,
}

impl<'l> Manner<'l> {
    /// The manner of a language: a BCP 47 tag, or empty where none is known.
    pub fn of(language: &'l str) -> Self {
        let mut parts = language.split(['-', '_']);
        let english = parts
            .next()
            .is_none_or(|p| p.is_empty() || p.eq_ignore_ascii_case("en"));
        // English without a country is American on most pages that say so.
        let american =
            parts.all(|p| p.len() != 2 || ["us", "ph"].iter().any(|c| p.eq_ignore_ascii_case(c)));
        Self {
            language,
            slashes: if english && american {
                Order::MonthFirst
            } else {
                Order::DayFirst
            },
        }
    }
}

/// A date given as a value of its own (a meta's content, a `datetime`, JSON-LD), as ISO 8601:
/// `2024`, `2024-03`, `2024-03-14` or a date with a time. `None` for what is no date, and for
/// what systems write in place of one (`0001-01-01`, the beginning of 1970).
pub fn read(value: &str, manner: Manner<'_>) -> Option<String> {
    /// A longer value is no date.
    const MAX_BYTES: usize = 120;
    let value = value.trim();
    if value.len() > MAX_BYTES {
        return None;
    }
    iso(value).or_else(|| Some(find(value, manner)?.date))
}
