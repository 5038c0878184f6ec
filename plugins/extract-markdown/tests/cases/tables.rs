//! Tables of data, and those that only lay a page out.

use crate::check;

#[test]
fn data_tables_are_tables() {
    check(&[
        (
            "<table><tr><th>a<th>b<tr><td>1<td>2</table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |",
        ),
        (
            "<table><tr><td>a<td>b<tr><td>1<td>2</table>",
            "|  |  |\n| --- | --- |\n| a | b |\n| 1 | 2 |",
        ),
        (
            "<table><tr><td><b>a</b><td><b>b</b><tr><td>1<td>2</table>",
            "| **a** | **b** |\n| --- | --- |\n| 1 | 2 |",
        ),
        (
            "<table><tr><th align=right>a<th style='text-align: center'>b<th align=left>c<tr><td>1<td>2<td>3</table>",
            "| a | b | c |\n| ---: | :---: | :--- |\n| 1 | 2 | 3 |",
        ),
        (
            "<table><tr><th>a|b<tr><td><code>c|d</code></table>",
            "| a\\|b |\n| --- |\n| `c\\|d` |",
        ),
        (
            "<table><tr><th>a<th style='display:none' align=right>i<th align=left>b<tr><td>1<td style='display: none'>7<td>2</table>",
            "| a | b |\n| --- | :--- |\n| 1 | 2 |",
        ),
        (
            "<table><tr><th>a<th>b<tr><td>1<td>2<td hidden rowspan=2>7<tr><td>3<td>4</table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |",
        ),
        (
            "<table><tr><th>a<th>b<tr><td colspan=2>1<tr><td>2</table>",
            "| a | b |\n| --- | --- |\n| 1 |  |\n| 2 |  |",
        ),
        (
            "<table><tr><th>a<th>b<tr><td rowspan=2>1<td>2<tr><td>3<tr><td>4<td>5</table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |\n| 4 | 5 |",
        ),
        // No cell reaches out of its group of rows.
        (
            "<table><thead><tr><th rowspan=2>a<th>b<tbody><tr><td rowspan=9>1<td>2<tr><td>3<tbody><tr><td>4<td>5</table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |\n|  | 3 |\n| 4 | 5 |",
        ),
        (
            "<table><tr><td colspan=99>a<tr><td>1<td>2</table>",
            "|  |  |\n| --- | --- |\n| a |  |\n| 1 | 2 |",
        ),
        (
            "<table><tr><th>a<th>b<tr><td><p>1</p><p>2</p><td>3<br>4</table>",
            "| a | b |\n| --- | --- |\n| 1<br>2 | 3<br>4 |",
        ),
        (
            "<table><tr><th>a<tr><td><ul><li>1<li>2</ul></table>",
            "| a |\n| --- |\n| - 1<br>- 2 |",
        ),
        (
            "<table><tr><th>a<tr><td><table><tr><td>1<td>2<tr><td>3</table></table>",
            "| a |\n| --- |\n| 1 2<br>3 |",
        ),
        (
            "<table><caption>C</caption><tr><th>a<tr><td>1</table>",
            "C\n\n| a |\n| --- |\n| 1 |",
        ),
        (
            "<table><thead><tr><td>a<td>b</thead><tr><td>1<td>2</table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |",
        ),
        (
            "<table><tr><th>a<th>b<tr><td><td><tr><td>1<td></table>",
            "| a | b |\n| --- | --- |\n| 1 |  |",
        ),
        (
            "<ul><li><table><tr><th>a<th>b<tr><td>1<td>2</table></ul>",
            "- | a | b |\n  | --- | --- |\n  | 1 | 2 |",
        ),
        (
            "<b><table><tr><th>a<th>b<tr><td>1<td>2</table></b>",
            "| **a** | **b** |\n| --- | --- |\n| **1** | **2** |",
        ),
    ]);
}

#[test]
fn layout_tables_are_taken_apart() {
    check(&[
        ("<table><tr><td>a</table>", "a"),
        ("<table><tr><td><h2>a</h2><p>b</p></table>", "## a\n\nb"),
        ("<table><tr><td>a<tr><td>b</table>", "a\n\nb"),
        (
            "<table><tr><td><td>Hi,<br>you<tr><td><td>there</table>",
            "Hi,  \nyou\n\nthere",
        ),
        ("<table role=presentation><tr><td>a<td>b</table>", "a b"),
        (
            "<table><tr><td>x<td><table><tr><th>a<th>b<tr><td>1<td>2</table></table>",
            "x\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
        ),
    ]);
}
