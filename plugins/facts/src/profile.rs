//! Addresses of people's pages.

use orbweaver_sdk::dom::{Node, attr};

/// Whether a link's address is that of a person's page.
pub fn leads_to_profile(link: Node<'_>) -> bool {
    const PATHS: &[&str] = &[
        "/author/",
        "/authors/",
        "/people/",
        "/person/",
        "/contributor/",
        "/contributors/",
        "/profile/",
        "/profiles/",
        "/writers/",
        "/user/",
        "/users/",
        "/member/",
        "/members/",
        "/staff/",
        "/u/",
        "/by/",
        "/autor/",
        "/auteur/",
        "/autore/",
        "/autoren/",
        "/redaktion/",
        "/team/",
        "memberlist.php?mode=viewprofile",
        "member.php?",
        "/@",
    ];
    let Some(href) = link.attr(attr::HREF).filter(|href| href.len() <= 500) else {
        return false;
    };
    // Two bytes tell nearly always that no path begins here.
    let two = |text: &str| text.as_bytes().first_chunk::<2>().copied();
    let begins = href.bytes().enumerate();
    let begins = begins.filter(|(_, byte)| matches!(byte, b'/' | b'm'));
    let mut places = begins.filter_map(|(at, _)| href.get(at..));
    places.any(|rest| {
        PATHS.iter().any(|path| {
            // Something follows: `/authors/` alone is a list.
            two(path) == two(rest) && rest.starts_with(path) && rest.len() > path.len()
        })
    })
}

#[cfg(test)]
mod tests {
    use orbweaver_sdk::dom::tag;

    use super::*;

    #[test]
    fn links_to_profiles_are_told_by_their_paths() {
        for (href, expected) in [
            ("/author/ann", true),
            ("https://example.org/é/authors/ann", true),
            ("https://example.org/authors/", false),
            ("/authors/?page=/authors/", true),
            ("memberlist.php?mode=viewprofile&u=2", true),
            ("/forum/member.php?7", true),
            ("/forum/member.php?", false),
            ("https://example.org/@ann", true),
            ("/@", false),
            ("/about/author", false),
            ("", false),
        ] {
            let snapshot = orbweaver_sdk::dom::parse(&format!("<a href='{href}'>Ann</a>"));
            let view = snapshot.view().expect("view");
            let link = view.tagged(|id| id == tag::A).next().expect("a link");
            assert_eq!(leads_to_profile(link), expected, "{href}");
        }
    }
}
