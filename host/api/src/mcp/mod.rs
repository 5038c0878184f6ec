//! Model Context Protocol: the endpoints and actors as tools of an agent.
//!
//! Over HTTP (`/mcp`, streamable HTTP) without sessions: every request carries its key, so any node
//! answers it. From the command line (`orbweaver mcp`) over standard input and output.

mod call;
mod endpoint;
mod face;
mod follow;
mod resources;
mod stdio;
mod tools;

pub(crate) use endpoint::{described, routes};
pub use stdio::serve_stdio;
