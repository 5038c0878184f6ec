//! Scales numbers and tags to bytes from 0 to 127.

use orbweaver_sdk::dom::tag;

/// A number as its logarithm, in quarters of a doubling: exact where it matters, and never
/// above 127.
pub(super) fn log(n: u32) -> u8 {
    let n = u64::from(n) + 1;
    let e = 63 - n.leading_zeros();
    let quarter = if e >= 2 {
        n >> (e - 2) & 3
    } else {
        n << (2 - e) & 3
    };
    (u64::from(e) * 4 + quarter).min(127) as u8
}

/// A share of a whole, 1 to 126; 0 where there is no whole.
pub(super) fn share(part: u32, whole: u32) -> u8 {
    if whole == 0 {
        return 0;
    }
    // Nearly always fits, and takes half the time.
    let share = match part.checked_mul(125) {
        Some(part) => u64::from(part / whole),
        None => u64::from(part) * 125 / u64::from(whole),
    };
    (1 + share).min(126) as u8
}

/// A distance forward or back: 64 is here.
pub(super) fn distance(by: i64) -> u8 {
    let size = log(by.unsigned_abs().min(u64::from(u32::MAX)) as u32).min(60);
    if by < 0 { 64 - size } else { 64 + size }
}

/// Elements by what they are in a text, for the features `tag`.
pub(super) fn tag_class(tag: u16) -> u8 {
    match tag {
        tag::P => 1,
        tag::DIV => 2,
        tag::LI => 3,
        tag::H1..=tag::H6 => 4,
        tag::TD => 5,
        tag::TH => 6,
        tag::DD => 7,
        tag::DT => 8,
        tag::PRE => 9,
        tag::BLOCKQUOTE => 10,
        tag::SECTION => 11,
        tag::ARTICLE => 12,
        tag::UL | tag::OL | tag::DL | tag::MENU => 13,
        tag::TABLE | tag::TBODY | tag::THEAD | tag::TFOOT | tag::TR => 14,
        tag::FIGCAPTION | tag::FIGURE | tag::CAPTION => 15,
        tag::ADDRESS => 16,
        tag::HEADER => 17,
        tag::FOOTER => 18,
        tag::ASIDE => 19,
        tag::NAV => 20,
        tag::MAIN => 21,
        tag::FORM | tag::FIELDSET | tag::LEGEND => 22,
        tag::SUMMARY | tag::DETAILS => 23,
        tag::SPAN | tag::A => 24,
        tag::BODY => 25,
        _ => 26,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_seven_bits_and_keep_their_order() {
        let mut last = 0;
        for n in [0, 1, 2, 3, 4, 5, 7, 9, 16, 100, 5_000, 1 << 30, u32::MAX] {
            assert!(log(n) >= last && log(n) < 128, "{n}");
            last = log(n);
            assert!(share(n, u32::MAX) < 128 && share(n, n) < 128, "{n}");
        }
        assert_eq!((share(3, 0), share(0, 9), share(9, 9)), (0, 1, 126));
        assert_eq!(distance(0), 64);
        assert!(distance(-5) < 64 && distance(5) > 64);
        assert!(distance(i64::MIN) < 64 && distance(i64::MAX) < 128);
    }
}
