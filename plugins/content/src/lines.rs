//! Short lines about a text rather than of it: who wrote it and when, whose the pictures
//! are, where to follow the site.

/// Starts of lines that name authors, editors and dates.
const CREDITS: &[&str] = &[
    "by ",
    "written by",
    "edited by",
    "reviewed by",
    "medically reviewed",
    "fact checked",
    "fact-checked",
    "contributions from",
    "updated ",
    "updated:",
    "last updated",
    "last modified",
    "published ",
    "published:",
    "first published",
    "posted by",
    "posted on",
    "posted at",
    "photo by",
    "photo:",
    "photos by",
    "photograph by",
    "image by",
    "image:",
    "image credit",
    "credit:",
    "featured image",
    "publicado ",
    "atualizado ",
    "publié le",
    "mis à jour",
    "veröffentlicht ",
    "aktualisiert ",
    "pubblicato ",
    "aggiornato ",
    "опубликовано",
    "автор:",
    "авторы:",
    "фото:",
    "foto:",
    "texte :",
    "作者：",
    "作者:",
    "来源：",
    "來源：",
    "编辑：",
    "責任編輯",
    "责任编辑",
    "记者：",
    "図：",
    "文：",
    "写真：",
    "撮影：",
    "بقلم",
    "كتب:",
];

/// Starts of lines that name authors where a mark stands behind the name: they are common
/// words.
const BY: &[&str] = &["von ", "par ", "por ", "di ", "door ", "av ", "af "];

/// Ends of lines that say whose a picture is or how long a text takes to read.
const ENDS: &[&str] = &[
    "getty images",
    "shutterstock",
    "unsplash",
    "min read",
    "minute read",
];

/// Longest such line, in bytes.
const MAX_CREDIT: usize = 90;

/// Names of networks to follow somebody on.
const NETWORKS: &[&str] = &[
    "facebook",
    "twitter",
    "instagram",
    "youtube",
    "linkedin",
    "tiktok",
    "pinterest",
    "telegram",
    "whatsapp",
];

/// Whether a line in small letters names authors, dates, sources of pictures.
pub fn is_credit(line: &str) -> bool {
    let ends_sentence = line.ends_with('.') && line.len() > 50;
    line.len() <= MAX_CREDIT
        && !ends_sentence
        && (CREDITS.iter().any(|head| line.starts_with(head))
            || BY.iter().any(|head| line.starts_with(head)) && is_divided(line)
            || ENDS.iter().any(|tail| line.ends_with(tail)))
}

/// Whether a line has a mark between its parts, such as a name and a date.
fn is_divided(line: &str) -> bool {
    line.contains(['|', '·', '•', '｜'])
}

/// Whether a line in small letters, late in a text, asks to follow or to write.
pub fn is_plug(line: &str) -> bool {
    let named = NETWORKS.iter().filter(|name| line.contains(**name)).count();
    named >= 2
        || line.starts_with("follow ") && named >= 1
        || [
            "like this story",
            "have a tip",
            "got a tip",
            "send tips",
            "this story was originally",
        ]
        .iter()
        .any(|head| line.starts_with(head))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_a_text_are_told_from_lines_of_it() {
        for line in [
            "by jane doe",
            "updated on may 6, 2025",
            "8 min read",
            "firn | getty images",
            "von karin meier | 3. mai 2024",
            "作者：李文静 | 2024年5月3日",
        ] {
            assert!(is_credit(line), "{line}");
        }
        for line in [
            "by the time the bridge was finished, both towns had lost patience with it.",
            "updated rules let the towns share the costs of bridges that both of them use.",
            "the council decided on tuesday",
            "von der brücke aus sieht man beide städte",
        ] {
            assert!(!is_credit(line), "{line}");
        }
        assert!(is_plug(
            "follow newsbeat on instagram, facebook, twitter and youtube."
        ));
        assert!(is_plug("follow jane on twitter"));
        assert!(!is_plug(
            "the video was first seen on facebook, where it was shared widely."
        ));
    }
}
