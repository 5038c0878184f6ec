//! Long menus on pages of few words.
//!
//! A manual's page on one name may have ten words of its own beside a menu of a thousand names. The
//! block model is then sure of little, and `decide` keeps what it is unsure of.

use orbweaver_sdk::dom::{Node, View, attr, tag};

use crate::blocks::Blocks;
use crate::measure::{Info, get};

/// Links from which a part for navigation is a long menu.
const MANY: u32 = 30;

/// Drops the chosen blocks of long menus: elements for navigation that have [`MANY`] links, which make
/// nine tenths of their characters. Where nothing else was chosen they stay: the page may be an index.
pub fn drop_menus(view: &View<'_>, info: &[Info], blocks: &Blocks, keep: &mut [bool]) {
    let mut menus = Vec::new();
    let mut id = 0;
    while let Some(node) = view.node(id) {
        let me = get(info, id);
        let is_long = me.links >= MANY && me.link / 9 >= me.chars / 10;
        if is_long && is_navigation(node) {
            let number = |at: u32| blocks.before.get(at as usize).map(|count| *count as usize);
            menus.push(number(id).unwrap_or(0)..number(node.end()).unwrap_or(keep.len()));
            id = node.end();
        } else {
            id += 1;
        }
    }
    let in_menus: usize = menus
        .iter()
        .filter_map(|menu| keep.get(menu.clone()))
        .map(count)
        .sum();
    if in_menus == count(keep) {
        return;
    }
    for menu in menus {
        keep.get_mut(menu).unwrap_or_default().fill(false);
    }
}

fn is_navigation(node: Node<'_>) -> bool {
    node.tag() == tag::NAV || node.attr(attr::ROLE) == Some("navigation")
}

fn count(keep: &[bool]) -> usize {
    keep.iter().filter(|&&keep| keep).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// How many blocks stay where all are chosen, and how many there are.
    fn kept(html: &str) -> (usize, usize) {
        let all = testing::kept(html, |_, _, _, _| ());
        (testing::kept(html, drop_menus).len(), all.len())
    }

    /// Entries of a menu, each with its name and a link.
    fn entries(count: usize) -> String {
        (0..count)
            .map(|i| format!("<li>M{i}<ul><li><a href=/{i}>The manual of the module that has number {i}</a></ul>"))
            .collect()
    }

    #[test]
    fn a_long_menu_is_dropped_with_the_names_in_it() {
        let menu = format!("<nav><h3>Contents</h3><ul>{}</ul></nav>", entries(40));
        assert_eq!(kept(&format!("{menu}<p>Returns the name.")), (1, 82));
        let role = menu.replace("<nav>", "<div role=navigation>");
        let role = role.replace("</nav>", "</div>");
        assert_eq!(kept(&format!("{role}<p>Returns the name.")), (1, 82));
    }

    #[test]
    fn an_index_and_other_lists_of_links_stay() {
        let list = format!("<ul>{}</ul>", entries(40));
        assert_eq!(
            kept(&format!("<nav>{list}</nav>")),
            (80, 80),
            "nothing else"
        );
        assert_eq!(kept(&format!("{list}<p>All names.")), (81, 81), "no menu");
        let short = format!("<nav><ul>{}</ul></nav><p>Text.", entries(20));
        assert_eq!(kept(&short), (41, 41), "short");
        let told = format!(
            "<nav><p>{}</p>{list}</nav><p>Text.",
            "Words of a text. ".repeat(20)
        );
        assert_eq!(kept(&told), (82, 82), "a text");
    }
}
