//! placeholder
pub struct Selector;
pub struct SelectorError;
