//! Compiles uploaded components in a process of their own.
//!
//! The memory of a compiler grows faster than what it compiles: eight kilobytes of nested blocks took eight
//! gigabytes. That process has a bound of memory and of time. What it takes is none of the service's, and is given
//! back when it ends; where the machine lacks memory, the system ends it first.

use std::hash::{Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use wasmtime::component::Component;

use crate::config::EngineConfig;
use crate::error::LoadError;
use crate::runtime;
use crate::text::clean;

/// The argument with which the program compiles for the service: see [`compile_for_service`].
pub const COMPILE_COMMAND: &str = "compile-plugin";
/// Its exit code for a component that cannot be compiled, with the reason as its output.
const REFUSED: u8 = 3;
/// Its exit code where it could not begin.
const UNABLE: u8 = 4;
/// Most machine code of a component.
const MAX_CODE_BYTES: u64 = 512 << 20;

/// How a component is compiled apart from the service.
#[derive(Clone, Debug)]
pub(crate) struct Apart {
    /// The program that knows [`COMPILE_COMMAND`].
    pub program: PathBuf,
    /// Its memory.
    pub memory_mib: u64,
    /// After this time it ends.
    pub timeout: Duration,
}

impl Apart {
    /// Compiles a component; blocks until it is done.
    ///
    /// # Errors
    /// As [`Compiler::compile`](crate::compile::Compiler::compile), and [`LoadError::Limits`] if it takes too
    /// much memory.
    pub fn compile(&self, engine: &wasmtime::Engine, bytes: &[u8]) -> Result<Component, LoadError> {
        let failed = |error: io::Error| LoadError::NotCompiled(format!("no process: {error}"));
        let mut child = self.command(engine).spawn().map_err(failed)?;
        if let Some(mut input) = child.stdin.take() {
            // If it has ended, its exit code says why.
            let _ = input.write_all(bytes);
        }
        let mut code = Vec::new();
        let read = match child.stdout.take() {
            Some(output) => output.take(MAX_CODE_BYTES).read_to_end(&mut code),
            None => Ok(0),
        };
        let status = child.wait().map_err(failed)?;
        read.map_err(failed)?;
        if !status.success() {
            return Err(self.failure(status, &code));
        }
        // SAFETY: the code was written by `precompile_component` in a process of this very program, which got
        // nothing but the component; wasmtime checks that it was made with this engine's version and settings.
        let component = unsafe { Component::deserialize(engine, &code) };
        component.map_err(|error| LoadError::NotCompiled(clean(&format!("{error:#}"), 1_000)))
    }

    /// What the end of the process says, and its output.
    fn failure(&self, status: ExitStatus, output: &[u8]) -> LoadError {
        if status.code() == Some(REFUSED.into()) {
            let why = String::from_utf8_lossy(output);
            return LoadError::Compile(clean(&why, 1_000));
        }
        match status.signal() {
            // Rust's, where an allocation fails.
            Some(libc::SIGABRT) => LoadError::Limits(format!(
                "compiling it takes more than {} MiB of memory (setting plugins.compile_memory_mib)",
                self.memory_mib
            )),
            Some(libc::SIGALRM) => {
                let limit = self.timeout.as_millis();
                LoadError::NotCompiled(format!("took longer than {limit} ms"))
            }
            _ => LoadError::NotCompiled(format!("the compiler ended: {status}")),
        }
    }

    fn command(&self, engine: &wasmtime::Engine) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(COMPILE_COMMAND)
            .arg(settings_of(engine))
            .arg(self.memory_mib.to_string())
            // Whoever takes the compiler over is not to find the service's secrets there.
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let no_core = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // The service waits for no longer than the limit.
        let seconds = u32::try_from(self.timeout.as_secs()).unwrap_or(u32::MAX);
        let seconds = seconds.saturating_add(1);
        // SAFETY: runs between fork and exec; prctl, setrlimit and alarm are plain system calls, nothing allocates,
        // and the limit is owned by the closure.
        unsafe {
            command.pre_exec(move || {
                #[cfg(target_os = "linux")]
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                if libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core) != 0 {
                    return Err(io::Error::last_os_error());
                }
                libc::alarm(seconds);
                Ok(())
            });
        }
        command
    }
}

