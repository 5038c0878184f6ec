//! Usage as a chart: a bar for each day, or week of a long period, divided by kind of call.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

/// Kinds of call with a colour of their own; the others are one kind together.
const MAX_KINDS: usize = 5;
/// Most bars of days; of a longer period a bar is a week.
const MAX_DAYS: usize = 90;
/// Days of a bar of a longer period.
const WEEK: usize = 7;
/// Height of the drawing; its width is ten for each bar.
const HEIGHT: f64 = 100.0;
/// The kind of what has no colour of its own.
const OTHER: &str = "other";

/// Pages of a day and a kind of call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use<'a> {
    /// The day, `2026-03-01`.
    pub(super) date: &'a str,
    /// What was called.
    pub(super) call: &'a str,
    /// Standard pages.
    pub(super) pages: u64,
    /// Cloud pages.
    pub(super) cloud_pages: u64,
    /// Cost in US dollars.
    pub(super) cost: f64,
}

impl Use<'_> {
    const fn total(&self) -> u64 {
        self.pages.saturating_add(self.cloud_pages)
    }
}

/// The sums of a kind of call.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    pages: u64,
    cloud_pages: u64,
    cost: f64,
}

/// The chart for the template; `dates` are all days, oldest first, and `cap` is the cap of a day.
pub(super) fn drawn(dates: &[&str], uses: &[Use<'_>], cap: Option<u64>) -> Value {
    let mut kinds: BTreeMap<&str, Sums> = BTreeMap::new();
    for one in uses {
        let sums = kinds.entry(one.call).or_default();
        sums.pages += one.pages;
        sums.cloud_pages += one.cloud_pages;
        sums.cost += one.cost;
    }
    let mut kinds: Vec<(&str, Sums)> = kinds.into_iter().collect();
    // The most used first; sorting is stable, so equal ones stay in the order of their names.
    kinds.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.pages + sums.cloud_pages));
    let colours: HashMap<&str, usize> = kinds
        .iter()
        .enumerate()
        .map(|(place, (call, _))| (*call, place.min(MAX_KINDS)))
        .collect();

    let days_a_bar = if dates.len() > MAX_DAYS { WEEK } else { 1 };
    let bar_of: HashMap<&str, usize> = dates
        .iter()
        .enumerate()
        .map(|(day, date)| (*date, day / days_a_bar))
        .collect();
    let mut bars = vec![[0_u64; MAX_KINDS + 1]; dates.len().div_ceil(days_a_bar)];
    for one in uses {
        let (Some(bar), Some(colour)) = (bar_of.get(one.date), colours.get(one.call)) else {
            continue;
        };
        let part = bars.get_mut(*bar).and_then(|bar| bar.get_mut(*colour));
        if let Some(part) = part {
            *part += one.total();
        }
    }
    let most = bars.iter().map(|bar| bar.iter().sum()).max().unwrap_or(0);
    // A cap far above all bars would make them flat.
    let cap = cap.filter(|cap| days_a_bar == 1 && *cap <= most.saturating_mul(2));
    let top = rounded_up(most.max(cap.unwrap_or(0)));
    let height = |pages: u64| hundredths(share(pages, top) * HEIGHT);

    let shapes: Vec<Value> = bars
        .iter()
        .zip(dates.chunks(days_a_bar))
        .enumerate()
        .filter(|(_, (bar, _))| bar.iter().any(|pages| *pages > 0))
        .map(|(place, (bar, days))| {
            let mut below = 0;
            let parts: Vec<Value> = bar
                .iter()
                .enumerate()
                .filter(|(_, pages)| **pages > 0)
                .map(|(colour, pages)| {
                    below += pages;
                    json!({
                        "colour": colour,
                        "y": hundredths(HEIGHT - height(below)),
                        "height": height(*pages),
                    })
                })
                .collect();
            json!({
                "x": place * 10 + 1,
                "parts": parts,
                "from": days.first(),
                "to": days.last(),
                "pages": below,
            })
        })
        .collect();
    let legend: Vec<Value> = kinds
        .iter()
        .take(MAX_KINDS)
        .enumerate()
        .map(|(colour, (call, _))| json!({"colour": colour, "call": call}))
        .chain((kinds.len() > MAX_KINDS).then(|| json!({"colour": MAX_KINDS, "call": OTHER})))
        .collect();
    let table: Vec<Value> = kinds
        .iter()
        .map(|(call, sums)| {
            json!({
                "call": call,
                "colour": colours.get(call),
                "pages": sums.pages,
                "cloud_pages": sums.cloud_pages,
                "cost": sums.cost,
            })
        })
        .collect();
    json!({
        "bars": shapes,
        "width": bars.len() * 10,
        "top": top,
        "half": top.is_multiple_of(2).then_some(top / 2),
        "cap": cap,
        "cap_y": cap.map(|cap| hundredths(HEIGHT - height(cap))),
        "is_weekly": days_a_bar > 1,
        "first": dates.first(),
        "middle": dates.get(dates.len() / 2),
        "last": dates.last(),
        "most": most,
        "total": uses.iter().map(Use::total).sum::<u64>(),
        "legend": legend,
        "kinds": table,
    })
}

