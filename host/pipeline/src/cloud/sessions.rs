//! Sessions of rendered pages: cookies that the pages of a project share under a name.
//!
//! They are in the memory of this process only, because they are secrets of a caller's visit and
//! worth nothing after it: an hour after its last use a session is forgotten.

use std::time::{Duration, Instant};

use orbweaver_core::ids::ProjectId;
use orbweaver_fetch::SessionCookies;
use parking_lot::Mutex;

/// Time without a use after which a session is forgotten.
const IDLE: Duration = Duration::from_secs(3_600);
/// Most sessions of a project, and of all projects. Beyond it the one used longest ago is
/// forgotten.
const MAX_OF_PROJECT: usize = 100;
const MAX_OF_ALL: usize = 2_000;

/// The sessions of all projects.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Vec<Session>>);

struct Session {
    project: ProjectId,
    name: String,
    used: Instant,
    cookies: SessionCookies,
}

impl Sessions {
    /// The cookies of a project's session; a new session has none.
    pub(super) fn cookies(&self, project: ProjectId, name: &str) -> SessionCookies {
        self.cookies_at(project, name, Instant::now())
    }

    fn cookies_at(&self, project: ProjectId, name: &str, now: Instant) -> SessionCookies {
        let mut all = self.0.lock();
        all.retain(|session| now.duration_since(session.used) < IDLE);
        // The one used longest ago comes first.
        let known = all
            .iter()
            .position(|session| session.project == project && session.name == name);
        let mut session = match known {
            Some(known) => all.remove(known),
            None => {
                let own = all.iter().filter(|session| session.project == project);
                if own.count() >= MAX_OF_PROJECT {
                    let first = all.iter().position(|session| session.project == project);
                    first.map(|first| all.remove(first));
                } else if all.len() >= MAX_OF_ALL {
                    all.remove(0);
                }
                Session {
                    project,
                    name: name.to_owned(),
                    used: now,
                    cookies: SessionCookies::default(),
                }
            }
        };
        session.used = now;
        let cookies = session.cookies.clone();
        all.push(session);
        cookies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sessions: &Sessions) -> Vec<String> {
        let all = sessions.0.lock();
        all.iter().map(|session| session.name.clone()).collect()
    }

    #[test]
    fn sessions_are_forgotten_when_idle_or_too_many() {
        let sessions = Sessions::default();
        let (own, other) = (ProjectId(1), ProjectId(2));
        let start = Instant::now();
        sessions.cookies_at(other, "a", start);
        for number in 0..MAX_OF_PROJECT {
            sessions.cookies_at(own, &number.to_string(), start);
        }
        sessions.cookies_at(own, "0", start);
        sessions.cookies_at(own, "new", start);
        let kept = names(&sessions);
        assert_eq!(kept.len(), MAX_OF_PROJECT + 1);
        assert!(kept.contains(&"0".to_owned()) && !kept.contains(&"1".to_owned()));
        assert!(kept.contains(&"a".to_owned()), "another project's");
        sessions.cookies_at(own, "late", start + IDLE);
        assert_eq!(names(&sessions), ["late"]);
    }
}
