//! Errors of the blob store.

use object_store::Error as StoreFailure;

/// Error of a request to the blob store, or of what it answered.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The settings cannot be used; says which one and the rule.
    #[error("{0}")]
    Settings(String),
    /// The store does not have the object.
    #[error("the blob store has no object {0}")]
    Missing(String),
    /// The store refuses the credentials.
    #[error(
        "the blob store refuses {operation}: {message}; check the credentials and their rights"
    )]
    Denied {
        /// `put`, `get`, `delete` or `list`.
        operation: &'static str,
        /// The store's answer.
        message: String,
    },
    /// The store cannot be reached, or fails, or lacks its bucket; the request may succeed later.
    #[error("the blob store failed at {operation}: {message}")]
    Unavailable {
        /// `put`, `get`, `delete` or `list`.
        operation: &'static str,
        /// What happened.
        message: String,
    },
    /// The bytes are not those that were written.
    #[error("{segment} of the blob store is damaged: {problem}")]
    Damaged {
        /// The object's name.
        segment: String,
        /// What is wrong.
        problem: String,
    },
}

impl BlobError {
    /// Whether the same call may succeed later, because the store is unreachable, busy or
    /// misconfigured and did not reject the data.
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Denied { .. } | Self::Unavailable { .. })
    }

    fn no_bucket(operation: &'static str) -> Self {
        Self::Unavailable {
            operation,
            message: "the bucket or folder does not exist; create it, or correct --blobs \
                      (ORBWEAVER_BLOBS)"
                .to_owned(),
        }
    }

    /// The outcome, as a label of metrics.
    pub(crate) const fn outcome(&self) -> &'static str {
        match self {
            Self::Settings(_) => "settings",
            Self::Missing(_) => "missing",
            Self::Denied { .. } => "denied",
            Self::Unavailable { .. } => "unavailable",
            Self::Damaged { .. } => "damaged",
        }
    }

    /// The error of a request. A missing object is an error of reads alone: elsewhere it is the
    /// bucket that is missing.
    pub(crate) fn of(operation: &'static str, name: &str, error: StoreFailure) -> Self {
        match error {
            StoreFailure::NotFound { .. } if operation == "get" => Self::Missing(name.to_owned()),
            StoreFailure::NotFound { .. } => Self::no_bucket(operation),
            StoreFailure::PermissionDenied { source, .. }
            | StoreFailure::Unauthenticated { source, .. } => Self::Denied {
                operation,
                message: brief(&source.to_string()),
            },
            other => {
                let whole = other.to_string();
                let said = behind_url(&whole);
                // A list of a missing bucket is no error of its own in `object_store`.
                if said.contains("NoSuchBucket") {
                    return Self::no_bucket(operation);
                }
                let message = brief(&whole);
                // For lists, `object_store` does not report a refusal as such either.
                if ["401 Unauthorized", "403 Forbidden"]
                    .iter()
                    .any(|status| said.contains(status))
                {
                    return Self::Denied { operation, message };
                }
                if operation == "get" && lacks_range(&other) {
                    return Self::Damaged {
                        segment: name.to_owned(),
                        problem: message,
                    };
                }
                Self::Unavailable { operation, message }
            }
        }
    }
}

/// What happened to a request, without its URL, in which any word may occur.
pub(crate) fn behind_url(message: &str) -> &str {
    // `object_store` writes: Error performing GET URL in TIME - WHAT.
    let request = message.split_once(PERFORMING);
    let behind = request.and_then(|(_, request)| request.split_once(" - "));
    behind.map_or(message, |(_, what)| what)
}

/// How `object_store` begins to tell of a request that failed.
const PERFORMING: &str = "Error performing ";

/// Whether the object is shorter than it was: the store says so, or answers with another range
/// than the wanted one.
fn lacks_range(error: &StoreFailure) -> bool {
    /// The errors of `object_store` about a range. Those of other kinds may have paths in them.
    const BEGINNINGS: [&str; 7] = [
        "Content-Range ",
        "Failed to parse value for CONTENT_RANGE ",
        "Out of range ",
        "Range ",
        "Received non-partial response ",
        "Requested ",
        "Wanted range ",
    ];
    let StoreFailure::Generic { source, .. } = error else {
        return false;
    };
    let what = source.to_string();
    match what.contains(PERFORMING) {
        true => behind_url(&what).starts_with("Server returned non-2xx status code: 416"),
        false => BEGINNINGS
            .iter()
            .any(|beginning| what.starts_with(beginning)),
    }
}

/// Cuts a message, which may contain a whole answer of the store.
pub(crate) fn brief(message: &str) -> String {
    const MAX_CHARS: usize = 400;
    let mut short: String = message.chars().take(MAX_CHARS).collect();
    if short.len() < message.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_bucket_is_not_a_missing_object() {
        let missing = || StoreFailure::NotFound {
            path: "a".to_owned(),
            source: "no such bucket".into(),
        };
        let read = BlobError::of("get", "a", missing());
        assert!(matches!(&read, BlobError::Missing(name) if name == "a"));
        assert!(!read.is_transient());
        let written = BlobError::of("put", "a", missing());
        assert!(written.is_transient());
        assert!(written.to_string().contains("--blobs"), "{written}");
    }

    #[test]
    fn a_list_of_a_missing_bucket_names_the_setting() {
        let answer = StoreFailure::Generic {
            store: "S3",
            source: "404 Not Found: <Error><Code>NoSuchBucket</Code></Error>".into(),
        };
        let error = BlobError::of("list", "segments", answer).to_string();
        assert!(error.contains("ORBWEAVER_BLOBS"), "{error}");
    }

    #[test]
    fn only_an_answer_about_the_range_means_damage() {
        let read = |source: &str| {
            let failed = StoreFailure::Generic {
                store: "S3",
                source: source.into(),
            };
            BlobError::of("get", "a", failed)
        };
        let status = |status: &str| {
            read(&format!(
                "Error performing GET http://h/orange/segments/x in 1s, after 2 retries, \
                 max_retries: 2, retry_timeout: 5s  - Server returned non-2xx status code: {status}"
            ))
        };
        let down = [
            status("503 Service Unavailable: the range of servers is down"),
            status("500 Internal Server Error: "),
            read("Error performing GET http://range/x in 1s - HTTP error: error sending request"),
            read("Unable to read data from file /var/orange/x: Input/output error (os error 5)"),
        ];
        for error in down {
            assert!(error.is_transient(), "{error:?}");
        }
        let short = [
            status("416 Range Not Satisfiable: <Code>InvalidRange</Code>"),
            read("Requested 5..10, got 5..7"),
            read("Received non-partial response when range requested"),
            read("Wanted range starting at 5, but object was only 3 bytes long"),
            read("Out of range of file /var/x, expected: 3, actual: 1"),
        ];
        for error in short {
            assert!(matches!(error, BlobError::Damaged { .. }), "{error:?}");
        }
    }

    #[test]
    fn words_of_the_url_are_not_the_answer() {
        let failed = StoreFailure::Generic {
            store: "S3",
            source: "Error performing GET http://h/NoSuchBucket/x in 1s - Server returned non-2xx \
                     status code: 503 Service Unavailable: "
                .into(),
        };
        let error = BlobError::of("list", "segments", failed).to_string();
        assert!(!error.contains("ORBWEAVER_BLOBS"), "{error}");
    }

    #[test]
    fn messages_are_cut() {
        let long = BlobError::of(
            "put",
            "a",
            StoreFailure::Generic {
                store: "S3",
                source: "ü".repeat(10_000).into(),
            },
        );
        assert!(long.to_string().chars().count() < 500);
    }
}
