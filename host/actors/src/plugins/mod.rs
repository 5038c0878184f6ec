//! Administration of plugins: uploads are in the database and override the plugin folder.

mod grants;
pub(crate) mod overlay;
mod watch;

pub use grants::UploadGrants;
pub use overlay::{Overlay, UploadError, Uploaded, kind};
pub use watch::watch;
