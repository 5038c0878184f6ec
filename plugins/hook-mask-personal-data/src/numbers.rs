//! Numbers that stand for a person: phone, payment card, bank account, IPv4 address.

use crate::mask::{Kind, Kinds};

/// Most digits of a card number (ISO/IEC 7812), and the fewest in use.
const CARD_DIGITS: std::ops::RangeInclusive<usize> = 13..=19;
/// Digits of a phone number: E.164 allows 15.
const PHONE_DIGITS: std::ops::RangeInclusive<usize> = 7..=15;
/// Length of an account number without its spaces (ISO 13616).
const IBAN_LENGTH: std::ops::RangeInclusive<usize> = 15..=34;

/// Digits after which a run of groups is no number of these kinds.
const MAX_DIGITS: usize = 20;

/// What was found where a number starts.
pub(crate) struct Number {
    pub found: Option<(usize, usize, Kind)>,
    /// The end of digits that are none of these: up to the next space.
    pub seen_to: Option<usize>,
}

/// A run of digits in groups.
struct Run<'a> {
    bytes: &'a [u8],
    at: usize,
    digits: [u8; MAX_DIGITS],
    /// Number of digits of each group.
    lengths: [usize; MAX_DIGITS],
    /// The parts of the run, from its start on, that may be a number: up to each space or slash,
    /// and the whole.
    parts: [Part; MAX_DIGITS],
    part_count: usize,
    /// Whether digits or letters follow the last of the parts.
    goes_on: bool,
    /// The number right before this one, up to a space.
    before: &'a [u8],
}

/// The first groups of a run.
#[derive(Clone, Copy, Default)]
struct Part {
    digits: usize,
    groups: usize,
    /// Number of spaces between the groups.
    spaces: usize,
    /// The separators between them are all dots, or all slashes, or all hyphens.
    separator: Option<u8>,
    has_mixed: bool,
    end: usize,
}

/// Looks at the digits and separators from `at` on. What is before `from` is masked.
pub(crate) fn find(bytes: &[u8], from: usize, at: usize, kinds: Kinds) -> Number {
    let run = Run::read(bytes, from, at);
    match run.number(kinds) {
        Some((part, kind)) => Number {
            found: Some((at, part.end, kind)),
            seen_to: None,
        },
        None => Number {
            found: None,
            seen_to: end_before_space(bytes, at),
        },
    }
}

impl<'a> Run<'a> {
    fn read(bytes: &'a [u8], from: usize, at: usize) -> Self {
        let mut run = Self {
            bytes,
            at,
            digits: [0; MAX_DIGITS],
            lengths: [0; MAX_DIGITS],
            parts: [Part::default(); MAX_DIGITS],
            part_count: 0,
            goes_on: false,
            before: number_before(bytes, from, at),
        };
        let mut whole = Part::default();
        // Separators since the last digit: how many, the first of them, whether a space or a slash
        // is among them, and whether they differ.
        let (mut pos, mut between, mut mark, mut space, mut slash) = (at, 0, None, false, false);
        while let Some(byte) = bytes.get(pos) {
            match byte {
                b'0'..=b'9' => {
                    if space || slash {
                        run.add(whole);
                    }
                    if whole.digits == MAX_DIGITS {
                        run.goes_on = true;
                        return run;
                    }
                    if between > 0 && whole.digits > 0 {
                        let differs = whole.separator.is_some_and(|known| Some(known) != mark);
                        whole.has_mixed |= differs || between > 1 || mark.is_none();
                        whole.separator = mark.or(whole.separator);
                        whole.spaces += usize::from(space);
                    }
                    whole.groups += usize::from(between > 0 || whole.groups == 0);
                    if let Some(last) = run.lengths.get_mut(whole.groups - 1) {
                        *last += 1;
                    }
                    if let Some(digit) = run.digits.get_mut(whole.digits) {
                        *digit = byte - b'0';
                    }
                    whole.digits += 1;
                    (between, mark, space, slash) = (0, None, false, false);
                    whole.end = pos + 1;
                }
                b'+' if pos == at => {}
                b'(' | b')' if between < 2 => between += 1,
                b' ' | b'-' | b'.' | b'/' if between < 2 => {
                    between += 1;
                    mark = mark.or(Some(*byte));
                    space |= *byte == b' ' && whole.digits > 0;
                    slash |= *byte == b'/' && whole.digits > 0;
                }
                _ => break,
            }
            pos += 1;
        }
        // Part of a longer word, such as an article number.
        run.goes_on = bytes
            .get(whole.end)
            .is_some_and(|after| after.is_ascii_alphanumeric() || *after == b'@');
        if !run.goes_on {
            run.add(whole);
        }
        run
    }

