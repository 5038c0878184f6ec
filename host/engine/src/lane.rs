//! Which threads run the roles and hooks of a page, so that long calls delay no short ones.

use orbweaver_core::ids::ProjectId;

use crate::journal::{Caller, project_of};
use crate::page::Page;

/// Longest page, in bytes of HTML, whose roles run among the short calls: tens of milliseconds for
/// all of them.
const SHORT_PAGE_BYTES: usize = 256 << 10;

/// Threads and slots of a call. Each lane has threads of its own; its projects take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// A plugin of the instance, on a page of usual size: for this project, if for any.
    Short(Option<ProjectId>),
    /// The same on a long page: threads of low priority.
    Long(Option<ProjectId>),
    /// A plugin of this project, or one of the instance that may take long: threads of low priority.
    Own(ProjectId),
}

impl Lane {
    /// For a plugin of the instance.
    pub fn of_page(page: &Page, caller: &Caller) -> Self {
        let project = project_of(caller);
        match page.parts().html.len() > SHORT_PAGE_BYTES {
            true => Self::Long(project),
            false => Self::Short(project),
        }
    }

    /// The project that takes turns with the others of the lane.
    pub const fn project(self) -> Option<ProjectId> {
        match self {
            Self::Short(project) | Self::Long(project) => project,
            Self::Own(project) => Some(project),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::page::PageParts;

    #[test]
    fn a_page_runs_among_the_short_ones_up_to_the_bound() {
        let page = |bytes: usize| {
            Page::new(PageParts {
                html: Arc::from("a".repeat(bytes)),
                ..PageParts::default()
            })
        };
        let lane = |bytes| Lane::of_page(&page(bytes), &None);
        assert_eq!(lane(SHORT_PAGE_BYTES), Lane::Short(None));
        assert_eq!(lane(SHORT_PAGE_BYTES + 1), Lane::Long(None));
    }
}
