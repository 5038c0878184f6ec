//! The texts of a run, in the plugin's state: 1,024 values with one line for each text, so that a run of any
//! size has few values. Several pages at once change a value one after the other (compare and swap).

use std::time::Duration;

use orbweaver_sdk::Error;
use orbweaver_sdk::state::update_if;

use crate::digest::Digest;

/// A run is over by then.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Longest URL kept, in bytes; a longer one is compared by its digest.
const MAX_URL_BYTES: usize = 300;

/// The URL of the page of the run that has this text, if it is another one. If none has it, this one does from now on.
pub fn first_with(run: i64, text: &Digest, url: &str) -> Result<Option<String>, Error> {
    let key = format!("{run}/{:03x}", text.group());
    let (tag, own) = (text.tag(), Digest::of(url).tag());
    let mut first = None;
    update_if(&key, Some(KEPT), |value| {
        let known = String::from_utf8_lossy(value.unwrap_or_default());
        first = find(&known, &tag);
        if first.is_some() {
            return None;
        }
        let shown = url.get(..url.floor_char_boundary(MAX_URL_BYTES));
        Some(format!("{known}{tag} {own} {}\n", shown.unwrap_or(url)).into_bytes())
    })?;
    // A page that is processed again, as after a crash of the node, is no duplicate of itself.
    Ok(first.and_then(|(page, url)| (page != own).then_some(url)))
}

/// The digest of the URL with this text, and the URL.
fn find(known: &str, tag: &str) -> Option<(String, String)> {
    known.lines().find_map(|line| {
        let (page, url) = line.strip_prefix(tag)?.trim_start().split_once(' ')?;
        Some((page.to_owned(), url.to_owned()))
    })
}
