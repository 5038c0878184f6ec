//! Fetches a page through the host and asks the host's `metadata` plugin for its title.

use orbweaver_sdk::{Error, http};
use serde::{Deserialize, Serialize};

orbweaver_sdk::actor! { run: run }

#[derive(Deserialize)]
struct Input {
    url: String,
}

#[derive(Serialize)]
struct Output {
    status: u16,
    title: Option<String>,
}

async fn run(input: Input) -> Result<Output, Error> {
    let page = http::get(&input.url).await?;
    let metadata = orbweaver_sdk::extract("metadata", &page, "{}")?;
    let metadata: orbweaver_sdk::serde_json::Value = orbweaver_sdk::serde_json::from_str(&metadata)?;
    Ok(Output { status: page.status(), title: metadata["title"].as_str().map(str::to_owned) })
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
    fn the_title_is_told() {
        let _web = install(Web);
        let output = block_on(super::run(super::Input { url: "https://example.com/".to_owned() }));
        assert_eq!(output.unwrap().title.as_deref(), Some("A web"));
    }
}
