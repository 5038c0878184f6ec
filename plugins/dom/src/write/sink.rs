//! What html5ever's tree builder asks of a document, answered by the arena.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, LocalName, Namespace, QualName};

use super::Limits;
use super::arena::Arena;
use super::atoms;
use crate::format::{KIND_COMMENT, KIND_DOCTYPE, NONE, NS_HTML};

/// A node as html5ever holds it. An element's carries its name, so that the tree
/// builder's many questions about open elements never touch the arena.
#[derive(Clone, Debug)]
pub(super) struct Handle {
    pub(super) id: u32,
    namespace: u8,
    integration_point: bool,
    name: LocalName,
}

impl Handle {
    /// Its local name; empty for what is no element.
    pub(super) fn name(&self) -> &LocalName {
        &self.name
    }

    pub(super) fn is_html(&self) -> bool {
        u32::from(self.namespace) == NS_HTML
    }
}

/// The name of an element, borrowed from its handle.
#[derive(Debug)]
pub(super) struct Name<'a>(&'a Handle);

impl ElemName for Name<'_> {
    #[inline]
    fn ns(&self) -> &Namespace {
        atoms::namespace_of(self.0.namespace)
    }

    #[inline]
    fn local_name(&self) -> &LocalName {
        &self.0.name
    }
}

/// The sink that html5ever builds the tree in.
pub(super) struct Sink {
    arena: RefCell<Arena>,
    max_nodes: usize,
    /// While set, what is appended only shows where it would have gone.
    probing: Cell<bool>,
    probed: RefCell<Option<Handle>>,
}

impl Sink {
    /// An empty document. `html_len`: length of the source, for sizing.
    pub(super) fn new(html_len: usize, limits: &Limits) -> Self {
        Self {
            arena: RefCell::new(Arena::new(html_len, limits)),
            max_nodes: limits.max_nodes.max(1) as usize,
            probing: Cell::new(false),
            probed: RefCell::new(None),
        }
    }

    /// Whether the tree has more nodes than it may have.
    pub(super) fn is_full(&self) -> bool {
        self.arena.borrow().nodes.len() > self.max_nodes
    }

    /// Notes that the tree is not the one that the standard prescribes.
    pub(super) fn set_truncated(&self) {
        self.arena.borrow_mut().truncated = true;
    }

    /// Where a node goes that is appended during `work`, which is not appended.
    pub(super) fn probe(&self, work: impl FnOnce()) -> Option<Handle> {
        self.probing.set(true);
        work();
        self.probing.set(false);
        self.probed.take()
    }

    fn unnamed(id: u32) -> Handle {
        Handle {
            id,
            namespace: 0,
            integration_point: false,
            name: LocalName::default(),
        }
    }
}

impl TreeSink for Sink {
    type Handle = Handle;
    type Output = Arena;
    type ElemName<'a> = Name<'a>;

    fn finish(self) -> Arena {
        self.arena.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Self::unnamed(0)
    }

    #[inline]
    fn elem_name<'a>(&'a self, target: &'a Handle) -> Name<'a> {
        Name(target)
    }

    fn create_element(&self, name: QualName, attrs: Vec<Attribute>, flags: ElementFlags) -> Handle {
        let namespace = atoms::element_namespace(&name.ns);
        let id = self
            .arena
            .borrow_mut()
            .create_element(namespace, &name.local, &attrs);
        Handle {
            id,
            namespace,
            integration_point: flags.mathml_annotation_xml_integration_point,
            name: name.local,
        }
    }

    fn create_comment(&self, text: StrTendril) -> Handle {
        Self::unnamed(self.arena.borrow_mut().push_leaf(KIND_COMMENT, &text))
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> Handle {
        // HTML has none: its tokenizer makes comments of them.
        self.create_comment(StrTendril::from(format!("?{target} {data}")))
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        if self.probing.get() {
            self.probed.replace(Some(parent.clone()));
            return;
        }
        self.arena.borrow_mut().append(parent.id, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &Handle,
        prev_element: &Handle,
        child: NodeOrText<Handle>,
    ) {
        let mut arena = self.arena.borrow_mut();
        match arena.nodes[element.id as usize].parent {
            NONE => arena.append(prev_element.id, child),
            _ => arena.append_before(element.id, child),
        }
    }

    fn append_doctype_to_document(&self, name: StrTendril, _: StrTendril, _: StrTendril) {
        let mut arena = self.arena.borrow_mut();
        let id = arena.push_leaf(KIND_DOCTYPE, &name);
        arena.append(0, NodeOrText::AppendNode(Self::unnamed(id)));
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        target.clone()
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        x.id == y.id
    }

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.arena.borrow_mut().quirks = mode == QuirksMode::Quirks;
    }

    fn append_before_sibling(&self, sibling: &Handle, new_node: NodeOrText<Handle>) {
        self.arena.borrow_mut().append_before(sibling.id, new_node);
    }

    fn add_attrs_if_missing(&self, target: &Handle, attrs: Vec<Attribute>) {
        self.arena.borrow_mut().add_missing(target.id, &attrs);
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.arena.borrow_mut().detach(target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        self.arena
            .borrow_mut()
            .reparent_children(node.id, new_parent.id);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        handle.integration_point
    }
}
