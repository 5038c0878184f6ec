//! Administration of plugins: what is uploaded lies in the database, over the plugin folder.

mod grants;
pub(crate) mod overlay;
mod watch;

pub use grants::Granted;
pub use overlay::{Overlay, UploadError, Uploaded, kind};
pub use watch::watch;
