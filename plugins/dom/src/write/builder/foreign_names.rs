//! How SVG and MathML spell names, and the namespaces of their attributes:
//! <https://html.spec.whatwg.org/multipage/parsing.html#adjust-svg-attributes>.

use super::super::token::{Attr, AttrParts, Tag};
use crate::format::{NS_HTML, NS_SVG, NS_XLINK, NS_XML, NS_XMLNS};
use crate::names::{attr, tag};

/// The id and, where that is 0, the letters of an element's name.
pub(super) fn element<'t>(namespace: u32, tag: &'t Tag<'_>) -> (u16, &'t str) {
    let adjusted = match namespace {
        NS_SVG if !tag.spelled.is_empty() => find(&SVG_ELEMENTS, &tag.spelled),
        _ => None,
    };
    match adjusted {
        Some(spelled) => (tag::id(spelled), spelled),
        None => (tag.name.tag(), &tag.spelled),
    }
}

/// What an attribute's record says.
pub(super) fn attribute<'t>(namespace: u32, attribute: &'t Attr<'_>) -> AttrParts<'t> {
    let (word, name, value) = attribute.parts();
    let prefixed = prefix_namespace(&attribute.name);
    if word != 0 || prefixed != NS_HTML {
        return (word | prefixed << 16, name, value);
    }
    let spelled = if namespace == NS_SVG {
        find(&SVG_ATTRIBUTES, name)
    } else {
        (name == "definitionurl").then_some("definitionURL")
    };
    match spelled.map(|spelled| (attr::id(spelled), spelled)) {
        None => (0, name, value),
        Some((attr::UNKNOWN, spelled)) => (0, spelled, value),
        Some((id, _)) => (u32::from(id), "", value),
    }
}

/// The namespace of an attribute of this name, as the source has it; [`NS_HTML`] for none.
fn prefix_namespace(name: &str) -> u32 {
    if !name.starts_with('x') {
        return NS_HTML;
    }
    match name {
        "xlink:actuate" | "xlink:arcrole" | "xlink:href" | "xlink:role" | "xlink:show"
        | "xlink:title" | "xlink:type" => NS_XLINK,
        "xml:lang" | "xml:space" => NS_XML,
        "xmlns" | "xmlns:xlink" => NS_XMLNS,
        _ => NS_HTML,
    }
}

fn find(names: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let index = names
        .binary_search_by(|(lower, _)| (*lower).cmp(name))
        .ok()?;
    names.get(index).map(|(_, spelled)| *spelled)
}

/// SVG's elements with capital letters, by their names in lower case.
const SVG_ELEMENTS: [(&str, &str); 37] = [
    ("altglyph", "altGlyph"),
    ("altglyphdef", "altGlyphDef"),
    ("altglyphitem", "altGlyphItem"),
    ("animatecolor", "animateColor"),
    ("animatemotion", "animateMotion"),
    ("animatetransform", "animateTransform"),
    ("clippath", "clipPath"),
    ("feblend", "feBlend"),
    ("fecolormatrix", "feColorMatrix"),
    ("fecomponenttransfer", "feComponentTransfer"),
    ("fecomposite", "feComposite"),
    ("feconvolvematrix", "feConvolveMatrix"),
    ("fediffuselighting", "feDiffuseLighting"),
    ("fedisplacementmap", "feDisplacementMap"),
    ("fedistantlight", "feDistantLight"),
    ("fedropshadow", "feDropShadow"),
    ("feflood", "feFlood"),
    ("fefunca", "feFuncA"),
    ("fefuncb", "feFuncB"),
    ("fefuncg", "feFuncG"),
    ("fefuncr", "feFuncR"),
    ("fegaussianblur", "feGaussianBlur"),
    ("feimage", "feImage"),
    ("femerge", "feMerge"),
    ("femergenode", "feMergeNode"),
    ("femorphology", "feMorphology"),
    ("feoffset", "feOffset"),
    ("fepointlight", "fePointLight"),
    ("fespecularlighting", "feSpecularLighting"),
    ("fespotlight", "feSpotLight"),
    ("fetile", "feTile"),
    ("feturbulence", "feTurbulence"),
    ("foreignobject", "foreignObject"),
    ("glyphref", "glyphRef"),
    ("lineargradient", "linearGradient"),
    ("radialgradient", "radialGradient"),
    ("textpath", "textPath"),
];

/// SVG's attributes with capital letters, by their names in lower case.
const SVG_ATTRIBUTES: [(&str, &str); 58] = [
    ("attributename", "attributeName"),
    ("attributetype", "attributeType"),
    ("basefrequency", "baseFrequency"),
    ("baseprofile", "baseProfile"),
    ("calcmode", "calcMode"),
    ("clippathunits", "clipPathUnits"),
    ("diffuseconstant", "diffuseConstant"),
    ("edgemode", "edgeMode"),
    ("filterunits", "filterUnits"),
    ("glyphref", "glyphRef"),
    ("gradienttransform", "gradientTransform"),
    ("gradientunits", "gradientUnits"),
    ("kernelmatrix", "kernelMatrix"),
    ("kernelunitlength", "kernelUnitLength"),
    ("keypoints", "keyPoints"),
    ("keysplines", "keySplines"),
    ("keytimes", "keyTimes"),
    ("lengthadjust", "lengthAdjust"),
    ("limitingconeangle", "limitingConeAngle"),
    ("markerheight", "markerHeight"),
    ("markerunits", "markerUnits"),
    ("markerwidth", "markerWidth"),
    ("maskcontentunits", "maskContentUnits"),
    ("maskunits", "maskUnits"),
    ("numoctaves", "numOctaves"),
    ("pathlength", "pathLength"),
    ("patterncontentunits", "patternContentUnits"),
    ("patterntransform", "patternTransform"),
    ("patternunits", "patternUnits"),
    ("pointsatx", "pointsAtX"),
    ("pointsaty", "pointsAtY"),
    ("pointsatz", "pointsAtZ"),
    ("preservealpha", "preserveAlpha"),
    ("preserveaspectratio", "preserveAspectRatio"),
    ("primitiveunits", "primitiveUnits"),
    ("refx", "refX"),
    ("refy", "refY"),
    ("repeatcount", "repeatCount"),
    ("repeatdur", "repeatDur"),
    ("requiredextensions", "requiredExtensions"),
    ("requiredfeatures", "requiredFeatures"),
    ("specularconstant", "specularConstant"),
    ("specularexponent", "specularExponent"),
    ("spreadmethod", "spreadMethod"),
    ("startoffset", "startOffset"),
    ("stddeviation", "stdDeviation"),
    ("stitchtiles", "stitchTiles"),
    ("surfacescale", "surfaceScale"),
    ("systemlanguage", "systemLanguage"),
    ("tablevalues", "tableValues"),
    ("targetx", "targetX"),
    ("targety", "targetY"),
    ("textlength", "textLength"),
    ("viewbox", "viewBox"),
    ("viewtarget", "viewTarget"),
    ("xchannelselector", "xChannelSelector"),
    ("ychannelselector", "yChannelSelector"),
    ("zoomandpan", "zoomAndPan"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found() {
        for names in [&SVG_ELEMENTS[..], &SVG_ATTRIBUTES] {
            for (lower, spelled) in names {
                assert_eq!(find(names, lower), Some(*spelled));
                assert_eq!(spelled.to_ascii_lowercase(), *lower);
            }
            assert_eq!(find(names, "viewBox"), None);
            assert_eq!(find(names, ""), None);
        }
    }
}
