//! The user agent under which a page is kept, and by which scans find it again (`max_age_seconds`).

use orbweaver_core::user_agent::is_rotated;
use orbweaver_fetch::{Action, PictureOptions};
use orbweaver_store::CloudMode;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::browsing::{Browsing, WaitSpec};
use crate::spec::ScanSpec;

/// What a page was asked for with, besides its URL, user agent and mode. One that was asked for with
/// anything else is another page. The default is a request without more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AskedWith<'a> {
    /// Headers.
    pub headers: &'a [(String, String)],
    /// Cookies: `k=v; k=v`.
    pub cookies: Option<&'a str>,
    /// The country that it was fetched from.
    pub country: Option<&'a str>,
    /// Whether refreshes were followed.
    pub follow_refresh: bool,
    /// How it was rendered; the default if it was not.
    pub rendering: Rendering<'a>,
    /// Whether a hook changed the request, which a scan cannot ask for.
    pub by_hook: bool,
    /// Whether the URL has parameters that its key has not: a scan asks for exactly its URL.
    pub is_shortened: bool,
}

/// What may change a page in the browser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rendering<'a> {
    wait: Option<&'a WaitSpec>,
    actions: &'a [Action],
    session: Option<&'a str>,
    /// The size of the window, and the colours that the visitor prefers.
    window: PictureOptions,
}

impl<'a> Rendering<'a> {
    /// In a run or request with these options; those of the screenshot's file change no page.
    pub fn new(
        wait: Option<&'a WaitSpec>,
        actions: &'a [Action],
        session: Option<&'a str>,
        picture: &PictureOptions,
    ) -> Self {
        Self {
            wait,
            actions,
            session,
            window: PictureOptions {
                viewport: picture.viewport,
                dark_mode: picture.dark_mode,
                ..PictureOptions::default()
            },
        }
    }
}

impl AskedWith<'_> {
    /// The user agent under which the page is kept; `asked` is the requested one. The key of a rotated one is
    /// the rotation, not the one that it chose.
    pub fn kept_agent(&self, asked: Option<&str>) -> String {
        let asked = asked.filter(|asked| !is_rotated(Some(asked)));
        let asked = asked.unwrap_or_default();
        if *self == Self::default() {
            return asked.to_owned();
        }
        let with = serde_json::to_vec(self).unwrap_or_default();
        format!("{asked} [{}]", hex::encode(Sha256::digest(&with)))
    }
}

/// The user agent under which the page of a scan is kept, if it was had in this mode.
pub(crate) fn kept_agent(spec: &ScanSpec, mode: CloudMode) -> String {
    let plain = AskedWith {
        follow_refresh: spec.follow_refresh,
        ..AskedWith::default()
    };
    let Browsing {
        wait,
        headers,
        cookies,
        actions,
        session,
        picture,
    } = &spec.browsing;
    let asked_with = match mode {
        // What needs a browser had none.
        CloudMode::None => plain,
        CloudMode::Auto | CloudMode::Browser | CloudMode::Unblocker => AskedWith {
            headers,
            cookies: cookies.as_deref(),
            rendering: Rendering::new(wait.as_ref(), actions, session.as_deref(), picture),
            ..plain
        },
    };
    asked_with.kept_agent(spec.user_agent.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use orbweaver_fetch::{PictureFormat, Viewport};

    use crate::spec::Content;

    #[test]
    fn a_page_asked_for_without_more_is_kept_under_its_user_agent() {
        let plain = AskedWith::default();
        assert_eq!(plain.kept_agent(None), "");
        assert_eq!(plain.kept_agent(Some("Orbweaver/1.0")), "");
        assert_eq!(plain.kept_agent(Some("Probe/1")), "Probe/1");
    }

    #[test]
    fn what_may_change_a_page_keeps_it_apart() {
        let headers = [("x-key".to_owned(), "k".to_owned())];
        let (wait, actions) = (WaitSpec::default(), [Action::Screenshot {}]);
        let window = |picture: PictureOptions| Rendering::new(None, &[], None, &picture);
        let rendering = |rendering| AskedWith {
            rendering,
            ..AskedWith::default()
        };
        let none = PictureOptions::default();
        let others = [
            AskedWith {
                headers: &headers,
                ..AskedWith::default()
            },
            AskedWith {
                cookies: Some("a=b"),
                ..AskedWith::default()
            },
            AskedWith {
                country: Some("DE"),
                ..AskedWith::default()
            },
            AskedWith {
                follow_refresh: true,
                ..AskedWith::default()
            },
            AskedWith {
                by_hook: true,
                ..AskedWith::default()
            },
            AskedWith {
                is_shortened: true,
                ..AskedWith::default()
            },
            rendering(Rendering::new(Some(&wait), &[], None, &none)),
            rendering(Rendering::new(None, &actions, None, &none)),
            rendering(Rendering::new(None, &[], Some("one"), &none)),
            rendering(window(PictureOptions {
                viewport: Some(Viewport {
                    width: 640,
                    height: 480,
                }),
                ..PictureOptions::default()
            })),
            rendering(window(PictureOptions {
                dark_mode: Some(true),
                ..PictureOptions::default()
            })),
        ];
        let mut agents: Vec<String> = others.iter().map(|one| one.kept_agent(None)).collect();
        agents.push(AskedWith::default().kept_agent(None));
        let count = agents.len();
        agents.sort_unstable();
        agents.dedup();
        assert_eq!(agents.len(), count);
        let file = PictureOptions {
            format: Some(PictureFormat::Jpeg),
            quality: Some(1),
            full_page: Some(false),
            selector: Some("a".to_owned()),
            ..PictureOptions::default()
        };
        assert_eq!(window(file), Rendering::default());
    }

    #[test]
    fn what_needs_a_browser_does_not_count_for_a_page_that_had_none() {
        let mut spec = ScanSpec {
            url: "https://e.org/".to_owned(),
            user_agent: None,
            max_age_seconds: None,
            cloud_mode: CloudMode::Auto,
            follow_refresh: false,
            content: Content::default(),
            browsing: Browsing::default(),
        };
        spec.browsing.picture.dark_mode = Some(true);
        assert_eq!(kept_agent(&spec, CloudMode::None), "");
        assert_ne!(kept_agent(&spec, CloudMode::Browser), "");
    }
}
