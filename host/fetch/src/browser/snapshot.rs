//! HTML and screenshot of a loaded page.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use orbweaver_core::charset;
use serde::Deserialize;
use serde_json::{Value, json};

use super::steps::{PictureFormat, PictureOptions};
use super::tab::{Tab, Trouble};
use crate::error::{Fault, Kind, SubKind};

/// Taller pages are cut: Chromium paints at most this height in one piece.
const MAX_HEIGHT: f64 = 16_384.0;
/// What is told of a screenshot that was cut.
pub const CUT: &str = "a screenshot shows the beginning of what it is of, which is larger: it has at most \
                       4096 x 16384 pixels, and 20971520 in all";
const MAX_WIDTH: f64 = 4_096.0;
/// Most pixels of a screenshot, for which Chromium takes some 20 bytes each while it paints.
const MAX_PIXELS: f64 = 1_280.0 * MAX_HEIGHT;
/// Quality of JPEG and WebP where the caller names none.
const QUALITY: u8 = 80;

/// A screenshot.
pub(super) struct Shot {
    pub(super) bytes: Bytes,
    /// Whether what it is of is larger than a screenshot may be.
    pub(super) is_cut: bool,
}

/// Where an element is on the page; null where there is none.
const ELEMENT: &str = "(() => {
  try {
    const element = document.querySelector(SELECTOR);
    if (!element) return null;
    element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const box = element.getBoundingClientRect();
    return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height};
  } catch { return null; }
})()";

/// Scrolls to the end to trigger lazy loading, waits for the images, and scrolls back to the
/// top. Bounded in steps and time, because a page may grow for ever. In a document that forbids
/// scripts no timer runs.
const SCROLL: &str = "(async () => {
  if (matchMedia('(scripting: none)').matches) return;
  const pause = (ms) => new Promise((done) => setTimeout(done, ms));
  const start = Date.now();
  const root = () => document.scrollingElement || document.documentElement;
  for (let y = 0, step = 0; root() && y < Math.min(root().scrollHeight, 16384) && step < 64; step++) {
    root().scrollTo({top: y, behavior: 'instant'});
    y += Math.max(innerHeight, 200);
    await pause(60);
    if (Date.now() - start > 8000) break;
  }
  const open = () => Array.from(document.images).filter(
    (image) => !image.complete && image.getBoundingClientRect().top < 16384);
  while (open().length && Date.now() - start < 10000) await pause(50);
  if (root()) root().scrollTo({top: 0, behavior: 'instant'});
  await pause(50);
})()";

#[derive(Deserialize)]
struct Root {
    root: Node,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    node_id: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OuterHtml {
    #[serde(rename = "outerHTML")]
    html: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawBody {
    body: String,
    base64_encoded: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metrics {
    css_content_size: Area,
}

/// A part of a page, in CSS pixels from its upper left corner.
#[derive(Deserialize)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

#[derive(Deserialize)]
struct Picture {
    data: String,
}

impl Tab {
    /// HTML of the current document with its doctype, shadow roots of its elements as `template`s.
    /// Read through the protocol, because a page can change what scripts see.
    #[crate::boxed]
    pub async fn html(&self) -> Result<String, Trouble> {
        let session = Some(self.session.as_str());
        let document: Root = self
            .connection
            .call(session, "DOM.getDocument", json!({"depth": 0}))
            .await?;
        let outer: OuterHtml = self
            .connection
            .call(
                session,
                "DOM.getOuterHTML",
                json!({"nodeId": document.root.node_id, "includeShadowDOM": true}),
            )
            .await?;
        Ok(outer.html)
    }

    /// The body, as received, of a document that is not HTML. `content_type`: its header.
    #[crate::boxed]
    pub async fn body(&self, request: &str, content_type: Option<&str>) -> Result<Bytes, Trouble> {
        let raw: RawBody = self
            .connection
            .call(
                Some(&self.session),
                "Network.getResponseBody",
                json!({"requestId": request}),
            )
            .await?;
        match raw.base64_encoded {
            true => decode(&raw.body),
            false => Ok(charset::encode_again(raw.body, content_type).into()),
        }
    }

    /// Screenshot, by default of the whole page, including lazily loaded content.
    #[crate::boxed]
    pub(super) async fn picture(&self, options: &PictureOptions) -> Result<Shot, Trouble> {
        let session = Some(self.session.as_str());
        let format = options.format.unwrap_or_default();
        let mut capture = json!({"format": format.as_str()});
        if format != PictureFormat::Png {
            capture["quality"] = options.quality.unwrap_or(QUALITY).into();
        }
        let area = match &options.selector {
            Some(selector) => Some(self.element(selector).await?),
            None if options.full_page.unwrap_or(true) => {
                let _: Option<Value> = self.evaluate(SCROLL).await?;
                let metrics: Metrics = self
                    .connection
                    .call(session, "Page.getLayoutMetrics", json!({}))
                    .await?;
                Some(Area {
                    x: 0.0,
                    y: 0.0,
                    ..metrics.css_content_size
                })
            }
            None => None,
        };
        let is_cut = area.as_ref().is_some_and(|area| {
            area.width > MAX_WIDTH
                || area.height > MAX_HEIGHT
                || area.width * area.height > MAX_PIXELS
        });
        if let Some(area) = area {
            capture["captureBeyondViewport"] = true.into();
            let width = area.width.clamp(1.0, MAX_WIDTH);
            capture["clip"] = json!({
                "x": area.x,
                "y": area.y,
                "width": width,
                "height": area.height.clamp(1.0, MAX_HEIGHT.min(MAX_PIXELS / width)),
                "scale": 1,
            });
        }
        let picture: Picture = self
            .connection
            .call(session, "Page.captureScreenshot", capture)
            .await?;
        Ok(Shot {
            bytes: decode(&picture.data)?,
            is_cut,
        })
    }

    /// Where the first element that matches is on the page.
    async fn element(&self, selector: &str) -> Result<Area, Trouble> {
        let script = ELEMENT.replace("SELECTOR", &Value::from(selector).to_string());
        let found: Option<Area> = self.evaluate(&script).await?;
        let found = found.filter(|area| area.width > 0.0 && area.height > 0.0);
        found.ok_or_else(|| {
            let rule = "screenshot.selector: matches no visible element of the page";
            Trouble::Fault(Fault::new(Kind::InvalidRequest, SubKind::Field, rule))
        })
    }
}

fn decode(text: &str) -> Result<Bytes, Trouble> {
    STANDARD.decode(text).map(Bytes::from).map_err(|error| {
        Trouble::Fault(Fault::new(
            Kind::Browser,
            SubKind::Protocol,
            format!("cannot decode the browser's bytes: {error}"),
        ))
    })
}
