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
        let rewritten = rewrite_module(&module, true).unwrap();
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
    0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 191, 192,
    193, 1_000, 5_000,
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

/// A memory's `grow(pages)` and `size()`.
struct Growth {
    store: Store<()>,
    grow: TypedFunc<i32, i32>,
    size: TypedFunc<(), i32>,
    memory: wasmtime::Memory,
}

impl Growth {
    /// `rest` stands before the functions, `memory` declares the memory.
    fn new(memory: &str, rest: &str, reserve: bool) -> Self {
        let text = format!(
            r#"(module {rest} {memory}
            (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
            (func (export "size") (result i32) memory.size))"#
        );
        let module = wat::parse_str(&text).unwrap();
        let rewritten = rewrite_module(&module, reserve).unwrap();
        assert!(!is_interruptible(&component_of(&module)));
        assert!(is_interruptible(&component_of(&rewritten)));
        let engine = Engine::default();
        let module = Module::new(&engine, rewritten).unwrap();
        let mut store = Store::new(&engine, ());
        let ty = wasmtime::GlobalType::new(wasmtime::ValType::I32, wasmtime::Mutability::Const);
        let global = wasmtime::Global::new(&mut store, ty, 7.into()).unwrap();
        let imports = vec![global.into(); usize::from(rest.contains("import"))];
        let instance = Instance::new(&mut store, &module, &imports).unwrap();
        Self {
            grow: instance.get_typed_func(&mut store, "grow").unwrap(),
            size: instance.get_typed_func(&mut store, "size").unwrap(),
            memory: instance.get_memory(&mut store, "memory").unwrap(),
            store,
        }
    }

    /// Grows step by step; each step has the expected answer, and the size then.
    fn check(&mut self, steps: &[(i32, i32, i32)]) {
        for (pages, answer, size) in steps {
            let got = self.grow.call(&mut self.store, *pages).unwrap();
            assert_eq!(got, *answer, "grow by {pages}");
            let got = self.size.call(&mut self.store, ()).unwrap();
            assert_eq!(got, *size, "after growth by {pages}");
        }
    }

    /// The pages that there are.
    fn pages(&self) -> u32 {
        self.memory.size(&self.store) as u32
    }
}

const GLOBALS_BEFORE: &str = r#"(import "host" "g" (global i32)) (global (mut i32) (i32.const 3))"#;

#[test]
fn growth_is_that_of_the_instruction() {
    for rest in ["", GLOBALS_BEFORE, "(global i64 (i64.const 1))"] {
        for reserve in [false, true] {
            let memory = r#"(memory (export "memory") 1 3)"#;
            let mut guest = Growth::new(memory, rest, reserve);
            assert_eq!(guest.pages(), if reserve { 3 } else { 1 });
            guest.check(&[
                (0, 1, 1),
                (1, 1, 2),
                (0, 2, 2),
                (2, -1, 2),
                (1, 2, 3),
                (0, 3, 3),
                (-1, -1, 3),
                (1, -1, 3),
            ]);
        }
    }
}

#[test]
fn growth_within_the_reserve_leaves_the_memory_as_it_is() {
    let mut guest = Growth::new(r#"(memory (export "memory") 2)"#, "", true);
    let reserved = RESERVED_PAGES as i32;
    guest.check(&[(1, 2, 3), (reserved - 3, 3, reserved)]);
    assert_eq!(guest.pages(), RESERVED_PAGES);
    guest.check(&[(1, reserved, reserved + 1)]);
    assert_eq!(guest.pages(), RESERVED_PAGES + STEP_PAGES);
    // What is left of the step, and one page more.
    let step = STEP_PAGES as i32;
    guest.check(&[(step, reserved + 1, reserved + 1 + step)]);
    assert_eq!(guest.pages(), RESERVED_PAGES + 2 * STEP_PAGES);
    for more in [0xffff, 0x1_0000, i32::MAX, -1, -16] {
        guest.check(&[(more, -1, reserved + 1 + step)]);
    }
}

#[test]
fn where_a_whole_step_is_refused_growth_is_exact() {
    let most = RESERVED_PAGES + 5;
    let memory = format!(r#"(memory (export "memory") 2 {most})"#);
    let mut guest = Growth::new(&memory, "", true);
    let reserved = RESERVED_PAGES as i32;
    guest.check(&[
        (reserved + 1, 2, reserved + 3),
        (3, -1, reserved + 3),
        (2, reserved + 3, reserved + 5),
    ]);
    assert_eq!(guest.pages(), most);
}

#[test]
fn an_imported_memory_grows_as_before() {
    let module = wat::parse_str(
        r#"(module (import "host" "memory" (memory 1))
        (func (result i32) (memory.grow (i32.const 1)) (drop) memory.size))"#,
    )
    .unwrap();
    let rewritten = rewrite_module(&module, true).unwrap();
    assert_eq!(rewrite_module(&module, false).unwrap(), rewritten);
    assert!(is_interruptible(&component_of(&rewritten)));
}

#[test]
fn two_modules_that_grow_one_memory_get_pages_of_their_own() {
    let owner = r#"(core module $owner (memory (export "memory") 2)
        (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))"#;
    let other = |body: &str| {
        let text = format!(
            r#"(component {owner} (core instance $owner (instantiate $owner))
                (core module $other (import "owner" "memory" (memory 1))
                  (func (export "f") (param i32) (result i32) {body}))
                (core instance (instantiate $other (with "owner" (instance $owner)))))"#
        );
        wat::parse_str(&text).unwrap()
    };
    for body in ["(memory.grow (local.get 0))", "(memory.size)"] {
        let component = other(body);
        assert_eq!(
            inline_bulk(&component, true),
            inline_bulk(&component, false)
        );
        assert!(is_interruptible(&inline_bulk(&component, true)));
    }
    let reads = other("(i32.load (local.get 0))");
    assert_ne!(inline_bulk(&reads, true), inline_bulk(&reads, false));
}

#[test]
fn what_is_no_component_stays_as_it_is() {
    for bytes in [&b""[..], b"\0asm", b"\0asm\x0d\0\x01\0\x01\x05\0as"] {
        assert_eq!(inline_bulk(bytes, true), bytes);
    }
}
