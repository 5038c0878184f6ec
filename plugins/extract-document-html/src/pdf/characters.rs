//! Classes of characters, and the normal form of those that fonts have for layout alone.

use unicode_normalization::char::decompose_compatible;

/// Appends the character; ligatures and Arabic presentation forms as the letters that they stand
/// for, spaces of any width as a space. Characters without a meaning (private use, controls) are
/// left out.
pub(crate) fn push_normal(c: char, out: &mut String) {
    match c {
        '\u{fb00}'..='\u{fb06}' | '\u{fb13}'..='\u{fb17}' => {
            decompose_compatible(c, |part| {
                out.push(if part == '\u{17f}' { 's' } else { part })
            });
        }
        '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => {
            decompose_compatible(c, |part| out.push(part));
        }
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => out.push(' '),
        // Bullets of symbol fonts, as word processors write them.
        '\u{f0b7}' => out.push('•'),
        '\u{f0a7}' => out.push('▪'),
        '\u{f076}' => out.push('❖'),
        '\u{f0d8}' => out.push('➢'),
        '\u{f0fc}' => out.push('✓'),
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => {}
        '\u{feff}' | '\u{fffd}' | '\u{fffe}' | '\u{e000}'..='\u{f8ff}' => {}
        '\u{f0000}'..='\u{10ffff}' => {}
        '\t' | '\n' | '\r' => out.push(' '),
        c if c.is_control() => {}
        c => out.push(c),
    }
}

/// Whether the character belongs to a script written from right to left.
pub(crate) fn is_rtl(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && !matches!(c, '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}')
}

/// Whether the character belongs to a script that has no spaces between words.
pub(crate) fn is_spaceless(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{30ff}' | '\u{3100}'..='\u{312f}' | '\u{31a0}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe4f}' | '\u{ff00}'..='\u{ff9f}' | '\u{ffe0}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}' | '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}')
}

/// Whether the character marks an item of a list.
pub(crate) fn is_bullet(c: char) -> bool {
    matches!(
        c,
        '•' | '◦'
            | '‣'
            | '⁃'
            | '∙'
            | '·'
            | '▪'
            | '▫'
            | '■'
            | '□'
            | '●'
            | '○'
            | '►'
            | '▸'
            | '▶'
            | '➢'
            | '✓'
            | '✔'
            | '❖'
            | '◆'
            | '◇'
    )
}

/// Whether a sentence can end with the character.
pub(crate) fn ends_sentence(c: char) -> bool {
    matches!(
        c,
        '.' | '!' | '?' | ':' | ';' | '…' | '。' | '！' | '？' | '：' | '؟' | '۔' | '।'
    )
}
