//! Bindings to the plugin interface, one module per published version of the WIT package. A new
//! version gets a new module; the old ones stay unchanged.

pub(crate) mod v0_1_0;
