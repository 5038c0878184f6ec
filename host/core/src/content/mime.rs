//! Parsing of Content-Type.

/// The type without parameters, lower-case: `text/html` of `Text/HTML; charset=x`. `None`
/// unless it has the form `type/subtype`.
pub fn essence(content_type: &str) -> Option<String> {
    let end = content_type.find([';', ',']).unwrap_or(content_type.len());
    let essence = content_type.get(..end)?.trim();
    let (main, sub) = essence.split_once('/')?;
    let token =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_graphic() && b != b'/');
    (token(main) && token(sub)).then(|| essence.to_ascii_lowercase())
}

/// The value of the first `charset` parameter, quoted or not.
pub fn charset_param(content_type: &str) -> Option<String> {
    let mut rest = content_type;
    loop {
        rest = rest.get(rest.find(';')? + 1..)?;
        let parameter = rest.trim_start();
        let Some((name, value)) = parameter.split_once('=') else {
            continue;
        };
        if !name.trim().eq_ignore_ascii_case("charset") {
            continue;
        }
        let value = value.trim_start();
        let value = match value.strip_prefix(['"', '\'']) {
            Some(quoted) => quoted.split(['"', '\'']).next(),
            None => value.split([';', ',']).next(),
        };
        return value
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fault 31: the forms that servers send.
    #[test]
    fn types_and_charsets_are_parsed_in_all_forms_that_servers_send() {
        let read = |header: &str| (essence(header), charset_param(header));
        let html = || Some("text/html".to_owned());
        let utf8 = || Some("utf-8".to_owned());
        assert_eq!(read("text/html; charset=utf-8"), (html(), utf8()));
        assert_eq!(read("Text/HTML;charset=\"utf-8\""), (html(), utf8()));
        assert_eq!(
            read("text/html ; Charset = 'utf-8' ; x=y"),
            (html(), utf8())
        );
        assert_eq!(
            read("text/html; boundary=x;charset=utf-8;charset=latin1"),
            (html(), utf8())
        );
        assert_eq!(read(";charset=utf-8"), (None, utf8()));
        assert_eq!(
            read("text/html, text/html; charset=utf-8"),
            (html(), utf8())
        );
        assert_eq!(read("text/html; charset="), (html(), None));
        assert_eq!(read("text/html; xcharset=utf-8"), (html(), None));
        assert_eq!(read("html"), (None, None));
        assert_eq!(read(""), (None, None));
        assert_eq!(read("text/"), (None, None));
    }
}
