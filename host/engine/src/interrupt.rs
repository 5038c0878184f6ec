//! Stops a guest on a worker thread from outside, at any instruction.
//!
//! wasmtime's epochs and fuel add a check to every loop of a guest, which costs 13 to 15 % of its
//! time. The code of guests here has no such checks. While guests run, the clock sends a signal
//! to their threads at every tick. The handler, on the guest's thread, checks the call's meter.
//! If the call is over its budget and the thread was in a function of the guest, the thread
//! continues at an `unreachable` instruction instead, and wasmtime handles that as any other trap.
//!
//! This is as safe as a trap: wasmtime returns to the caller of the guest without using the frames
//! in between, and the store is dropped. The frame pointer, which the backtrace needs, is valid at
//! every instruction of compiled code (in a prologue it is still the caller's). Trampolines hold
//! the state for returning to the host, and are not in the ranges of [`GuestCode`].
//!
//! A thread in host code is not stopped, but checked again after [`RETRY`]. So no single step of a
//! guest may run long in the host: copies and fills are guest code ([`bulk`](crate::bulk)),
//! components with other such instructions do not run here
//! ([`is_interruptible`](crate::bulk::is_interruptible)), and host functions and the growth of
//! memory call [`Meter::check_if_overdue`] first.

use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use wasmtime::component::Component;

use crate::meter::Meter;

/// Time until a guest over its budget that was in host code is checked again.
pub(crate) const RETRY: Duration = Duration::from_micros(50);

/// Address ranges of a component's functions, without trampolines.
pub(crate) struct GuestCode(Box<[Range<usize>]>);

impl GuestCode {
    /// The functions of this component, which must outlive the value.
    pub fn new(component: &Component) -> Self {
        let text = component.text().as_ptr().addr();
        let mut ranges: Vec<_> = component
            .functions()
            .map(|function| {
                let start = text + function.offset;
                start..start + function.len
            })
            .collect();
        ranges.sort_unstable_by_key(|range| range.start);
        Self(ranges.into())
    }

    fn contains(&self, address: usize) -> bool {
        let after = self.0.partition_point(|range| range.start <= address);
        let before = after.checked_sub(1).and_then(|i| self.0.get(i));
        before.is_some_and(|range| range.contains(&address))
    }
}

/// The threads on which guests run now.
pub(crate) struct Interrupter {
    signal: libc::c_int,
    /// Address of an instruction that traps, known to wasmtime.
    trap: usize,
    threads: Mutex<Vec<libc::pthread_t>>,
    /// Whether a guest over its budget was in host code.
    missed: AtomicBool,
    /// Keeps the code at `trap` alive.
    _module: wasmtime::Module,
}

/// The guest on a thread, for the signal handler.
struct Current {
    code: *const GuestCode,
    meter: *const Meter,
    interrupter: *const Interrupter,
}

thread_local! {
    static CURRENT: Cell<*const Current> = const { Cell::new(ptr::null()) };
}

/// Whether guests of this process can be stopped by signals; otherwise their code must check
/// epochs. Installs the signal handler.
pub(crate) fn is_supported() -> bool {
    platform::signal().is_some()
}

impl Interrupter {
    /// An interrupter for guests of this engine.
    ///
    /// # Errors
    /// wasmtime's error if it cannot compile the trapping instruction, or if the platform is not
    /// supported.
    pub fn new(engine: &wasmtime::Engine) -> wasmtime::Result<Self> {
        let mut types = wasm_encoder::TypeSection::new();
        types.ty().function([], []);
        let mut functions = wasm_encoder::FunctionSection::new();
        functions.function(0);
        let mut body = wasm_encoder::Function::new([]);
        body.instructions().unreachable().end();
        let mut code = wasm_encoder::CodeSection::new();
        code.function(&body);
        let mut module = wasm_encoder::Module::new();
        module.section(&types).section(&functions).section(&code);
        let module = wasmtime::Module::from_binary(engine, &module.finish())?;
        let trap = module.functions().next().and_then(|function| {
            let range = function.offset..function.offset.checked_add(function.len)?;
            let code = module.text().get(range)?;
            let trap = platform::find_trap(code)?;
            Some(code.as_ptr().addr() + trap)
        });
        let (Some(trap), Some(signal)) = (trap, platform::signal()) else {
            return Err(wasmtime::format_err!(
                "guests cannot be interrupted on this platform"
            ));
        };
        Ok(Self {
            signal,
            trap,
            threads: Mutex::default(),
            missed: AtomicBool::new(false),
            _module: module,
        })
    }

