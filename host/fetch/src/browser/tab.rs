//! A page with its own browser context and its own filter.

use std::sync::Arc;

use orbweaver_core::render::WaitFor;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::cdp::{CdpError, Connection};
use super::events::{ABORTED, Answer, Watch};
use super::filter::Filter;
use super::render::RenderRequest;
use crate::cookies::CookieJar;
use crate::error::{Fault, Kind, SubKind};
use crate::fetcher::Fetcher;
use crate::proxy::ProxyUrl;

/// Most documents that scripts may navigate to, one after the other.
const MAX_NAVIGATIONS: u32 = 10;

/// Chromium's error of a document whose content coding is broken.
const DECODING_FAILED: &str = "net::ERR_CONTENT_DECODING_FAILED";

/// A page: a spare one, or one in use by one request.
pub(super) struct Tab {
    pub connection: Connection,
    pub filter: Filter,
    pub session: String,
    pub watch: Arc<Watch>,
    pub context: String,
    /// Most bytes that it may load.
    max_bytes: u64,
}

/// Why a step in the browser failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The browser or the page's process ended; a retry in another one may succeed.
    Crashed(String),
    /// The browser ended because of the memory of all its pages; a retry in a browser of its own may
    /// succeed.
    Outgrown,
    /// A failure like any fetch's.
    Fault(Fault),
    /// The document is a download; with the page's cookies, once they are taken out of it.
    Download(CookieJar),
}

