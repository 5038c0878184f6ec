//! Cells of CSV files that no spreadsheet takes for a formula.

use std::borrow::Cow;

/// The cell, with an apostrophe before it if its first character makes spreadsheets evaluate it:
/// `=`, `+`, `-`, `@`, tab or carriage return (OWASP, "CSV Injection"), also in their full-width
/// forms, and line feed.
pub fn inert(cell: &str) -> Cow<'_, str> {
    let risky = matches!(
        cell.chars().next(),
        Some(
            '=' | '+'
                | '-'
                | '@'
                | '\t'
                | '\r'
                | '\n'
                | '\u{ff1d}'
                | '\u{ff0b}'
                | '\u{ff0d}'
                | '\u{ff20}'
        )
    );
    match risky {
        true => Cow::Owned(format!("'{cell}")),
        false => Cow::Borrowed(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_begins_like_a_formula_gets_an_apostrophe() {
        for risky in [
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\tx",
            "\rx",
            "\nx",
            "\u{ff1d}1",
        ] {
            assert_eq!(inert(risky), format!("'{risky}"));
        }
        for harmless in ["", "a=b", "https://e.org/?a=-1", "'=1", " =1"] {
            assert_eq!(inert(harmless), harmless);
        }
    }
}
