//! The interface `log`.

use super::bindings::extractor::orbweaver::plugin::{log, types};
use crate::journal::LogLevel;
use crate::state::State;

impl types::Host for State {}

impl log::Host for State {
    fn log(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        self.meter.check_if_overdue()?;
        let level = match level {
            log::Level::Trace => LogLevel::Trace,
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        };
        self.log.line(level, &message);
        Ok(())
    }
}
