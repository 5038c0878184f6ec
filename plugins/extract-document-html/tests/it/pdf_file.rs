//! A small writer of PDF files.

use std::fmt::Write as _;

/// A PDF in Helvetica, in bold Helvetica and in Courier: fonts `F1`, `F2` and `F3`.
#[derive(Default)]
pub(super) struct PdfFile {
    pages: Vec<(String, String)>,
    info: String,
    catalog: String,
    to_unicode: Option<String>,
}

impl PdfFile {
    /// A page of 600 by 800 points, with this content stream.
    pub(super) fn page(mut self, content: &str) -> Self {
        self.pages.push((content.to_owned(), String::new()));
        self
    }

    /// Adds a link to the last page.
    pub(super) fn link(mut self, rect: &str, url: &str) -> Self {
        if let Some((_, annotations)) = self.pages.last_mut() {
            let _ = write!(
                annotations,
                "<</Type/Annot/Subtype/Link/Rect[{rect}]/A<</S/URI/URI({url})>>>>"
            );
        }
        self
    }

    /// Entries of the information dictionary.
    pub(super) fn info(mut self, entries: &str) -> Self {
        self.info = entries.to_owned();
        self
    }

    /// Entries of the catalog.
    pub(super) fn catalog(mut self, entries: &str) -> Self {
        self.catalog = entries.to_owned();
        self
    }

    /// The map from codes to characters of the font `F1`.
    pub(super) fn into_unicode(mut self, map: &str) -> Self {
        self.to_unicode = Some(map.to_owned());
        self
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let first = 7;
        let kids: String = (0..self.pages.len())
            .map(|at| format!("{} 0 R ", first + 2 * at))
            .collect();
        let map = first + 2 * self.pages.len();
        let font = |name: &str, extra: &str| {
            format!("<</Type/Font/Subtype/Type1/BaseFont/{name}/Encoding/WinAnsiEncoding{extra}>>")
        };
        let to_unicode = self
            .to_unicode
            .as_ref()
            .map(|_| format!("/ToUnicode {map} 0 R"));
        let mut objects = vec![
            format!("<</Type/Catalog/Pages 2 0 R{}>>", self.catalog),
            format!("<</Type/Pages/Kids[{kids}]/Count {}>>", self.pages.len()),
            font("Helvetica", to_unicode.as_deref().unwrap_or_default()),
            font("Helvetica-Bold", ""),
            font("Courier", ""),
            format!("<<{}>>", self.info),
        ];
        for (at, (content, annotations)) in self.pages.iter().enumerate() {
            objects.push(format!(
                "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Annots[{annotations}]\
                 /Resources<</Font<</F1 3 0 R/F2 4 0 R/F3 5 0 R>>>>/Contents {} 0 R>>",
                first + 2 * at + 1
            ));
            let length = content.len();
            objects.push(format!("<</Length {length}>>stream\n{content}\nendstream"));
        }
        if let Some(map) = &self.to_unicode {
            let length = map.len();
            objects.push(format!("<</Length {length}>>stream\n{map}\nendstream"));
        }
        let mut out = "%PDF-1.7\n".to_owned();
        let mut offsets = Vec::new();
        for (at, object) in objects.iter().enumerate() {
            offsets.push(out.len());
            let _ = writeln!(out, "{} 0 obj{object}endobj", at + 1);
        }
        let start = out.len();
        let _ = write!(out, "xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
        for offset in offsets {
            let _ = writeln!(out, "{offset:010} 00000 n ");
        }
        let size = objects.len() + 1;
        let _ = write!(
            out,
            "trailer<</Size {size}/Root 1 0 R/Info 6 0 R>>\nstartxref\n{start}\n%%EOF\n"
        );
        out.into_bytes()
    }
}

/// Lines of text from this place downwards.
pub(super) fn text(font: &str, size: f32, x: f32, y: f32, leading: f32, lines: &[&str]) -> String {
    let mut out = format!("BT /{font} {size} Tf {leading} TL {x} {y} Td\n");
    for line in lines {
        let escaped = line
            .replace('\\', "\\\\")
            .replace('(', "\\(")
            .replace(')', "\\)");
        let _ = writeln!(out, "({escaped}) Tj T*");
    }
    out.push_str("ET\n");
    out
}
