//! Long, many and repeated attributes.

use crate::Pattern;

patterns! {
    "attribute-long": "<p title='", "y", "'>a</p>";
    "attribute-unclosed": "<p title='", "y", "";
    "attributes-many": "<p", " a{i}=b", ">a</p>";
    "attributes-same": "<p", " a=b", ">a</p>";
    "attributes-repeated-html": "", "<html a{i}=b>", "";
    "attributes-repeated-body": "", "<body a{i}=b>", "";
    "attribute-classes": "<p class='", " c{i}", "'>a</p>";
    "attribute-style": "<p style='", "color:red;", "'>a</p>";
    "attribute-styles": "", "<p style='display:block;color:red{i}'>a", "";
    "attribute-entities": "<p title='", "&amp;", "'>a</p>";
    "attribute-equals": "<p ", "=", ">a</p>";
    "attribute-slashes": "<p ", "/", ">a</p>";
    "attribute-ids": "", "<p id=a{i}>a", "";
}
