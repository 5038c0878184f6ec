//! Numbers as pages write them: `1,299.00`, `1.299,00 €`, `1 299`, `-0.5 %`, `2.5e3`.

use serde_json::Number;

/// The first number of a text. `decimal` is the sign before its fraction; without one it is told
/// from the number: where both signs are used, the last one; a sign used more than once divides
/// thousands; one comma before exactly three digits divides thousands, too, and any other sign is
/// before the fraction.
pub(crate) fn number(text: &str, decimal: Option<char>) -> Option<Number> {
    let plain = plain(text, decimal)?;
    if let Ok(whole) = plain.parse::<i64>() {
        return Some(Number::from(whole));
    }
    Number::from_f64(plain.parse().ok()?)
}

/// The first number of a text, which must be whole.
pub(crate) fn integer(text: &str, decimal: Option<char>) -> Option<Number> {
    let number = number(text, decimal)?;
    if number.is_i64() {
        return Some(number);
    }
    let float = number.as_f64()?;
    // Beyond 2^53 a float is no longer exact.
    let is_whole = float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0;
    is_whole.then(|| Number::from(float as i64))
}

/// The first number as Rust writes it.
fn plain(text: &str, decimal: Option<char>) -> Option<String> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let (before, rest) = text.split_at_checked(start)?;
    let length = run_length(rest);
    let run = rest.get(..length)?;
    let mut out = String::with_capacity(run.len() + 2);
    if is_negative(before) {
        out.push('-');
    }
    // `.5` and `,5`
    let leading = before
        .chars()
        .next_back()
        .filter(|c| ['.', ','].contains(c));
    let is_word = before
        .chars()
        .nth_back(1)
        .is_some_and(char::is_alphanumeric);
    if leading.is_some() && !is_word && !run.contains(['.', ',']) {
        out.push_str("0.");
        out.push_str(&digits(run));
        return Some(out);
    }
    match fraction_at(run, decimal) {
        Some(at) => {
            let (whole, fraction) = run.split_at_checked(at)?;
            out.push_str(&digits(whole));
            out.push('.');
            out.push_str(&digits(fraction));
        }
        None => out.push_str(&digits(run)),
    }
    if let Some(exponent) = exponent(rest.get(length..)?) {
        out.push_str(exponent);
    }
    Some(out)
}

/// Length of a run of digits with the signs between them.
fn run_length(text: &str) -> usize {
    let (mut end, mut group) = (0, 0);
    for (at, c) in text.char_indices() {
        if c.is_ascii_digit() {
            end = at + 1;
            group += 1;
            continue;
        }
        let first_groups = std::mem::take(&mut group) <= 3;
        let rest = text.get(at + c.len_utf8()..).unwrap_or_default();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let divides = match c {
            '.' | ',' => digits > 0,
            // Spaces and apostrophes are inside a number only between groups of three.
            ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '’' => digits == 3 && first_groups,
            _ => false,
        };
        if !divides {
            break;
        }
    }
    end
}

/// Where the fraction of a run begins: at its sign.
fn fraction_at(run: &str, decimal: Option<char>) -> Option<usize> {
    if let Some(sign) = decimal {
        return run.rfind(sign);
    }
    let (dots, commas) = (run.matches('.').count(), run.matches(',').count());
    let last = run.rfind(['.', ','])?;
    let is_comma = run.get(last..)?.starts_with(',');
    match (dots, commas) {
        (0, 1) => {
            let is_group =
                run.len() - last == 4 && (1..=3).contains(&last) && !run.starts_with('0');
            (!is_group).then_some(last)
        }
        (1, 0) => Some(last),
        (0, _) | (_, 0) => None,
        // Both: the last one, if it is there once.
        (_, 1) if is_comma => Some(last),
        (1, _) if !is_comma => Some(last),
        _ => None,
    }
}

fn digits(run: &str) -> String {
    run.chars().filter(char::is_ascii_digit).collect()
}

/// `e3`, `E-5` behind a number.
fn exponent(rest: &str) -> Option<&str> {
    let after = rest.strip_prefix(['e', 'E'])?;
    let unsigned = after.strip_prefix(['+', '-']).unwrap_or(after);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let end = 1 + (after.len() - unsigned.len()) + digits;
    let is_word = rest.get(end..)?.starts_with(|c: char| c.is_alphanumeric());
    ((1..=3).contains(&digits) && !is_word).then(|| rest.get(..end))?
}

/// Whether a minus sign stands before the number, with a currency between them at most.
fn is_negative(before: &str) -> bool {
    let before = before.trim_end_matches(|c: char| {
        c.is_whitespace() || matches!(c, '$' | '€' | '£' | '¥' | '.' | ',')
    });
    let Some(rest) = before.strip_suffix(['-', '−', '–']) else {
        return false;
    };
    // `10-20` is a range, `A-5` a name.
    !rest.ends_with(|c: char| c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_pages_write_them() {
        for (text, expected) in [
            ("$1,299.00", "1299.0"),
            ("1.299,00 €", "1299.0"),
            ("1,299", "1299"),
            ("1,29", "1.29"),
            ("0,125", "0.125"),
            ("1.299", "1.299"),
            ("1.299.000", "1299000"),
            ("1 299,50 zł", "1299.5"),
            ("1\u{202f}299\u{202f}000", "1299000"),
            ("1'299.5", "1299.5"),
            ("12 34", "12"),
            ("2024 100", "2024"),
            ("-5 °C", "-5"),
            ("−0.5 %", "-0.5"),
            ("-$3", "-3"),
            ("pages 10-20", "10"),
            ("A-5", "5"),
            (".75", "0.75"),
            ("v2.", "2"),
            ("2.5e3 m", "2500.0"),
            ("5 eggs", "5"),
            ("3em", "3"),
            ("4.5 of 5 stars", "4.5"),
            ("12.", "12"),
        ] {
            let number = number(text, None).map(|number| number.to_string());
            assert_eq!(number.as_deref(), Some(expected), "{text}");
        }
        let german = number("1.299", Some(',')).map(|number| number.to_string());
        assert_eq!(german.as_deref(), Some("1299"));
        let english = number("1,29", Some('.')).map(|number| number.to_string());
        assert_eq!(english.as_deref(), Some("129"));
        for none in ["", "N/A", "-", "€", "."] {
            assert_eq!(number(none, None), None, "{none}");
        }
    }

    #[test]
    fn an_integer_is_a_number_without_a_fraction() {
        let read = |text| integer(text, None).and_then(|number| number.as_i64());
        assert_eq!(read("1,299.00 items"), Some(1299));
        assert_eq!(read("1.5"), None);
        assert_eq!(read("99999999999999999999"), None);
    }
}
