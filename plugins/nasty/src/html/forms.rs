//! Form controls, ruby, templates and hidden elements.

use crate::Pattern;

patterns! {
    "select-open": "", "<select><option>a", "";
    "options": "<select>", "<option>a", "";
    "option-groups": "<select>", "<optgroup><option>a", "";
    "selects-in-select": "", "<select>", "";
    "textareas": "", "<textarea>a</textarea>", "";
    "textarea-open": "<textarea>", "</textarea ", "";
    "inputs": "", "<input type=checkbox>", "";
    "input-items": "<ul>", "<li><input type=checkbox>a", "";
    "input-boxes": "<ul><li>", "<input type=checkbox>", "";
    "labels-open": "", "<label>a", "";
    "ruby": "", "<ruby>a<rp>(<rt>b</ruby>", "";
    "ruby-open": "", "<ruby>a<rt>b", "";
    "ruby-texts": "<ruby>", "<rt>b", "";
    "quotes-open": "", "<q>a", "";
    "template-open": "", "<template>", "";
    "template-content": "", "<template><div>a", "";
    "templates": "", "<template>a</template>", "";
    "template-table": "", "<template><tr><td>a", "";
    "slots": "", "<slot name=a{i}>b</slot>", "";
    "dialogs-open": "", "<dialog>a", "";
    "dialogs-shown": "", "<dialog open>a", "";
    "hidden-open": "", "<div hidden>a", "";
    "hidden-flat": "", "<p hidden>a</p>", "";
    "hidden-styles": "", "<p style='display: none'>a</p>", "";
    "aria-hidden-open": "", "<div aria-hidden=true>a", "";
    "roles-headings": "", "<div role=heading aria-level=2>a", "";
    "roles-presentation": "", "<table role=presentation><tr><td>", "";
    "plaintext": "", "<plaintext>", "";
    "xmp-open": "", "<xmp>a</xm", "";
    "marquees": "", "<marquee>a", "";
}
