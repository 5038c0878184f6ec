//! Addresses of people's pages.

use orbweaver_sdk::dom::{Node, attr};

use crate::text::find;

/// Whether a link's address is that of a person's page.
pub fn leads_to_profile(link: Node<'_>) -> bool {
    let Some(href) = link.attr(attr::HREF).filter(|href| href.len() <= 500) else {
        return false;
    };
    let mut parts = href.match_indices('/').filter_map(|(at, slash)| {
        let rest = href.get(at + slash.len()..)?;
        Some((rest, rest.find('/')))
    });
    parts.any(|(rest, end)| match end {
        _ if rest.starts_with('@') => is_name(rest.get(1..)) && !is_below(rest),
        // Something follows: `/authors/` alone is a list.
        Some(end) => rest.get(..end).is_some_and(is_folder) && is_name(rest.get(end + 1..)),
        None => false,
    }) || is_of_program(href)
}

/// Whether this is the name of a folder with a page for each person.
fn is_folder(name: &str) -> bool {
    matches!(
        name,
        "author"
            | "authors"
            | "people"
            | "person"
            | "contributor"
            | "contributors"
            | "profile"
            | "profiles"
            | "writers"
            | "editors"
            | "reporters"
            | "journalists"
            | "columnists"
            | "user"
            | "users"
            | "member"
            | "members"
            | "staff"
            | "u"
            | "by"
            | "autor"
            | "auteur"
            | "autore"
            | "autoren"
            | "redaktion"
            | "team"
    )
}

/// Whether a program of a forum is asked for a member.
fn is_of_program(href: &str) -> bool {
    const ASKED: &[&str] = &[
        "memberlist.php?mode=viewprofile",
        "member.php?",
        "profile.php?id=",
        "action=profile;u=",
        "space-uid-",
        "user?id=",
    ];
    // Most addresses have neither.
    let may_be = href.bytes().any(|byte| byte == b'?') || find(href, "space-uid-").is_some();
    may_be
        && ASKED.iter().any(|asked| {
            let mut found = href.match_indices(asked);
            found.any(|(at, asked)| is_name(href.get(at + asked.len()..)))
        })
}

/// Whether what stands where an address has somebody's name may be one.
fn is_name(name: Option<&str>) -> bool {
    name.is_some_and(|name| !name.is_empty() && !is_action(name))
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
            ("/forum/index.php?action=profile;u=7", true),
            ("space-uid-7.html", true),
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
