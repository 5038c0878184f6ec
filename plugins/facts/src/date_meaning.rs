//! The meaning of a date by the words beside it, in many languages.

/// What a text says of the date beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateMeaning {
    /// The content was published then.
    Published,
    /// It was changed then.
    Modified,
    /// Something else was, as the product that the page is about.
    Other,
    /// Nothing.
    Nothing,
}

/// A date near the headline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// ISO 8601.
    pub date: String,
    /// What it is of.
    pub meaning: DateMeaning,
    /// 0 for a `time` element, 1 for an element with the class of a date, 2 for a text, 3 for a
    /// text with other facts.
    pub doubt: u8,
}

/// Words for a change, in lower case.
pub const CHANGED: &[&str] = &[
    "updat",
    "modif",
    "revis",
    "last edited",
    "last reviewed",
    "aktualisier",
    "stand:",
    "zuletzt",
    "mis à jour",
    "mise à jour",
    "actualiz",
    "atualiz",
    "alterad",
    "aggiorna",
    "bijgewerkt",
    "gewijzigd",
    "uppdater",
    "opdater",
    "oppdater",
    "päivit",
    "aktualiz",
    "zmodyfik",
    "frissít",
    "módosít",
    "actualiza",
    "обновл",
    "измен",
    "оновл",
    "актуализ",
    "ενημερ",
    "güncelle",
    "diperbarui",
    "diubah",
    "cập nhật",
    "แก้ไข",
    "อัปเดต",
    "อัพเดท",
    "עודכן",
    "עדכון",
    "تحديث",
    "بروزرسانی",
    "अपडेट",
    "হালনাগাদ",
    "更新",
    "修订",
    "修改",
    "업데이트",
    "수정",
];

/// Words for the release of a product, in lower case.
const RELEASED: &[&str] = &[
    "release date",
    "erscheinungsdatum",
    "date de sortie",
    "fecha de lanzamiento",
    "data de lançamento",
    "data di uscita",
    "releasedatum",
    "data wydania",
    "дата выхода",
    "дата виходу",
    "çıkış tarihi",
    "発売日",
    "发行日期",
    "發行日期",
    "출시일",
];

/// Words for the end of an offer or an event, in lower case.
const ENDS: &[&str] = &[
    "ends on",
    "ends:",
    "ending",
    "until",
    "expires",
    "expiry",
    "deadline",
    "valid through",
    "closing date",
    "gültig bis",
    "endet",
    "jusqu",
    "válido hasta",
    "scadenza",
];

/// Words for a publication, in lower case.
pub const PUBLISHED: &[&str] = &[
    "publi",
    "posted",
    "posté",
    "released",
    "created",
    "veröffentlicht",
    "erschien",
    "erstellt",
    "geplaatst",
    "gepubliceerd",
    "skapad",
    "oprettet",
    "opprettet",
    "julkaist",
    "dodano",
    "zverejn",
    "zveřejn",
    "vydáno",
    "közzét",
    "megjelen",
    "inserito",
    "postado",
    "опублик",
    "дата публ",
    "размещ",
    "опублік",
    "δημοσι",
    "yayın",
    "diterbitkan",
    "đăng",
    "เผยแพร่",
    "โพสต์",
    "פורסם",
    "نشر",
    "انتشار",
    "प्रकाशित",
    "প্রকাশ",
    "发布",
    "發布",
    "發表",
    "发表",
    "公開",
    "投稿日",
    "掲載",
    "등록",
    "입력",
    "게시",
    "작성",
    "first published",
    "date:",
    "datum:",
    "fecha:",
    "data:",
    "дата:",
];

impl DateMeaning {
    /// By the texts before the date, nearest first, and by the class of its element.
    pub fn by(labels: &[&str], updated: bool, published: bool) -> Self {
        /// A longer text is no label.
        const MAX_BYTES: usize = 160;
        for label in labels
            .iter()
            .filter(|label| !label.is_empty() && label.len() <= MAX_BYTES)
        {
            let label = label.to_lowercase();
            // Most words have a letter that the label has not.
            let mut bytes = [false; 256];
            for byte in label.bytes() {
                if let Some(seen) = bytes.get_mut(usize::from(byte)) {
                    *seen = true;
                }
            }
            let possible = |word: &&&str| {
                word.bytes()
                    .all(|b| bytes.get(usize::from(b)) == Some(&true))
            };
            // The word nearest to the date, if a label has both.
            let last = |words: &[&str]| {
                words
                    .iter()
                    .filter(possible)
                    .filter_map(|word| label.rfind(word))
                    .max()
            };
            if last(RELEASED).or(last(ENDS)).is_some() {
                return Self::Other;
            }
            match (last(CHANGED), last(PUBLISHED)) {
                (Some(changed), Some(published)) if published > changed => return Self::Published,
                (Some(_), _) => return Self::Modified,
                (None, Some(_)) => return Self::Published,
                (None, None) => {}
            }
        }
        match (updated, published) {
            (true, false) => Self::Modified,
            (false, true) => Self::Published,
            _ => Self::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_beside_a_date_tell_what_happened() {
        use DateMeaning::{Modified, Nothing, Other, Published};
        for (label, expected) in [
            ("Last updated:", Modified),
            ("Zuletzt aktualisiert am", Modified),
            ("Mis à jour le", Modified),
            ("Published on", Published),
            ("Veröffentlicht am", Published),
            ("Published by Ann, updated", Modified),
            ("Updated. First published", Published),
            ("Обновлено", Modified),
            ("最終更新日", Modified),
            ("公開日", Published),
            ("Release Date:", Other),
            ("発売日", Other),
            ("Offer ends on", Other),
            ("Valid until", Other),
            ("Press release, published", Published),
            ("By Ann Lee", Nothing),
            ("", Nothing),
        ] {
            assert_eq!(DateMeaning::by(&[label], false, false), expected, "{label}");
        }
        assert_eq!(DateMeaning::by(&[""], true, false), Modified);
        assert_eq!(DateMeaning::by(&["Posted"], true, false), Published);
    }
}
