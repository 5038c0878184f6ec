//! The interface `secret-http`.

use wasmtime::component::Resource;

use super::bindings::actor::orbweaver::plugin::secret_http;
use super::bindings::extractor::orbweaver::plugin::types;
use crate::capability::http::GuestRequest;
use crate::capability::pages::HostPage;
use crate::host::http::SecretHeader;
use crate::state::State;

impl secret_http::Host for State {
    async fn send_many(
        &mut self,
        requests: Vec<secret_http::SecretRequest>,
        concurrency: u32,
    ) -> wasmtime::Result<Vec<Result<Resource<HostPage>, types::Error>>> {
        let requests = requests.into_iter().map(GuestRequest::from).collect();
        let capabilities = self.capabilities()?;
        let pages = capabilities.http.fetch_many(requests, concurrency).await?;
        self.answers(pages)
    }
}

impl From<secret_http::SecretRequest> for GuestRequest {
    fn from(request: secret_http::SecretRequest) -> Self {
        let secret = |secret: secret_http::SecretHeader| SecretHeader {
            name: secret.name,
            prefix: secret.prefix,
            secret: secret.secret,
        };
        Self {
            method: request.method,
            url: request.url,
            headers: super::http::pairs(request.headers),
            body: request.body,
            follow_redirects: request.follow_redirects,
            respect_robots: request.respect_robots,
            timeout_ms: request.timeout_ms,
            secrets: request.secrets.into_iter().map(secret).collect(),
        }
    }
}
