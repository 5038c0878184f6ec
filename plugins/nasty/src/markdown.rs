//! Patterns of Markdown, for conversions that read it.

use crate::Pattern;

/// Every pattern of Markdown.
pub fn markdown() -> impl Iterator<Item = &'static Pattern> + Clone {
    PATTERNS.iter()
}

patterns! {
    "md-image-open": "", "![", "";
    "md-image-target-open": "", "![](", "";
    "md-link-target-open": "", "[](", "";
    "md-link-target-angle": "", "](<", "";
    "md-target-parentheses": "[](", "(", "";
    "md-bracket-open": "", "[", "";
    "md-bracket-close": "", "]", "";
    "md-backslash": "", "\\", "";
    "md-escaped-image": "", "\\![", "";
    "md-backtick": "", "`a``", "";
    "md-fence": "", "```\n", "";
    "md-quote": "", "> ", "";
    "md-star": "", "*a **b", "";
    "md-image-late-target": "", "![a", "](b)";
    "md-image-lines": "", "![\n", "";
}
