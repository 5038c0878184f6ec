//! The functions that copy, fill and grow memory.

use wasm_encoder::{BlockType, Function, InstructionSink, MemArg, ValType};

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

/// The function `(to, from, len)` in place of `memory.copy`. The two ranges may overlap.
///
/// Up to 64 bytes, everything is loaded before anything is stored: the first and the last part of
/// the range, which may overlap each other. Longer ranges are copied 64 bytes at a time, in the
/// direction that does not overwrite bytes still to be read, except for the last 64 bytes, which
/// are loaded first.
pub(super) fn copy() -> Function {
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
    code.local_get(LEN).i32_const(64).i32_gt_u().br_if(0).end();
    for (i, local) in (0_u64..).zip(LAST) {
        code.local_get(TO).local_get(local).v128_store(at(16 * i));
    }
    code.end();
    function
}

/// The function `(to, byte, len)` in place of `memory.fill`.
pub(super) fn fill() -> Function {
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

/// The function `(pages)` in place of `memory.grow`. Only growth by at least one page asks the host,
/// which then checks the call's limits.
pub(super) fn grow() -> Function {
    const PAGES: u32 = 0;
    let mut function = Function::new([]);
    let mut code = function.instructions();
    code.local_get(PAGES)
        .i32_eqz()
        .if_(BlockType::Empty)
        .memory_size(0)
        .return_()
        .end();
    code.local_get(PAGES).memory_grow(0).end();
    function
}

/// As [`grow`], for a memory with pages in reserve: `known` is the global that counts the pages
/// that the guest knows of. The host is asked for what is missing, rounded up to
/// [`STEP_PAGES`](super::STEP_PAGES), or where it refuses that, for no more than is missing.
pub(super) fn grow_within(known: u32) -> Function {
    const PAGES: u32 = 0;
    const MISSING: u32 = 1;
    const STEP: i32 = super::STEP_PAGES.cast_signed();
    let mut function = Function::new([(1, ValType::I32)]);
    let mut code = function.instructions();
    // Never negative: what the guest knows of is there.
    code.local_get(PAGES)
        .memory_size(0)
        .global_get(known)
        .i32_sub()
        .local_tee(MISSING)
        .i32_gt_u()
        .if_(BlockType::Empty);
    code.local_get(PAGES)
        .local_get(MISSING)
        .i32_sub()
        .local_tee(MISSING);
    // A size that no memory can have is requested unrounded, so that rounding does not overflow.
    code.i32_const(0x1_0000).i32_lt_u().if_(BlockType::Empty);
    code.local_get(MISSING)
        .i32_const(STEP - 1)
        .i32_add()
        .i32_const(-STEP)
        .i32_and()
        .memory_grow(0)
        .i32_const(-1)
        .i32_eq()
        .if_(BlockType::Empty);
    refuse_unless_grown(&mut code, MISSING);
    code.end().else_();
    refuse_unless_grown(&mut code, MISSING);
    code.end().end();
    // The answer is what the guest knew of before.
    code.global_get(known)
        .global_get(known)
        .local_get(PAGES)
        .i32_add()
        .global_set(known)
        .end();
    function
}

/// Grows the memory by a local's number of pages; returns -1 if the host refuses.
fn refuse_unless_grown(code: &mut InstructionSink<'_>, pages: u32) {
    code.local_get(pages)
        .memory_grow(0)
        .i32_const(-1)
        .i32_eq()
        .if_(BlockType::Empty)
        .i32_const(-1)
        .return_()
        .end();
}
