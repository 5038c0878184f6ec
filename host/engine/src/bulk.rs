//! Copies and fills of memory as guest code.
//!
//! wasmtime compiles `memory.copy` and `memory.fill` of a length that is not a small constant
//! to a call of the host. That costs more than most copies of a plugin, which are words and
//! tags of some bytes; and while the host copies, no signal can end the guest
//! (see [`interrupt`](crate::interrupt)). So before a component is compiled, both instructions
//! of its core modules become calls of two functions that are added to the module. Only the
//! instruction itself is replaced, by one of the same length, and the new type and functions
//! come after all others: no index and no other offset of the module changes.

use wasm_encoder::{BlockType, Encode as _, Function, InstructionSink, MemArg, ValType};
use wasmparser::{BinaryReader, FunctionBody, Operator, Parser, Payload};

/// Longest copy with a constant length that wasmtime compiles in place, in bytes.
const INLINE_COPY_BYTES: i32 = 128;

const HEADER_BYTES: usize = 8;
const CORE_MODULE: u8 = 1;
const COMPONENT: u8 = 4;
const TYPES: u8 = 1;
const FUNCTIONS: u8 = 3;
const CODE: u8 = 10;

/// The component with copies and fills as guest code. A module where that can't be done (no
/// memory, several of them, types of a later standard, damaged) stays as it is.
pub(crate) fn inline_bulk(component: &[u8]) -> Vec<u8> {
    rewrite_component(component).unwrap_or_else(|| component.to_vec())
}

