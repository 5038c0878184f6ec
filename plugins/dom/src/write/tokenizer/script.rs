//! Finds the end of a script, which is not the first `</script>` if that stands in a comment.

use memchr::{memchr, memchr2};

use super::{Tokenizer, is_space};

impl Tokenizer<'_> {
    /// The position of the end tag of the script that begins here, or the end.
    /// <https://html.spec.whatwg.org/multipage/parsing.html#script-data-state>
    pub(super) fn script_end(&self) -> usize {
        let mut at = self.at;
        while let Some(found) = memchr(b'<', self.rest(at)) {
            at += found;
            if self.end_tag_at(at, SCRIPT).is_some() {
                return at;
            }
            match self.rest(at).strip_prefix(b"<!--") {
                // The dashes may already be those of `-->`.
                Some(_) => match self.escaped(at + 2) {
                    Escaped::Ended(end) => at = end,
                    Escaped::EndTag(end) => return end,
                },
                None => at += 1,
            }
        }
        self.bytes.len()
    }

    /// From the `--` of a `<!--` to the end of that comment. Inside, a `<script>` must be closed
    /// before an end tag counts.
    fn escaped(&self, mut at: usize) -> Escaped {
        let mut nested = false;
        while let Some(found) = memchr2(b'<', b'-', self.rest(at)) {
            at += found;
            if self.byte(at) == Some(b'-') {
                let dashes = self.rest(at).iter().take_while(|b| **b == b'-').count();
                at += dashes;
                if dashes >= 2 && self.byte(at) == Some(b'>') {
                    return Escaped::Ended(at + 1);
                }
                continue;
            }
            if !nested && self.end_tag_at(at, SCRIPT).is_some() {
                return Escaped::EndTag(at);
            }
            let name = at + 1 + usize::from(nested);
            if (!nested || self.byte(at + 1) == Some(b'/')) && self.is_script(name) {
                nested = !nested;
                at = name + SCRIPT.len();
            } else {
                at += 1;
            }
        }
        Escaped::Ended(self.bytes.len())
    }

    fn is_script(&self, at: usize) -> bool {
        let rest = self.rest(at);
        rest.get(..SCRIPT.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(SCRIPT))
            && rest
                .get(SCRIPT.len())
                .is_some_and(|b| is_space(*b) || matches!(b, b'/' | b'>'))
    }
}

const SCRIPT: &[u8] = b"script";

/// How a comment in a script ended.
enum Escaped {
    /// With `-->`, before this position.
    Ended(usize),
    /// With the script's end tag at this position.
    EndTag(usize),
}
