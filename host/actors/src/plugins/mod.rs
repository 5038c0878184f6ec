//! Uploaded plugins, of the instance and of projects: they are in the database and override the
//! plugin folder.

mod grants;
pub(crate) mod journal;
mod kept_input;
mod known;
pub(crate) mod overlay;
mod quarantine;
mod queue_bounds;
mod removal;
mod watch;

pub use grants::UploadGrants;
pub use journal::PluginJournal;
pub use overlay::{Overlay, Upload, UploadError, Uploaded, kind, roll_back, upload};
pub use removal::remove;
pub use watch::{follow, watch};

/// Bounds of all uploads.
#[derive(Clone, Copy, Debug)]
pub struct PluginLimits {
    /// Versions kept of each plugin.
    pub kept_versions: u32,
    /// Plugins of all projects together.
    pub all_projects: u64,
}
