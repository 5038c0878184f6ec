//! Tables.

use crate::Pattern;

patterns! {
    "tables": "", "<table><tr><td>a</table>", "";
    "table-rows": "<table>", "<tr><td>a<td>b", "";
    "table-cells": "<table><tr>", "<td>a", "";
    "table-open": "", "<table>", "";
    "table-nested": "", "<table><tr><td>", "";
    "table-nested-text": "", "<table><tr><td>a", "";
    "table-nested-rows": "", "<table><tr><td>a<td>b<tr><td>c<td>", "";
    "table-foster": "", "<table>a", "";
    "table-foster-text": "<table>", "a<b>", "";
    "table-foster-tags": "<table>", "<p>a", "";
    "table-colspan": "<table><tr>", "<td colspan=1000>a", "";
    "table-colspan-rows": "<table>", "<tr><td colspan=1000>a", "";
    "table-rowspan": "<table><tr>", "<td rowspan=65534>a", "";
    "table-rowspan-rows": "<table>", "<tr><td rowspan=65534>a", "";
    "table-spans": "<table>", "<tr><td rowspan=65534 colspan=1000>a", "";
    "table-ragged": "<table><tr>{500*<td>b}", "<tr><td>a", "";
    "table-ragged-rowspans": "<table>", "<tr>{3*<td rowspan=9>b}", "";
    "table-wide-empty": "<table><tr>{500*<td>b}", "<tr>", "";
    "table-captions": "<table>", "<caption>a", "";
    "table-bodies": "<table>", "<tbody><tr><td>a", "";
    "table-columns": "<table>", "<col>", "";
    "table-column-groups": "<table>", "<colgroup span=1000>", "";
    "table-headers": "<table>", "<tr><th>a<th>b", "";
    "table-inputs": "<table>", "<input type=hidden>", "";
    "table-forms": "<table>", "<form>", "";
    "table-cell-lists": "<table><tr><td>", "<ul><li>a", "";
    "table-cell-paragraphs": "<table><tr><td>x<td>", "<p>a", "";
    "table-cell-code": "<table><tr><td>", "<pre>a\nb</pre>", "";
    "table-layout": "", "<table><tr><td><p>a</p><p>b</p></td></tr></table>", "";
    "table-links": "<table>", "<tr><td><a href=/{i}>a</a>", "";
    "table-tables": "<table>", "<tr><td><table><tr><td>a</table>", "";
}
