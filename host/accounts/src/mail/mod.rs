//! Mails: written into the durable outbox with what they are about, sent by a task.

mod courier;
pub mod mailer;
pub mod transport;

pub use courier::run;
pub use mailer::{KeyMail, Mailer};
pub use transport::is_public_address;
