//! What a scan costs.

use orbweaver_accounts::quota::{QuotaError, Reservation};
use orbweaver_core::ids::ProjectId;
use orbweaver_store::{Amount, CloudMode, NewUsage};

use crate::context::Scans;

/// Under what a scan is billed.
#[derive(Debug)]
pub struct Bill {
    /// Unique per chargeable call.
    pub token: String,
    /// Which call.
    pub call: &'static str,
    /// Billed even without a response.
    pub always: bool,
    /// What is set aside for it already; `None`: the scan reserves for itself.
    pub reserved: Option<Reservation>,
}

/// What a scan costs once it is done.
pub(crate) struct Charge {
    reserved: Reservation,
    /// Set aside later, for what turned out to be needed besides; given back when the
    /// usage is booked.
    besides: Vec<Reservation>,
    token: String,
    call: &'static str,
    pub(crate) amount: Amount,
    pub(crate) cost_micros: u64,
}

impl Charge {
    /// Of a scan that costs `amount` as far as is known, for which `reserved` is set aside.
    pub(crate) const fn new(
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
            cost_micros: 0,
        }
    }

    pub(crate) fn usage(&mut self) -> NewUsage {
        self.reserved
            .usage(self.token.clone(), self.call, self.amount, self.cost_micros)
    }

    /// Sets one more cloud page aside.
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

    /// The page came from where this mode goes.
    pub(crate) fn came_by(&mut self, mode: CloudMode) {
        self.amount = base_amount(mode);
    }
}

/// What a page costs by where it came from, cached or not.
pub(crate) fn base_amount(mode: CloudMode) -> Amount {
    match mode {
        CloudMode::Browser | CloudMode::Unblocker => Amount::cloud(1),
        CloudMode::None | CloudMode::Auto => Amount::pages(1),
    }
}
