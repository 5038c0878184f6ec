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
        "/editors/",
        "/reporters/",
        "/journalists/",
        "/columnists/",
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
        "profile.php?id=",
        "action=profile;u=",
        "space-uid-",
        "user?id=",
        "/@",
    ];
    let Some(href) = link.attr(attr::HREF).filter(|href| href.len() <= 500) else {
        return false;
    };
    // Two bytes tell nearly always that no path begins here.
    let two = |text: &str| text.as_bytes().first_chunk::<2>().copied();
    let begins = href.bytes().enumerate();
    let begins = begins.filter(|(_, byte)| matches!(byte, b'/' | b'a' | b'm' | b'p' | b's' | b'u'));
    let mut places = begins.filter_map(|(at, _)| href.get(at..));
    places.any(|rest| {
        PATHS.iter().any(|path| {
            // Something follows: `/authors/` alone is a list.
            two(path) == two(rest)
                && rest.starts_with(path)
                && rest.len() > path.len()
                // `/@ann/a-post` is one of her posts.
                && (*path != "/@" || !is_below(rest))
                && rest.get(path.len()..).is_some_and(|name| !is_action(name))
        })
    })
}

/// Whether the address of a link is that of somebody of a team, or of a team of a league.
pub fn leads_to_team(link: Node<'_>) -> bool {
    link.attr(attr::HREF)
        .is_some_and(|href| href.len() <= 500 && href.contains("/team/"))
}

/// Whether what stands where a path has a name is what visitors do: `/users/sign_out`.
fn is_action(name: &str) -> bool {
    const ACTIONS: &[&str] = &[
        "sign_in", "sign_out", "sign_up", "signin", "signout", "signup", "sign-in", "sign-out",
        "sign-up", "login", "logout", "log_in", "log_out", "register", "password", "settings",
        "new",
    ];
    let name = name.split(['/', '?', '#', '.']).next().unwrap_or(name);
    ACTIONS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a path goes on below its first part.
fn is_below(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or(path);
    path.trim_matches('/').contains('/')
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
            ("/@ann/", true),
            ("/@ann?tab=about/x", true),
            ("https://posts.example/@ann/on-webs-1f2e", false),
            ("/about/editors/ann-lee/", true),
            ("/users/sign_out", false),
            ("/user/login?next=/", false),
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
