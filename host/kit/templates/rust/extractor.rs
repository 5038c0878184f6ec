//! Counts the images of a page, and those without alternative text.

use orbweaver_sdk::dom::{attr, tag};
use orbweaver_sdk::{Error, Page};

orbweaver_sdk::extractor! { roles: { "{{name}}" => extract } }

/// `{"images": n, "without_alt": n}`
pub fn extract(page: &Page<'_>, _options: &str) -> Result<String, Error> {
    let (mut images, mut without_alt) = (0, 0);
    for node in page.view()?.nodes().filter(|node| node.tag() == tag::IMG) {
        images += 1;
        without_alt += u32::from(!node.has_attr(attr::ALT));
    }
    Ok(format!(
        r#"{{"images":{images},"without_alt":{without_alt}}}"#
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_image_without_alt_is_counted() {
        let html = r#"<img src=a.png alt="A"><img src=b.png>"#;
        let answer =
            orbweaver_sdk::testing::extract(super::extract, "https://example.com/", html, "");
        assert_eq!(answer.unwrap(), r#"{"images":2,"without_alt":1}"#);
    }
}
