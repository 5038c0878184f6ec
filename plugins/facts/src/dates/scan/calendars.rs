//! Dates of other calendars: of Japanese eras, of the Republic of China, of Iran.

use super::super::Manner;
use super::super::stamp::unix;
use super::{Found, Piece, date};

/// What a year of an era is counted from: the year before its first.
const ERAS: &[(&str, u32)] = &[
    ("令和", 2018),
    ("平成", 1988),
    ("民國", 1911),
    ("民国", 1911),
];

/// `令和6年3月14日`, `令和元年5月1日`, `中華民國113年3月14日`.
pub fn of_era(rest: &[Piece<'_>]) -> Option<Found> {
    let word = rest.first()?.word()?;
    let of = |word: &str| {
        let era = ERAS.iter().find(|(name, _)| word.ends_with(name));
        era.map(|(_, before)| *before)
    };
    let (year, rest_of_date) = match word.strip_suffix('元') {
        Some(word) => (of(word)? + 1, rest.get(1..)?),
        None => (
            of(word)?.checked_add(rest.get(1)?.number()?.0)?,
            rest.get(2..)?,
        ),
    };
    let [y, month, m, day, d, ..] = rest_of_date else {
        return None;
    };
    let marks = (y.word(), m.word(), d.word());
    if marks != (Some("年"), Some("月"), Some("日")) {
        return None;
    }
    date(year, month.number()?.0, day.number()?.0, rest.first()?, d)
}

/// The months of the calendar of Iran.
const SOLAR_MONTHS: [&str; 12] = [
    "فروردین",
    "اردیبهشت",
    "خرداد",
    "تیر",
    "مرداد",
    "شهریور",
    "مهر",
    "آبان",
    "آذر",
    "دی",
    "بهمن",
    "اسفند",
];

/// Years of that calendar that a page may be of.
const SOLAR_YEARS: std::ops::RangeInclusive<u32> = 1370..=1478;

/// `۲۴ اسفند ۱۴۰۲`, and on Persian pages `۱۴۰۲/۱۲/۲۴`: dates of the calendar of Iran.
pub fn solar(rest: &[Piece<'_>], manner: Manner<'_>) -> Option<Found> {
    let [first, second, third, ..] = rest else {
        return None;
    };
    let (day, month, year) = match second.word() {
        Some(name) => {
            let at = SOLAR_MONTHS.iter().position(|month| *month == name)?;
            let month = u32::try_from(at).ok()? + 1;
            (first.number()?.0, month, third.number()?.0)
        }
        None => {
            let mark = second.gap.trim();
            if !is_persian(manner) || mark != third.gap.trim() || !matches!(mark, "/" | "-" | ".") {
                return None;
            }
            (third.number()?.0, second.number()?.0, first.number()?.0)
        }
    };
    Some(Found {
        date: gregorian(year, month, day)?,
        start: first.start,
        end: third.end,
    })
}

/// Whether a value on a Persian page begins with a year of the calendar of Iran.
pub fn is_solar(value: &str, manner: Manner<'_>) -> bool {
    let year = value.get(..4).and_then(|year| year.parse().ok());
    is_persian(manner) && year.is_some_and(|year| SOLAR_YEARS.contains(&year))
}

fn is_persian(manner: Manner<'_>) -> bool {
    let main = manner.language.split(['-', '_']).next();
    main.is_some_and(|main| main.eq_ignore_ascii_case("fa"))
}

/// The Gregorian day of one of the calendar of Iran, whose leap years repeat after 33 years.
fn gregorian(year: u32, month: u32, day: u32) -> Option<String> {
    /// Days from the first of the year 979 to the beginning of 1970.
    const BEFORE: u32 = 135_061;
    let most = if month <= 6 { 31 } else { 30 };
    if !SOLAR_YEARS.contains(&year) || !(1..=12).contains(&month) || !(1..=most).contains(&day) {
        return None;
    }
    let years = year - 979;
    let of_years = 365 * years + years / 33 * 8 + (years % 33).div_ceil(4);
    let of_months = 30 * (month - 1) + (month - 1).min(6);
    let days = of_years + of_months + day - 1 - BEFORE;
    let time = unix(u64::from(days) * 86_400)?;
    time.get(..10).map(str::to_owned)
}

/// The month of Syria's and Lebanon's names of two words: `تشرين الأول`, `كانون الثاني`.
pub fn month_of_two(word: &str, next: Option<&Piece<'_>>) -> Option<u32> {
    match (word, next?.word()?) {
        ("كانون", "الثاني") => Some(1),
        ("تشرين", "الأول" | "الاول") => Some(10),
        ("تشرين", "الثاني") => Some(11),
        ("كانون", "الأول" | "الاول") => Some(12),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::read;
    use super::super::find;
    use super::*;

    #[test]
    fn other_calendars_are_read() {
        for (language, text, expected) in [
            ("ja", "令和6年3月14日", Some("2024-03-14")),
            ("ja", "公開日：令和6年3月14日（木）", Some("2024-03-14")),
            ("ja", "令和元年5月1日", Some("2019-05-01")),
            ("ja", "平成31年4月30日", Some("2019-04-30")),
            ("ja", "令和6年13月14日", None),
            ("zh-TW", "中華民國113年3月14日", Some("2024-03-14")),
            ("zh-TW", "113年3月14日", None),
            ("fa", "پنجشنبه ۲۴ اسفند ۱۴۰۲", Some("2024-03-14")),
            ("fa", "۱ فروردین ۱۴۰۳", Some("2024-03-20")),
            ("fa", "۳۰ اسفند ۱۳۹۹", Some("2021-03-20")),
            ("fa", "۱۰ دی ۱۴۰۱ - ۱۲:۳۰", Some("2022-12-31")),
            ("fa", "۱۴۰۲/۱۲/۲۴", Some("2024-03-14")),
            ("fa-IR", "1402-06-31", Some("2023-09-22")),
            ("fa", "۱۴۰۲/۱۳/۲۴", None),
            ("fa", "۱۴ مارس ۲۰۲۴", Some("2024-03-14")),
            // A year of the Hijra.
            ("ar", "1445/09/04", None),
            ("ar", "14 آذار 2024", Some("2024-03-14")),
            ("ar", "14 تشرين الثاني 2024", Some("2024-11-14")),
            ("ar", "14 كانون الأول 2024", Some("2024-12-14")),
        ] {
            let found = find(text, Manner::of(language)).map(|found| found.date);
            assert_eq!(found.as_deref(), expected, "{language}: {text}");
        }
        // As a value for programs, too.
        let persian = Manner::of("fa");
        assert_eq!(read("1402-12-24", persian).as_deref(), Some("2024-03-14"));
        assert_eq!(
            read("2024-03-14T10:00:00Z", persian).as_deref(),
            Some("2024-03-14T10:00:00Z")
        );
    }
}
