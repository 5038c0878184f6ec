//! Bindings to the plugin interface, one module per major version of the WIT package. A minor
//! version only adds, so that it is the same module; a component of an earlier one finds in it all
//! that it imports. A new major version gets a new module beside the old one.

pub(crate) mod v1;
