//! Obeys robots.txt.

use orbweaver_core::guard::Target;

use super::Fetcher;
use crate::error::{Fault, Kind, SubKind};
use crate::request::Request;
use crate::site::{Personal, RobotsFailure, RobotsVerdict};

impl Fetcher {
    /// Checks a target by the robots.txt of its origin, asked for in the way of the request.
    pub(super) async fn check_robots(
        &self,
        request: &Request,
        target: &Target,
    ) -> Result<(), Fault> {
        let (files, url) = (&self.0.files, &target.url);
        let personal = match (&request.personal, &request.proxy) {
            (Some(personal), _) => Some(personal(url)),
            (None, Some(proxy)) => Some(Personal::by(Some(proxy.clone()))),
            (None, None) => None,
        };
        let answer = match personal {
            Some(personal) => files.robots_for(self, url, &personal, false).await.answer,
            None => files.robots(self, url).await,
        };
        match answer.verdict(&target.url) {
            RobotsVerdict::Allowed => Ok(()),
            RobotsVerdict::Disallowed => {
                let message = format!("robots.txt of {} disallows it", target.host);
                Err(Fault::new(Kind::Robots, SubKind::Disallowed, message))
            }
            RobotsVerdict::Unavailable(RobotsFailure::Host(error)) => Err(Fault::from(error)),
            RobotsVerdict::Unavailable(cause) => {
                let message = format!(
                    "robots.txt of {} is unavailable, which disallows everything: {cause}",
                    target.host
                );
                Err(Fault::new(Kind::Robots, SubKind::Unreachable, message).retryable())
            }
        }
    }
}
