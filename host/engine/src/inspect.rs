//! Reads a component without compiling or running it.

mod made;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use wasmparser::{ComponentAlias, ComponentExternalKind, ComponentTypeRef, Parser, Payload};

use crate::error::LoadError;
use crate::manifest::section::not_a_component;
use crate::manifest::{self, Manifest};
use crate::schema::Schema;
pub(crate) use made::MAX_MADE_MEMORIES;
use made::Making;

/// SHA-256 of a component's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn compute(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// The static description of a component.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// Its validated manifest.
    pub manifest: Manifest,
    /// Names of its imports, e.g. `orbweaver:plugin/pages@1.0.0`.
    pub imports: Vec<String>,
    /// Names of its exports.
    pub exports: Vec<String>,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 of the whole file, lower-case hex.
    pub digest: String,
    /// Counts over its core modules.
    pub shape: Shape,
}

/// Counts over all core modules of a component.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Shape {
    /// Number of core modules.
    pub modules: u32,
    /// Number of core instances created from them.
    pub core_instances: u32,
    /// Number of functions with a body.
    pub functions: u64,
    /// Number of memories defined.
    pub memories: u32,
    /// Sum of the memories' initial sizes, in bytes.
    pub initial_memory: u64,
    /// Number of tables defined.
    pub tables: u32,
    /// Sum of the tables' initial elements.
    pub initial_table_elements: u64,
    /// Deepest nesting of components.
    pub nesting: u32,
}

/// Most functions in all modules. The largest interpreters used in plugins (SpiderMonkey,
/// CPython) have tens of thousands.
const MAX_FUNCTIONS: u64 = 90_000;
/// Largest function body, in bytes: register allocation takes more than linear time.
const MAX_BODY_BYTES: usize = 2 << 20;
const MAX_MODULES: u32 = 256;
const MAX_MEMORIES: u32 = 8;
const MAX_TABLES: u32 = 64;
const MAX_NESTING: u32 = 8;
const MAX_INSTANCES: u32 = 1_024;
const MAX_IMPORTS: usize = 256;

/// Limits from the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StaticLimits {
    pub max_component_bytes: u64,
}

/// Reads manifest, imports, exports and counts, and refuses components that could not run. With the manifest's
/// input schema, compiled.
pub(crate) fn inspect(
    bytes: &[u8],
    limits: StaticLimits,
) -> Result<(Inspection, Option<Schema>), LoadError> {
    let size = bytes.len() as u64;
    if size > limits.max_component_bytes {
        return Err(LoadError::Limits(format!(
            "{size} bytes, {} are allowed",
            limits.max_component_bytes
        )));
    }
    let walk = Walk::over(bytes)?;
    let (manifest, input) = manifest::read(bytes)?;
    let found = Inspection {
        manifest,
        imports: walk.imports,
        exports: walk.exports,
        size,
        digest: Digest::compute(bytes).to_string(),
        shape: walk.shape,
    };
    Ok((found, input))
}

#[derive(Default)]
struct Walk {
    shape: Shape,
    imports: Vec<String>,
    exports: Vec<String>,
    /// Open modules and components; true for a component.
    open: Vec<bool>,
    /// Memories of the open module.
    module_memories: u64,
    making: Making,
}

/// An error for a component that is a value: known only when an instance is made.
fn unknown_component(how: &str) -> LoadError {
    LoadError::Limits(format!("{how} components are not supported"))
}