    /// Runs `guest` on the calling thread, which has entered `meter`, and stops it when the meter
    /// fails a check. [`Meter::check_if_overdue`] then returns the reason.
    pub fn run<T>(&self, code: &GuestCode, meter: &Meter, guest: impl FnOnce() -> T) -> T {
        /// Undoes the registration, also when `guest` panics.
        struct Registered<'i> {
            interrupter: &'i Interrupter,
            thread: libc::pthread_t,
            before: *const Current,
        }
        impl Drop for Registered<'_> {
            fn drop(&mut self) {
                {
                    let mut threads = self.interrupter.threads.lock();
                    if let Some(at) = threads.iter().position(|t| *t == self.thread) {
                        threads.swap_remove(at);
                    }
                }
                CURRENT.set(self.before);
            }
        }

        let current = Current {
            code,
            meter,
            interrupter: self,
        };
        // SAFETY: it takes nothing and cannot fail.
        let thread = unsafe { libc::pthread_self() };
        let before = CURRENT.replace(&raw const current);
        self.threads.lock().push(thread);
        let _registered = Registered {
            interrupter: self,
            thread,
            before,
        };
        guest()
    }

    /// Checks every running guest. Returns true if at the previous tick a guest over its budget
    /// was in host code.
    pub fn tick(&self) -> bool {
        for thread in &*self.threads.lock() {
            // SAFETY: a thread takes itself off the list, under its lock, before it ends.
            unsafe { libc::pthread_kill(*thread, self.signal) };
        }
        self.missed.swap(false, Ordering::Relaxed)
    }
}

/// Where the thread that was interrupted at `pc` must continue instead, if its guest is to stop.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    expect(dead_code, reason = "guests check epochs there")
)]
fn redirect(pc: usize) -> Option<usize> {
    let current = CURRENT.try_with(Cell::get).ok()?;
    // SAFETY: `run` sets the pointer to a value on this thread's stack and takes it back
    // before that value and what it points to, which `run` borrows, can go.
    let (code, meter, interrupter) = unsafe {
        let current = current.as_ref()?;
        (
            current.code.as_ref()?,
            current.meter.as_ref()?,
            current.interrupter.as_ref()?,
        )
    };
    if meter.check().is_ok() {
        return None;
    }
    meter.set_overdue();
    if code.contains(pc) {
        return Some(interrupter.trap);
    }
    interrupter.missed.store(true, Ordering::Relaxed);
    None
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod platform {
    use std::sync::OnceLock;

    /// The signal with our handler: the first unused real-time signal.
    pub(super) fn signal() -> Option<libc::c_int> {
        static SIGNAL: OnceLock<Option<libc::c_int>> = OnceLock::new();
        *SIGNAL.get_or_init(|| (libc::SIGRTMIN() + 1..=libc::SIGRTMAX()).find(|s| install(*s)))
    }

    fn install(signal: libc::c_int) -> bool {
        // SAFETY: `sigaction` is plain data for which zeroes are a valid value; the handler
        // has the type that SA_SIGINFO asks for and calls nothing but what may be called in
        // one: the clock, atomics, and memory that belongs to this thread.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut before) != 0
                || before.sa_sigaction != libc::SIG_DFL
            {
                return false;
            }
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            action.sa_sigaction = (handler as *const ()).addr();
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut()) == 0
        }
    }

    extern "C" fn handler(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel passes the interrupted thread's registers, and takes them back
        // as they are left here; errno belongs to this thread.
        unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            let context = context.cast::<libc::ucontext_t>();
            let registers = &mut (*context).uc_mcontext.gregs;
            if let Some(pc) = registers.get_mut(libc::REG_RIP as usize)
                && let Ok(address) = usize::try_from(*pc)
                && let Some(instead) = super::redirect(address)
                && let Ok(instead) = i64::try_from(instead)
            {
                *pc = instead;
            }
            *errno = before;
        }
    }

    /// Offset of the first trapping instruction (`ud2`).
    pub(super) fn find_trap(code: &[u8]) -> Option<usize> {
        code.windows(2).position(|bytes| bytes == [0x0f, 0x0b])
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod platform {
    pub(super) fn signal() -> Option<libc::c_int> {
        None
    }

    pub(super) fn find_trap(_: &[u8]) -> Option<usize> {
        None
    }
}
