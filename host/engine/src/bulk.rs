//! Replaces the instructions that copy, fill and grow memory by guest code.
//!
//! wasmtime compiles `memory.copy` and `memory.fill` to a call of the host, unless the length is a
//! small constant. Such a call costs more than most copies of a plugin, which are a few bytes
//! long, and a guest cannot be stopped during it (see [`interrupt`](crate::interrupt)). The same is
//! true of `memory.grow` by 0 pages, which the host answers without asking the call's limits.
//! Therefore, before a component is compiled, these instructions become calls of functions that
//! are added to each core module. The new types and functions follow all others, so that no index
//! of the module changes. The only difference is a length of 0 outside of the memory, which no
//! longer traps.
//!
//! A memory that grows is also given [`RESERVED_PAGES`] from the start. Each growth of a pooled
//! memory changes the protection of its pages, and the next instance changes it back, which costs
//! more than many calls do. A global that is added counts the pages that the guest knows of;
//! growth within what there is only counts, and growth beyond it takes [`STEP_PAGES`] at a time.
//! The guest sees the size and the growth that it would see without; but a read or write beyond
//! the pages that it knows of, and within those that there are, does not trap.

mod functions;
mod reserve;

use std::ops::Range;

use wasm_encoder::{Encode as _, ValType};
use wasmparser::{BinaryReader, FunctionBody, Operator, Parser, Payload};

pub(crate) use reserve::RESERVED_PAGES;
use reserve::{Reserve, STEP_PAGES};

/// Longest copy with a constant length that wasmtime compiles in place, in bytes.
const INLINE_COPY_BYTES: i32 = 128;

const HEADER_BYTES: usize = 8;
const CORE_MODULE: u8 = 1;
const COMPONENT: u8 = 4;
const TYPES: u8 = 1;
const FUNCTIONS: u8 = 3;
const MEMORIES: u8 = 5;
const GLOBALS: u8 = 6;
const CODE: u8 = 10;

/// The component with copies, fills and growth as guest code, and with [`RESERVED_PAGES`] if
/// `reserve` and if no module grows another one's memory. A module stays unchanged if it has no
/// memory, more than one, or a 64-bit one, uses types of a later standard, or is damaged.
pub(crate) fn inline_bulk(component: &[u8], reserve: bool) -> Vec<u8> {
    let reserve = reserve && !reserve::is_shared(component);
    rewrite_component(component, reserve).unwrap_or_else(|| component.to_vec())
}

fn rewrite_component(component: &[u8], reserve: bool) -> Option<Vec<u8>> {
    let mut out = with_room(component);
    out.extend_from_slice(component.get(..HEADER_BYTES)?);
    for section in Sections::parse(component)? {
        let section = section?;
        let rewritten = match section.id {
            CORE_MODULE => rewrite_module(section.body, reserve),
            COMPONENT => rewrite_component(section.body, reserve),
            _ => None,
        };
        push_section(
            &mut out,
            section.id,
            rewritten.as_deref().unwrap_or(section.body),
        );
    }
    Some(out)
}

/// A buffer for a rewritten form, which is some hundredths larger: so large a buffer does not double.
fn with_room(original: &[u8]) -> Vec<u8> {
    Vec::with_capacity(original.len() + original.len() / 8 + 64)
}

/// Whether a guest of this component is never long in the host without a check of its limits: it
/// has no instructions that copy or fill memory or tables there, grows memory only by the added
/// function, and has no nested modules, which pass strings to one another through the host.
pub(crate) fn is_interruptible(component: &[u8]) -> bool {
    let plain = functions::grow().into_raw_body();
    let mut reserved = None;
    let mut globals = 0_u32;
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { return false };
        match payload {
            Payload::ComponentSection { .. } => depth += 1,
            Payload::ModuleSection { .. } if depth > 0 => return false,
            Payload::ModuleSection { .. } => {
                depth += 1;
                (globals, reserved) = (0, None);
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ImportSection(imports) => {
                globals = reserve::imported_globals(imports).unwrap_or(0);
            }
            Payload::GlobalSection(section) => {
                // The added global is the last one.
                let last = globals.saturating_add(section.count()).checked_sub(1);
                reserved = last.map(|last| functions::grow_within(last).into_raw_body());
            }
            Payload::CodeSectionEntry(body)
                if body.as_bytes() != plain
                    && Some(body.as_bytes()) != reserved.as_deref()
                    && !is_short(&body).unwrap_or(false) =>
            {
                return false;
            }
            _ => {}
        }
    }
    true
}

fn is_short(body: &FunctionBody<'_>) -> Option<bool> {
    let mut constant = None;
    for operator in body.get_operators_reader().ok()? {
        let operator = operator.ok()?;
        match operator {
            Operator::MemoryCopy { .. } if is_inline(constant) => {}
            Operator::MemoryCopy { .. }
            | Operator::MemoryFill { .. }
            | Operator::MemoryInit { .. }
            | Operator::MemoryGrow { .. }
            | Operator::TableFill { .. }
            | Operator::TableCopy { .. }
            | Operator::TableInit { .. }
            | Operator::TableGrow { .. } => return Some(false),
            _ => {}
        }
        constant = constant_of(&operator);
    }
    Some(true)
}

