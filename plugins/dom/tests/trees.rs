//! Trees that the parsing rules prescribe, in html5lib's notation.
#![cfg(feature = "write")]

#[path = "support/dat.rs"]
mod dat;

#[test]
fn own_cases() {
    let cases = dat::cases(include_str!("trees/own.dat"));
    assert_eq!(cases.len(), 11);
    for case in cases {
        assert!(!case.is_fragment && !case.is_script_off);
        let snapshot = orbweaver_dom::parse(&case.html);
        let tree = dat::dump(&snapshot.view().expect("a snapshot"));
        assert_eq!(tree, case.tree, "{:?}", case.html);
    }
}
