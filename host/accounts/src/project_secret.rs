//! Secrets that projects store for requests to others (`/v1/secrets`).

use orbweaver_core::ids::ProjectId;

/// For what a secret is encrypted: one of another project or name does not decrypt.
pub fn purpose(project: ProjectId, name: &str) -> String {
    format!("plugin-secret:{project}:{name}")
}
