//! A node as the `selectors` crate sees it.

use selectors::OpaqueElement;
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::matching::{ElementSelectorFlags, MatchingContext};

use super::grammar::{Name, Names, Namespace, PseudoClass, PseudoElement, Text, Value};
use crate::format::NS_HTML;
use crate::names::{attr, tag};
use crate::node::Namespace as NodeNamespace;
use crate::node::{Attr, Kind, Node};
use crate::work::Work;

/// How far below its element `:has` looks. The `selectors` crate searches by recursion, and
/// a stack is finite; the tree of a default parse is no deeper.
const MAX_SEARCH_DEPTH: u16 = 512;

/// An element, and how many levels further down a search may go from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    node: Node<'a>,
    levels: u16,
    /// Every step from element to element is charged. Where it is used up, there are no more
    /// elements and attributes.
    work: &'a Work,
}

impl<'a> Element<'a> {
    pub(super) fn new(node: Node<'a>, work: &'a Work) -> Self {
        Self {
            node,
            levels: MAX_SEARCH_DEPTH,
            work,
        }
    }

    /// An element beside or around this one.
    fn at(&self, node: Node<'a>, levels: u16) -> Option<Self> {
        let work = self.work;
        work.element().then_some(Self { node, levels, work })
    }

    fn is_html(&self) -> bool {
        self.node.namespace() == NodeNamespace::Html
    }

    fn has_html_tag(&self, tags: &[u16]) -> bool {
        self.is_html() && tags.contains(&self.node.tag())
    }

    /// Charges a look at all attributes of a node.
    fn may_look(&self, node: Node<'_>) -> bool {
        self.work.attrs(node.attrs().len())
    }

    fn has_attr(&self, node: Node<'_>, id: u16) -> bool {
        self.may_look(node) && node.has_attr(id)
    }

    /// The value of an attribute without namespace.
    fn attr(&self, id: u16) -> Option<&'a str> {
        if !self.may_look(self.node) {
            return None;
        }
        self.node
            .attrs()
            .find(|a| a.id() == id && a.namespace_bits() == NS_HTML)
            .map(|a| a.value())
            .filter(|value| self.work.bytes(value.len()))
    }

    /// <https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#concept-fe-disabled>
    fn is_disabled(&self) -> bool {
        self.attr(attr::DISABLED).is_some() || self.is_disabled_by_parent()
    }

    fn is_disabled_by_parent(&self) -> bool {
        match self.node.tag() {
            tag::OPTION => self
                .node
                .parent()
                .is_some_and(|p| p.tag() == tag::OPTGROUP && self.has_attr(p, attr::DISABLED)),
            tag::OPTGROUP => false,
            _ => {
                // A control in the first legend of a disabled fieldset stays enabled.
                let mut below = self.node;
                let mut ancestors = self.node.ancestors().take_while(|_| self.work.element());
                ancestors.any(|ancestor| {
                    let child = std::mem::replace(&mut below, ancestor);
                    let is_legend = |c: &Node<'_>| c.tag() == tag::LEGEND || !self.work.element();
                    ancestor.tag() == tag::FIELDSET
                        && self.has_attr(ancestor, attr::DISABLED)
                        && ancestor.child_elements().find(is_legend) != Some(child)
                })
            }
        }
    }
}

/// Elements that can be disabled.
const CONTROLS: &[u16] = &[
    tag::BUTTON,
    tag::INPUT,
    tag::SELECT,
    tag::TEXTAREA,
    tag::OPTGROUP,
    tag::OPTION,
    tag::FIELDSET,
];

