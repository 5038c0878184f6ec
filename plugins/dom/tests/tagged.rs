//! Elements found by their tags.
#![cfg(feature = "write")]

use orbweaver_dom::{parse, tag};

#[test]
fn elements_of_a_tag_are_found_in_document_order_from_both_ends() {
    let snapshot = parse(
        "<!doctype html><title>T</title><!--a--><a href=/1>a</a><p>text<area href=/2>\
         <svg><a xlink:href=/3>b</a><title>t</title></svg><my-a>c</my-a><div><a>d</a></div>",
    );
    let view = snapshot.view().expect("a snapshot");
    for wanted in [
        &[tag::A, tag::AREA][..],
        &[tag::TITLE],
        &[tag::UNKNOWN],
        &[tag::TABLE],
        &[],
    ] {
        let found: Vec<u32> = view
            .tagged(|id| wanted.contains(&id))
            .map(|n| n.id())
            .collect();
        let all = view.elements().filter(|n| wanted.contains(&n.tag()));
        assert_eq!(found, all.map(|n| n.id()).collect::<Vec<_>>(), "{wanted:?}");
        let mut backwards: Vec<u32> = view
            .tagged(|id| wanted.contains(&id))
            .rev()
            .map(|n| n.id())
            .collect();
        backwards.reverse();
        assert_eq!(backwards, found, "{wanted:?}");
    }
    assert_eq!(view.tagged(|id| id == tag::A).count(), 3);
    assert_eq!(view.tagged(|id| id == tag::UNKNOWN).count(), 1);
}
