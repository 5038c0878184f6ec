//! Pure rules of Orbweaver: which targets may be fetched, how bytes are decoded, what one pass
//! over a page extracts. No I/O, no clock, no randomness: callers pass those in.

pub mod charset;
pub mod content;
pub mod country;
pub mod cron;
pub mod guard;
pub mod gunzip;
pub mod header_rule;
pub mod ids;
pub mod json_number;
pub mod json_values;
pub mod key_hash;
pub mod limits;
pub mod markdown;
pub mod mask;
pub mod page;
pub mod page_source;
pub mod redact;
pub mod render;
pub mod retry_after;
pub mod robots;
pub mod setting;
pub mod sitemap;
pub mod user_agent;
pub mod webhook;
pub mod words;
