//! The SSRF guard: which targets may be connected to. These are the public internet over http
//! and https, and the networks that the operator allows.
//!
//! "Judge" means to check against these rules. A request is judged three times: its URL
//! ([`Policy::judge_url`]), every address that its name resolves to ([`Policy::judge_answers`],
//! after which the answer is pinned), and both again for every redirect. Judging names alone is
//! no protection, since a public name may resolve to any address; it only saves a lookup.

mod address;
mod host_list;
mod names;
mod policy;
mod ports;
mod refusal;
mod strict;

pub use host_list::HostList;
pub use policy::{Policy, Target};
pub use refusal::{Host, Refusal, Rule};
pub use strict::{join_strict, parse_strict};
