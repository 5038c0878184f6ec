//! What tests stand on besides the product itself.

pub mod postgres;
