//! The dates of a text, and what its words say of them.

use crate::date_meaning::DateMeaning;
use crate::dates::{self, Manner};

/// A date of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dated {
    /// ISO 8601.
    pub date: String,
    /// What it is of.
    pub meaning: DateMeaning,
    /// Bytes of the text before it.
    pub start: usize,
    /// Bytes up to its end.
    pub end: usize,
}

/// The first date of a text, and those behind it that are said to be of a publication or a change:
/// "March 5, 2024 (updated March 7, 2024)". `label` is what stands before the text; `by_class`
/// whether the element's class speaks of a change and of a publication.
pub fn dated(text: &str, label: &str, by_class: (bool, bool), manner: Manner<'_>) -> Vec<Dated> {
    /// Dates of one text, and the most bytes between two.
    const MOST: usize = 4;
    const BETWEEN: usize = 80;
    let (updated, published) = by_class;
    let mut found: Vec<Dated> = Vec::new();
    let mut from = 0;
    while found.len() < MOST
        && let Some(rest) = text.get(from..)
        && let Some(next) = dates::find(rest, manner)
    {
        let before = rest.get(..next.start).unwrap_or("");
        let meaning = if found.is_empty() {
            DateMeaning::by(&[before, label], updated, published)
        } else {
            let meaning = DateMeaning::by(&[before], false, false);
            if before.len() > BETWEEN
                || !matches!(meaning, DateMeaning::Modified | DateMeaning::Published)
            {
                break;
            }
            meaning
        };
        found.push(Dated {
            date: next.date,
            meaning,
            start: from + next.start,
            end: from + next.end,
        });
        from += next.end;
    }
    tell_from_behind(text, &mut found);
    found
}

/// In Chinese, Japanese and Korean the word may stand behind its date: `2024年3月5日公開
/// 2024年3月7日更新`.
fn tell_from_behind(text: &str, found: &mut [Dated]) {
    /// Bytes of such a word with the signs around it.
    const LONGEST: usize = 30;
    let (Some(first), Some(last)) = (found.first(), found.last()) else {
        return;
    };
    let before = text.get(..first.start).unwrap_or("");
    let behind = text.get(last.end..).unwrap_or("");
    let is_dense = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}');
    let is_word = behind.contains(is_dense)
        && behind.len() <= LONGEST
        && !behind.trim_end().ends_with([':', '：', '|', '｜', '/']);
    let meaning = DateMeaning::by(&[behind], false, false);
    let meaning_before = DateMeaning::by(&[before], false, false);
    // "映画 2024年3月5日公開" tells when the film was.
    if !is_word
        || before.contains(char::is_alphanumeric)
        || meaning_before != DateMeaning::Nothing
        || !matches!(meaning, DateMeaning::Modified | DateMeaning::Published)
    {
        return;
    }
    let mut meaning = meaning;
    for dated in found.iter_mut().rev() {
        // What stands before each date is of the one before it.
        std::mem::swap(&mut dated.meaning, &mut meaning);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_date_of_a_text_is_told_what_it_is_of() {
        use DateMeaning::{Modified, Nothing, Other, Published};
        let (first, second) = ("2024-03-05", "2024-03-07");
        for (language, text, expected) in [
            (
                "en",
                "Published March 5, 2024 | Updated March 7, 2024",
                vec![(first, Published), (second, Modified)],
            ),
            (
                "en",
                "March 5, 2024 (updated March 7, 2024)",
                vec![(first, Nothing), (second, Modified)],
            ),
            (
                "en",
                "Updated March 7, 2024; first published March 5, 2024",
                vec![(second, Modified), (first, Published)],
            ),
            (
                "fr",
                "publié le 5 mars 2024 à 08h15, mis à jour le 7 mars 2024 à 9h",
                vec![(first, Published), (second, Modified)],
            ),
            (
                "nb",
                "Publisert 5. mars 2024, Oppdatert 7. mars 2024",
                vec![(first, Published), (second, Modified)],
            ),
            (
                "de",
                "05.03.2024, 10:00 Uhr, aktualisiert 07.03.2024",
                vec![(first, Nothing), (second, Modified)],
            ),
            (
                "es",
                "Publicado el 5 de marzo de 2024. Actualizado el 7 de marzo de 2024",
                vec![(first, Published), (second, Modified)],
            ),
            (
                "ru",
                "Опубликовано 5 марта 2024, обновлено 7 марта 2024",
                vec![(first, Published), (second, Modified)],
            ),
            (
                "ko",
                "입력 2024.03.05 10:00 수정 2024.03.07 11:00",
                vec![(first, Published), (second, Modified)],
            ),
            (
                "ja",
                "公開日：2024年3月5日 最終更新日：2024年3月7日",
                vec![(first, Published), (second, Modified)],
            ),
            (
                "ja",
                "2024年3月5日公開　2024年3月7日更新",
                vec![(first, Published), (second, Modified)],
            ),
            ("ja", "2024年3月7日 更新", vec![(second, Modified)]),
            ("zh", "2024-03-05 发布", vec![(first, Published)]),
            ("ja", "映画 2024年3月5日公開", vec![(first, Nothing)]),
            // The next word is that of the next element.
            ("ja", "2024年3月5日 更新日：", vec![(first, Nothing)]),
            // Nothing is said of the second.
            (
                "en",
                "March 5, 2024 to March 7, 2024",
                vec![(first, Nothing)],
            ),
            (
                "en",
                "Published March 5, 2024, ends on March 7, 2024",
                vec![(first, Published)],
            ),
            ("en", "Ends on March 5, 2024", vec![(first, Other)]),
            ("en", "nothing", vec![]),
        ] {
            let found = dated(text, "", (false, false), Manner::of(language));
            let found: Vec<(&str, DateMeaning)> =
                found.iter().map(|d| (d.date.as_str(), d.meaning)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
