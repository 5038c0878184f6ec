//! Prints the test vectors of the snapshot's format (`wit/snapshot-vectors.json`) or, with the
//! argument `names`, its tables of names (`wit/names.txt`). Both are frozen: this is for a new version.

use orbweaver_dom::{attr, parse, tag};
use serde_json::json;

const DOCUMENTS: &[(&str, &str)] = &[
    ("nothing", ""),
    ("text in quirks mode", "<p>a&amp;b"),
    (
        "doctype and comment",
        "<!DOCTYPE html><!-- c --><title>t</title>",
    ),
    (
        "attributes of the table and others",
        "<!DOCTYPE html><a href='/x' data-own=1 class=\"é ü\" hidden>ä</a>",
    ),
    (
        "an element that is not in the table",
        "<!DOCTYPE html><x-card id=c kind=k x-y=z><b>t</b></x-card><blink>",
    ),
    (
        "namespaces",
        "<!DOCTYPE html><svg viewBox='0 0 1 1'><use xlink:href='#a'/><foreignObject><p>h</p>\
         </foreignObject></svg><math><mi xml:lang=en>x</mi><other>o</other></math>",
    ),
    (
        "a template, a script and a noscript",
        "<!DOCTYPE html><template><td>in</td></template><script>a<b</script><noscript><p>n</noscript>",
    ),
    (
        "nesting and siblings",
        "<!DOCTYPE html><ul><li>1<li>2<ul><li>3</ul></ul><p>after<br>break",
    ),
];

fn main() {
    if std::env::args().nth(1).as_deref() == Some("names") {
        for (table, names) in [("tag", tag::NAMES), ("attr", attr::NAMES)] {
            for (id, name) in names.iter().enumerate().skip(1) {
                println!("{table} {id} {name}");
            }
        }
        return;
    }
    let vectors = DOCUMENTS.iter().map(|(name, html)| {
        let snapshot = parse(html);
        let vector = json!({
            "name": name, "html": html, "words": snapshot.words, "text": snapshot.text,
        });
        format!("  {vector}")
    });
    println!("[\n{}\n]", vectors.collect::<Vec<_>>().join(",\n"));
}
