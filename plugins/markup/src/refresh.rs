//! Refreshes: pages that lead to another one, or to themselves, after a time.

/// A refresh, from a `Refresh` header or a `<meta http-equiv=refresh>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refresh {
    /// Seconds to wait.
    pub seconds: u32,
    /// Target as written; `None` for the page itself.
    pub url: Option<String>,
}

impl Refresh {
    /// The standard's "shared declarative refresh steps": `5; url=/next`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = text.split_at(digits);
        if digits == 0 && !rest.starts_with('.') {
            return None;
        }
        let seconds = if digits == 0 {
            0
        } else {
            number.parse().unwrap_or(u32::MAX)
        };
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let separated = rest.trim_start();
        if separated.is_empty() {
            return Some(Self { seconds, url: None });
        }
        if !rest.starts_with([';', ',']) && separated.len() == rest.len() {
            return None;
        }
        let target = separated.trim_start_matches([';', ',']).trim_start();
        let target = strip_url_key(target).unwrap_or(target);
        let target = match target.chars().next() {
            Some(quote @ ('"' | '\'')) => target
                .get(1..)
                .unwrap_or("")
                .split(quote)
                .next()
                .unwrap_or(""),
            _ => target,
        };
        let target = target.trim();
        Some(Self {
            seconds,
            url: (!target.is_empty()).then(|| target.to_owned()),
        })
    }
}

fn strip_url_key(text: &str) -> Option<&str> {
    let (key, rest) = text.split_at_checked(3)?;
    if !key.eq_ignore_ascii_case("url") {
        return None;
    }
    Some(rest.trim_start().strip_prefix('=')?.trim_start())
}

#[cfg(test)]
mod tests {
    use super::Refresh;

    /// Fault 16.
    #[test]
    fn refreshes_are_parsed_as_in_browsers() {
        let url = |text: &str| {
            Refresh::parse(text).map(|refresh| (refresh.seconds, refresh.url.unwrap_or_default()))
        };
        assert_eq!(url("5; url=/next"), Some((5, "/next".into())));
        assert_eq!(url(" 0;URL = 'a b'x"), Some((0, "a b".into())));
        assert_eq!(url("0,/x"), Some((0, "/x".into())));
        assert_eq!(url("1.5 url=x"), Some((1, "x".into())));
        assert_eq!(url("30"), Some((30, String::new())));
        assert_eq!(url("99999999999;x"), Some((u32::MAX, "x".into())));
        assert_eq!(url("0; urlx"), Some((0, "urlx".into())));
        for none in ["", "x", "url=/x", "5x", "-1;x"] {
            assert_eq!(url(none), None, "{none}");
        }
    }
}
