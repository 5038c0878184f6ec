//! Counts what a component creates when it is instantiated, nested instances included.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, Instance,
};

use super::{MAX_MEMORIES, at_most};
use crate::error::LoadError;

/// Most instances that a component makes of all others within it, each counted as often as it is
/// made: a compiler writes each of them out, and eight components that each make a thousand of the
/// next one make 10²⁴.
const MAX_MADE: u64 = 10_000;
/// Most memories that a component makes: each reserves 4 GiB of addresses, of which a process has
/// 128 TiB for all its calls. Components of several languages together make about five.
pub(crate) const MAX_MADE_MEMORIES: u64 = 32;

/// Instances and memories.
#[derive(Clone, Copy, Default)]
struct Made {
    instances: u64,
    memories: u64,
}

impl Made {
    fn and(self, other: Self) -> Self {
        Self {
            instances: self.instances.saturating_add(other.instances),
            memories: self.memories.saturating_add(other.memories),
        }
    }
}

/// A component of which more is to come.
#[derive(Default)]
struct Open {
    made: Made,
    /// Memories that each module of its index space defines.
    modules: Vec<u64>,
    /// What each component of its index space makes.
    components: Vec<Made>,
}

/// The instances that components make, with those that their instances make.
///
/// A component can make instances only of components that end before it does so: those that are
/// imported, or exported by an instance, are refused.
#[derive(Default)]
pub(super) struct Making {
    /// The components within the outermost one that have begun, the outermost of them first.
    open: Vec<Open>,
    outermost: Open,
}

impl Making {
    pub fn begin(&mut self) {
        self.open.push(Open::default());
    }

    pub fn end(&mut self) {
        let ended = self.open.pop().unwrap_or_default();
        self.current().components.push(ended.made);
    }

    /// A module that defines so many memories.
    pub fn module(&mut self, memories: u64) {
        self.current().modules.push(memories);
    }

    /// A module of which nothing is known: it is imported, or exported by an instance.
    pub fn unknown_module(&mut self) {
        self.module(u64::from(MAX_MEMORIES));
    }

    /// A module or component that has a further index.
    pub fn alias(&mut self, alias: &ComponentAlias<'_>) {
        match *alias {
            ComponentAlias::InstanceExport { kind, .. } => {
                if kind == ComponentExternalKind::Module {
                    self.unknown_module();
                }
            }
            ComponentAlias::Outer { kind, count, index } => match kind {
                ComponentOuterAliasKind::CoreModule => {
                    let memories = self.outer(count).map(|outer| memories_of(outer, index));
                    self.module(memories.unwrap_or_default());
                }
                ComponentOuterAliasKind::Component => {
                    let made = self.outer(count).map(|outer| made_by(outer, index));
                    self.current().components.push(made.unwrap_or_default());
                }
                ComponentOuterAliasKind::CoreType | ComponentOuterAliasKind::Type => {}
            },
            ComponentAlias::CoreInstanceExport { .. } => {}
        }
    }

    /// An export also has an index.
    pub fn export(&mut self, kind: ComponentExternalKind, index: u32) {
        let open = self.current();
        match kind {
            ComponentExternalKind::Module => open.modules.push(memories_of(open, index)),
            ComponentExternalKind::Component => open.components.push(made_by(open, index)),
            _ => {}
        }
    }

    /// An instance of a module, or of items that exist.
    ///
    /// # Errors
    /// [`LoadError::Limits`]: there are too many.
    pub fn core_instance(&mut self, instance: &Instance<'_>) -> Result<(), LoadError> {
        let open = self.current();
        let memories = match instance {
            Instance::Instantiate { module_index, .. } => memories_of(open, *module_index),
            Instance::FromExports(_) => 0,
        };
        self.add(Made {
            instances: 1,
            memories,
        })
    }

    /// An instance of a component, or of items that exist.
    ///
    /// # Errors
    /// [`LoadError::Limits`]: there are too many.
    pub fn instance(&mut self, instance: &ComponentInstance<'_>) -> Result<(), LoadError> {
        let open = self.current();
        let within = match instance {
            ComponentInstance::Instantiate {
                component_index, ..
            } => made_by(open, *component_index),
            ComponentInstance::FromExports(_) => Made::default(),
        };
        let itself = Made {
            instances: 1,
            memories: 0,
        };
        self.add(within.and(itself))
    }

    fn add(&mut self, more: Made) -> Result<(), LoadError> {
        let open = self.current();
        open.made = open.made.and(more);
        let Made {
            instances,
            memories,
        } = open.made;
        at_most("instances of nested components", instances, MAX_MADE)?;
        at_most("memories of all its instances", memories, MAX_MADE_MEMORIES)
    }

    fn current(&mut self) -> &mut Open {
        self.open.last_mut().unwrap_or(&mut self.outermost)
    }

    /// The component around the current one that an alias counts to; 0 is the current one.
    fn outer(&self, count: u32) -> Option<&Open> {
        let at = self.open.len().checked_sub(usize::try_from(count).ok()?)?;
        match at.checked_sub(1) {
            Some(at) => self.open.get(at),
            None => Some(&self.outermost),
        }
    }
}

// An index that does not exist makes the component invalid, and the compiler refuses it.

fn memories_of(open: &Open, module: u32) -> u64 {
    let memories = open.modules.get(module as usize);
    memories.copied().unwrap_or_default()
}

fn made_by(open: &Open, component: u32) -> Made {
    let made = open.components.get(component as usize);
    made.copied().unwrap_or_default()
}