    fn add(&mut self, part: Part) {
        if let Some(place) = self
            .parts
            .get_mut(self.part_count)
            .filter(|_| part.digits > 0)
        {
            *place = part;
            self.part_count += 1;
        }
    }

    fn parts(&self) -> &[Part] {
        self.parts.get(..self.part_count).unwrap_or_default()
    }

    /// The longest part that is a number, or rather a shorter one behind which another number
    /// begins.
    fn number(&self, kinds: Kinds) -> Option<(Part, Kind)> {
        let mut longest = None;
        for part in self.parts().iter().rev() {
            let Some(kind) = self.kind(part, kinds) else {
                continue;
            };
            let found = Some((*part, kind));
            if part.end == self.end() {
                return found;
            }
            let next = part.end + separators(self.bytes, part.end);
            let rest = Run::read(self.bytes, part.end, next);
            if rest
                .parts()
                .iter()
                .any(|part| rest.kind(part, kinds).is_some())
            {
                return found;
            }
            longest = longest.or(found);
        }
        longest
    }

    /// The end of the run, if it is in sight.
    fn end(&self) -> usize {
        let last = self.parts().last().filter(|_| !self.goes_on);
        last.map_or(usize::MAX, |part| part.end)
    }

    fn kind(&self, part: &Part, kinds: Kinds) -> Option<Kind> {
        let first = self.bytes.get(self.at).copied().unwrap_or_default();
        let is_cut = part.end != self.end() || !self.before.is_empty();
        if kinds.has(Kind::Ip) && self.is_ipv4(part, first) {
            Some(Kind::Ip)
        } else if kinds.has(Kind::Card)
            && self.is_card(part)
            && (!is_cut || self.is_grouped_as_card(part))
        {
            Some(Kind::Card)
        } else if kinds.has(Kind::Phone)
            && self.is_phone(part, first)
            && (!is_cut || self.stands_as_phone(part, first))
        {
            Some(Kind::Phone)
        } else {
            None
        }
    }

    fn lengths(&self, part: &Part) -> &[usize] {
        self.lengths.get(..part.groups).unwrap_or_default()
    }

    fn digits(&self, part: &Part) -> &[u8] {
        self.digits.get(..part.digits).unwrap_or_default()
    }

