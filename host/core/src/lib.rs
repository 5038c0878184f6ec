//! Pure rules of Orbweaver: what may be fetched, how bytes become text, what a page's
//! streaming pass finds. No I/O, no clock, no randomness: callers pass those in.

pub mod charset;
pub mod content;
pub mod country;
pub mod cron;
pub mod guard;
pub mod ids;
pub mod json_number;
pub mod key_hash;
pub mod limits;
pub mod page;
pub mod retry_after;
pub mod robots;
pub mod setting;
pub mod sitemap;
pub mod user_agent;
pub mod webhook;
pub mod words;
