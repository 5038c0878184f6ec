//! A snapshot crosses a trust boundary: whatever its words say, a reader must neither panic nor
//! run for ever.
#![cfg(feature = "write")]
#![expect(clippy::expect_used, reason = "a test may panic")]

#[path = "support/random.rs"]
mod random;

use orbweaver_dom::{Selector, Snapshot, SnapshotError, attr, parse};
use random::Random;

const PAGE: &str = "<!doctype html><title>T</title><template><p>a</template><body class=b><ul><li id=x>\
    1<li><a href=/y>é</a><li><my-el data-x=1>z</my-el></ul><svg><a xlink:href=#q /></svg><!--c--><table>\
    <tr><td>1<td>2</table><input type=checkbox checked><fieldset disabled><legend><input></legend><input>";

/// Uses everything there is to read.
fn read(snapshot: &Snapshot, selectors: &[Selector]) {
    let Ok(view) = snapshot.view() else { return };
    let mut seen = view.tagged(|id| id % 2 == 1).count();
    for node in view.nodes() {
        seen += format!("{node:?}").len();
        seen += node.children().count() + node.child_elements().count();
        seen += node.ancestors().count() + node.descendants().count();
        seen += node.text().len() + node.text_content().len() + node.name().len();
        seen += node
            .attrs()
            .map(|a| a.name().len() + a.value().len())
            .sum::<usize>();
        seen += usize::from(node.has_class("b")) + usize::from(node.attr(attr::HREF).is_some());
        seen += usize::from(node.attr_named("data-x").is_some());
        seen += usize::from(
            node.prev_sibling()
                .is_some_and(|other| node.contains(other)),
        );
        seen += node.text_runs().map(str::len).sum::<usize>() + node.elements().count();
        seen += node.namespace() as usize;
    }
    seen += [view.html(), view.head(), view.body()]
        .iter()
        .flatten()
        .count();
    for selector in selectors {
        seen += view.select(selector).count();
        seen += view.nodes().filter(|node| node.matches(selector)).count();
    }
    assert!(seen > 0);
}

fn selectors() -> Vec<Selector> {
    [
        "*",
        "li:nth-child(2), li:nth-last-of-type(1)",
        "ul > li + li ~ li a[href^='/']",
        ":has(> a, ~ p)",
        ":root, :empty, :link, :checked, :disabled",
        "my-el, svg|a, [data-x], .b, #x",
    ]
    .map(|s| Selector::parse(s).expect("a selector"))
    .into()
}

#[test]
fn damaged_words_never_panic() {
    let selectors = selectors();
    let whole = parse(PAGE);
    read(&whole, &selectors);
    let mut random = Random::new(3);
    for _ in 0..2000 {
        let mut snapshot = whole.clone();
        for _ in 0..1 + random.below(12) {
            let at = 1 + random.below(snapshot.words.len() - 1);
            snapshot.words[at] = match random.below(4) {
                0 => random.next() as u32,
                1 => random.below(64) as u32,
                2 => u32::MAX - random.below(3) as u32,
                _ => snapshot.words[random.below(snapshot.words.len())],
            };
        }
        read(&snapshot, &selectors);
    }
}

#[test]
fn random_words_and_cut_lists_never_panic() {
    let selectors = selectors();
    let whole = parse(PAGE);
    let mut random = Random::new(4);
    for _ in 0..500 {
        let nodes = 1 + random.below(40);
        let attrs = random.below(20);
        let mut words = vec![
            whole.words[0],
            nodes as u32,
            attrs as u32,
            random.next() as u32,
        ];
        words.resize(8 + nodes * 6 + attrs * 4, 0);
        for word in &mut words[8..] {
            *word = match random.below(3) {
                0 => random.next() as u32,
                1 => random.below(5) as u32 | (random.below(200) as u32) << 16,
                _ => random.below(nodes + 2) as u32,
            };
        }
        let text = PAGE[..random.below(60)].to_owned();
        read(&Snapshot { words, text }, &selectors);
    }
    for len in 0..whole.words.len() {
        let cut = Snapshot {
            words: whole.words[..len].into(),
            text: String::new(),
        };
        assert!(cut.view().is_err());
    }
    for len in (0..whole.text.len()).filter(|len| whole.text.is_char_boundary(*len)) {
        read(
            &Snapshot {
                words: whole.words.clone(),
                text: whole.text[..len].into(),
            },
            &selectors,
        );
    }
}

#[test]
fn what_is_no_snapshot_is_refused() {
    let whole = parse("x");
    let error = |change: fn(&mut Vec<u32>)| {
        let mut words = whole.words.clone();
        change(&mut words);
        Snapshot {
            words,
            text: whole.text.clone(),
        }
        .view()
        .err()
    };
    assert_eq!(error(|_| {}), None);
    assert_eq!(error(Vec::clear), Some(SnapshotError::NotASnapshot));
    assert_eq!(
        error(|w| w[0] ^= 1 << 20),
        Some(SnapshotError::NotASnapshot)
    );
    assert_eq!(error(|w| w[0] += 1), Some(SnapshotError::Version(2)));
    assert_eq!(error(|w| w[1] += 1), Some(SnapshotError::Truncated));
    assert_eq!(error(|w| w[1] = 0), Some(SnapshotError::Truncated));
    assert_eq!(error(|w| w[1] = u32::MAX), Some(SnapshotError::Truncated));
    assert_eq!(error(|w| w[2] = u32::MAX), Some(SnapshotError::Truncated));
}
