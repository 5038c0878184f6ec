//! Finds personal data in text, in one pass: e-mail addresses around an `@`, and numbers.

use serde::Deserialize;

use crate::numbers;

/// A kind of personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An e-mail address.
    Email,
    /// A phone number.
    Phone,
    /// The number of a payment card.
    Card,
    /// An international bank account number.
    Iban,
    /// An IPv4 address.
    Ip,
}

impl Kind {
    const fn bit(self) -> u8 {
        match self {
            Self::Email => 1,
            Self::Phone => 2,
            Self::Card => 4,
            Self::Iban => 8,
            Self::Ip => 16,
        }
    }

    /// What stands in place of it.
    pub const fn replacement(self) -> &'static str {
        match self {
            Self::Email => "[email]",
            Self::Phone => "[phone]",
            Self::Card => "[card]",
            Self::Iban => "[iban]",
            Self::Ip => "[ip]",
        }
    }
}

/// A set of kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// Every kind.
    pub const ALL: Self = Self(31);

    /// The set of these kinds.
    pub fn of(kinds: &[Kind]) -> Self {
        Self(kinds.iter().fold(0, |set, kind| set | kind.bit()))
    }

    /// Whether the set has this kind.
    pub fn has(self, kind: Kind) -> bool {
        self.0 & kind.bit() != 0
    }
}

/// Longest part of an e-mail address before the `@`, and after it (RFC 5321).
const MAX_LOCAL: usize = 64;
const MAX_DOMAIN: usize = 255;

/// The text with personal data replaced; `None` if it has none.
pub fn mask(text: &str, kinds: Kinds) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    // Text before `copied` is in `out`; `at` is looked at next.
    let (mut copied, mut at) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        let found = match byte {
            b'@' if kinds.has(Kind::Email) => email(bytes, copied, at),
            b'0'..=b'9' | b'+' | b'(' if starts_number(bytes, at) => {
                let number = numbers::find(bytes, copied, at, kinds);
                if let Some(end) = number.seen_to
                    && number.found.is_none()
                {
                    at = end.max(at + 1);
                    continue;
                }
                number.found
            }
            b'A'..=b'Z' if kinds.has(Kind::Iban) && starts_word(bytes, at) => {
                numbers::iban(bytes, at).map(|end| (at, end, Kind::Iban))
            }
            _ => None,
        };
        match found {
            Some((start, end, kind)) if start >= copied => {
                out.push_str(text.get(copied..start).unwrap_or_default());
                out.push_str(kind.replacement());
                copied = end;
                at = end;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return None;
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Some(out)
}

fn starts_word(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_none_or(|before| !before.is_ascii_alphanumeric())
}

/// A number starts where no letter, digit or decimal point is right before it.
fn starts_number(bytes: &[u8], at: usize) -> bool {
    at.checked_sub(1)
        .and_then(|before| bytes.get(before))
        .is_none_or(|before| {
            !before.is_ascii_alphanumeric() && !matches!(before, b'.' | b'_' | b'/' | b'#' | b'=')
        })
}

/// The address around the `@` at `at`; nothing before `from` belongs to it.
fn email(bytes: &[u8], from: usize, at: usize) -> Option<(usize, usize, Kind)> {
    let is_local = |byte: &u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-' | b'\'')
    };
    let before = bytes.get(from..at)?;
    let local = before
        .iter()
        .rev()
        .take(MAX_LOCAL)
        .take_while(|b| is_local(b));
    let start = at - local.count();
    let start = start
        + bytes
            .get(start..at)?
            .iter()
            .take_while(|b| matches!(b, b'.' | b'\''))
            .count();
    let after = bytes.get(at + 1..)?;
    let is_domain = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let mut length = after.iter().take(MAX_DOMAIN).take_while(is_domain).count();
    while length > 0 && matches!(after.get(length - 1), Some(b'.' | b'-')) {
        length -= 1;
    }
    let domain = after.get(..length)?;
    let dot = domain.iter().rposition(|byte| *byte == b'.')?;
    let top = domain.get(dot + 1..)?;
    let is_top = top.len() >= 2 && top.iter().any(u8::is_ascii_alphabetic);
    (start < at && dot > 0 && is_top).then_some((start, at + 1 + length, Kind::Email))
}