/// The part that a number is of another, 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "a height in a drawing")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

/// The next number that is round to the eye: the upper end of an axis.
fn rounded_up(number: u64) -> u64 {
    /// Round numbers, in tenths of a power of ten.
    const STEPS: [u64; 10] = [10, 12, 16, 20, 24, 30, 40, 50, 60, 80];
    if let Some(end) = [4, 6, 8, 10].into_iter().find(|end| *end >= number) {
        return end;
    }
    let mut unit = 1_u64;
    loop {
        let mut ends = STEPS.iter().map(|step| unit.saturating_mul(*step));
        if let Some(end) = ends.find(|end| *end >= number) {
            return end;
        }
        unit = unit.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one<'a>(date: &'a str, call: &'a str, pages: u64) -> Use<'a> {
        Use {
            date,
            call,
            pages,
            cloud_pages: 0,
            cost: 0.0,
        }
    }

    #[test]
    fn bars_stand_on_each_other_and_reach_their_sum() {
        let dates = ["2026-03-01", "2026-03-02", "2026-03-03"];
        let uses = [
            one("2026-03-01", "scan", 20),
            one("2026-03-01", "crawl", 60),
            one("2026-03-03", "crawl", 40),
        ];
        let chart = drawn(&dates, &uses, Some(100));
        assert_eq!((&chart["top"], &chart["width"]), (&json!(100), &json!(30)));
        assert_eq!(chart["cap_y"], 0.0);
        assert_eq!(chart["total"], 120);
        let bars = chart["bars"].as_array().unwrap();
        assert_eq!(bars.len(), 2, "a day without usage has no bar");
        // The most used kind stands below.
        assert_eq!(
            bars[0]["parts"],
            json!([
                {"colour": 0, "y": 40.0, "height": 60.0},
                {"colour": 1, "y": 20.0, "height": 20.0},
            ])
        );
        assert_eq!((&bars[1]["x"], &bars[1]["pages"]), (&json!(21), &json!(40)));
        assert_eq!(chart["legend"][0], json!({"colour": 0, "call": "crawl"}));
        // A cap that is far away is not in the drawing.
        assert!(drawn(&dates, &uses, Some(5_000))["cap"].is_null());
    }

    #[test]
    fn rare_kinds_share_a_colour_and_long_periods_have_weeks() {
        let dates: Vec<String> = (0..365).map(|day| format!("day {day}")).collect();
        let dates: Vec<&str> = dates.iter().map(String::as_str).collect();
        let calls = ["a", "b", "c", "d", "e", "f", "g"];
        let uses: Vec<Use<'_>> = calls
            .iter()
            .zip(&dates)
            .map(|(call, date)| one(date, call, 10))
            .collect();
        let chart = drawn(&dates, &uses, Some(1));
        assert_eq!(chart["is_weekly"], true);
        assert!(chart["cap"].is_null(), "a day's cap is none of a week");
        assert_eq!(chart["legend"].as_array().unwrap().len(), MAX_KINDS + 1);
        assert_eq!(chart["kinds"].as_array().unwrap().len(), calls.len());
        let bars = chart["bars"].as_array().unwrap();
        assert_eq!(bars.len(), 1);
        assert_eq!(
            (&bars[0]["from"], &bars[0]["to"]),
            (&json!("day 0"), &json!("day 6"))
        );
        assert_eq!(bars[0]["parts"].as_array().unwrap().len(), MAX_KINDS + 1);
    }

    #[test]
    fn an_axis_ends_at_a_round_number() {
        for (number, end) in [(0, 4), (1, 4), (7, 8), (61, 80), (100, 100), (1_001, 1_200)] {
            assert_eq!(rounded_up(number), end, "{number}");
        }
        assert_eq!(rounded_up(u64::MAX), u64::MAX);
    }
}