/// Whether wasmtime compiles a copy of this constant length in place.
fn is_inline(constant: Option<i32>) -> bool {
    constant.is_some_and(|n| (0..=INLINE_COPY_BYTES).contains(&n))
}

fn constant_of(operator: &Operator<'_>) -> Option<i32> {
    match operator {
        Operator::I32Const { value } => Some(*value),
        _ => None,
    }
}

/// One section: its id, and its contents without id and length.
struct Section<'a> {
    id: u8,
    body: &'a [u8],
}

/// The sections of a module or component; `None` where the rest is damaged.
struct Sections<'a>(BinaryReader<'a>);

impl<'a> Sections<'a> {
    fn parse(binary: &'a [u8]) -> Option<Self> {
        let rest = binary.get(HEADER_BYTES..)?;
        Some(Self(BinaryReader::new(rest, 0)))
    }
}

impl<'a> Iterator for Sections<'a> {
    type Item = Option<Section<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.eof() {
            return None;
        }
        let mut read = || {
            let id = self.0.read_u8().ok()?;
            let length = self.0.read_var_u32().ok()?;
            let body = self.0.read_bytes(length as usize).ok()?;
            Some(Section { id, body })
        };
        Some(read())
    }
}

fn push_section(out: &mut Vec<u8>, id: u8, body: &[u8]) {
    out.push(id);
    body.encode(out);
}

/// What the rewrite needs to know of a module.
struct Plan {
    types: u32,
    functions: u32,
    /// Where the bodies of its functions are.
    bodies: Vec<Range<usize>>,
    /// The instructions to replace, in the order of the module.
    calls: Vec<Call>,
    /// The pages that its memory gets from the start, if it grows.
    reserve: Option<Reserve>,
}

/// An instruction to replace.
struct Call {
    place: Range<usize>,
    by: Instead,
}

/// What stands in place of an instruction.
#[derive(Clone, Copy)]
enum Instead {
    /// A call of an added function.
    Call(Added),
    /// The number of pages that the guest knows of.
    Size,
}

/// Number of functions that are added.
const ADDED: u32 = 3;

/// The added functions, in their order.
#[derive(Clone, Copy)]
enum Added {
    Copy,
    Fill,
    Grow,
}

