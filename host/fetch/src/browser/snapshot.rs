//! HTML and screenshot of a loaded page.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tab::{Tab, Trouble};
use crate::error::{Fault, Kind, SubKind};

/// Taller pages are cut: Chromium paints at most this height in one piece.
const MAX_HEIGHT: f64 = 16_384.0;
const MAX_WIDTH: f64 = 4_096.0;

/// Scrolls to the end to trigger lazy loading, waits for the images, and scrolls back to the
/// top. Bounded in steps and time, because a page may grow for ever.
const SCROLL: &str = "(async () => {
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
    css_content_size: Size,
}

#[derive(Deserialize)]
struct Size {
    width: f64,
    height: f64,
}

#[derive(Deserialize)]
struct Picture {
    data: String,
}

impl Tab {
    /// HTML of the current document with its doctype. Read through the protocol, because a page
    /// can change what scripts see.
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
                json!({"nodeId": document.root.node_id}),
            )
            .await?;
        Ok(outer.html)
    }

    /// The body, as received, of a document that is not HTML.
    #[crate::boxed]
    pub async fn body(&self, request: &str) -> Result<Bytes, Trouble> {
        let raw: RawBody = self
            .connection
            .call(
                Some(&self.session),
                "Network.getResponseBody",
                json!({"requestId": request}),
            )
            .await?;
        if raw.base64_encoded {
            decode(&raw.body)
        } else {
            Ok(raw.body.into())
        }
    }

    /// Screenshot of the whole page as PNG, including lazily loaded content.
    #[crate::boxed]
    pub async fn picture(&self) -> Result<Bytes, Trouble> {
        let session = Some(self.session.as_str());
        let _: Option<Value> = self.evaluate(SCROLL).await?;
        let metrics: Metrics = self
            .connection
            .call(session, "Page.getLayoutMetrics", json!({}))
            .await?;
        let size = metrics.css_content_size;
        let clip = json!({
            "x": 0,
            "y": 0,
            "width": size.width.clamp(1.0, MAX_WIDTH),
            "height": size.height.clamp(1.0, MAX_HEIGHT),
            "scale": 1,
        });
        let picture: Picture = self
            .connection
            .call(
                session,
                "Page.captureScreenshot",
                json!({"format": "png", "captureBeyondViewport": true, "clip": clip}),
            )
            .await?;
        decode(&picture.data)
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
