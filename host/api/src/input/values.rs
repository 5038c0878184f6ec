//! The bounds of JSON bodies: how many values, and how long those of their members are that have a bound.

use orbweaver_core::json_values::{self, Excess, MemberBound, MostValues};

use crate::error::ApiError;

/// Most values of a body: in all, and below the items of its members.
const MAX_VALUES: MostValues = MostValues {
    all: 250_000,
    nested: 50_000,
};

/// Counts the values of a body. Returns about how many bytes of memory they take.
///
/// # Errors
/// 422 for too many values, with the member that has them, and for a member that is too long.
pub(super) fn check_values(raw: &[u8], members: &'static [MemberBound]) -> Result<u64, ApiError> {
    json_values::check(raw, MAX_VALUES, members).map_err(|excess| match excess {
        Excess::Nested { member, most } => {
            let rule = format!("must have at most {most} values below its own items");
            ApiError::invalid(&named(member), rule)
        }
        Excess::Values { member, most } => {
            let rule = format!("must leave the body at most {most} values");
            ApiError::invalid(&named(member), rule)
        }
        Excess::Bytes {
            member,
            inner,
            most,
        } => {
            let field = match inner {
                b"" => member.to_owned(),
                inner => format!("{member}.{}", shown(inner)),
            };
            ApiError::invalid(&field, format!("must be at most {most} bytes of JSON"))
        }
    })
}

fn named(member: &[u8]) -> String {
    match member {
        b"" => "body".to_owned(),
        member => shown(member),
    }
}

fn shown(name: &[u8]) -> String {
    crate::validate::shown(&String::from_utf8_lossy(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(raw: &str) -> String {
        let error = check_values(raw.as_bytes(), &[]).expect_err("too many values");
        assert_eq!(error.status().as_u16(), 422);
        error.message().to_owned()
    }

    #[test]
    fn what_is_not_json_is_passed_to_its_end() {
        for raw in [
            "\"",
            "\"\\",
            "]]]]",
            "{\"a",
            "\u{0}\u{1}",
            "[[[[\"\\\"",
            "nul",
            "{:,:}",
        ] {
            check_values(raw.as_bytes(), MEMBERS).expect("few values");
        }
    }

    const MEMBERS: &[MemberBound] = &[
        MemberBound {
            name: "rules",
            is_of_each: false,
            most: 16,
            besides: 4,
        },
        MemberBound {
            name: "options",
            is_of_each: true,
            most: 8,
            besides: 0,
        },
    ];

    #[test]
    fn members_have_bounds_in_bytes_of_their_shortest_text() {
        let checked = |raw: &str| match check_values(raw.as_bytes(), MEMBERS) {
            Ok(_) => String::new(),
            Err(error) => {
                assert_eq!(error.status().as_u16(), 422);
                error.message().to_owned()
            }
        };
        let rules = "rules: must be at most 16 bytes of JSON";
        let b = "options.b: must be at most 8 bytes of JSON";
        for (raw, expected) in [
            // Twenty bytes, and twenty-one.
            (r#"{"rules":{"a":[1,2,34,"567"]}}"#, ""),
            (r#"{"rules":{"a":[1,2,34,"5678"]}}"#, rules),
            (
                r#"{ "rules" : { "a" : [ 1 , 2 , 34 , "567" ] } , "x": 1 }"#,
                "",
            ),
            (r#"{"rules":{"a":[1,2,34,"\u00e4\\\n"]}}"#, ""),
            (r#"{"rules":"123456789012345678"}"#, ""),
            (r#"{"rules":"1234567890123456789"}"#, rules),
            (r#"{"rules":true,"other":"1234567890123456789012345"}"#, ""),
            (
                r#"{"other":{"rules":"123456789012345678901234567890"}}"#,
                "",
            ),
            (r#"{"options":{"a":{"x":12},"b":{"x":12}}}"#, ""),
            (r#"{"options":{"a":{"x":12},"b":{"x":123}}}"#, b),
            (r#"{"options":{"a":"123456","b":"1234567"}}"#, b),
            (
                r#"{"options":["1234567"],"b":[]}"#,
                "options: must be at most 8 bytes of JSON",
            ),
        ] {
            assert_eq!(checked(raw), expected, "{raw}");
        }
        // Nothing after the bound is read.
        assert_eq!(
            checked(&format!(r#"{{"rules":{}"#, "[".repeat(60_000))),
            rules
        );
    }

    #[test]
    fn a_long_list_is_no_tree() {
        let list = |items: usize| format!(r#"{{"urls":["x"{}]}}"#, r#","x""#.repeat(items - 1));
        check_values(list(100_001).as_bytes(), &[]).expect("a long list");
        let why = refused(&list(MAX_VALUES.all));
        assert_eq!(why, "urls: must leave the body at most 250000 values");
        let tree = format!(
            r#"{{"few":[1],"deep":{{"a":[{}0]}}}}"#,
            r#"{"":0},"#.repeat(25_000)
        );
        let why = refused(&tree);
        assert_eq!(
            why,
            "deep: must have at most 50000 values below its own items"
        );
        assert!(refused(&"[".repeat(60_000)).starts_with("body: must have at most"));
    }
}
