//! Names whose form shows that they are not on the public internet.

use super::refusal::{Refusal, Rule};

/// Zones that never resolve publicly. Sources: RFC 6761 (special-use names), RFC 6762
/// (`.local`), RFC 7686 (`.onion`), RFC 8375 (`home.arpa`), ICANN's reservation of
/// `.internal`, and private names used by routers and companies, which ICANN keeps undelegated
/// (`.corp`, `.home`, `.mail`, SAC 045).
const PRIVATE_ZONES: &[&str] = &[
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "lan",
    "home",
    "corp",
    "mail",
    "home.arpa",
    "in-addr.arpa",
    "ip6.arpa",
    "onion",
    "invalid",
    "alt",
];

/// Checks the DNS limits (RFC 1035) and refuses empty labels: some resolvers resolve `a..b`
/// through a search list.
pub(super) fn check_form(name: &str) -> Result<(), Refusal> {
    let wrong = name.is_empty()
        || name.len() > 253
        || name
            .split('.')
            .any(|label| label.is_empty() || label.len() > 63);
    if wrong {
        return Err(Refusal::new(
            Rule::InvalidUrl,
            "the host is not a valid domain name",
        ));
    }
    Ok(())
}

/// Refuses names of one label, which resolve through a search list, and private zones.
pub(super) fn check_public(name: &str) -> Result<(), Refusal> {
    if !name.contains('.') {
        return Err(Refusal::new(
            Rule::Name,
            format!("{name} is a single-label name, which only local networks resolve"),
        ));
    }
    match PRIVATE_ZONES.iter().find(|zone| in_zone(name, zone)) {
        None => Ok(()),
        Some(zone) => Err(Refusal::new(
            Rule::Name,
            format!("{name} is in .{zone}, which is not public"),
        )),
    }
}

fn in_zone(name: &str, zone: &str) -> bool {
    let Some(split) = name.len().checked_sub(zone.len()) else {
        return false;
    };
    let (Some(before), Some(tail)) = (name.get(..split), name.get(split..)) else {
        return false;
    };
    tail.eq_ignore_ascii_case(zone) && (before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_zones_match_whole_labels_only() {
        for name in [
            "a.local",
            "x.y.INTERNAL",
            "home.arpa",
            "r.home.arpa",
            "1.0.0.127.in-addr.arpa",
            "intranet",
        ] {
            assert!(check_public(name).is_err(), "{name}");
        }
        for name in [
            "internal.example.com",
            "notlocal.com",
            "my-local",
            "a.glocal",
            "corp.com",
        ] {
            assert_eq!(check_public(name).is_ok(), name.contains('.'), "{name}");
        }
    }

    #[test]
    fn names_that_dns_does_not_allow_are_refused() {
        let long = "a".repeat(64);
        for name in ["", "a..b", ".a", long.as_str()] {
            assert_eq!(
                check_form(name).unwrap_err().rule,
                Rule::InvalidUrl,
                "{name}"
            );
        }
        assert!(check_form(&"a.".repeat(130)).is_err());
        assert!(check_form("a_b.example.com").is_ok());
    }
}
