//! Tells a thread's opening post from its answers, where both have the names of comments.

use super::Comment;

/// Letters and digits of the comment that are compared.
const COMPARED: usize = 80;
/// With fewer of them, it may stand in the content by chance.
const LEAST: usize = 20;
/// Letters and digits of the content before it, such as of a headline or a name.
const BEFORE: usize = 200;

/// Whether the main content of the page begins with this comment, so that it is the page's content.
pub fn is(comment: &Comment, article: &str) -> bool {
    let start = compared(&comment.text, COMPARED);
    comment.depth == 0
        && start.chars().count() >= LEAST
        && compared(article, BEFORE + COMPARED).contains(&start)
}

/// The first letters and digits of a text. White space and signs differ between two readings of
/// it.
fn compared(text: &str, most: usize) -> String {
    let chars = text.chars().filter(|c| c.is_alphanumeric());
    chars.take(most).collect()
}
