//! Hardening 7: unbounded recursion with a frame on the guest's own stack.

#[expect(unconditional_recursion, reason = "the point")]
#[inline(never)]
fn down(depth: u64, above: &mut [u8; 64]) -> u64 {
    let mut frame = [depth as u8; 64];
    frame[0] = frame[0].wrapping_add(above[63]);
    let below = down(std::hint::black_box(depth + 1), &mut frame);
    below + u64::from(std::hint::black_box(&frame)[7])
}

hostile_support::extractor!(|_, _, _| Ok(down(0, &mut [0; 64]).to_string()));
