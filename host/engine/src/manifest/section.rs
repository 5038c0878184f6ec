//! The custom section that contains the manifest.

use std::borrow::Cow;

use wasmparser::{Parser, Payload};

use crate::error::LoadError;

/// Longest manifest read, in bytes.
const MAX_MANIFEST_BYTES: usize = 256 << 10;

/// Name of the custom section.
pub const SECTION: &str = "orbweaver:manifest";

/// Appends a manifest to a component (or replaces the one at its top level), for tool chains that
/// cannot write custom sections. Nothing is validated.
pub fn embed(component: &[u8], manifest: &str) -> Result<Vec<u8>, LoadError> {
    let mut out = without(component)?.into_owned();
    let mut body = Vec::with_capacity(manifest.len() + SECTION.len() + 4);
    leb128(&mut body, SECTION.len());
    body.extend_from_slice(SECTION.as_bytes());
    body.extend_from_slice(manifest.as_bytes());
    out.push(0);
    leb128(&mut out, body.len());
    out.extend_from_slice(&body);
    Ok(out)
}

/// The component without the manifests at its top level: its code, which plugins with other manifests
/// may have, too. Borrowed where a compiler put the manifest into a nested module.
pub(crate) fn without(component: &[u8]) -> Result<Cow<'_, [u8]>, LoadError> {
    let sections = top_level_sections(component)?;
    if sections.is_empty() {
        return Ok(Cow::Borrowed(component));
    }
    let mut out = Vec::with_capacity(component.len());
    let mut kept = 0;
    for (start, end) in sections {
        out.extend_from_slice(component.get(kept..start).unwrap_or_default());
        kept = end;
    }
    out.extend_from_slice(component.get(kept..).unwrap_or_default());
    Ok(Cow::Owned(out))
}

/// The manifest's text: from the top level, where [`embed`] puts it, else from a nested module,
/// where a compiler puts it. Two at the same level that differ are an error, so that no tool
/// shows a manifest other than the effective one.
pub fn read_text(component: &[u8]) -> Result<String, LoadError> {
    let mut top: Option<&[u8]> = None;
    let mut nested: Option<&[u8]> = None;
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload.map_err(not_a_component)? {
            Payload::Version { encoding, .. }
                if depth == 0 && encoding != wasmparser::Encoding::Component =>
            {
                return Err(LoadError::NotAComponent("it is a core module".to_owned()));
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if section.name() == SECTION => {
                let slot = if depth == 0 { &mut top } else { &mut nested };
                if slot.is_some_and(|earlier| earlier != section.data()) {
                    return Err(LoadError::Manifest("there are two that differ".to_owned()));
                }
                *slot = Some(section.data());
            }
            _ => {}
        }
    }
    let bytes = top.or(nested).ok_or_else(|| {
        LoadError::Manifest(format!("the component has no custom section `{SECTION}`"))
    })?;
    check_length(bytes.len())?;
    String::from_utf8(bytes.to_vec()).map_err(|_| LoadError::Manifest("not UTF-8".to_owned()))
}

/// Refuses a manifest that is too long.
pub(crate) fn check_length(bytes: usize) -> Result<(), LoadError> {
    if bytes > MAX_MANIFEST_BYTES {
        return Err(LoadError::Manifest(format!(
            "more than {MAX_MANIFEST_BYTES} bytes"
        )));
    }
    Ok(())
}

/// Byte ranges (including headers) of the top-level sections with this name.
fn top_level_sections(component: &[u8]) -> Result<Vec<(usize, usize)>, LoadError> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    // Start of the section after the current payload, at the top level.
    let mut next = 8;
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(not_a_component)?;
        match &payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(offset) => {
                depth = depth.saturating_sub(1);
                next = *offset;
                continue;
            }
            Payload::CustomSection(section) if depth == 0 && section.name() == SECTION => {
                found.push((next, section.range().end));
            }
            _ => {}
        }
        if depth == 0
            && let Some((_, range)) = payload.as_section()
        {
            next = range.end;
        }
    }
    Ok(found)
}

/// Converts the parser's error.
pub(crate) fn not_a_component(error: wasmparser::BinaryReaderError) -> LoadError {
    let message = error.to_string();
    // It prints eight bytes as a Rust array, which says nothing to a reader.
    if message.contains("bad magic") {
        return LoadError::NotAComponent("it is no WebAssembly file".to_owned());
    }
    // Some of its messages have a hint on a separate line.
    let words: Vec<String> = message
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    LoadError::NotAComponent(words.join("; "))
}

fn leb128(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest component: magic and version, layer 1.
    const EMPTY: [u8; 8] = [0, b'a', b's', b'm', 0x0d, 0, 1, 0];

    #[test]
    fn other_files_are_refused_with_one_line() {
        for bytes in [
            &b"nothing"[..],
            b"<html>",
            b"\0asm\x01\0\0\0",
            b"\0asm\x09\0\0\0",
        ] {
            let error = read_text(bytes).unwrap_err().to_string();
            assert!(!error.contains('\n'), "{error:?}");
        }
    }

    #[test]
    fn an_embedded_manifest_is_read_back() {
        let long = "x = 1\n".repeat(100);
        let component = embed(&EMPTY, &long).unwrap();
        assert_eq!(read_text(&component).unwrap(), long);
    }

    #[test]
    fn embedding_again_replaces() {
        let first = embed(&EMPTY, "a").unwrap();
        let mut with_other = first.clone();
        // A custom section with another name must be kept.
        with_other.extend_from_slice(&[0, 3, 1, b'z', 9]);
        let second = embed(&with_other, "b").unwrap();
        assert_eq!(read_text(&second).unwrap(), "b");
        assert!(second.windows(5).any(|w| w == [0, 3, 1, b'z', 9]));
        assert_eq!(second.len(), with_other.len());
    }

    #[test]
    fn a_missing_manifest_is_reported() {
        let error = read_text(&EMPTY).unwrap_err().to_string();
        assert!(error.contains(SECTION), "{error}");
    }

    #[test]
    fn a_text_file_is_no_webassembly() {
        let error = read_text(b"name = \"links\"\n").unwrap_err().to_string();
        assert_eq!(error, "not a component: it is no WebAssembly file");
    }

    #[test]
    fn a_core_module_is_not_a_component() {
        let error = read_text(&[0, b'a', b's', b'm', 1, 0, 0, 0]).unwrap_err();
        assert!(matches!(error, LoadError::NotAComponent(_)), "{error}");
    }
}
