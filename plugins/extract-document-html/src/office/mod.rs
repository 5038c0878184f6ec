//! Text documents in ZIP archives to HTML: DOCX (ISO/IEC 29500) and ODT (ISO/IEC 26300).

mod archive;
mod docx;
mod notes;
mod numbering;
mod odt;
mod odt_styles;
mod sink;
mod table;

use orbweaver_sdk::Error;

use crate::Converted;
use archive::Archive;

/// Converts a DOCX or an ODT.
///
/// # Errors
/// The archive is damaged, or has another kind of file.
pub(crate) fn convert(body: &[u8]) -> Result<Converted, Error> {
    let archive = Archive::open(body)?;
    if archive.has("content.xml") {
        return odt::convert(&archive);
    }
    if archive.has("[Content_Types].xml") {
        return docx::convert(&archive);
    }
    Err(Error::failed(
        "the archive is neither a DOCX nor an ODT document",
    ))
}