fn rewrite_component(component: &[u8]) -> Option<Vec<u8>> {
    let mut out = component.get(..HEADER_BYTES)?.to_vec();
    for section in Sections::of(component)? {
        let section = section?;
        let rewritten = match section.id {
            CORE_MODULE => rewrite_module(section.body),
            COMPONENT => rewrite_component(section.body),
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

/// Whether no guest of this component can make the host work for long by instructions alone:
/// it has none that copy or fill memory or tables there, and no modules whose strings are
/// passed from one to another.
pub(crate) fn is_interruptible(component: &[u8]) -> bool {
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        let Ok(payload) = payload else { return false };
        match payload {
            Payload::ComponentSection { .. } => depth += 1,
            Payload::ModuleSection { .. } if depth > 0 => return false,
            Payload::ModuleSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CodeSectionEntry(body) if !is_short(&body).unwrap_or(false) => return false,
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
    fn of(binary: &'a [u8]) -> Option<Self> {
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

/// What has to be known of a module before it is changed.
struct Plan {
    types: u32,
    functions: u32,
    /// Offset and length of every instruction to replace, and what takes its place.
    calls: Vec<Call>,
}

struct Call {
    offset: usize,
    len: usize,
    function: Added,
}

/// The functions that are added, in their order.
#[derive(Clone, Copy)]
enum Added {
    Copy,
    Fill,
}

impl Plan {
    /// None if there is nothing to replace, or something that this module does not know.
    fn of(module: &[u8]) -> Option<Self> {
        let mut plan = Self {
            types: 0,
            functions: 0,
            calls: Vec::new(),
        };
        let mut memories = 0;
        for payload in Parser::new(0).parse_all(module) {
            match payload.ok()? {
                Payload::TypeSection(types) => {
                    for group in types {
                        let count = group.ok()?.types().len();
                        plan.types += u32::try_from(count).ok()?;
                    }
                }
                Payload::ImportSection(imports) => {
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
                        memories += 1 + u32::from(memory.ok()?.memory64);
                    }
                }
                Payload::CodeSectionEntry(body) => plan.read(&body)?,
                _ => {}
            }
        }
        (memories == 1 && !plan.calls.is_empty()).then_some(plan)
    }

    fn read(&mut self, body: &FunctionBody<'_>) -> Option<()> {
        let mut operators = body.get_operators_reader().ok()?;
        let mut constant = None;
        while !operators.eof() {
            let offset = operators.original_position();
            let operator = operators.read().ok()?;
            let function = match operator {
                Operator::MemoryCopy { .. } if is_inline(constant) => None,
                Operator::MemoryCopy { .. } => Some(Added::Copy),
                Operator::MemoryFill { .. } => Some(Added::Fill),
                _ => None,
            };
            if let Some(function) = function {
                let len = operators.original_position() - offset;
                self.calls.push(Call {
                    offset,
                    len,
                    function,
                });
            }
            constant = constant_of(&operator);
        }
        Some(())
    }
}

/// The module with calls instead of copies and fills.
fn rewrite_module(module: &[u8]) -> Option<Vec<u8>> {
    let plan = Plan::of(module)?;
    let mut patched = module.to_vec();
    for call in &plan.calls {
        let index = plan.functions.checked_add(call.function as u32)?;
        let bytes = call_of_length(index, call.len)?;
        patched
            .get_mut(call.offset..call.offset + call.len)?
            .copy_from_slice(&bytes);
    }
    let mut out = patched.get(..HEADER_BYTES)?.to_vec();
    for section in Sections::of(&patched)? {
        let Section { id, body } = section?;
        match id {
            TYPES => {
                let mut added = Vec::new();
                added.push(0x60);
                [ValType::I32; 3].as_slice().encode(&mut added);
                added.push(0);
                push_section(&mut out, id, &extended(body, 1, &added)?);
            }
            FUNCTIONS => {
                let mut added = Vec::new();
                plan.types.encode(&mut added);
                plan.types.encode(&mut added);
                push_section(&mut out, id, &extended(body, 2, &added)?);
            }
            CODE => {
                let mut added = Vec::new();
                copy_function().encode(&mut added);
                fill_function().encode(&mut added);
                push_section(&mut out, id, &extended(body, 2, &added)?);
            }
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

/// `call index` in exactly so many bytes; `None` if the index does not fit.
fn call_of_length(index: u32, len: usize) -> Option<Vec<u8>> {
    let digits = len.checked_sub(1).filter(|n| (1..=5).contains(n))?;
    if digits < 5 && u64::from(index) >> (7 * digits) != 0 {
        return None;
    }
    let mut bytes = vec![0x10];
    for i in 0..digits {
        let more = if i + 1 < digits { 0x80 } else { 0 };
        bytes.push((index >> (7 * i) & 0x7f) as u8 | more);
    }
    Some(bytes)
}

const TO: u32 = 0;
const FROM: u32 = 1;
const LEN: u32 = 2;

fn at(offset: u64) -> MemArg {
    MemArg {
        offset,
        align: 0,
        memory_index: 0,
    }
}

/// Pushes `base + LEN`.
fn end_of(code: &mut InstructionSink<'_>, base: u32) {
    code.local_get(base).local_get(LEN).i32_add();
}

/// Opens a block that is entered for lengths up to `limit` only and left by `return`.
fn if_at_most(code: &mut InstructionSink<'_>, limit: i32) {
    code.local_get(LEN)
        .i32_const(limit)
        .i32_le_u()
        .if_(BlockType::Empty);
}

/// Opens a block that is entered for lengths from `limit` on and left by `return`.
fn if_at_least(code: &mut InstructionSink<'_>, limit: i32) {
    code.local_get(LEN)
        .i32_const(limit)
        .i32_ge_u()
        .if_(BlockType::Empty);
}

/// `(to, from, len)`, as `memory.copy`: the two may overlap.
///
/// Up to 64 bytes everything is loaded before anything is stored, the first and the last part
/// of the length, which may overlap each other. Longer ones go 64 bytes at a time, away from
/// the overlap, with the last 64 loaded first.
fn copy_function() -> Function {
    const NARROW: [u32; 2] = [3, 4];
    const WIDE: [u32; 4] = [5, 6, 7, 8];
    const LAST: [u32; 4] = [9, 10, 11, 12];
    const STOP: u32 = 13;
    let mut function = Function::new([(2, ValType::I64), (8, ValType::V128), (1, ValType::I32)]);
    let mut code = function.instructions();

    if_at_most(&mut code, 16);
    {
        if_at_least(&mut code, 8);
        code.local_get(FROM).i64_load(at(0)).local_set(NARROW[0]);
        end_of(&mut code, FROM);
        code.i32_const(8)
            .i32_sub()
            .i64_load(at(0))
            .local_set(NARROW[1]);
        code.local_get(TO).local_get(NARROW[0]).i64_store(at(0));
        end_of(&mut code, TO);
        code.i32_const(8)
            .i32_sub()
            .local_get(NARROW[1])
            .i64_store(at(0));
        code.return_().end();

        if_at_least(&mut code, 4);
        code.local_get(FROM)
            .i64_load32_u(at(0))
            .local_set(NARROW[0]);
        end_of(&mut code, FROM);
        code.i32_const(4)
            .i32_sub()
            .i64_load32_u(at(0))
            .local_set(NARROW[1]);
        code.local_get(TO).local_get(NARROW[0]).i64_store32(at(0));
        end_of(&mut code, TO);
        code.i32_const(4)
            .i32_sub()
            .local_get(NARROW[1])
            .i64_store32(at(0));
        code.return_().end();

        if_at_least(&mut code, 2);
        code.local_get(FROM)
            .i64_load16_u(at(0))
            .local_set(NARROW[0]);
        end_of(&mut code, FROM);
        code.i32_const(2)
            .i32_sub()
            .i64_load16_u(at(0))
            .local_set(NARROW[1]);
        code.local_get(TO).local_get(NARROW[0]).i64_store16(at(0));
        end_of(&mut code, TO);
        code.i32_const(2)
            .i32_sub()
            .local_get(NARROW[1])
            .i64_store16(at(0));
        code.return_().end();

        if_at_least(&mut code, 1);
        code.local_get(TO)
            .local_get(FROM)
            .i32_load8_u(at(0))
            .i32_store8(at(0));
        code.end().return_();
    }
    code.end();

    if_at_most(&mut code, 32);
    code.local_get(FROM).v128_load(at(0)).local_set(WIDE[0]);
    end_of(&mut code, FROM);
    code.i32_const(16)
        .i32_sub()
        .v128_load(at(0))
        .local_set(WIDE[1]);
    code.local_get(TO).local_get(WIDE[0]).v128_store(at(0));
    end_of(&mut code, TO);
    code.i32_const(16)
        .i32_sub()
        .local_get(WIDE[1])
        .v128_store(at(0));
    code.return_().end();

    if_at_most(&mut code, 64);
    for (i, local) in (0_u64..).zip([WIDE[0], WIDE[1]]) {
        code.local_get(FROM).v128_load(at(16 * i)).local_set(local);
    }
    for (i, local) in (0_u64..).zip([WIDE[2], WIDE[3]]) {
        end_of(&mut code, FROM);
        code.i32_const(32)
            .i32_sub()
            .v128_load(at(16 * i))
            .local_set(local);
    }
    for (i, local) in (0_u64..).zip([WIDE[0], WIDE[1]]) {
        code.local_get(TO).local_get(local).v128_store(at(16 * i));
    }
    for (i, local) in (0_u64..).zip([WIDE[2], WIDE[3]]) {
        end_of(&mut code, TO);
        code.i32_const(32)
            .i32_sub()
            .local_get(local)
            .v128_store(at(16 * i));
    }
    code.return_().end();

    // Forwards, unless `to` is inside of what is copied.
    code.local_get(TO)
        .local_get(FROM)
        .i32_sub()
        .local_get(LEN)
        .i32_ge_u()
        .if_(BlockType::Empty);
    {
        for (i, local) in (0_u64..).zip(LAST) {
            end_of(&mut code, FROM);
            code.i32_const(64)
                .i32_sub()
                .v128_load(at(16 * i))
                .local_set(local);
        }
        end_of(&mut code, TO);
        code.i32_const(64).i32_sub().local_set(STOP);
        code.loop_(BlockType::Empty);
        for (i, local) in (0_u64..).zip(WIDE) {
            code.local_get(FROM).v128_load(at(16 * i)).local_set(local);
        }
        for (i, local) in (0_u64..).zip(WIDE) {
            code.local_get(TO).local_get(local).v128_store(at(16 * i));
        }
        code.local_get(FROM).i32_const(64).i32_add().local_set(FROM);
        code.local_get(TO).i32_const(64).i32_add().local_tee(TO);
        code.local_get(STOP).i32_lt_u().br_if(0).end();
        for (i, local) in (0_u64..).zip(LAST) {
            code.local_get(STOP).local_get(local).v128_store(at(16 * i));
        }
        code.return_();
    }
    code.end();

    // Backwards. `LEN` is what is left.
    for (i, local) in (0_u64..).zip(LAST) {
        code.local_get(FROM).v128_load(at(16 * i)).local_set(local);
    }
    code.loop_(BlockType::Empty);
    code.local_get(LEN).i32_const(64).i32_sub().local_set(LEN);
    for (i, local) in (0_u64..).zip(WIDE) {
        end_of(&mut code, FROM);
        code.v128_load(at(16 * i)).local_set(local);
    }
    for (i, local) in (0_u64..).zip(WIDE) {
        end_of(&mut code, TO);
        code.local_get(local).v128_store(at(16 * i));
    }
    code.local_get(LEN)
        .i32_const(64)
        .i32_gt_u()
        .br_if(0)
        .end();
    for (i, local) in (0_u64..).zip(LAST) {
        code.local_get(TO).local_get(local).v128_store(at(16 * i));
    }
    code.end();
    function
}

/// `(to, byte, len)`, as `memory.fill`.
fn fill_function() -> Function {
    const BYTE: u32 = FROM;
    const NARROW: u32 = 3;
    const WIDE: u32 = 4;
    const STOP: u32 = 5;
    let mut function = Function::new([(1, ValType::I64), (1, ValType::V128), (1, ValType::I32)]);
    let mut code = function.instructions();
    code.local_get(BYTE)
        .i8x16_splat()
        .local_tee(WIDE)
        .i64x2_extract_lane(0)
        .local_set(NARROW);

    if_at_most(&mut code, 16);
    {
        if_at_least(&mut code, 8);
        code.local_get(TO).local_get(NARROW).i64_store(at(0));
        end_of(&mut code, TO);
        code.i32_const(8)
            .i32_sub()
            .local_get(NARROW)
            .i64_store(at(0));
        code.return_().end();
        if_at_least(&mut code, 4);
        code.local_get(TO).local_get(NARROW).i64_store32(at(0));
        end_of(&mut code, TO);
        code.i32_const(4)
            .i32_sub()
            .local_get(NARROW)
            .i64_store32(at(0));
        code.return_().end();
        if_at_least(&mut code, 1);
        code.local_get(TO).local_get(BYTE).i32_store8(at(0));
        end_of(&mut code, TO);
        code.i32_const(1)
            .i32_sub()
            .local_get(BYTE)
            .i32_store8(at(0));
        if_at_least(&mut code, 3);
        code.local_get(TO).local_get(BYTE).i32_store8(at(1));
        code.end().end().return_();
    }
    code.end();

    end_of(&mut code, TO);
    code.i32_const(16).i32_sub().local_set(STOP);
    code.local_get(STOP).local_get(WIDE).v128_store(at(0));
    code.loop_(BlockType::Empty);
    code.local_get(TO).local_get(WIDE).v128_store(at(0));
    code.local_get(TO).i32_const(16).i32_add().local_tee(TO);
    code.local_get(STOP).i32_lt_u().br_if(0).end();
    code.end();
    function
}

#[cfg(test)]
mod tests {
    use wasmtime::{Engine, Instance, Module, Store, TypedFunc};

    use super::*;

    const MEMORY: usize = 1 << 16;

    /// A module's `op(to, from or byte, len)`, with its memory.
    struct Guest {
        store: Store<()>,
        op: TypedFunc<(i32, i32, i32), ()>,
        memory: wasmtime::Memory,
    }

    impl Guest {
        fn new(operation: &str) -> Self {
            let text = format!(
                r#"(module (import "host" "f" (func)) (memory (export "memory") 1)
                (func $other (call 0))
                (func (export "op") (param i32 i32 i32)
                  ({operation} (local.get 0) (local.get 1) (local.get 2)))
                (table 3 funcref) (elem (i32.const 0) $other))"#
            );
            let module = wat::parse_str(&text).unwrap();
            let rewritten = rewrite_module(&module).unwrap();
            assert!(component_of(&module).len() < component_of(&rewritten).len());
            assert!(!is_interruptible(&component_of(&module)));
            assert!(is_interruptible(&component_of(&rewritten)));
            let engine = Engine::default();
            let module = Module::new(&engine, rewritten).unwrap();
            let mut store = Store::new(&engine, ());
            let import = wasmtime::Func::wrap(&mut store, || {});
            let instance = Instance::new(&mut store, &module, &[import.into()]).unwrap();
            Self {
                op: instance.get_typed_func(&mut store, "op").unwrap(),
                memory: instance.get_memory(&mut store, "memory").unwrap(),
                store,
            }
        }

        /// Runs the operation on a memory of distinct bytes and compares it with `expected`.
        fn check(&mut self, args: (i32, i32, i32), expected: impl FnOnce(&mut [u8])) {
            let data = self.memory.data_mut(&mut self.store);
            for (i, byte) in data.iter_mut().enumerate() {
                *byte = (i ^ i >> 8) as u8;
            }
            let mut after = data.to_vec();
            expected(&mut after);
            self.op.call(&mut self.store, args).unwrap();
            assert!(self.memory.data(&self.store) == after, "{args:?}");
        }
    }

    /// A component that holds this module.
    fn component_of(module: &[u8]) -> Vec<u8> {
        let mut component = b"\0asm\x0d\0\x01\0".to_vec();
        push_section(&mut component, CORE_MODULE, module);
        component
    }

    const LENGTHS: [usize; 27] = [
        0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 191,
        192, 193, 1_000, 5_000,
    ];

    #[test]
    fn copies_are_those_of_the_instruction_also_where_they_overlap() {
        let mut guest = Guest::new("memory.copy");
        for len in LENGTHS {
            for distance in [0, 1, 3, 8, 15, 16, 17, 40, 63, 64, 65, 100, 500, 6_000] {
                for (from, to) in [(200, 200 + distance), (200 + distance, 200)] {
                    let args = (to as i32, from as i32, len as i32);
                    guest.check(args, |memory| memory.copy_within(from..from + len, to));
                }
            }
            let end = MEMORY - len;
            let args = (end as i32, 0, len as i32);
            guest.check(args, |memory| memory.copy_within(0..len, end));
        }
    }

    #[test]
    fn fills_are_those_of_the_instruction() {
        let mut guest = Guest::new("memory.fill");
        for len in LENGTHS {
            for (to, byte) in [(0, 0), (333, 0x1ab), (MEMORY - len, -1)] {
                let args = (to as i32, byte, len as i32);
                guest.check(args, |memory| memory[to..to + len].fill(byte as u8));
            }
        }
    }

    #[test]
    fn what_is_out_of_bounds_traps() {
        for operation in ["memory.copy", "memory.fill"] {
            let mut guest = Guest::new(operation);
            for len in LENGTHS.into_iter().filter(|len| *len > 0) {
                let to = (MEMORY - len + 1) as i32;
                let trap = guest.op.call(&mut guest.store, (to, 0, len as i32));
                assert!(trap.is_err(), "{operation} {len}");
            }
            let trap = guest.op.call(&mut guest.store, (0, 1, -1));
            assert!(trap.is_err(), "{operation} of 4 GiB");
        }
    }

    #[test]
    fn what_is_no_component_stays_as_it_is() {
        for bytes in [&b""[..], b"\0asm", b"\0asm\x0d\0\x01\0\x01\x05\0as"] {
            assert_eq!(inline_bulk(bytes), bytes);
        }
    }
}
