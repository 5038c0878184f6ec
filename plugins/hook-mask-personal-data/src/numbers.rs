//! Numbers that stand for a person: phone, payment card, bank account, IPv4 address.

use crate::mask::{Kind, Kinds};

/// Most digits of a card number (ISO/IEC 7812), and the fewest in use.
const CARD_DIGITS: std::ops::RangeInclusive<usize> = 13..=19;
/// Digits of a phone number: E.164 allows 15.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 7..=15;
/// Length of an account number without its spaces (ISO 13616).
const IBAN_LENGTH: std::ops::RangeInclusive<usize> = 15..=34;

/// What was found where a number starts.
pub(crate) struct Number {
    pub found: Option<(usize, usize, Kind)>,
    /// The end of a number that is none of these.
    pub seen_to: Option<usize>,
}

/// A run of digits in groups.
struct Groups {
    digits: Vec<u8>,
    /// Number of digits of each group.
    lengths: Vec<usize>,
    /// The separators between them are all dots, or all slashes, or all hyphens.
    separator: Option<u8>,
    has_mixed: bool,
    end: usize,
}

/// Looks at the digits and separators from `at` on.
pub(crate) fn find(bytes: &[u8], at: usize, kinds: Kinds) -> Number {
    let groups = Groups::read(bytes, at);
    let first = bytes.get(at).copied().unwrap_or_default();
    // Part of a longer word, such as an article number.
    let ends_word = bytes
        .get(groups.end)
        .is_none_or(|after| !after.is_ascii_alphanumeric() && *after != b'@');
    let kind = if !ends_word {
        None
    } else if kinds.has(Kind::Ip) && groups.is_ipv4(first) {
        Some(Kind::Ip)
    } else if kinds.has(Kind::Card) && groups.is_card() {
        Some(Kind::Card)
    } else if kinds.has(Kind::Phone) && groups.is_phone(first) {
        Some(Kind::Phone)
    } else {
        None
    };
    Number {
        found: kind.map(|kind| (at, groups.end, kind)),
        seen_to: (kind.is_none() && groups.end > at).then_some(groups.end),
    }
}

impl Groups {
    fn read(bytes: &[u8], at: usize) -> Self {
        let mut groups = Self {
            digits: Vec::new(),
            lengths: Vec::new(),
            separator: None,
            has_mixed: false,
            end: at,
        };
        // Separators since the last digit: how many, the first of them, and whether they differ.
        let (mut pos, mut between, mut mark) = (at, 0, None);
        while let Some(byte) = bytes.get(pos) {
            match byte {
                b'0'..=b'9' => {
                    if between > 0 || groups.lengths.is_empty() {
                        groups.lengths.push(0);
                    }
                    if !groups.digits.is_empty() && between > 0 {
                        let differs = groups.separator.is_some_and(|known| Some(known) != mark);
                        groups.has_mixed |= differs || between > 1 || mark.is_none();
                        groups.separator = mark.or(groups.separator);
                    }
                    if let Some(last) = groups.lengths.last_mut() {
                        *last += 1;
                    }
                    groups.digits.push(byte - b'0');
                    (between, mark) = (0, None);
                    groups.end = pos + 1;
                    // Longer than any number of these kinds.
                    if groups.digits.len() > 64 {
                        let rest = bytes.get(pos..).unwrap_or_default();
                        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit());
                        groups.end = pos + digits.count();
                        break;
                    }
                }
                b'+' if pos == at => {}
                b'(' | b')' if between < 2 => between += 1,
                b' ' | b'-' | b'.' | b'/' if between < 2 => {
                    between += 1;
                    mark = mark.or(Some(*byte));
                }
                _ => break,
            }
            pos += 1;
        }
        groups
    }

    fn is_ipv4(&self, first: u8) -> bool {
        let mut rest = self.digits.as_slice();
        self.lengths.len() == 4
            && self.separator == Some(b'.')
            && !self.has_mixed
            && first.is_ascii_digit()
            && self.lengths.iter().all(|length| {
                let Some((group, after)) = rest.split_at_checked(*length) else {
                    return false;
                };
                rest = after;
                let value = group.iter().fold(0_u32, |sum, digit| {
                    sum.saturating_mul(10) + u32::from(*digit)
                });
                group.len() <= 3 && value <= 255
            })
    }

    fn is_card(&self) -> bool {
        let is_grouped = !matches!(self.separator, Some(b'.' | b'/')) && !self.has_mixed;
        let starts_well = matches!(self.digits.first(), Some(2..=6));
        is_grouped && starts_well && CARD_DIGITS.contains(&self.digits.len()) && luhn(&self.digits)
    }

    fn is_phone(&self, first: u8) -> bool {
        let count = self.digits.len();
        if !PHONE_DIGITS.contains(&count) || self.is_date() {
            return false;
        }
        match first {
            b'+' => true,
            b'(' => count >= 9,
            // A number without any group is rather an id; national numbers start with 0.
            b'0' => count >= 9 || self.lengths.len() > 1,
            _ => matches!(self.lengths.as_slice(), [3, 3, 4] | [1, 3, 3, 4]),
        }
    }

    /// Day, month and year in any order, with nothing else between them than one kind of mark.
    fn is_date(&self) -> bool {
        matches!(
            self.lengths.as_slice(),
            [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4 | 2] | [4, 1..=2, 1..=2, 2, ..]
        ) && !self.has_mixed
    }
}

/// The check of ISO/IEC 7812.
fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| match (place % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// The end of an account number that starts at `at`, with single spaces between its groups.
pub(crate) fn iban(bytes: &[u8], at: usize) -> Option<usize> {
    let start = bytes.get(at..at + 4)?;
    let [a, b, c, d] = start else { return None };
    if !(a.is_ascii_uppercase()
        && b.is_ascii_uppercase()
        && c.is_ascii_digit()
        && d.is_ascii_digit())
    {
        return None;
    }
    let mut signs: Vec<u8> = Vec::new();
    let mut best = None;
    let mut pos = at;
    while let Some(byte) = bytes.get(pos) {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' => signs.push(*byte),
            b' ' if bytes.get(pos + 1).is_some_and(u8::is_ascii_alphanumeric) => {}
            _ => break,
        }
        pos += 1;
        if signs.len() > *IBAN_LENGTH.end() {
            break;
        }
        let ends = bytes
            .get(pos)
            .is_none_or(|after| !after.is_ascii_alphanumeric());
        if ends && *byte != b' ' && IBAN_LENGTH.contains(&signs.len()) && remainder(&signs) == 1 {
            best = Some(pos);
        }
    }
    best
}

/// The check of ISO 7064: the first four signs last, letters as 10 to 35, modulo 97.
fn remainder(signs: &[u8]) -> u32 {
    let (head, tail) = signs.split_at_checked(4).unwrap_or((signs, &[]));
    tail.iter().chain(head).fold(0, |rest, sign| match sign {
        b'0'..=b'9' => (rest * 10 + u32::from(sign - b'0')) % 97,
        _ => (rest * 100 + u32::from(sign.saturating_sub(b'A')) + 10) % 97,
    })
}
