//! Names of languages.

use std::borrow::Cow;

/// A declared language as a BCP 47 tag: `pt-BR` for `pt_BR`, `pt_BR.UTF-8` and `pt_BR@euro`, as
/// POSIX writes them. All else stays as declared.
pub fn tag(declared: &str) -> Cow<'_, str> {
    let bare = declared.split(['.', '@']).next().unwrap_or(declared);
    if bare.contains('_') {
        return Cow::Owned(bare.replace('_', "-"));
    }
    Cow::Borrowed(declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_of_posix_is_a_tag() {
        for (declared, expected) in [
            ("pt_BR", "pt-BR"),
            ("pt_BR.UTF-8", "pt-BR"),
            ("zh_Hant_TW@x", "zh-Hant-TW"),
            ("pt-BR", "pt-BR"),
            ("en", "en"),
            ("", ""),
        ] {
            assert_eq!(tag(declared), expected, "{declared}");
        }
    }
}
