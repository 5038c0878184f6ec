//! Text, character references, line breaks and paragraphs.

use crate::Pattern;

patterns! {
    "entities": "", "&amp;", "";
    "entities-unfinished": "", "&a", "";
    "entities-bare": "", "&", "";
    "entities-long": "", "&CounterClockwiseContourIntegra", "";
    "entities-numeric": "", "&#65", "";
    "entities-digits": "&#", "0", "";
    "entities-nbsp": "", "&nbsp;", "";
    "bylines-headline": "<h1>t</h1>", "<p class=author>By A B</p>", "";
    "bylines-nested": "<h1>t</h1>", "<div class=author>By", "";
    "bylines-class": "<h1>t</h1><p class='", " author date", "'>By A B</p>";
    "dates": "<h1>t</h1>", "<time>14 March 2024</time> ", "";
    "dates-unfinished": "<h1>t</h1><p>", "14 March ", "";
    "dates-texts": "<h1>t</h1>", "<p>2024 14 March {i}", "";
    "headings-first": "", "<h1>a {i}</h1>", "";
    "text-less": "", "<", "";
    "text-less-slash": "", "</", "";
    "text-long": "", "y", "";
    "text-spaces": "<p>a", " ", "b";
    "text-lines": "<p>a", "\n", "b";
    "text-words": "", "word {i} ", "";
    "text-nul": "<p>", "\0", "";
    "text-returns": "<p>a", "\r", "";
    "text-han": "", "中文", "";
    "text-stars": "<p>", "*", "";
    "text-underscores": "<p>", "_a", "";
    "text-brackets": "<p>", "[", "";
    "text-bracket-pairs": "<p>", "[a](", "";
    "text-image-marks": "<p>", "![", "";
    "text-backticks": "<p>", "`", "";
    "text-backtick-runs": "<p>", "`a``b```c", "";
    "text-tildes": "<p>", "~", "";
    "text-hashes": "<p>", "# ", "";
    "text-dashes": "<p>", "-\n", "";
    "text-pipes": "<table><tr><td>", "|", "";
    "text-numbers": "<p>", "1. ", "";
    "text-backslashes": "<p>", "\\", "";
    "text-dollars": "<p>", "$a", "";
    "text-urls": "<p>", "http://a.b/", "";
    "text-mails": "<p>", "a@b.", "";
    "breaks": "", "<br>", "";
    "breaks-text": "", "a<br>", "";
    "breaks-heading": "<h1>a", "<br>", "";
    "breaks-cell": "<table><tr><td>", "a<br>", "";
    "rules": "", "<hr>", "";
    "rules-list": "<ul>", "<li><hr>", "";
    "paragraphs": "", "<p>a {i}", "";
    "paragraphs-articles": "", "<article><p>Some words, and more of them, so that this counts as text.</article>", "";
    "paragraphs-dates": "", "<p>12 May 2024 by A. B.</p>", "";
    "paragraphs-spans": "", "<span class=a>b</span><span class=c>d</span>", "";
    "bylines-dates": "<h1>a</h1>", "<div class=byline>By <b>A B</b> <time>14 March 2024</time>", "";
}
