//! Capabilities: the host services that a plugin may use, one module each.
//!
//! Each module is the engine's side of one service: it checks the grant, counts the budgets and
//! charges the memory before calling the trait that the server implements (`host`), in a task of its own
//! (`host_tasks`). The functions that guests import are linked in `wit`, one module per interface.

pub(crate) mod crawl_data;
pub(crate) mod extraction;
pub(crate) mod failure;
pub(crate) mod http;
pub(crate) mod job;
pub(crate) mod log;
pub(crate) mod pages;
pub(crate) mod rendering;
pub(crate) mod requests;
pub(crate) mod state;

use std::sync::Arc;

use crate::grants::EffectivePermissions;
use crate::host::Host;
use crate::host::state::PluginId;
use crate::host::work::HostWork;
use crate::limits::Limits;
use crate::memory::MemoryBudget;
use crate::meter::Meter;
use crawl_data::CrawlDataCapability;
use extraction::ExtractionCapability;
use http::HttpCapability;
use job::JobCapability;
use rendering::RenderingCapability;
use requests::RequestBudget;
use state::StateCapability;

/// The capabilities of one call, with the rest of their budgets.
pub(crate) struct Capabilities {
    pub http: HttpCapability,
    pub rendering: RenderingCapability,
    pub extraction: ExtractionCapability,
    pub crawl_data: CrawlDataCapability,
    pub state: StateCapability,
    pub job: JobCapability,
    requests: Arc<RequestBudget>,
}

impl Capabilities {
    pub fn new(
        host: &Arc<dyn Host>,
        grants: &Arc<EffectivePermissions>,
        limits: &Limits,
        memory: &Arc<MemoryBudget>,
        plugin: PluginId,
        meter: &Arc<Meter>,
        account: &HostWork,
    ) -> Self {
        let requests = Arc::new(RequestBudget::new(limits, Arc::clone(memory)));
        Self {
            http: HttpCapability::new(host, grants, limits, &requests, meter),
            rendering: RenderingCapability::new(host, grants, &requests, meter),
            extraction: ExtractionCapability::new(host, grants, account, memory, meter),
            crawl_data: CrawlDataCapability::new(host, grants, &requests, account, meter),
            state: StateCapability::new(host, grants, plugin, meter),
            job: JobCapability::new(host, limits.wall(), meter),
            requests,
        }
    }

    /// Number of requests passed to the host so far, including renders.
    pub fn requests_made(&self) -> u32 {
        self.requests.made()
    }
}
