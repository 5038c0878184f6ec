//! The grammar of one field: `*`, a value, a range, each with a step, in a list.

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field {
        name: "minute",
        least: 0,
        most: 59,
        names: &[],
    },
    Field {
        name: "hour",
        least: 0,
        most: 23,
        names: &[],
    },
    Field {
        name: "day of month",
        least: 1,
        most: 31,
        names: &[],
    },
    Field {
        name: "month",
        least: 1,
        most: 12,
        names: &MONTHS,
    },
    Field {
        name: "day of week",
        least: 0,
        most: 7,
        names: &WEEKDAYS,
    },
];

/// The expression with numbers instead of names; the error is the broken rule.
pub(super) fn resolve(expression: &str) -> Result<String, String> {
    let fields: Vec<&str> = expression.split_ascii_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "must have five fields (minute, hour, day of month, month, day of week), not {}",
            fields.len()
        ));
    }
    let mut resolved = String::with_capacity(expression.len());
    for (text, field) in fields.iter().zip(&FIELDS) {
        if !resolved.is_empty() {
            resolved.push(' ');
        }
        for (index, item) in text.split(',').enumerate() {
            if index > 0 {
                resolved.push(',');
            }
            // `croner` takes `*` alone, not as an item of a list.
            resolved.push_str(&match item {
                "*" if text.contains(',') => format!("{}-{}", field.least, field.most),
                _ => field.item(item)?,
            });
        }
    }
    Ok(resolved)
}

impl Field {
    fn item(&self, item: &str) -> Result<String, String> {
        if item.is_empty() {
            return Err(format!("the {} has an empty list item", self.name));
        }
        let (base, step) = match item.split_once('/') {
            Some((base, step)) => (base, Some(step)),
            None => (item, None),
        };
        let base = if base == "*" {
            base.to_owned()
        } else if let Some((first, last)) = base.split_once('-') {
            let (first, last) = (self.value(first)?, self.value(last)?);
            // Sunday (0) ends a range that starts on another weekday.
            let last = if self.most == 7 && last == 0 && first > 0 {
                7
            } else {
                last
            };
            if first > last {
                return Err(format!("the {} has a range that runs backwards", self.name));
            }
            format!("{first}-{last}")
        } else {
            self.value(base)?.to_string()
        };
        let Some(step) = step else { return Ok(base) };
        if !base.contains(['*', '-']) {
            return Err(format!("the {} has a step without a range", self.name));
        }
        match number(step) {
            Some(1..) => Ok(format!("{base}/{step}")),
            _ => Err(format!(
                "the {} has a step that is not a whole number above 0",
                self.name
            )),
        }
    }

    fn value(&self, text: &str) -> Result<u32, String> {
        let named = self
            .names
            .iter()
            .zip(self.least..)
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        if let Some((_, value)) = named {
            return Ok(value);
        }
        number(text)
            .filter(|value| (self.least..=self.most).contains(value))
            .ok_or_else(|| {
                format!(
                    "the {} has `{text}`, which is not between {} and {}",
                    self.name, self.least, self.most
                )
            })
    }
}

/// Digits only: no sign, nothing beyond ASCII.
fn number(text: &str) -> Option<u32> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}
