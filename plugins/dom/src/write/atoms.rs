//! From html5ever's interned names to the snapshot's numbers, without comparing strings.

use std::sync::LazyLock;

use html5ever::{LocalName, Namespace, ns};

use crate::format::{NS_HTML, NS_MATHML, NS_OTHER, NS_SVG, NS_XLINK, NS_XML, NS_XMLNS};
use crate::names::{attr, tag};

/// Slots per name: sparse enough that nearly every look-up ends at its first slot.
const SPARSENESS: usize = 8;

/// An open-addressing hash table from interned name to id. Interned names compare as
/// integers and carry their hash, so that a look-up touches no string.
pub(super) struct NameTable {
    slots: Box<[(LocalName, u16)]>,
}

impl NameTable {
    fn new(names: &[&str]) -> Self {
        let capacity = (names.len() * SPARSENESS).next_power_of_two();
        let mut slots = vec![(LocalName::default(), 0); capacity].into_boxed_slice();
        // Id 0 is "unknown" and marks an empty slot.
        for (id, name) in names.iter().enumerate().skip(1) {
            let name = LocalName::from(*name);
            let mut at = first_slot(&name, capacity);
            while slots[at].1 != 0 && slots[at].0 != name {
                at = (at + 1) % capacity;
            }
            if slots[at].1 == 0 {
                slots[at] = (name, id as u16);
            }
        }
        Self { slots }
    }

    /// The id of a name, 0 if the table does not have it.
    #[inline]
    pub(super) fn id(&self, name: &LocalName) -> u16 {
        let mask = self.slots.len() - 1;
        let mut at = first_slot(name, self.slots.len());
        loop {
            let (known, id) = &self.slots[at & mask];
            if *id == 0 || known == name {
                return *id;
            }
            at += 1;
        }
    }
}

/// Fibonacci hashing: the hash of a short name is the name itself, so its bits need mixing.
#[inline]
fn first_slot(name: &LocalName, capacity: usize) -> usize {
    let mixed = name.get_hash().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize & (capacity - 1)
}

/// The names of [`tag`].
pub(super) static TAGS: LazyLock<NameTable> = LazyLock::new(|| NameTable::new(tag::NAMES));
/// The names of [`attr`].
pub(super) static ATTRS: LazyLock<NameTable> = LazyLock::new(|| NameTable::new(attr::NAMES));

static HTML: Namespace = ns!(html);
static SVG: Namespace = ns!(svg);
static MATHML: Namespace = ns!(mathml);
static NOTHING: Namespace = ns!();

/// The number of an element's namespace.
pub(super) fn element_namespace(namespace: &Namespace) -> u8 {
    let number = match *namespace {
        ns!(html) => NS_HTML,
        ns!(svg) => NS_SVG,
        ns!(mathml) => NS_MATHML,
        _ => NS_OTHER,
    };
    number as u8
}

/// The namespace of an element's number, for html5ever's questions about open elements.
pub(super) fn namespace_of(number: u8) -> &'static Namespace {
    match u32::from(number) {
        NS_HTML => &HTML,
        NS_SVG => &SVG,
        NS_MATHML => &MATHML,
        _ => &NOTHING,
    }
}

/// The number of an attribute's namespace; none is [`NS_HTML`].
pub(super) fn attr_namespace(namespace: &Namespace) -> u32 {
    match *namespace {
        ns!() => NS_HTML,
        ns!(xlink) => NS_XLINK,
        ns!(xml) => NS_XML,
        ns!(xmlns) => NS_XMLNS,
        _ => NS_OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_and_no_other() {
        for (table, names) in [(&*TAGS, tag::NAMES), (&*ATTRS, attr::NAMES)] {
            for (id, name) in names.iter().enumerate().skip(1) {
                assert_eq!(table.id(&LocalName::from(*name)), id as u16, "{name}");
            }
            for name in ["", "x", "data-unheard-of", "my-custom-element", "HTML"] {
                assert_eq!(table.id(&LocalName::from(name)), 0, "{name}");
            }
        }
    }
}
