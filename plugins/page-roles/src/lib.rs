//! The roles of a scan as one component. The build makes a plugin of each by embedding the manifest of
//! its folder (`extract-article/plugin.toml` and so on). Since these plugins have the same code, the host
//! runs them on a page in one instance, which gets the document once; a plugin that is replaced by
//! another one runs on its own.

orbweaver_sdk::extractor! {
    manifest: none,
    roles: {
        "article" => orbweaver_extract_article::extract,
        "links" => orbweaver_extract_links::extract,
        "markdown" => orbweaver_extract_markdown::extract,
        "metadata" => orbweaver_extract_metadata::extract,
        "signals" => orbweaver_extract_signals::extract,
        "structured-data" => orbweaver_extract_structured_data::extract,
    }
}
