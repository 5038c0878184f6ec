//! Images, videos and frames.

use crate::Pattern;

patterns! {
    "images": "", "<img src=/{i} alt=a>", "";
    "images-alt-long": "<img src=a alt='", "y", "'>";
    "images-srcset": "<img srcset='", "a{i} {i}w, ", "'>";
    "images-srcset-commas": "<img srcset='", ",", "'>";
    "images-srcset-data": "<img srcset='", "data:a,", "'>";
    "images-srcset-parentheses": "<img srcset='", "a (", "'>";
    "images-picture": "<picture>", "<source srcset=a{i}>", "<img></picture>";
    "images-picture-open": "", "<picture><source srcset=a><img>", "";
    "images-data": "", "<img src=data:image/png;base64,{i} data-src=a>", "";
    "images-lazy": "<img", " data-a{i}=b", "><p>a";
    "images-figure": "", "<figure><img src=a{i}><figcaption>b</figcaption></figure>", "";
    "videos": "", "<video><source src=a{i}></video>", "";
    "videos-open": "", "<video><source src=a>", "";
    "objects-open": "", "<object data=a>", "";
    "objects-embed": "", "<object><param name=movie value=a><embed src=b></object>", "";
    "iframes": "", "<iframe src=/{i}></iframe>", "";
    "iframe-open": "", "<iframe>", "";
    "frames": "<frameset>", "<frame src=a>", "";
    "framesets": "", "<frameset>", "";
    "audio-open": "", "<audio controls><a href=x>b", "";
    "canvas-open": "", "<canvas>a", "";
    "map-open": "", "<map name=a{i}><area href=b>", "";
}
