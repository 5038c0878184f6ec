//! Bindings to the contract with plugins, one module per published version of the WIT
//! package. A new version gets a module beside the old ones, which stay as they are.

pub(crate) mod v0_1_0;
