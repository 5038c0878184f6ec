//! The configuration: one typed struct, filled from defaults, then a TOML file, then
//! `ORBWEAVER_…` variables, then flags; later sources win.

mod explain;
mod load;
mod private;
mod ranges;
mod reference;
mod settings;
mod sources;

pub use load::{Flags, Loaded, load};
pub use reference::reference;
pub use settings::{
    Config, DatabaseConfig, LogConfig, LogFormat, MetricsConfig, PROGRAM, RegistryConfig, Role,
};
pub use sources::Misnamed;
