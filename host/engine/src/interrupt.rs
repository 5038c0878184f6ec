//! Ends a guest on a worker thread from outside, at whatever instruction it is.
//!
//! wasmtime's own ways (epochs, fuel) put a check into every loop of a guest, which costs 13
//! to 15 % of its time. Here its code has none. While guests run, the clock sends their
//! threads a signal at every tick. The handler, on the guest's thread, asks the call's meter;
//! if the call is over and the thread was interrupted in a guest's function, it goes on at an
//! `unreachable` instruction instead of where it was, so that wasmtime sees a trap of the
//! guest as any other and unwinds to the call.
//!
//! Why that is safe where a trap is: wasmtime unwinds from a trap without looking at the
//! frames in between, and gives up the whole store; the frame pointer, which it reads for the
//! backtrace, is valid at every instruction of compiled code (in a prologue it is the
//! caller's). Trampolines, which keep the state that unwinding needs, are not among the
//! ranges of [`GuestCode`].
//!
//! A thread in the host is left alone, and asked again after [`RETRY`]; so what a guest can
//! make the host do must be short. Copies and fills are guest code ([`bulk`](crate::bulk)),
//! modules with other instructions that take the host longer do not run here
//! ([`is_interruptible`](crate::bulk::is_interruptible)), and functions of the host ask
//! [`Meter::is_overdue`] first.

use std::cell::Cell;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use wasmtime::component::Component;

use crate::meter::Meter;

/// How soon a call that is over, but was in the host, is asked again.
pub(crate) const RETRY: Duration = Duration::from_millis(1);

/// Addresses of a component's functions, without trampolines.
pub(crate) struct GuestCode(Box<[Range<usize>]>);

impl GuestCode {
    /// The functions of this component. It has to be alive whenever they are used.
    pub fn of(component: &Component) -> Self {
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

/// The guests that run at present, each on a thread of its own.
pub(crate) struct Interrupter {
    signal: libc::c_int,
    /// Address of an instruction that wasmtime knows to trap.
    trap: usize,
    threads: Mutex<Vec<libc::pthread_t>>,
    /// A call was over, but its thread in the host.
    missed: AtomicBool,
    /// Holds the code that `trap` is in.
    _module: wasmtime::Module,
}

/// What the handler needs to know of the guest on its thread.
struct Current {
    code: *const GuestCode,
    meter: *const Meter,
    interrupter: *const Interrupter,
}

thread_local! {
    static CURRENT: Cell<*const Current> = const { Cell::new(ptr::null()) };
}

/// Whether guests of this process can be ended by signals. Otherwise their code has to check
/// epochs. Installs the handler.
pub(crate) fn is_supported() -> bool {
    platform::signal().is_some()
}

impl Interrupter {
    /// An interrupter of guests of this engine.
    ///
    /// # Errors
    /// wasmtime's, if it does not compile an `unreachable`; where the platform has no way.
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
            return Err(wasmtime::format_err!("no way to interrupt a guest"));
        };
        Ok(Self {
            signal,
            trap,
            threads: Mutex::default(),
            missed: AtomicBool::new(false),
            _module: module,
        })
    }

    /// Runs `guest` on the calling thread; it ends soon after `meter`, which the thread has
    /// entered, says so. Whether it was ended, [`Meter::is_overdue`] tells.
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

    /// Asks every guest whether its call is over. True if the tick before found
    /// one that is, but in the host.
    pub fn tick(&self) -> bool {
        for thread in &*self.threads.lock() {
            // SAFETY: a thread takes itself off the list, under its lock, before it ends.
            unsafe { libc::pthread_kill(*thread, self.signal) };
        }
        self.missed.swap(false, Ordering::Relaxed)
    }
}

/// The handler's part that is the same everywhere: whether, and where, the thread that was
/// interrupted at `pc` has to go on instead.
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

    /// The signal whose handler is installed, the first real-time signal that nobody uses.
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

    extern "C" fn handler(
        _: libc::c_int,
        _: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
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
