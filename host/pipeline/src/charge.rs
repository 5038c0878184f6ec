//! The charge of a scan.

use std::sync::Arc;

use orbweaver_accounts::quota::{QuotaError, Reservation};
use orbweaver_accounts::random;
use orbweaver_core::ids::ProjectId;
use orbweaver_store::{Amount, CloudMode, NewUsage};

use crate::answer_budget::AnswerBudget;
use crate::cloud::Spent;
use crate::context::Scans;

/// How a scan is billed.
#[derive(Debug)]
pub struct Bill {
    /// Billing token, unique per chargeable call.
    pub token: String,
    /// Name of the call in usage events.
    pub call: &'static str,
    /// Whether it is billed even without a response.
    pub always: bool,
    /// The reservation made by the caller; `None`: the scan makes its own.
    pub reserved: Option<Reservation>,
    /// The answer that has to have room for the result; without room nothing is billed.
    pub room: Option<Arc<AnswerBudget>>,
}

/// The charge of a scan, known in full when it ends.
pub(crate) struct Charge {
    reserved: Reservation,
    /// Reservations added later for further cloud pages; released when the usage is
    /// recorded.
    besides: Vec<Reservation>,
    token: String,
    call: &'static str,
    pub(crate) amount: Amount,
    /// What was paid, whatever comes of it.
    pub(crate) spent: Spent,
}

impl Charge {
    /// For a scan whose known cost is `amount`, with its reservation `reserved`.
    pub(crate) fn new(
        reserved: Reservation,
        token: String,
        call: &'static str,
        amount: Amount,
    ) -> Self {
        Self {
            reserved,
            besides: Vec::new(),
            token,
            call,
            amount,
            spent: Spent::default(),
        }
    }

    pub(crate) fn usage(&mut self) -> NewUsage {
        let cost = self.spent.micros();
        self.reserved
            .usage(self.token.clone(), self.call, self.amount, cost)
    }

    /// The usage of a scan that failed: what was paid for it, without pages. `None` if that is nothing.
    pub(crate) fn paid_in_vain(&mut self) -> Option<NewUsage> {
        let cost = self.spent.micros();
        let token = cost_token(&self.token);
        let usage = self
            .reserved
            .usage(token, self.call, Amount::default(), cost);
        (cost > 0).then_some(usage)
    }

    /// Reserves one more cloud page.
    pub(crate) async fn reserve_cloud(
        &mut self,
        scans: &Scans,
        project: ProjectId,
    ) -> Result<(), QuotaError> {
        let more = Amount::cloud(1);
        let reserved = scans.quota.reserve_for(project, more, &self.token).await?;
        self.besides.push(reserved);
        Ok(())
    }

    /// Records the mode by which the page was fetched.
    pub(crate) fn came_by(&mut self, mode: CloudMode) {
        self.amount = base_amount(mode);
    }
}

/// The token of what was paid for work that failed. It is another one than the work's, which a retry
/// may do and be billed for, and each time a new one, because each time was paid for.
pub fn cost_token(of_work: &str) -> String {
    format!("{of_work}#cost:{:016x}", random::seed())
}

/// Cost of a page by how it was fetched, cached or not.
pub(crate) fn base_amount(mode: CloudMode) -> Amount {
    match mode {
        CloudMode::Browser | CloudMode::Unblocker => Amount::cloud(1),
        CloudMode::None | CloudMode::Auto => Amount::pages(1),
    }
}