impl Plan {
    /// `None` if there is nothing to replace, or if the module cannot be rewritten.
    fn parse(module: &[u8], reserves: bool) -> Option<Self> {
        let mut plan = Self {
            types: 0,
            functions: 0,
            bodies: Vec::new(),
            calls: Vec::new(),
            reserve: None,
        };
        let mut memories = 0;
        let mut reserve = Reserve::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload.ok()? {
                Payload::TypeSection(types) => {
                    for group in types {
                        let count = group.ok()?.types().len();
                        plan.types += u32::try_from(count).ok()?;
                    }
                }
                Payload::ImportSection(imports) => {
                    reserve.globals = reserve::imported_globals(imports.clone())?;
                    for import in imports.into_imports() {
                        match import.ok()?.ty {
                            wasmparser::TypeRef::Func(_) => plan.functions += 1,
                            wasmparser::TypeRef::Memory(memory) => {
                                memories += 1 + u32::from(memory.memory64);
                            }
                            wasmparser::TypeRef::Table(_)
                            | wasmparser::TypeRef::Global(_)
                            | wasmparser::TypeRef::Tag(_) => {}
                            _ => return None,
                        }
                    }
                }
                Payload::FunctionSection(functions) => plan.functions += functions.count(),
                Payload::MemorySection(section) => {
                    for memory in section {
                        let memory = memory.ok()?;
                        memories += 1 + u32::from(memory.memory64);
                        reserve.memory = Some(memory);
                    }
                }
                Payload::GlobalSection(section) => {
                    reserve.globals = reserve.globals.checked_add(section.count())?;
                    reserve.has_section = true;
                }
                Payload::CodeSectionEntry(body) => plan.read(&body)?,
                _ => {}
            }
        }
        let grows = |call: &Call| matches!(call.by, Instead::Call(Added::Grow));
        if reserves && plan.calls.iter().any(grows) && reserve.is_possible() {
            plan.reserve = Some(reserve);
        } else {
            plan.calls.retain(|call| !matches!(call.by, Instead::Size));
        }
        (memories == 1 && !plan.calls.is_empty()).then_some(plan)
    }

    fn read(&mut self, body: &FunctionBody<'_>) -> Option<()> {
        self.bodies.push(body.range());
        let mut operators = body.get_operators_reader().ok()?;
        let mut constant = None;
        while !operators.eof() {
            let offset = operators.original_position();
            let operator = operators.read().ok()?;
            let by = match operator {
                Operator::MemoryCopy { .. } if is_inline(constant) => None,
                Operator::MemoryCopy { .. } => Some(Instead::Call(Added::Copy)),
                Operator::MemoryFill { .. } => Some(Instead::Call(Added::Fill)),
                Operator::MemoryGrow { .. } => Some(Instead::Call(Added::Grow)),
                Operator::MemorySize { .. } => Some(Instead::Size),
                _ => None,
            };
            if let Some(by) = by {
                let place = offset..operators.original_position();
                self.calls.push(Call { place, by });
            }
            constant = constant_of(&operator);
        }
        Some(())
    }

    /// The code section with calls instead of the instructions, and the added functions.
    fn code(&self, module: &[u8]) -> Option<Vec<u8>> {
        /// The instruction `call`.
        const CALL: u8 = 0x10;
        /// The instruction `global.get`.
        const GLOBAL_GET: u8 = 0x23;
        let bytes: usize = self.bodies.iter().map(|body| body.len() + 5).sum();
        let mut out = Vec::with_capacity(bytes + bytes / 8);
        u32::try_from(self.bodies.len())
            .ok()?
            .checked_add(ADDED)?
            .encode(&mut out);
        let mut calls = self.calls.iter().peekable();
        let mut rewritten = Vec::new();
        for body in &self.bodies {
            rewritten.clear();
            let mut from = body.start;
            while let Some(call) = calls.next_if(|call| call.place.start < body.end) {
                rewritten.extend_from_slice(module.get(from..call.place.start)?);
                match (call.by, &self.reserve) {
                    (Instead::Call(function), _) => {
                        rewritten.push(CALL);
                        let index = self.functions.checked_add(function as u32)?;
                        index.encode(&mut rewritten);
                    }
                    (Instead::Size, Some(reserve)) => {
                        rewritten.push(GLOBAL_GET);
                        reserve.globals.encode(&mut rewritten);
                    }
                    (Instead::Size, None) => return None,
                }
                from = call.place.end;
            }
            rewritten.extend_from_slice(module.get(from..body.end)?);
            rewritten.as_slice().encode(&mut out);
        }
        functions::copy().encode(&mut out);
        functions::fill().encode(&mut out);
        match &self.reserve {
            Some(reserve) => functions::grow_within(reserve.globals).encode(&mut out),
            None => functions::grow().encode(&mut out),
        }
        Some(out)
    }
}

/// The module with calls instead of copies, fills and growth.
fn rewrite_module(module: &[u8], reserve: bool) -> Option<Vec<u8>> {
    let plan = Plan::parse(module, reserve)?;
    let mut out = with_room(module);
    out.extend_from_slice(module.get(..HEADER_BYTES)?);
    let mut reserve = plan.reserve.as_ref();
    for section in Sections::parse(module)? {
        let Section { id, body } = section?;
        if reserve::is_after_globals(id)
            && let Some(reserve) = reserve.take_if(|reserve| !reserve.has_section)
        {
            let mut only = vec![0];
            only = extended(&only, 1, &reserve.global())?;
            push_section(&mut out, GLOBALS, &only);
        }
        match id {
            MEMORIES if let Some(reserve) = &plan.reserve => {
                push_section(&mut out, id, &reserve.memories()?);
            }
            GLOBALS if let Some(reserve) = reserve.take() => {
                push_section(&mut out, id, &extended(body, 1, &reserve.global())?);
            }
            TYPES => {
                /// Begins the type of a function.
                const FUNCTION: u8 = 0x60;
                let mut added = vec![FUNCTION];
                [ValType::I32; 3].as_slice().encode(&mut added);
                [ValType::I32; 0].as_slice().encode(&mut added);
                added.push(FUNCTION);
                [ValType::I32].as_slice().encode(&mut added);
                [ValType::I32].as_slice().encode(&mut added);
                push_section(&mut out, id, &extended(body, 2, &added)?);
            }
            FUNCTIONS => {
                let mut added = Vec::new();
                plan.types.encode(&mut added);
                plan.types.encode(&mut added);
                plan.types.checked_add(1)?.encode(&mut added);
                push_section(&mut out, id, &extended(body, ADDED, &added)?);
            }
            CODE => push_section(&mut out, id, &plan.code(module)?),
            _ => push_section(&mut out, id, body),
        }
    }
    Some(out)
}

/// A section that is a list, with items added at its end.
fn extended(body: &[u8], items: u32, added: &[u8]) -> Option<Vec<u8>> {
    let mut reader = BinaryReader::new(body, 0);
    let count = reader.read_var_u32().ok()?.checked_add(items)?;
    let mut out = Vec::with_capacity(body.len() + added.len() + 1);
    count.encode(&mut out);
    out.extend_from_slice(body.get(reader.original_position()..)?);
    out.extend_from_slice(added);
    Some(out)
}

#[cfg(test)]
mod tests;
