//! Metrics of requests, with handles that are looked up once per route and status.

use std::collections::HashMap;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::Method;
use metrics::{Counter, Histogram};

/// Counters and histograms by method, route and status. Clients may send any path and method, so
/// only known ones become labels.
pub(super) struct Measures {
    routes: matchit::Router<usize>,
    names: Vec<String>,
    handles: ArcSwap<HashMap<Key, Handles>>,
}

type Key = (&'static str, usize, u16);

#[derive(Clone)]
struct Handles {
    requests: Counter,
    seconds: Histogram,
}

const METHODS: [Method; 7] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::HEAD,
    Method::OPTIONS,
];
const METHOD_NAMES: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

impl Measures {
    /// For these routes, in axum's notation.
    pub(super) fn new(paths: Vec<String>) -> Self {
        let mut routes = matchit::Router::new();
        for (index, path) in paths.iter().enumerate() {
            if let Err(error) = routes.insert(path.as_str(), index) {
                tracing::warn!(path, %error, "cannot record the metrics of a route");
            }
        }
        Self {
            routes,
            names: paths,
            handles: ArcSwap::default(),
        }
    }

    pub(super) fn record(&self, method: &Method, path: &str, status: u16, elapsed: Duration) {
        let known = METHODS.iter().position(|known| known == method);
        let method = known
            .and_then(|at| METHOD_NAMES.get(at))
            .copied()
            .unwrap_or("other");
        let route = self
            .routes
            .at(path)
            .map_or(self.names.len(), |found| *found.value);
        let key = (method, route, status);
        let handles = self.handles.load();
        match handles.get(&key) {
            Some(handles) => handles.record(elapsed),
            None => self.register(key).record(elapsed),
        }
    }

    fn register(&self, key: Key) -> Handles {
        let (method, route, status) = key;
        let route = self.names.get(route).map_or("other", String::as_str);
        let labels = [
            ("method", method.to_owned()),
            ("route", route.to_owned()),
            ("status", status.to_string()),
        ];
        let handles = Handles {
            requests: metrics::counter!("orbweaver_http_requests_total", &labels),
            seconds: metrics::histogram!("orbweaver_http_request_seconds", &labels),
        };
        self.handles.rcu(|known| {
            let mut next = HashMap::clone(known);
            next.insert(key, handles.clone());
            next
        });
        handles
    }
}

impl Handles {
    fn record(&self, elapsed: Duration) {
        self.requests.increment(1);
        self.seconds.record(elapsed.as_secs_f64());
    }
}
