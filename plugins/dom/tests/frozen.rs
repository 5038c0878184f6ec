//! The snapshot's format is frozen: `wit/snapshot.md` specifies it, `wit/snapshot-vectors.json` has
//! documents with their snapshots, `wit/names.txt` the tables of names.
#![cfg(feature = "write")]
#![expect(clippy::expect_used, reason = "a test may panic")]

use orbweaver_dom::{Kind, Namespace, Node, Snapshot, attr, format, parse, tag};
use serde_json::Value;

const VECTORS: &str = include_str!("../../../wit/snapshot-vectors.json");
const NAMES: &str = include_str!("../../../wit/names.txt");

fn vectors() -> Vec<(String, String, Snapshot)> {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).expect("JSON");
    let read = |vector: &Value| {
        let text = |key: &str| vector[key].as_str().expect(key).to_owned();
        let words = vector["words"].as_array().expect("words").iter();
        let words = words.map(|word| word.as_u64().expect("a word") as u32);
        let snapshot = Snapshot {
            words: words.collect(),
            text: text("text"),
        };
        (text("name"), text("html"), snapshot)
    };
    vectors.iter().map(read).collect()
}

#[test]
fn a_document_is_written_as_the_vectors_say() {
    for (name, html, expected) in vectors() {
        assert_eq!(parse(&html), expected, "{name}");
    }
    assert!(vectors().len() >= 8);
}

/// Reads lists as `snapshot.md` says, without this crate.
struct Reader<'a>(&'a Snapshot);

impl Reader<'_> {
    fn node(&self, id: usize) -> &[u32] {
        &self.0.words[8 + 6 * id..][..6]
    }

    fn attribute(&self, index: usize) -> &[u32] {
        &self.0.words[8 + 6 * self.0.words[1] as usize + 4 * index..][..4]
    }

    fn string(&self, offset: u32, len: u32) -> &str {
        &self.0.text[offset as usize..][..len as usize]
    }

    fn table(table: &str, id: u32) -> &'static str {
        let start = format!("{table} {id} ");
        let line = NAMES.lines().find_map(|line| line.strip_prefix(&start));
        line.expect("a name of the table")
    }

    /// Name and value of an attribute.
    fn pair(&self, index: usize) -> (String, String) {
        let record = self.attribute(index);
        let name = match record[0] & 0xffff {
            0 => self.string(record[1] - record[3], record[3]),
            id => Self::table("attr", id),
        };
        (
            name.to_owned(),
            self.string(record[1], record[2]).to_owned(),
        )
    }

    fn name(&self, id: usize) -> String {
        let node = self.node(id);
        match node[0] >> 16 {
            0 => self.pair(node[4] as usize - 1).1,
            tag => Self::table("tag", tag).to_owned(),
        }
    }
}

fn kind(node: Node<'_>) -> u32 {
    match node.kind() {
        Kind::Document => 0,
        Kind::Element => 1,
        Kind::Text => 2,
        Kind::Comment => 3,
        Kind::Doctype => 4,
    }
}

fn namespace(node: Node<'_>) -> u32 {
    match node.namespace() {
        Namespace::Html => 0,
        Namespace::Svg => 1,
        Namespace::MathMl => 2,
        Namespace::XLink => 3,
        Namespace::Xml => 4,
        Namespace::Xmlns => 5,
        Namespace::Other => 6,
    }
}

#[test]
fn a_reader_made_from_the_specification_agrees_with_this_crate() {
    for (name, _, snapshot) in vectors() {
        let view = snapshot.view().expect("a view");
        let reader = Reader(&snapshot);
        assert_eq!(snapshot.words[0], 0x4f57_0001, "{name}");
        assert_eq!(snapshot.words[1], view.len(), "{name}");
        assert_eq!(snapshot.words[3] & 1 == 1, view.quirks(), "{name}");
        for node in view.nodes() {
            let id = node.id() as usize;
            let record = reader.node(id);
            let at = format!("{name}: {node:?}");
            let number = |node: Option<Node<'_>>| node.map_or(u32::MAX, |node| node.id());
            assert_eq!(record[0] & 0xff, kind(node), "{at}");
            assert_eq!(record[1], number(node.parent()), "{at}");
            assert_eq!(record[2], node.end(), "{at}");
            assert_eq!(record[3], number(node.prev_sibling()), "{at}");
            if !node.is_element() {
                assert_eq!(reader.string(record[4], record[5]), node.text(), "{at}");
                continue;
            }
            assert_eq!(record[0] >> 8 & 0xff, namespace(node), "{at}");
            assert_eq!(reader.name(id), node.name(), "{at}");
            let pairs = (record[4]..record[4] + record[5]).map(|index| reader.pair(index as usize));
            let attrs = node.attrs();
            let attrs = attrs.map(|attr| (attr.name().to_owned(), attr.value().to_owned()));
            assert_eq!(pairs.collect::<Vec<_>>(), attrs.collect::<Vec<_>>(), "{at}");
        }
    }
}

#[test]
fn the_tables_of_names_are_those_of_the_contract() {
    let mut expected = String::new();
    for (table, names) in [("tag", tag::NAMES), ("attr", attr::NAMES)] {
        for (id, name) in names.iter().enumerate().skip(1) {
            expected.push_str(&format!("{table} {id} {name}\n"));
        }
    }
    assert_eq!(NAMES, expected);
    assert_eq!(format::VERSION, 1);
}
