//! Dates as pages write them, in many languages, read as ISO 8601.
//!
//! What is read: ISO 8601 and its compact form, RFC 2822, seconds and milliseconds since
//! 1970, dates with a month's name in any language of `data/months.txt` (CLDR), the forms of
//! Chinese, Japanese and Korean, the Buddhist calendar, and numbers alone.

mod months;
mod programs;
mod scan;
mod stamp;

pub use months::month;
use scan::is_solar;
pub use scan::{Found, find};
pub use stamp::{day_number, is_date, iso};

/// The order of day, month and year where all are numbers.
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
    /// Where a year of two digits stands.
    pub short_years: ShortYears,
}

/// Where a year of two digits stands among numbers: `24.03.05` or `05.03.24`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortYears {
    /// At the beginning, as in Korean.
    First,
    /// At the end, as nearly everywhere else.
    Last,
    /// Both are in use.
    Either,
}

impl ShortYears {
    /// Of a language, a BCP 47 tag (CLDR's short dates).
    fn of(language: &str) -> Self {
        let mut parts = language.split(['-', '_']);
        let primary = parts.next().unwrap_or("").to_ascii_lowercase();
        let mut in_one_of =
            |regions: &[&str]| parts.any(|p| regions.iter().any(|r| p.eq_ignore_ascii_case(r)));
        match primary.as_str() {
            "zh" | "yue" if in_one_of(&["hk", "mo", "sg"]) => Self::Either,
            "ja" | "ko" | "zh" | "yue" | "hu" | "lt" | "mn" | "eu" => Self::First,
            "sv" | "af" | "ne" | "si" => Self::Either,
            "en" | "fr" if in_one_of(&["ca", "za"]) => Self::Either,
            _ => Self::Last,
        }
    }
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
            short_years: ShortYears::of(language),
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
    let of_programs = || iso(value).or_else(|| programs::read(value));
    let is_solar = is_solar(value, manner);
    (!is_solar).then(of_programs).flatten().or_else(|| {
        let found = find(value, manner)?;
        let behind = value.get(found.end..).unwrap_or("");
        Some(programs::with_time_behind(found.date, behind))
    })
}
