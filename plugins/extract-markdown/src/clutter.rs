//! Class names and ids that say what an element is, where nothing better does.

use orbweaver_sdk::dom::{Node, attr};

/// How surely an element is no content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Clutter {
    No,
    /// If it is small or mostly links.
    Perhaps,
    Likely,
    Sure,
}

/// What an element's `class` and `id` say.
pub(crate) fn named_clutter(node: Node<'_>) -> Clutter {
    // Comments below an article have this id; a class of that name may be a forum's posts.
    if node.attr(attr::ID) == Some("comments") {
        return Clutter::Likely;
    }
    [attr::ID, attr::CLASS]
        .into_iter()
        .filter_map(|id| node.attr(id))
        .map(|names| {
            names
                .split_ascii_whitespace()
                .map(of_name)
                .max()
                .unwrap_or(Clutter::No)
        })
        .max()
        .unwrap_or(Clutter::No)
}

/// Longer names are generated.
const MAX_NAME: usize = 64;

/// What one class name or id says, by its words: parts between `-`, `_` and other signs, or
/// begun by a capital.
fn of_name(name: &str) -> Clutter {
    if name.len() > MAX_NAME {
        return Clutter::No;
    }
    let mut verdict = Clutter::No;
    let mut word = [0_u8; MAX_NAME];
    let mut len = 0;
    let mut lower_before = false;
    let mut negated = false;
    for byte in name.bytes().chain([b'-']) {
        let ends = !byte.is_ascii_alphanumeric() || (byte.is_ascii_uppercase() && lower_before);
        if ends && len > 0 {
            let text = word
                .get(..len)
                .and_then(|w| std::str::from_utf8(w).ok())
                .unwrap_or("");
            // `has-sidebar` is said of what is beside one.
            match text {
                "has" | "with" | "no" | "without" | "hide" | "show" | "is" | "not" | "enable" => {
                    negated = true
                }
                _ if negated => {}
                _ => verdict = verdict.max(of_word(text)),
            }
            len = 0;
        }
        if byte.is_ascii_alphanumeric()
            && let Some(slot) = word.get_mut(len)
        {
            *slot = byte.to_ascii_lowercase();
            len += 1;
        }
        lower_before = byte.is_ascii_lowercase() || byte.is_ascii_digit();
    }
    verdict
}

fn of_word(word: &str) -> Clutter {
    match word {
        "navbar" | "navigation" | "breadcrumb" | "breadcrumbs" | "cookie" | "cookies"
        | "consent" | "gdpr" | "sharedaddy" | "addtoany" | "addthis" | "sharethis" | "skiplink"
        | "navbox" | "catlinks" | "editsection" | "printfooter" | "noprint" | "outbrain"
        | "taboola" | "adsbygoogle" | "advert" | "advertisement" | "advertising" | "disqus"
        | "offcanvas" | "hamburger" | "tableofcontents" | "onetrust" | "siteheader"
        | "sitefooter" | "megamenu" => Clutter::Sure,
        "sidebar" | "sidebars" | "footer" | "masthead" | "related" | "recommended"
        | "recommendations" | "recirculation" | "newsletter" | "subscribe" | "subscription"
        | "share" | "sharing" | "social" | "socials" | "popup" | "modal" | "pagination"
        | "respond" | "topbar" | "toc" | "sponsored" | "trending" => Clutter::Likely,
        "promo" | "nav" | "menu" | "menus" | "header" | "ad" | "ads" | "banner" | "overlay"
        | "skip" | "pager" | "toolbar" | "widget" | "signup" | "login" | "search" | "copyright"
        | "tags" | "more" | "sr" | "screen" | "visually" | "permalink" | "prevnext" | "follow"
        | "print" | "feedback" => Clutter::Perhaps,
        _ => Clutter::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_by_their_words() {
        let cases = [
            ("site-footer", Clutter::Likely),
            ("mainNavigation", Clutter::Sure),
            ("cookie_banner", Clutter::Sure),
            ("has-sidebar", Clutter::No),
            ("content", Clutter::No),
            ("shareholder", Clutter::No),
            ("top-nav", Clutter::Perhaps),
            ("", Clutter::No),
        ];
        for (name, verdict) in cases {
            assert_eq!(of_name(name), verdict, "{name}");
        }
    }
}
