//! Country codes: ISO 3166-1 alpha-2.

use celes::Country;

/// The crate lists this user-assigned code for Kosovo; ISO 3166-1 does not.
const USER_ASSIGNED: &str = "XK";

/// Whether `code` is an officially assigned two-letter code, in upper or lower case.
pub fn is_iso2(code: &str) -> bool {
    code.len() == 2
        && Country::from_alpha2(code).is_ok()
        && !code.eq_ignore_ascii_case(USER_ASSIGNED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_assigned_codes_are_countries() {
        for code in ["DE", "us", "Gb", "ZW", "AD", "tr", "TW", "BQ", "SS"] {
            assert!(is_iso2(code), "{code}");
        }
        for code in [
            "", "D", "DEU", "UK", "XX", "EU", "XK", "AN", "1A", "D ", " D", "é",
        ] {
            assert!(!is_iso2(code), "{code}");
        }
        let letters = || (b'A'..=b'Z').map(char::from);
        let assigned = letters()
            .flat_map(|first| letters().map(move |second| format!("{first}{second}")))
            .filter(|code| is_iso2(code))
            .count();
        assert_eq!(assigned, 249, "as ISO 3166 lists since 2011");
    }
}
