//! Connects the exports of a hook with its author's type.

use serde::de::DeserializeOwned;

use crate::bindings::hook::exports::orbweaver::plugin::hooking as wit;
use crate::bindings::host::orbweaver::plugin::{pages, types};
use crate::hook::{
    Discovery, FoundLink, Hook, LinkVerdict, Made, Outgoing, RecordVerdict, ResponseVerdict, Visit,
    WantedUrl,
};
use crate::{Error, glue};

fn parsed<C: DeserializeOwned>(config: &str) -> Result<C, Error> {
    crate::input::read(config, Some("config"))
}

impl From<wit::Visit> for Visit {
    fn from(visit: wit::Visit) -> Self {
        Self {
            url: visit.url,
            status: visit.status.unwrap_or_default(),
            depth: visit.depth,
            attempts: visit.attempts,
        }
    }
}

impl From<WantedUrl> for wit::WantedUrl {
    fn from(url: WantedUrl) -> Self {
        Self {
            url: url.url,
            priority: url.priority,
        }
    }
}

impl From<LinkVerdict> for wit::LinkVerdict {
    fn from(verdict: LinkVerdict) -> Self {
        match verdict {
            LinkVerdict::Follow(priority) => Self::Follow(priority),
            LinkVerdict::Skip(reason) => Self::Skip(reason),
            LinkVerdict::Rewrite(url) => Self::Rewrite(url.into()),
        }
    }
}

/// Runs `discover`.
pub fn discover<H: Hook>(
    config: &str,
    visit: wit::Visit,
    page: &pages::Page,
    links: Vec<wit::FoundLink>,
) -> Result<wit::Discovery, types::Error> {
    let links: Vec<FoundLink> = links
        .into_iter()
        .map(|link| FoundLink {
            url: link.url,
            anchor: link.anchor,
            rel: link.rel,
            nofollow: link.nofollow,
        })
        .collect();
    let page = glue::the_page(page);
    let Discovery { verdicts, added } =
        H::discover(&parsed(config)?, &visit.into(), &page, &links)?;
    Ok(wit::Discovery {
        verdicts: verdicts.into_iter().map(Into::into).collect(),
        added: added.into_iter().map(Into::into).collect(),
    })
}

/// Runs `record`.
pub fn record<H: Hook>(
    config: &str,
    visit: wit::Visit,
    page: &pages::Page,
    outputs: Vec<wit::RoleOutput>,
    records: Vec<String>,
) -> Result<wit::RecordVerdict, types::Error> {
    let outputs = outputs.into_iter();
    let made = Made {
        outputs: outputs.map(|output| (output.role, output.data)).collect(),
        records,
    };
    let page = glue::the_page(page);
    let verdict = H::record(&parsed(config)?, &visit.into(), &page, &made)?;
    Ok(match verdict {
        RecordVerdict::Keep => wit::RecordVerdict::Keep,
        RecordVerdict::Emit(records) => wit::RecordVerdict::Emit(records),
        RecordVerdict::Replace(records) => wit::RecordVerdict::Replace(records),
        RecordVerdict::Drop(reason) => wit::RecordVerdict::Drop(reason),
    })
}

/// Runs `request`.
pub fn request<H: Hook>(
    config: &str,
    request: wit::Outgoing,
) -> Result<wit::RequestChange, types::Error> {
    let request = Outgoing {
        url: request.url,
        depth: request.depth,
        attempts: request.attempts,
    };
    let change = H::request(&parsed(config)?, &request)?;
    let headers = change.headers.into_iter();
    Ok(wit::RequestChange {
        headers: headers
            .map(|header| types::Header {
                name: header.name,
                value: header.value,
            })
            .collect(),
        cookies: change.cookies,
        user_agent: change.user_agent,
    })
}

/// Runs `response`.
pub fn response<H: Hook>(
    config: &str,
    visit: wit::Visit,
    page: &pages::Page,
) -> Result<wit::ResponseVerdict, types::Error> {
    let page = glue::the_page(page);
    Ok(match H::response(&parsed(config)?, &visit.into(), &page)? {
        ResponseVerdict::Accept => wit::ResponseVerdict::Accept,
        ResponseVerdict::Retry { delay_ms, reason } => {
            wit::ResponseVerdict::Retry(wit::RetryLater { delay_ms, reason })
        }
        ResponseVerdict::Drop(reason) => wit::ResponseVerdict::Drop(reason),
    })
}

/// Runs `deliver`.
pub fn deliver<C, O>(
    config: &str,
    delivery: crate::hook::Delivery,
    payload: &str,
    deliver: impl FnOnce(C, &crate::hook::Delivery, serde_json::Value) -> Result<O, Error>,
) -> Result<String, types::Error>
where
    C: DeserializeOwned,
    O: serde::Serialize,
{
    let payload = serde_json::from_str(payload).map_err(Error::from)?;
    let changed = deliver(parsed(config)?, &delivery, payload)?;
    Ok(serde_json::to_string(&changed).map_err(Error::from)?)
}
