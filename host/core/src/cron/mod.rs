//! Schedules: the five fields of POSIX cron, in UTC.
//!
//! `croner` finds the times. It accepts more than five-field cron and replaces names anywhere,
//! so every field is checked and its names are resolved first.

mod fields;

use std::fmt;

use chrono::{DateTime, Datelike as _, NaiveDate, Utc};
use croner::parser::{CronParser, Seconds, Year};
use croner::{Cron, Weekday};

/// Longest accepted expression, in bytes: every field may list all its values.
pub const MAX_CRON_BYTES: usize = 512;

const LEAP_YEAR: i32 = 2000;
const WEEKDAYS: [Weekday; 7] = [
    Weekday::Sunday,
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
];

/// A recurring schedule.
#[derive(Clone)]
pub struct Schedule {
    text: String,
    cron: Cron,
}

/// An expression that is not a schedule, with the rule that it breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSchedule(String);

impl Schedule {
    /// Parses `minute hour day-of-month month day-of-week`. Months and weekdays may be named
    /// by their first three letters; Sunday is 0 or 7; if both day fields are restricted, either
    /// may match.
    ///
    /// # Errors
    /// The rule that the expression breaks, or that its days never occur.
    pub fn parse(text: &str) -> Result<Self, InvalidSchedule> {
        if text.len() > MAX_CRON_BYTES {
            return Err(InvalidSchedule(format!(
                "must be at most {MAX_CRON_BYTES} characters"
            )));
        }
        let numbers = fields::resolve(text).map_err(InvalidSchedule)?;
        let cron = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build()
            .parse(&numbers)
            .map_err(|error| InvalidSchedule(error.to_string()))?;
        let schedule = Self {
            text: text.split_ascii_whitespace().collect::<Vec<_>>().join(" "),
            cron,
        };
        if !schedule.has_a_day() {
            return Err(InvalidSchedule("names a day that never comes".to_owned()));
        }
        Ok(schedule)
    }

    /// Whether any day matches. A leap year has every day of every month, and each month of it
    /// every weekday, so what it lacks never comes. Searching for a time that never comes would
    /// take `croner` through thousands of years.
    fn has_a_day(&self) -> bool {
        let pattern = &self.cron.pattern;
        let days = (1..=366).filter_map(|day| NaiveDate::from_yo_opt(LEAP_YEAR, day));
        for day in days {
            let weekday = day.weekday().num_days_from_sunday() as usize;
            let Some(weekday) = WEEKDAYS.get(weekday) else {
                continue;
            };
            let (month, number) = (day.month(), day.day());
            if matches!(pattern.month_match(month), Ok(true))
                && matches!(
                    pattern.day_match(LEAP_YEAR, month, number, *weekday),
                    Ok(true)
                )
            {
                return true;
            }
        }
        false
    }

    /// The first time after `time`, to the minute. `None` beyond the year 5000.
    pub fn next_after(&self, time: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.cron.find_next_occurrence(&time, false).ok()
    }

    /// The expression as written, with single spaces.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schedule").field(&self.text).finish()
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn fires(expression: &str, from: &str, to: &str) -> Vec<DateTime<Utc>> {
        let schedule = Schedule::parse(expression).unwrap();
        let to = at(to);
        std::iter::successors(schedule.next_after(at(from)), |last| {
            schedule.next_after(*last)
        })
        .take_while(|time| *time < to)
        .collect()
    }

    #[test]
    fn a_schedule_fires_as_often_as_expected_in_a_year() {
        let year = |expression| fires(expression, "2025-12-31T23:59:59Z", "2027-01-01T00:00:00Z");
        assert_eq!(year("0 0 1 * *").len(), 12);
        assert_eq!(year("30 6 * * MON").len(), 52);
        assert_eq!(year("15 3 * * *").len(), 365);
        let hourly = year("0 * * * *");
        assert_eq!(hourly.len(), 8_760);
        assert!(
            hourly
                .windows(2)
                .all(|pair| (pair[1] - pair[0]).num_minutes() == 60)
        );
        assert!(
            year("0 0 * * 6,7")
                .iter()
                .all(|time| time.weekday().number_from_monday() > 5)
        );
    }

    #[test]
    fn expressions_are_shown_as_written() {
        let schedule = Schedule::parse("  0\t0  * * Mon-fri ").unwrap();
        assert_eq!(schedule.as_str(), "0 0 * * Mon-fri");
    }

    #[test]
    fn extensions_of_other_cron_dialects_are_refused() {
        for expression in [
            "",
            "* * * *",
            "0 * * * * *",
            "* * * * * 2026",
            "@daily",
            "@reboot * * * *",
            "0 0 L * *",
            "0 0 15W * *",
            "0 0 ? * 1",
            "0 0 * * 1#2",
            "0 0 * * 5L",
            "0 0 * * +1",
            "MON * * * *",
            "0 0 MON * *",
            "0 0 * MON *",
            "0 0 * * JAN",
            "0 0 * * monday",
            "0 0 * * MONTUE",
            "0 0 * * 8",
            "0 0 0 * *",
            "0 0 * 13 *",
            "0 0 * 0 *",
            "5-1 * * * *",
            "0 0 * * FRI-MON",
            "*-5 * * * *",
            "1-*/5 * * * *",
            "0 0 31 2,4,6 *",
            "0\u{a0}0 * * *",
            "\u{660} * * * *",
            "99999999999999999999 * * * *",
            "*/99999999999999999999 * * * *",
        ] {
            let refused = Schedule::parse(expression);
            assert!(refused.is_err(), "{expression:?}: {refused:?}");
        }
        let long = format!("{}0 * * * *", "0,".repeat(300));
        assert!(Schedule::parse(&long).is_err());
    }

    #[test]
    fn a_day_that_never_comes_is_refused() {
        for month in 1..=12 {
            for day in 1..=31 {
                let comes = NaiveDate::from_ymd_opt(LEAP_YEAR, month, day).is_some();
                for (fields, fires) in [
                    (format!("0 0 {day} {month} *"), comes),
                    (format!("0 0 {day} {month} 0"), true),
                    (format!("0 0 {day} {month} */7"), true),
                    (format!("0 0 {day} {month},1 *"), true),
                ] {
                    assert_eq!(Schedule::parse(&fields).is_ok(), fires, "{fields}");
                }
            }
        }
    }

    #[test]
    fn names_mean_numbers() {
        for (named, numbered) in [
            ("0 0 * * FRI-SUN", "0 0 * * 5-7"),
            ("0 0 * * sun-tue", "0 0 * * 0-2"),
            ("0 0 * * sun-sun", "0 0 * * 0"),
            ("0 0 1 Nov-DEC *", "0 0 1 11-12 *"),
            ("0 0 1 jan-dec/3 *", "0 0 1 1-12/3 *"),
        ] {
            let year =
                |expression| fires(expression, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
            assert_eq!(year(named), year(numbered), "{named}");
        }
    }

    #[test]
    fn a_star_in_a_list_is_every_value() {
        for (list, star) in [
            ("5,*,10 0 1 1 *", "* 0 1 1 *"),
            ("0 *,7-9 1 * *", "0 * 1 * *"),
            ("0 0 1,* * *", "0 0 * * *"),
            ("0 0 1 *,3 *", "0 0 1 * *"),
            ("0 0 * * 1,*", "0 0 * * *"),
        ] {
            let year =
                |expression| fires(expression, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
            assert_eq!(year(list), year(star), "{list}");
        }
    }
}
