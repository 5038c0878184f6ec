//! The host of one call of an actor or a fetcher, outside the service.

use std::sync::Arc;

use async_trait::async_trait;
use orbweaver_engine::{
    CallProgress, CodedError, Engine, ExtractionHost, FetchRequest, Host, HostWork, HttpHost,
    JobContext, JobHost, Page, RenderingHost, StateHost, WaitFor,
};
use orbweaver_pipeline::readable_page;
use parking_lot::Mutex;
use serde_json::Value;

use crate::report::HostCall;
use crate::state::Values;
use crate::web::Web;

/// Longest item that an actor may emit, in bytes: the service's default.
const MAX_ITEM_BYTES: usize = 256 << 10;

/// The host of one call. It notes what is asked of it.
pub(crate) struct CallHost {
    engine: Engine,
    web: Arc<Web>,
    values: Values,
    calls: Mutex<Vec<HostCall>>,
    items: Mutex<Vec<Value>>,
}

impl CallHost {
    pub fn new(engine: Engine, web: Arc<Web>) -> Self {
        Self {
            engine,
            web,
            values: Values::default(),
            calls: Mutex::default(),
            items: Mutex::default(),
        }
    }

    /// What was asked so far.
    pub fn calls(&self) -> Vec<HostCall> {
        self.calls.lock().clone()
    }

    /// What was emitted so far.
    pub fn items(&self) -> Vec<Value> {
        self.items.lock().clone()
    }

    fn note<T>(
        &self,
        asked: String,
        answer: &Result<T, CodedError>,
        got: impl FnOnce(&T) -> String,
    ) {
        self.calls.lock().push(HostCall {
            asked,
            got: match answer {
                Ok(answer) => got(answer),
                Err(error) => format!("{}: {error}", error.code),
            },
            is_failure: answer.is_err(),
        });
    }
}

/// A page in one line.
pub(crate) fn page_line(page: &Arc<Page>) -> String {
    let parts = page.parts();
    let mut line = format!("{}, {} bytes", parts.status, parts.body.len());
    if parts.final_url != parts.url {
        line.push_str(", from ");
        line.push_str(&parts.final_url);
    }
    line
}

impl Host for CallHost {
    fn http(&self) -> Option<&dyn HttpHost> {
        Some(self)
    }

    fn rendering(&self) -> Option<&dyn RenderingHost> {
        Some(self)
    }

    fn extraction(&self) -> Option<&dyn ExtractionHost> {
        Some(self)
    }

    fn state(&self) -> Option<&dyn StateHost> {
        Some(&self.values)
    }

    fn job(&self) -> Option<&dyn JobHost> {
        Some(self)
    }
}

#[async_trait]
impl HttpHost for CallHost {
    async fn fetch(&self, request: FetchRequest) -> Result<Arc<Page>, CodedError> {
        let asked = format!("{} {}", request.method, request.url);
        let answer = self.web.fetch(request).await;
        self.note(asked, &answer, page_line);
        answer
    }
}

#[async_trait]
impl RenderingHost for CallHost {
    async fn render(&self, url: &str, _wait_for: WaitFor) -> Result<Arc<Page>, CodedError> {
        let answer = self.web.render(url);
        self.note(format!("RENDER {url}"), &answer, page_line);
        answer
    }
}

#[async_trait]
impl ExtractionHost for CallHost {
    async fn extract(
        &self,
        role: &str,
        page: Arc<Page>,
        options: &str,
        account: &HostWork,
    ) -> Result<String, CodedError> {
        let asked = format!("EXTRACT {role} of {}", page.parts().final_url);
        let engine = self.engine.spending(account);
        let page = readable_page(&engine, page).await;
        let answer = engine.extract_for_plugin(role, &page, options).await;
        self.note(asked, &answer, |json| format!("{} bytes", json.len()));
        answer
    }
}

#[async_trait]
impl JobHost for CallHost {
    fn context(&self) -> JobContext {
        // The same in every call, so that calls do not differ by it.
        JobContext {
            request_id: "run".to_owned(),
            run_id: Some(1),
            attempts: 1,
            max_item_bytes: MAX_ITEM_BYTES,
        }
    }

    fn progress(&self, progress: CallProgress) {
        let total = progress
            .total
            .map_or_else(String::new, |total| format!(" of {total}"));
        let asked = format!("PROGRESS {}{total}", progress.done);
        self.note(asked, &Ok(progress.message), String::clone);
    }

    async fn emit(&self, item: String) -> Result<(), CodedError> {
        let parsed = serde_json::from_str(&item);
        let answer = parsed.map_err(|error| CodedError::invalid(format!("item: {error}")));
        self.note("EMIT".to_owned(), &answer, |_| {
            format!("{} bytes", item.len())
        });
        self.items.lock().push(answer?);
        Ok(())
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}