/// Names the settings with which an engine compiles.
fn settings_of(engine: &wasmtime::Engine) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The work of a process that compiles for the service, with so much memory: reads a component from standard input
/// and writes its machine code to standard output, or why it has none. Returns the exit code.
pub fn compile_for_service(settings: &str, memory_mib: u64) -> u8 {
    // Where the machine lacks memory, this process is to go, and not the service.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let Some(engine) = engine_with(settings) else {
        return UNABLE;
    };
    let mut component = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut component);
    if read.and(bound_memory(memory_mib)).is_err() {
        return UNABLE;
    }
    let (exit, output) = match engine.precompile_component(&component) {
        Ok(code) => (0, code),
        Err(error) => (REFUSED, format!("{error:#}").into_bytes()),
    };
    match io::stdout().lock().write_all(&output) {
        Ok(()) => exit,
        Err(_) => UNABLE,
    }
}

/// Lets this process take so much memory more. What it has mapped by now counts, the stacks of the engine's pool
/// included, which are not in use.
fn bound_memory(mib: u64) -> io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let mapped = status.lines().find_map(|line| {
        let kib = line.strip_prefix("VmData:")?.trim().strip_suffix(" kB")?;
        kib.parse::<u64>().ok()
    });
    let mapped = mapped.ok_or_else(|| io::Error::other("no VmData"))?;
    let bytes = mapped.saturating_add(mib.saturating_mul(1_024));
    let bytes: libc::rlim_t = bytes.saturating_mul(1_024);
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: reads a limit that lives as long as the call.
    match unsafe { libc::setrlimit(libc::RLIMIT_DATA, &raw const limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// An engine that compiles with these settings.
fn engine_with(settings: &str) -> Option<wasmtime::Engine> {
    let config = EngineConfig {
        max_instances: 1,
        ..EngineConfig::default()
    };
    [runtime::pooled(&config), runtime::on_demand(&config)]
        .into_iter()
        .filter_map(|config| wasmtime::Engine::new(&config.ok()?).ok())
        .find(|engine| settings_of(engine) == settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(program: &str) -> Apart {
        Apart {
            program: program.into(),
            memory_mib: 512,
            timeout: Duration::from_secs(60),
        }
    }

    #[test]
    fn an_engine_is_found_by_its_settings_alone() {
        let config = EngineConfig::default();
        for made in [runtime::pooled(&config), runtime::on_demand(&config)] {
            let engine = wasmtime::Engine::new(&made.unwrap()).unwrap();
            assert!(engine_with(&settings_of(&engine)).is_some());
        }
        assert!(engine_with("0000000000000000").is_none());
    }

    #[test]
    fn the_end_of_the_process_says_why() {
        let apart = apart("/proc/self/exe");
        let failure = |raw, output: &[u8]| apart.failure(ExitStatus::from_raw(raw), output);
        let refused = failure(i32::from(REFUSED) << 8, b"an invalid component");
        assert_eq!(refused.to_string(), "compile: an invalid component");
        let memory = failure(libc::SIGABRT, b"");
        assert!(
            matches!(&memory, LoadError::Limits(why) if why.contains("512 MiB")),
            "{memory}"
        );
        let slow = failure(libc::SIGALRM, b"");
        assert!(slow.may_pass() && slow.to_string().contains("longer than 60000 ms"));
        assert!(failure(libc::SIGKILL, b"").may_pass());
    }

    #[test]
    fn a_program_that_is_not_there_or_does_something_else_compiles_nothing() {
        let engine = wasmtime::Engine::default();
        for program in ["/nonexistent/program", "/bin/true", "/bin/false"] {
            let compiled = apart(program).compile(&engine, b"\0asm\x0d\0\x01\0");
            let error = compiled.expect_err(program);
            assert!(matches!(error, LoadError::NotCompiled(_)), "{error}");
        }
    }
}
