//! Maps wasmtime's errors to this crate's typed errors.

use wasmtime::component::ResourceTableError;
use wasmtime::{Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::error::{Limit, PluginError, StopReason};
use crate::label::Label;
use crate::limiter::Limiter;
use crate::limits::Limits;
use crate::text::{clean, cut};

/// Most distinct functions in a backtrace that counts as infinite recursion.
const CYCLE: usize = 6;

/// Longest backtrace written to the log, in bytes: function names come from the plugin.
const MAX_BACKTRACE_BYTES: usize = 16 << 10;

/// Classifies the failure of a call. The trap code alone is not enough: a guest out of memory
/// traps with `unreachable`, and one out of its own stack accesses memory below address zero.
pub(crate) fn classify(
    plugin: &Label,
    error: &wasmtime::Error,
    limiter: &Limiter,
    limits: &Limits,
) -> PluginError {
    let typed = typed(error, limiter, limits);
    if !matches!(typed, PluginError::Engine(_)) {
        let whole = format!("{error:?}");
        let (label, error) = (&**plugin, cut(&whole, MAX_BACKTRACE_BYTES));
        if plugin.is_own() {
            tracing::debug!(target: "plugin", plugin = label, error, "call failed: {typed}");
        } else {
            tracing::warn!(target: "plugin", plugin = label, error, "call failed: {typed}");
        }
    }
    typed
}

fn typed(error: &wasmtime::Error, limiter: &Limiter, limits: &Limits) -> PluginError {
    if let Some(stop) = error.downcast_ref::<StopReason>() {
        return match stop {
            StopReason::Limit(limit) => PluginError::Limit(*limit),
            StopReason::Cancelled => PluginError::Engine(stop.to_string()),
        };
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return PluginError::Trap(format!("it exited with status {}", exit.0));
    }
    if matches!(
        error.downcast_ref::<ResourceTableError>(),
        Some(ResourceTableError::Full)
    ) {
        return PluginError::Limit(Limit::Handles(limits.handles));
    }
    let backtrace = error.downcast_ref::<WasmBacktrace>();
    if let Some(trap) = error.downcast_ref::<Trap>() {
        if *trap == Trap::StackOverflow {
            return PluginError::Limit(Limit::Stack);
        }
        if let Some(limit) = limiter.refused() {
            return PluginError::Limit(limit);
        }
        if *trap == Trap::MemoryOutOfBounds && backtrace.is_some_and(is_recursion) {
            return PluginError::Limit(Limit::Stack);
        }
        return PluginError::Trap(
            trap.to_string()
                .trim_start_matches("wasm trap: ")
                .to_owned(),
        );
    }
    if let Some(limit) = limiter.refused() {
        return PluginError::Limit(limit);
    }
    // wasmtime has no type for these two; tests check that its texts stay the same.
    let text = error.root_cause().to_string();
    if text.contains("allocated for hostcalls has been exhausted") {
        // With guest frames it was an argument of a host call, without them the answer.
        return PluginError::Limit(if backtrace.is_some() {
            Limit::HostCall(limits.host_call_bytes())
        } else {
            Limit::Output(limits.output_bytes())
        });
    }
    if text.contains("component handles") || text.contains("handle limit") {
        return PluginError::Limit(Limit::Handles(limits.handles));
    }
    PluginError::Trap(clean(&text, 500))
}

/// Whether the innermost frames are a few functions that call each other.
fn is_recursion(backtrace: &WasmBacktrace) -> bool {
    let frames = backtrace.frames();
    let mut distinct: Vec<u32> = frames.iter().map(wasmtime::FrameInfo::func_index).collect();
    let deep = distinct.len() >= 2 * CYCLE;
    distinct.sort_unstable();
    distinct.dedup();
    deep && distinct.len() <= CYCLE
}
