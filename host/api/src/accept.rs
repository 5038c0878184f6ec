//! What a client accepts: the header `Accept` (RFC 9110, section 12.5.1).

use http::{HeaderMap, header};

/// Weight of a range without one, in thousandths.
const FULL: u16 = 1_000;

/// How much a client wants a media type. The greater one is wanted more: of equal weights the one that
/// is named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wanted {
    /// From 0, not at all, to 1000.
    weight: u16,
    /// Whether a range names the type itself, and does not refuse it.
    named: bool,
}

impl Wanted {
    /// Whether the client takes it.
    pub(crate) fn is_accepted(self) -> bool {
        self.weight > 0
    }

    /// Whether the client takes it and names it, as `*/*` does not.
    pub(crate) fn is_named(self) -> bool {
        self.named
    }
}

/// How much the client wants this type. Without the header it takes everything.
pub(crate) fn wanted(headers: &HeaderMap, kind: &str, subtype: &str) -> Wanted {
    if !headers.contains_key(header::ACCEPT) {
        return Wanted {
            weight: FULL,
            named: false,
        };
    }
    let values = headers.get_all(header::ACCEPT);
    let texts = values.iter().filter_map(|value| value.to_str().ok());
    let ranges = texts.flat_map(|text| text.split(','));
    // The most specific range counts, whatever its weight.
    let (specific, weight) = ranges
        .filter_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let (of_kind, of_subtype) = parts.next()?.split_once('/')?;
            let specific = match (of_kind, of_subtype) {
                ("*", "*") => 1,
                (of, "*") if of.eq_ignore_ascii_case(kind) => 2,
                (of, sub) if of.eq_ignore_ascii_case(kind) && sub.eq_ignore_ascii_case(subtype) => {
                    3
                }
                _ => return None,
            };
            Some((specific, parts.find_map(weight).unwrap_or(FULL)))
        })
        .max()
        .unwrap_or_default();
    Wanted {
        weight,
        named: specific == 3 && weight > 0,
    }
}

/// The weight of a parameter `q=0.5`; one that is no weight is left out of account.
fn weight(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.split_once('=')?;
    let value: f32 = value.trim().parse().ok()?;
    let is_weight = name.trim().eq_ignore_ascii_case("q") && (0.0..=1.0).contains(&value);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and 1000"
    )]
    let thousandths = (value * 1_000.0).round() as u16;
    is_weight.then_some(thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(accept: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())])
    }

    #[test]
    fn weights_and_specific_ranges_decide() {
        for (accept, json_wins) in [
            ("application/json", true),
            ("*/*", false),
            ("application/json, text/plain, */*", true),
            ("image/png, application/json;q=0.5", false),
            ("image/png;q=0.5, application/json", true),
            ("application/json;q=0, */*", false),
            ("application/json;q=0.000", false),
            ("application/*, image/png;q=0.1", true),
            ("IMAGE/PNG , Application/JSON ; Q=0.9", false),
            ("application/json, image/png", false),
            ("*/*;q=0.9, application/json;q=0.1", false),
        ] {
            let headers = headers(accept);
            let (json, png) = (
                wanted(&headers, "application", "json"),
                wanted(&headers, "image", "png"),
            );
            assert_eq!(json > png, json_wins, "{accept}: {json:?} {png:?}");
        }
    }

    #[test]
    fn everything_is_accepted_by_who_names_nothing() {
        let nothing = HeaderMap::new();
        let event_stream = wanted(&nothing, "text", "event-stream");
        assert!(event_stream.is_accepted() && !event_stream.is_named());
        for (accept, accepted) in [
            ("*/*", true),
            ("text/*;q=0.1", true),
            ("application/json", false),
            ("text/event-stream;q=0, */*", false),
            ("*/*;q=0, text/event-stream;q=no", true),
        ] {
            let wanted = wanted(&headers(accept), "text", "event-stream");
            assert_eq!(wanted.is_accepted(), accepted, "{accept}");
        }
    }
}
