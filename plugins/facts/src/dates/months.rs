//! Names of months.

/// One `name number` a line, sorted by bytes; names in lower case without a final dot.
const NAMES: &str = include_str!("../../data/months.txt");

/// The month (1 to 12) of a name in lower case, with or without a final dot. `language` is
/// that of the page: Croatian names some months as its neighbours name others.
pub fn month(name: &str, language: &str) -> Option<u8> {
    let name = name.trim_end_matches('.');
    let croatian = language
        .get(..2)
        .is_some_and(|l| l.eq_ignore_ascii_case("hr") || l.eq_ignore_ascii_case("bs"));
    if croatian && let Some(month) = lookup(&format!("hr:{name}")) {
        return Some(month);
    }
    lookup(name).or_else(|| {
        // Hebrew writes "in" in front of the month, without a space.
        lookup(name.strip_prefix('ב')?)
    })
}

/// Searches the sorted lines by halves.
fn lookup(name: &str) -> Option<u8> {
    let (mut low, mut high) = (0, NAMES.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let head = NAMES.as_bytes().get(..middle)?;
        let start = head
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        let line = NAMES.get(start..)?.lines().next()?;
        let (known, number) = line.rsplit_once(' ')?;
        match known.as_bytes().cmp(name.as_bytes()) {
            std::cmp::Ordering::Equal => return number.parse().ok(),
            std::cmp::Ordering::Less => low = start + line.len() + 1,
            std::cmp::Ordering::Greater => high = start,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_found() {
        let mut before = "";
        for line in NAMES.lines() {
            let (name, number) = line.rsplit_once(' ').expect("a name and a number");
            assert!(before < name, "{before} stands before {name}");
            before = name;
            assert_eq!(lookup(name), number.parse().ok(), "{name}");
        }
    }

    #[test]
    fn what_is_no_month_is_none() {
        for name in ["", "a", "zzz", "marchx", "monday", "\u{10ffff}", "hr"] {
            assert_eq!(month(name, "en"), None, "{name:?}");
        }
    }

    #[test]
    fn croatian_months_are_told_from_their_neighbours() {
        assert_eq!(month("listopada", "pl"), Some(11));
        assert_eq!(month("listopada", "hr-HR"), Some(10));
        assert_eq!(month("srpnja", ""), Some(7));
        assert_eq!(month("במרץ", "he"), Some(3));
    }
}