impl From<CdpError> for Trouble {
    fn from(error: CdpError) -> Self {
        match error {
            CdpError::Closed => Self::Crashed("the browser ended".to_owned()),
            // The session ends with the page's process.
            CdpError::Refused { ref message, .. } if message.contains("Session with given id") => {
                Self::Crashed("the page's process ended".to_owned())
            }
            CdpError::TooLarge(_) => Self::Fault(Fault::new(
                Kind::TooLarge,
                None,
                "the rendered page is too large",
            )),
            error => Self::Fault(Fault::new(
                Kind::Browser,
                SubKind::Protocol,
                error.to_string(),
            )),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextId {
    browser_context_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetId {
    target_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionId {
    session_id: String,
}

#[derive(Deserialize)]
struct Ignored {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Navigation {
    error_text: Option<String>,
    #[serde(default)]
    is_download: bool,
}

impl Tab {
    /// Opens an empty page; the caller sets the deadline.
    #[crate::boxed]
    pub async fn open(
        connection: &Connection,
        fetcher: &Fetcher,
        bytes: u64,
    ) -> Result<Self, Trouble> {
        let connection = connection.clone();
        let filter = Filter::start(fetcher.clone(), bytes)
            .await
            .map_err(|error| {
                Trouble::Fault(Fault::new(
                    Kind::Internal,
                    None,
                    format!("no port for a page's proxy: {error}"),
                ))
            })?;
        let params = json!({
            "disposeOnDetach": true,
            "proxyServer": filter.url(),
            // Without this, Chromium connects to loopback without the proxy.
            "proxyBypassList": "<-loopback>",
        });
        let context: ContextId = connection
            .call(None, "Target.createBrowserContext", params)
            .await?;
        let mut tab = Self {
            filter,
            session: String::new(),
            watch: Arc::new(Watch::new(fetcher.clone())),
            context: context.browser_context_id,
            connection,
            max_bytes: bytes,
        };
        tab.attach().await?;
        Ok(tab)
    }

    async fn attach(&mut self) -> Result<(), Trouble> {
        let browser = &self.connection;
        let downloads = browser.begin(
            None,
            "Browser.setDownloadBehavior",
            json!({"behavior": "deny", "browserContextId": self.context}),
        );
        let target: TargetId = browser
            .call(
                None,
                "Target.createTarget",
                json!({"url": "about:blank", "browserContextId": self.context}),
            )
            .await?;
        let session: SessionId = browser
            .call(
                None,
                "Target.attachToTarget",
                json!({"targetId": target.target_id, "flatten": true}),
            )
            .await?;
        self.session = session.session_id;
        self.watch
            .with(|state| state.frame = Some(target.target_id));
        browser.listen(&self.session, self.watch.clone());
        // Sent together, to save round trips to the page's process.
        let begun = [
            ("Page.enable", json!({})),
            ("Page.setLifecycleEventsEnabled", json!({"enabled": true})),
            (
                "Network.enable",
                json!({"maxTotalBufferSize": 67_108_864, "maxResourceBufferSize": 33_554_432}),
            ),
            ("Inspector.enable", json!({})),
        ]
        .map(|(method, params)| browser.begin(Some(&self.session), method, params));
        for command in begun {
            let _: Ignored = command.finish().await?;
        }
        let _: Ignored = downloads.finish().await?;
        // Events of about:blank belong to no document.
        self.watch.with(|state| state.loader = None);
        Ok(())
    }

    /// Navigates to a URL accepted by the guard and waits for the requested point. Returns
    /// whether it was reached by the deadline; fails if there is no document by then.
    #[crate::boxed]
    pub async fn go(
        &self,
        request: &RenderRequest,
        agent: &str,
        deadline: Instant,
    ) -> Result<bool, Trouble> {
        let (proxy, traffic) = (request.proxy.clone(), request.traffic.clone());
        self.filter.begin(request.project, proxy, traffic);
        let session = Some(self.session.as_str());
        let late = || Trouble::Fault(late(request.proxy.as_ref()));
        timeout_at(deadline, self.equip(request))
            .await
            .map_err(|_| late())??;
        let agent = self.connection.begin(
            session,
            "Emulation.setUserAgentOverride",
            json!({"userAgent": agent, "acceptLanguage": "en-US,en"}),
        );
        let navigate = self
            .connection
            .begin(session, "Page.navigate", json!({"url": request.url}));
        let navigation: Navigation = timeout_at(deadline, async {
            let _: Ignored = agent.finish().await?;
            navigate.finish().await
        })
        .await
        .map_err(|_| late())??;
        if navigation.is_download {
            return Err(Trouble::Download(CookieJar::default()));
        }
        if let Some(error) = navigation.error_text {
            let refused = self.watch.with(|state| state.refused.take());
            return Err(
                refused.map_or_else(|| self.network_fault(&request.url, &error), Trouble::Fault)
            );
        }
        match timeout_at(deadline, self.reach(request.wait_for)).await {
            Ok(done) => {
                done?;
                self.settle(request.wait_for, deadline).await?;
                self.linger(request, deadline).await
            }
            Err(_) if self.watch.with(|state| state.loader.is_some()) => Ok(false),
            Err(_) => Err(late()),
        }
    }

    pub(super) async fn reach(&self, point: WaitFor) -> Result<(), Trouble> {
        self.watch
            .until(|state| {
                if state.crashed {
                    return Some(Err(Trouble::Crashed("the page crashed".to_owned())));
                }
                if state.closed {
                    return Some(Err(Trouble::Crashed("the browser ended".to_owned())));
                }
                if let Some(fault) = &state.refused {
                    return Some(Err(Trouble::Fault(fault.clone())));
                }
                if let Some(answer) = state.answer()
                    && answer.ours
                {
                    return Some(Err(self.filtered(&state.url)));
                }
                if let Some(url) = &state.unreachable {
                    let loader = state.loader.as_deref().unwrap_or_default();
                    let error = state.failure(loader).unwrap_or("the page can't be reached");
                    return Some(Err(self.network_fault(url, error)));
                }
                if let Some(error) = state.broken_off() {
                    return Some(Err(self.broken_off(error)));
                }
                if state.navigations > MAX_NAVIGATIONS {
                    return Some(Err(Trouble::Fault(Fault::new(
                        Kind::BadRedirect,
                        SubKind::TooMany,
                        format!("scripts lead to more than {MAX_NAVIGATIONS} pages"),
                    ))));
                }
                (state.pending.is_none() && state.reached(point)).then_some(Ok(()))
            })
            .await
    }

    /// Why the filter answered instead of the site.
    fn filtered(&self, url: &str) -> Trouble {
        let fault = self.filter.failure(url).unwrap_or_else(|| {
            Fault::new(Kind::Protocol, None, "the page's request was not forwarded")
        });
        Trouble::Fault(fault)
    }

    /// Why the document ended before its end.
    fn broken_off(&self, error: &str) -> Trouble {
        if self.filter.bytes() > self.max_bytes {
            let most = self.max_bytes;
            let message = format!("the page loads more than {most} bytes");
            return Trouble::Fault(Fault::new(Kind::TooLarge, None, message));
        }
        let message = format!("the page's document broke off: the browser says {error}");
        Trouble::Fault(match error {
            DECODING_FAILED => Fault::new(Kind::Decode, SubKind::Malformed, message),
            _ => Fault::new(Kind::IncompleteBody, None, message).retryable(),
        })
    }

    /// The failure of a navigation: the filter's reason if there is one, else Chromium's.
    fn network_fault(&self, url: &str, error: &str) -> Trouble {
        if let Some(fault) = self.filter.failure(url) {
            return Trouble::Fault(fault);
        }
        if error == ABORTED {
            return Trouble::Download(CookieJar::default());
        }
        let kind = if error.contains("CERT") || error.contains("SSL") {
            Kind::Tls
        } else if error.contains("TOO_MANY_REDIRECTS") {
            Kind::BadRedirect
        } else {
            Kind::Protocol
        };
        Trouble::Fault(Fault::new(kind, None, format!("the browser says {error}")))
    }

    /// The current document's response and URL.
    pub fn answer(&self) -> Option<(Answer, String)> {
        self.watch
            .with(|state| Some((state.answer()?.clone(), state.url.clone())))
    }

    /// Closes the page and its context. Returns false if the browser does not confirm it in
    /// time.
    #[crate::boxed]
    pub async fn close(self, deadline: Instant) -> bool {
        let params = json!({"browserContextId": self.context});
        let disposed =
            self.connection
                .call::<Ignored>(None, "Target.disposeBrowserContext", params);
        // If rejected, it is already closed.
        !matches!(
            timeout_at(deadline, disposed).await,
            Err(_) | Ok(Err(CdpError::Closed))
        )
    }
}

impl Drop for Tab {
    /// Closes the page even if its request was cancelled.
    fn drop(&mut self) {
        self.connection.forget(&self.session);
        self.connection.tell(
            None,
            "Target.disposeBrowserContext",
            &json!({"browserContextId": self.context}),
        );
    }
}

fn late(proxy: Option<&ProxyUrl>) -> Fault {
    let through = proxy.map_or_else(String::new, |proxy| format!(" through {proxy}"));
    Fault::new(
        Kind::Timeout,
        SubKind::Total,
        format!("the page did not begin to load in time{through}"),
    )
    .retryable()
}
