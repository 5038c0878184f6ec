//! The screenshot of a scan. A failure never fails the scan.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use orbweaver_fetch::NoPicture;
use orbweaver_store::Principal;

use crate::answer::Picture;
use crate::charge::Charge;
use crate::cloud::backend::{Choice, Job, WaitPoint, project_proxy};
use crate::context::Scans;
use crate::error::{FailureKind, ScanError};
use crate::spec::ScanSpec;

/// The screenshot, if requested: the one taken with the page, else one taken now. Adds its
/// cost to the charge. Returns, too, whether one that was taken now is cut.
pub(super) async fn screenshot(
    scans: &Scans,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
    taken: Option<Result<Bytes, NoPicture>>,
    charge: &mut Charge,
) -> Option<(Picture, bool)> {
    if !spec.content.screenshot {
        return None;
    }
    let picture = match taken {
        Some(taken) => taken
            .map(|png| (png, false))
            .map_err(|error| error.to_string()),
        None => take(scans, principal, spec, charge)
            .await
            .map_err(|error| match error {
                ScanError::Unavailable(ref cause) => {
                    tracing::error!(error = %cause, "cannot take a screenshot");
                    error.to_string()
                }
                ScanError::Internal(cause) => {
                    tracing::error!(error = %cause, "cannot take a screenshot");
                    "internal error".to_owned()
                }
                error => error.to_string(),
            }),
    };
    if picture.is_ok() {
        charge.amount.cloud_pages += 1;
    }
    let is_cut = picture.as_ref().is_ok_and(|(_, is_cut)| *is_cut);
    Some((picture.map(|(png, _)| STANDARD.encode(png)), is_cut))
}

async fn take(
    scans: &Scans,
    principal: &Arc<Principal>,
    spec: &ScanSpec,
    charge: &mut Charge,
) -> Result<(Bytes, bool), ScanError> {
    if scans.cloud.has_browser() {
        charge.reserve_cloud(scans, principal.project).await?;
    }
    let job = Job {
        url: spec.url.clone(),
        user_agent: spec.user_agent.clone(),
        // Rendered as the page is, so that it is a picture of that page.
        render: Some(spec.browsing.point(WaitPoint::Load)),
        picture: true,
        proxy: project_proxy(principal)?,
        spent: charge.spent.clone(),
        extras: spec.browsing.extras(&spec.url),
        session: spec.browsing.session.clone(),
        ..Job::default()
    };
    let loaded = scans
        .cloud
        .load(principal.project, Choice::Local, &job)
        .await?;
    let is_cut = loaded.is_cut;
    loaded
        .picture
        .unwrap_or_else(|| {
            let why = "the backend returned no screenshot".to_owned();
            Err(NoPicture::Failed(why))
        })
        .map(|png| (png, is_cut))
        .map_err(|error| ScanError::Fetch {
            kind: FailureKind::Fetch(orbweaver_fetch::Kind::Browser),
            message: error.to_string(),
        })
}
