//! The limit of open files, shared by connections, fetches and the database.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Most connections by default, even if more files may be open.
const MAX_CONNECTIONS: u64 = 10_000;
/// Number used for an unlimited system limit.
const UNLIMITED: u64 = 1 << 20;

/// Raises the soft limit of open files to the hard limit; returns the current limit.
pub fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return current.unwrap_or(UNLIMITED);
    }
    let raised = Rlimit {
        current: Some(maximum.unwrap_or(UNLIMITED)),
        maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    limit()
}

/// The soft limit of open files.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(UNLIMITED)
}

/// Default number of connections: half of the files that may be open, since outgoing fetches, the
/// database and the browser need the other half; at most 10,000.
pub(super) fn default_connections(limit: u64) -> usize {
    usize::try_from((limit / 2).clamp(1, MAX_CONNECTIONS)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_files_are_left_for_other_uses() {
        for (limit, connections) in [(1_024, 512), (256, 128), (1 << 20, 10_000), (0, 1)] {
            assert_eq!(default_connections(limit), connections);
        }
    }
}
