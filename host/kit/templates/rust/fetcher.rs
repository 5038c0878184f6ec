//! Returns the posts of a site, from the JSON that the site publishes.

use orbweaver_sdk::{Call, Error, http, serde_json};
use serde::{Deserialize, Serialize};

orbweaver_sdk::fetcher! { fetch: fetch }

/// Parameters of a call. The host checks them against the manifest's input schema.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Params {
    /// Most posts to return.
    pub limit: Option<usize>,
}

/// A post.
#[derive(Deserialize, Serialize)]
pub struct Post {
    /// The site's id of the post.
    pub id: u64,
    /// Its title.
    pub title: String,
}

/// Runs one call: one item per post.
pub async fn fetch(call: Call<Params>) -> Result<Vec<Post>, Error> {
    if call.path != "posts" {
        let path = &call.path;
        return Err(Error::invalid(format!(
            "path: `{path}` is unknown; use `posts`"
        )));
    }
    let page = http::get(&format!("https://{}/posts.json", call.domain)).await?;
    if page.status() != 200 {
        return Err(Error::bad_response(format_args!(
            "{} responded with status {}",
            call.domain,
            page.status()
        )));
    }
    let mut posts: Vec<Post> = serde_json::from_slice(&page.body()).map_err(Error::failed)?;
    posts.truncate(call.params.limit.unwrap_or(30));
    Ok(posts)
}

#[cfg(test)]
mod tests {
    use orbweaver_sdk::testing::{Document, Site, block_on, install};
    use orbweaver_sdk::{Call, Error};

    use super::{Params, Post, fetch};

    const POSTS: &str = r#"[{"id":1,"title":"First"},{"id":2,"title":"Second"}]"#;

    fn call(path: &str, limit: usize) -> Result<Vec<Post>, Error> {
        let posts = Document::new("https://example.com/posts.json", POSTS);
        let _web = install(Site::default().page(posts));
        block_on(fetch(Call {
            domain: "example.com".to_owned(),
            path: path.to_owned(),
            params: Params { limit: Some(limit) },
        }))
    }

    #[test]
    fn posts_are_listed_up_to_the_limit() {
        let posts = call("posts", 1).unwrap();
        assert_eq!(posts.len(), 1);
        assert_eq!(posts[0].title, "First");
    }

    #[test]
    fn an_unknown_path_is_invalid_input() {
        assert!(call("users", 1).is_err_and(|error| error.is_invalid()));
    }
}
