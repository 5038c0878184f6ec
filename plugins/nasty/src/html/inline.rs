//! Formatting elements, closed, unclosed and misnested.

use crate::Pattern;

patterns! {
    "bold-open": "", "<b>a", "";
    "bold-paragraphs": "", "<b><p>a", "";
    "bold-distinct": "", "<b id={i}><p>", "";
    "formatting-mix": "", "<b><i><u><s><em>a<p>", "";
    "adoption": "", "<a><b><i></a></b></i>", "";
    "adoption-div": "", "<b><div></b>a", "";
    "adoption-misnested": "", "<b><i><div></b></i>", "";
    "font-attributes": "", "<font color={i} face=a>b<p>", "";
    "nobr-open": "", "<nobr>a", "";
    "em-strong-flat": "", "<em>a</em><strong>b</strong>", "";
    "em-joined": "", "<b>a.</b>b", "";
    "sup-sub": "", "<sup>a<sub>b", "";
    "sup-links": "", "<sup><a href=#{i}>1</a></sup>", "";
    "del-open": "", "<del>a<s>", "";
    "formatting-long-attributes": "<b title=\"{2000*y}\"><i>", "<p>a", "";
}
