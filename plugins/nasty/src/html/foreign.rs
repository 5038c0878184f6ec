//! SVG, MathML, comments, CDATA sections and doctypes.

use crate::Pattern;

patterns! {
    "svg-open": "", "<svg>", "";
    "svg-groups": "<svg>", "<g>", "";
    "svg-titles": "", "<svg><title>a</title></svg>", "";
    "svg-foreign": "", "<svg><foreignObject><div>", "";
    "svg-break-out": "", "<svg><p>a", "";
    "svg-break-out-deep": "{300*<svg>}", "<g><p>a", "";
    "svg-cdata": "<svg>", "<![CDATA[a]]>", "";
    "svg-cdata-open": "<svg>", "<![CDATA[", "";
    "svg-scripts": "<svg>", "<script>a</script>", "";
    "svg-links": "<svg>", "<a xlink:href=/{i}>a</a>", "";
    "math-open": "", "<math>", "";
    "math-rows": "<math>", "<mrow>", "";
    "math-fractions": "<math>", "<mfrac><mi>a", "";
    "math-flat": "", "<math><mi>a</mi></math>", "";
    "math-annotations": "", "<math><annotation encoding=application/x-tex>a</annotation></math>", "";
    "math-annotation-xml": "", "<math><annotation-xml encoding=text/html><div>", "";
    "math-text": "", "<math><mtext><b>a", "";
    "comments": "", "<!--a-->", "";
    "comment-open": "", "<!--", "";
    "comment-dashes": "<!--", "-", "";
    "comment-greater": "<!--", ">", "";
    "comment-bangs": "<!--", "--!", "";
    "comments-bogus": "", "<?a>", "";
    "comments-bogus-end": "", "</ a>", "";
    "comments-cdata": "", "<![CDATA[a]]>", "";
    "doctypes": "", "<!doctype html>", "";
    "doctype-long": "<!doctype ", "y", "";
    "doctype-ids": "<!doctype html public ", "'a'", "";
    "doctype-open": "", "<!doctype ", "";
}