impl Walk {
    fn over(bytes: &[u8]) -> Result<Self, LoadError> {
        let mut walk = Self::default();
        let mut first = true;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.map_err(not_a_component)?;
            if let Payload::Version { encoding, .. } = payload {
                if first && encoding != wasmparser::Encoding::Component {
                    return Err(LoadError::NotAComponent("it is a core module".to_owned()));
                }
                first = false;
            }
            walk.payload(payload)?;
        }
        Ok(walk)
    }

    fn payload(&mut self, payload: Payload<'_>) -> Result<(), LoadError> {
        let shape = &mut self.shape;
        match payload {
            Payload::ModuleSection { .. } => {
                self.open.push(false);
                self.module_memories = 0;
                shape.modules += 1;
                at_most("core modules", shape.modules, MAX_MODULES)?;
            }
            Payload::ComponentSection { .. } => {
                self.open.push(true);
                self.making.begin();
                let depth = self.open.iter().filter(|c| **c).count();
                shape.nesting = shape.nesting.max(u32::try_from(depth).unwrap_or(u32::MAX));
                at_most("nested components", shape.nesting, MAX_NESTING)?;
            }
            Payload::End(_) => match self.open.pop() {
                Some(true) => self.making.end(),
                Some(false) => self.making.module(self.module_memories),
                None => {}
            },
            Payload::FunctionSection(section) => {
                shape.functions += u64::from(section.count());
                at_most("functions", shape.functions, MAX_FUNCTIONS)?;
            }
            Payload::CodeSectionEntry(body) => {
                let length = body.range().end.saturating_sub(body.range().start);
                at_most("bytes in one function", length, MAX_BODY_BYTES)?;
            }
            Payload::MemorySection(section) => {
                shape.memories += section.count();
                self.module_memories += u64::from(section.count());
                at_most("memories", shape.memories, MAX_MEMORIES)?;
                for memory in section {
                    let memory = memory.map_err(not_a_component)?;
                    if memory.memory64 || memory.shared {
                        return Err(LoadError::Limits(
                            "64-bit and shared memories are not supported".to_owned(),
                        ));
                    }
                    let page = 1_u64 << memory.page_size_log2.unwrap_or(16).min(16);
                    shape.initial_memory = shape
                        .initial_memory
                        .saturating_add(memory.initial.saturating_mul(page));
                }
            }
            Payload::TableSection(section) => {
                shape.tables += section.count();
                at_most("tables", shape.tables, MAX_TABLES)?;
                for table in section {
                    let table = table.map_err(not_a_component)?;
                    shape.initial_table_elements = shape
                        .initial_table_elements
                        .saturating_add(table.ty.initial);
                }
            }
            Payload::InstanceSection(section) => {
                shape.core_instances = shape.core_instances.saturating_add(section.count());
                at_most("core instances", shape.core_instances, MAX_INSTANCES)?;
                for instance in section {
                    self.making
                        .core_instance(&instance.map_err(not_a_component)?)?;
                }
            }
            Payload::ComponentInstanceSection(section) => {
                at_most("component instances", section.count(), MAX_INSTANCES)?;
                for instance in section {
                    self.making.instance(&instance.map_err(not_a_component)?)?;
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section {
                    let alias = alias.map_err(not_a_component)?;
                    if let ComponentAlias::InstanceExport { kind, .. } = alias
                        && kind == ComponentExternalKind::Component
                    {
                        return Err(unknown_component("exported"));
                    }
                    self.making.alias(&alias);
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section {
                    let import = import.map_err(not_a_component)?;
                    match import.ty {
                        ComponentTypeRef::Component(_) => {
                            return Err(unknown_component("imported"));
                        }
                        ComponentTypeRef::Module(_) => self.making.unknown_module(),
                        _ => {}
                    }
                    if self.open.is_empty() {
                        self.imports.push(import.name.name.to_owned());
                        at_most("imports", self.imports.len(), MAX_IMPORTS)?;
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    let export = export.map_err(not_a_component)?;
                    self.making.export(export.kind, export.index);
                    if self.open.is_empty() && export.kind == ComponentExternalKind::Instance {
                        self.exports.push(export.name.name.to_owned());
                        at_most("exports", self.exports.len(), MAX_IMPORTS)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn at_most<T: PartialOrd + std::fmt::Display>(
    what: &str,
    found: T,
    allowed: T,
) -> Result<(), LoadError> {
    if found > allowed {
        return Err(LoadError::Limits(format!(
            "{found} {what}, {allowed} are allowed"
        )));
    }
    Ok(())
}

impl Shape {
    /// Refuses components that would exceed the call limits at every instantiation.
    pub(crate) fn fits(&self, memory_bytes: u64, table_elements: u64) -> Result<(), LoadError> {
        at_most("bytes of initial memory", self.initial_memory, memory_bytes)?;
        at_most(
            "initial table elements",
            self.initial_table_elements,
            table_elements,
        )
    }

    /// Whether it fits into the pool's slots: one memory and few tables, as compiled languages
    /// produce. Interpreters have many modules and large memories; their memory is allocated per
    /// call.
    pub(crate) fn suits_pool(&self) -> bool {
        self.memories <= 1
            && self.tables <= POOL_TABLES
            && self.core_instances <= POOL_CORE_INSTANCES
            && self.nesting <= 2
            && self.initial_memory <= 16 << 20
            && self.initial_table_elements <= POOL_TABLE_ELEMENTS
    }
}

/// Most tables of a pooled component.
pub(crate) const POOL_TABLES: u32 = 4;
/// Most core instances of a pooled component.
pub(crate) const POOL_CORE_INSTANCES: u32 = 24;
/// Most elements of a pooled table.
pub(crate) const POOL_TABLE_ELEMENTS: u64 = 20_000;
