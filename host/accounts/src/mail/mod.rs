//! Mails: stored in a durable outbox in the transaction that causes them, sent by a task.

mod courier;
pub mod mailer;
pub mod transport;

pub use courier::run;
pub use mailer::{KeyMail, Mailer};
pub use transport::is_public_address;
