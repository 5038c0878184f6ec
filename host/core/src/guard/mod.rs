//! The SSRF guard: which targets may be connected to. These are the public internet over http
//! and https, and the networks that the operator opened.
//!
//! A request is judged three times: its URL ([`Policy::judge_url`]), every address that
//! its name resolves to ([`Policy::judge_answers`], after which the answer is pinned), and
//! again both for every redirect. Judging names alone is no protection: a public name may
//! point anywhere, so a name's verdict only saves a lookup.

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