    fn is_ipv4(&self, part: &Part, first: u8) -> bool {
        let mut rest = self.digits(part);
        part.groups == 4
            && part.separator == Some(b'.')
            && !part.has_mixed
            && first.is_ascii_digit()
            && self.lengths(part).iter().all(|length| {
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

    fn is_card(&self, part: &Part) -> bool {
        let is_grouped = !matches!(part.separator, Some(b'.' | b'/')) && !part.has_mixed;
        // Four years in a row are none: no card in use starts with 20 or 21.
        let starts_well = matches!(self.digits, [2, 2..=7, ..] | [3..=6, ..]);
        is_grouped && starts_well && CARD_DIGITS.contains(&part.digits) && luhn(self.digits(part))
    }

    /// Whether a card's digits are together or grouped as on the card. Some of many numbers side by
    /// side would pass the check otherwise.
    fn is_grouped_as_card(&self, part: &Part) -> bool {
        match self.lengths(part) {
            [_] | [4, 6, 4 | 5] => true,
            [4, 4, 4, 1..=4] | [4, 4, 4, 4, 1..=3] => {
                let is_four = |number: &[u8]| number.len() == 4;
                !(is_four(self.before) && is_four(self.after(part)))
            }
            _ => false,
        }
    }

    fn is_phone(&self, part: &Part, first: u8) -> bool {
        let count = part.digits;
        if !PHONE_DIGITS.contains(&count) || self.is_date(part) {
            return false;
        }
        match first {
            b'+' => true,
            b'(' => count >= 9,
            // A decimal fraction.
            b'0' if self.bytes.get(self.at + 1) == Some(&b'.') => false,
            // A number without any group is rather an id; national numbers start with 0.
            b'0' => count >= 9 || part.groups > 1,
            _ => matches!(self.lengths(part), [3, 3, 4] | [1, 3, 3, 4]),
        }
    }

    /// Whether a phone number beside other numbers is one, and none of a series (`01 02 03 …`), nor
    /// the end of a number with spaces between its thousands (`1 050 000`).
    fn stands_as_phone(&self, part: &Part, first: u8) -> bool {
        if first == b'+' {
            return true;
        }
        let (lengths, own) = (self.lengths(part), number_at(self.bytes, self.at));
        let is_short = first == b'0' && part.digits < 9;
        let is_zero = own == b"0";
        let is_plain = |number: &[u8]| number.iter().all(u8::is_ascii_digit);
        let is_thousands = first == b'0'
            && matches!(lengths, [3, 3, ..])
            && matches!(self.before.len(), 1..=3)
            && is_plain(self.before);
        if is_short || is_zero || is_thousands {
            return false;
        }
        let last = number_before(self.bytes, self.at, part.end);
        part.spaces == 0 || !(is_alike(self.before, own) || is_alike(last, self.after(part)))
    }

    /// The number behind a part.
    fn after(&self, part: &Part) -> &'a [u8] {
        number_at(self.bytes, part.end + separators(self.bytes, part.end))
    }

    /// Day, month and year in any order, with nothing else between them than one kind of mark; or
    /// such a date, and a number behind it.
    fn is_date(&self, part: &Part) -> bool {
        let is = |part: &Part| {
            matches!(
                self.lengths(part),
                [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4 | 2] | [4, 1..=2, 1..=2, 2, ..]
            ) && !part.has_mixed
        };
        let first = self.parts().iter().rfind(|part| part.spaces == 0);
        is(part) || part.spaces > 0 && first.is_some_and(is)
    }
}

/// The end of the digits from `at` on, with one or two marks between them but no space.
fn end_before_space(bytes: &[u8], at: usize) -> Option<usize> {
    let (mut end, mut between) = (None, 0);
    for (pos, byte) in bytes.iter().enumerate().skip(at) {
        match byte {
            b'0'..=b'9' => (end, between) = (Some(pos + 1), 0),
            b'+' if pos == at => {}
            b'-' | b'.' | b'/' | b'(' | b')' if between < 2 => between += 1,
            _ => break,
        }
    }
    end
}

/// The first of the digits from `at` on, with what stands between them, up to a space.
fn number_at(bytes: &[u8], at: usize) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    let is_part = |byte: &&u8| byte.is_ascii_digit() || b"+-./()".contains(byte);
    let length = rest.iter().take(2 * MAX_DIGITS).take_while(is_part).count();
    let number = rest.get(..length).unwrap_or_default();
    let end = number.iter().rposition(u8::is_ascii_digit);
    number
        .get(..end.map_or(0, |last| last + 1))
        .unwrap_or_default()
}

/// The number that ends before `end`, at most a space and another mark away, and begins at `from`
/// or later. Of a longer one it is the end.
fn number_before(bytes: &[u8], from: usize, end: usize) -> &[u8] {
    let before = bytes.get(from..end).unwrap_or_default();
    let marks = before
        .iter()
        .rev()
        .take(2)
        .take_while(|byte| is_separator(byte));
    let before = before
        .get(..before.len() - marks.count())
        .unwrap_or_default();
    if !before.last().is_some_and(u8::is_ascii_digit) {
        return &[];
    }
    let is_part = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b'/');
    let numbers = before.iter().rev().take(2 * MAX_DIGITS);
    let length = numbers.take_while(is_part).count();
    before.get(before.len() - length..).unwrap_or_default()
}

/// The number of separators from `at` on, at most two.
fn separators(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter()
        .take(2)
        .take_while(|byte| is_separator(byte))
        .count()
}

fn is_separator(byte: &u8) -> bool {
    b" -./()".contains(byte)
}

/// Whether two numbers have the same form, as those of a series have.
fn is_alike(a: &[u8], b: &[u8]) -> bool {
    let is_same = |(a, b): (&u8, &u8)| a == b || a.is_ascii_digit() && b.is_ascii_digit();
    !a.is_empty() && a.len() == b.len() && a.iter().zip(b).all(is_same)
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
