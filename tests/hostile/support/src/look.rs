//! What the interfaces `dom` and `pages` say of a page, as JSON; or a search that costs as much as
//! possible, again and again.

use hostile_support::Error;
use hostile_support::host::{dom, pages::Page};
use serde_json::{Value, json};

/// `css` selects elements, those inside the first one of `in` if that is given; `id` reads the element
/// with this number instead. `work` searches for ever.
pub fn look(page: &Page, asked: &Value) -> Value {
    let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
    let limit = asked["limit"].as_u64().unwrap_or(100) as u32;
    if asked["work"] == true {
        loop {
            drop(std::hint::black_box(dom::select(page, &text("css"), limit)));
        }
    }
    if let Some(id) = asked["id"].as_u64() {
        return read(page, id as u32).unwrap_or_else(|error| failure(&error));
    }
    let found = match asked["in"].as_str() {
        None => dom::select(page, &text("css"), limit),
        Some(root) => match dom::select(page, root, 1) {
            Ok(roots) => dom::select_in(page, roots[0], &text("css"), limit),
            Err(error) => Err(error),
        },
    };
    let info = page.info();
    json!({
        "elements": match found {
            Ok(found) => found.into_iter().map(|id| read(page, id).unwrap_or_else(|e| failure(&e))).collect(),
            Err(error) => failure(&error),
        },
        "resolved": dom::resolve(page, &text("href")),
        "info": {
            "url": info.url, "final_url": info.final_url, "status": info.status,
            "headers": info.headers.len(), "redirects": info.redirects.len(), "size": info.size,
            "cost_usd": info.cost_usd,
        },
        "same": info.url == page.url() && info.final_url == page.final_url()
            && info.status == page.status() && info.size == page.size()
            && info.headers.len() == page.headers().len() && info.cost_usd == page.cost_usd(),
        "read": [
            String::from_utf8_lossy(&page.read(0, 9)), String::from_utf8_lossy(&page.read(3, 4)),
            String::from_utf8_lossy(&page.read(info.size - 2, u32::MAX)),
            String::from_utf8_lossy(&page.read(u64::MAX, u32::MAX)),
        ],
    })
}

fn read(page: &Page, id: u32) -> Result<Value, Error> {
    let attrs = dom::attrs(page, id)?;
    let attrs = attrs
        .into_iter()
        .map(|attr| (attr.name, Value::from(attr.value)));
    Ok(json!({
        "name": dom::name(page, id)?,
        "text": dom::text(page, id)?,
        "content": dom::text_content(page, id)?,
        "html": dom::html(page, id)?,
        "id": dom::attr(page, id, "id")?,
        "attrs": attrs.collect::<serde_json::Map<_, _>>(),
        "children": dom::children(page, id)?.len(),
        "parent": dom::parent(page, id)?.map(|id| dom::name(page, id)).transpose()?,
    }))
}

fn failure(error: &Error) -> Value {
    json!({ "code": error.code, "message": error.message, "field": error.field })
}