impl selectors::Element for Element<'_> {
    type Impl = Names;

    fn opaque(&self) -> OpaqueElement {
        opaque(self.node)
    }

    fn parent_element(&self) -> Option<Self> {
        let node = self.node.parent().filter(Node::is_element)?;
        self.at(node, self.levels.saturating_add(1))
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        false
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        false
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        let mut node = prev_sibling(self.node)?;
        while !node.is_element() {
            node = prev_sibling(node).filter(|_| self.work.bytes(4))?;
        }
        self.at(node, self.levels)
    }

    fn next_sibling_element(&self) -> Option<Self> {
        let mut node = next_sibling(self.node)?;
        while !node.is_element() {
            node = next_sibling(node).filter(|_| self.work.bytes(4))?;
        }
        self.at(node, self.levels)
    }

    fn first_element_child(&self) -> Option<Self> {
        let levels = self.levels.checked_sub(1)?;
        self.at(self.node.child_elements().next()?, levels)
    }

    fn is_html_element_in_html_document(&self) -> bool {
        self.is_html()
    }

    fn has_local_name(&self, name: &Name) -> bool {
        match name.tag() {
            tag::UNKNOWN => self.node.tag() == tag::UNKNOWN && self.node.name() == name.text(),
            id => self.node.tag() == id,
        }
    }

    fn has_namespace(&self, namespace: &Namespace) -> bool {
        namespace.0 == Some(self.node.namespace_bits())
    }

    fn is_same_type(&self, other: &Self) -> bool {
        let (a, b) = (&self.node, &other.node);
        a.tag() == b.tag()
            && a.namespace() == b.namespace()
            && (a.tag() != tag::UNKNOWN || a.name() == b.name())
    }

    fn attr_matches(
        &self,
        namespace: &NamespaceConstraint<&Namespace>,
        name: &Name,
        operation: &AttrSelectorOperation<&Value>,
    ) -> bool {
        let in_namespace = |attr: &Attr<'_>| match namespace {
            NamespaceConstraint::Any => true,
            // An attribute without namespace has the number of HTML, in which none is.
            NamespaceConstraint::Specific(wanted) => match wanted.0 {
                None => attr.namespace_bits() == NS_HTML,
                Some(number) => number == attr.namespace_bits() && number != NS_HTML,
            },
        };
        let is_it = |a: Attr<'_>| {
            has_name(&a, name)
                && in_namespace(&a)
                && self.work.bytes(a.value().len())
                && operation.eval_str(a.value())
        };
        self.may_look(self.node) && self.node.attrs().any(is_it)
    }

    fn match_non_ts_pseudo_class(
        &self,
        class: &PseudoClass,
        _: &mut MatchingContext<'_, Names>,
    ) -> bool {
        match class {
            PseudoClass::Link | PseudoClass::AnyLink => self.is_link(),
            PseudoClass::Checked => {
                let is_choice = |kind: &str| {
                    kind.eq_ignore_ascii_case("checkbox") || kind.eq_ignore_ascii_case("radio")
                };
                self.has_html_tag(&[tag::OPTION]) && self.attr(attr::SELECTED).is_some()
                    || self.has_html_tag(&[tag::INPUT])
                        && self.attr(attr::TYPE).is_some_and(is_choice)
                        && self.attr(attr::CHECKED).is_some()
            }
            PseudoClass::Disabled => self.has_html_tag(CONTROLS) && self.is_disabled(),
            PseudoClass::Enabled => self.has_html_tag(CONTROLS) && !self.is_disabled(),
            PseudoClass::Required | PseudoClass::Optional => {
                self.has_html_tag(&[tag::INPUT, tag::SELECT, tag::TEXTAREA])
                    && self.attr(attr::REQUIRED).is_some() == (*class == PseudoClass::Required)
            }
        }
    }

    fn match_pseudo_element(
        &self,
        element: &PseudoElement,
        _: &mut MatchingContext<'_, Names>,
    ) -> bool {
        match *element {}
    }

    fn apply_selector_flags(&self, _: ElementSelectorFlags) {}

    /// `a` and `area` with a target, in HTML and SVG:
    /// <https://html.spec.whatwg.org/multipage/semantics-other.html#selector-link>
    fn is_link(&self) -> bool {
        match self.node.tag() {
            tag::A if self.node.namespace() == NodeNamespace::Svg => {
                let has = |id| self.has_attr(self.node, id);
                has(attr::HREF) || has(attr::XLINK_HREF)
            }
            tag::A | tag::AREA => self.is_html() && self.has_attr(self.node, attr::HREF),
            _ => false,
        }
    }

    fn is_html_slot_element(&self) -> bool {
        self.has_html_tag(&[tag::SLOT])
    }

    fn has_id(&self, id: &Text, case: CaseSensitivity) -> bool {
        self.attr(attr::ID)
            .is_some_and(|value| case.eq(value.as_bytes(), id.as_ref().as_bytes()))
    }

    fn has_class(&self, class: &Text, case: CaseSensitivity) -> bool {
        let wanted = class.as_ref().as_bytes();
        self.attr(attr::CLASS).is_some_and(|value| {
            value
                .split_ascii_whitespace()
                .any(|c| case.eq(c.as_bytes(), wanted))
        })
    }

    fn has_custom_state(&self, _: &Text) -> bool {
        false
    }

    fn imported_part(&self, _: &Text) -> Option<Text> {
        None
    }

    fn is_part(&self, _: &Text) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        self.node.children().all(|child| match child.kind() {
            Kind::Element => false,
            Kind::Text => child.text().is_empty(),
            _ => true,
        })
    }

    fn is_root(&self) -> bool {
        self.node
            .parent()
            .is_some_and(|parent| parent.kind() == Kind::Document)
    }

    fn add_element_unique_hashes(&self, _: &mut BloomFilter) -> bool {
        false
    }
}

/// What identifies an element in the caches of a search.
pub(super) fn opaque(node: Node<'_>) -> OpaqueElement {
    OpaqueElement::new(node.record())
}

/// Siblings, where both sides say so. The `selectors` crate counts them in both directions, and
/// relies on the counts being the same; a damaged snapshot may say otherwise.
fn prev_sibling(node: Node<'_>) -> Option<Node<'_>> {
    node.prev_sibling()
        .filter(|prev| prev.next_sibling() == Some(node))
}

fn next_sibling(node: Node<'_>) -> Option<Node<'_>> {
    node.next_sibling()
        .filter(|next| next.prev_sibling() == Some(node))
}

/// Whether the attribute's local name is this: `href` of `xlink:href` in its namespace.
fn has_name(attr: &Attr<'_>, name: &Name) -> bool {
    if attr.namespace_bits() == NS_HTML {
        return match name.attr() {
            attr::UNKNOWN => attr.id() == attr::UNKNOWN && attr.name() == name.text(),
            id => attr.id() == id,
        };
    }
    let qualified = attr.name();
    qualified
        .split_once(':')
        .map_or(qualified, |(_, local)| local)
        == name.text()
}
