//! A limit on the exports that a project reads at the same time.

use std::collections::HashMap;
use std::sync::Arc;

use orbweaver_core::ids::ProjectId;
use parking_lot::Mutex;

/// Maximum number of exports of one project at the same time. An export uses memory until its
/// reader has taken it all, and no project may keep others from theirs.
const MAX_EXPORTS: u32 = 4;

/// Counts the exports of each project. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ExportGate(Arc<Mutex<HashMap<ProjectId, u32>>>);

/// The permission for one export, until it is dropped.
#[derive(Debug)]
pub struct ExportPermit {
    gate: ExportGate,
    project: ProjectId,
}

/// The project reads as many exports as it may.
#[derive(Debug, thiserror::Error)]
#[error("the project reads {MAX_EXPORTS} exports already, the most at the same time")]
pub struct TooManyExports;

impl ExportGate {
    /// Takes the permission for one more export.
    ///
    /// # Errors
    /// If the project has the maximum.
    pub fn enter(&self, project: ProjectId) -> Result<ExportPermit, TooManyExports> {
        let mut counts = self.0.lock();
        let count = counts.entry(project).or_default();
        if *count >= MAX_EXPORTS {
            return Err(TooManyExports);
        }
        *count += 1;
        Ok(ExportPermit {
            gate: self.clone(),
            project,
        })
    }
}

impl Drop for ExportPermit {
    fn drop(&mut self) {
        let mut counts = self.gate.0.lock();
        if let Some(count) = counts.get_mut(&self.project) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                counts.remove(&self.project);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_reads_four_exports_at_the_same_time() {
        let gate = ExportGate::default();
        let mut open: Vec<_> = (0..4).map(|_| gate.enter(ProjectId(1)).unwrap()).collect();
        assert!(gate.enter(ProjectId(1)).is_err());
        assert!(gate.enter(ProjectId(2)).is_ok());
        open.pop();
        assert!(gate.enter(ProjectId(1)).is_ok());
        drop(open);
        assert!(gate.0.lock().is_empty());
    }
}
