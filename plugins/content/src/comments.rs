//! Readers' comments on a text.
//!
//! The block model learned from threads, too, where what others answer is the content: on the page of a
//! text that says nothing of its type it takes comments for answers.

use crate::blocks::Block;
use crate::kind::Kind;
use crate::measure::{Info, get};
use crate::page_type::{PageType, Types};
use crate::words::{COMMENT, STRONG};

/// How likely a page must be a forum for what its names call comments to be left to the model.
const THREAD: f32 = 0.3;

/// Text that comments may be about, in characters.
const TEXT: u32 = 200;

/// Drops what stands in boxes that are named after comments, where the site names the text that they are
/// about, and they stand outside of it.
pub fn drop_comments(
    info: &[Info],
    blocks: &[Block],
    by_rules: &[bool],
    kind: Kind,
    types: &Types,
    keep: &mut [bool],
) {
    let is_text = matches!(kind, Kind::Article | Kind::Other);
    if !is_text || types.share(PageType::Forum) >= THREAD {
        return;
    }
    let above = |block: &Block| get(info, block.node).above & (COMMENT | STRONG);
    let text: u32 = (blocks.iter().zip(by_rules).zip(&*keep))
        .filter(|((block, by_rules), keep)| **by_rules && **keep && above(block) == STRONG)
        .map(|((block, _), _)| block.chars)
        .sum();
    if text < TEXT {
        return;
    }
    for ((block, by_rules), keep) in blocks.iter().zip(by_rules).zip(keep) {
        *keep &= *by_rules || above(block) != COMMENT;
    }
}

#[cfg(test)]
mod tests {
    use crate::Content;

    const POST: &str = "<p>The heating of the office is being replaced, so that orders placed on Thursday evening \
                        will be sent on Monday, as will all those of the days between.</p>";

    /// The text of a page with a post and what its readers say, which is longer.
    fn text(post: &str, box_: &str) -> String {
        let said = [
            "I have waited for mine since the first of the month, and nobody told me that it had not left.",
            "Mine came on the Tuesday, well packed, and with a note in it from whoever had wound the thread.",
            "You could have written this before we ordered, because then I would have gone to the shop myself.",
            "Could somebody tell me whether the old boiler is for sale? We have a barn that could do with it.",
            "The same happened to us two winters ago, and the engineers found that the pump was never turned on.",
            "That is what one gets when the cheapest offer is taken; my brother would have done it in a day.",
            "Thanks for the notice, which is more than most shops would do, and good luck with the heating.",
            "Since we are at it: the bell at the back door has not been working for weeks, if anyone cares.",
        ];
        let said: String = (said.iter().enumerate())
            .map(|(at, line)| format!("<li><cite>Reader {at}</cite> says:<p>{line}</p>"))
            .collect();
        let html = format!(
            "<title>Cold</title><body><div id=page><div class=entry-content><h2>Cold</h2>{post}</div>\
             <div {box_}><ol>{said}</ol></div></div>"
        );
        let snapshot = orbweaver_sdk::dom::parse(&html);
        let view = snapshot.view().expect("view");
        Content::of(&view, "https://spindle.example.org/2012/cold").text(&view)
    }

    #[test]
    fn what_readers_say_of_a_post_is_left_out_however_long_it_is() {
        let post = POST.replace("Thursday", "Friday") + POST;
        for name in ["comments", "all-comments", "postcomments"] {
            let found = text(&post, &format!("class={name}"));
            assert!(
                found.contains("orders placed") && !found.contains("boiler"),
                "{name}: {found}"
            );
        }
    }

    #[test]
    fn what_readers_say_stays_where_there_is_no_text_besides() {
        let found = text("", "class=comments");
        assert!(found.contains("boiler"), "{found}");
    }
}
