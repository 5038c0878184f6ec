//! Fetches a page through the host and gets its title from the `metadata` plugin.

use orbweaver_sdk::{Error, http};
use serde::{Deserialize, Serialize};

orbweaver_sdk::actor! { run: run }

/// The input. The host checks it against the manifest's input schema.
#[derive(Deserialize)]
pub struct Input {
    /// The page's URL.
    pub url: String,
}

/// The output.
#[derive(Serialize)]
pub struct Output {
    /// The page's HTTP status.
    pub status: u16,
    /// Its title; null if there is none.
    pub title: Option<String>,
}

/// Runs one call.
pub async fn run(input: Input) -> Result<Output, Error> {
    let page = http::get(&input.url).await?;
    let metadata = orbweaver_sdk::extract("metadata", &page, "{}").await?;
    let metadata: orbweaver_sdk::serde_json::Value =
        orbweaver_sdk::serde_json::from_str(&metadata)?;
    Ok(Output {
        status: page.status(),
        title: metadata["title"].as_str().map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use orbweaver_sdk::testing::{Document, Host, block_on, install};
    use orbweaver_sdk::{Error, Page, http};

    struct Web;

    impl Host for Web {
        fn fetch(&self, request: &http::Request) -> Result<Document, Error> {
            Ok(Document::new(&request.url, "<title>A web</title>"))
        }

        fn extract(&self, _role: &str, _page: &Page<'_>, _options: &str) -> Result<String, Error> {
            Ok(r#"{"title":"A web"}"#.to_owned())
        }
    }

    #[test]
    fn the_title_is_returned() {
        let _web = install(Web);
        let output = block_on(super::run(super::Input {
            url: "https://example.com/".to_owned(),
        }));
        assert_eq!(output.unwrap().title.as_deref(), Some("A web"));
    }
}
