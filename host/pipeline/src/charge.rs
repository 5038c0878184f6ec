//! The charge of work: its pages, and what others are paid for it.

use std::sync::Arc;

use orbweaver_accounts::quota::{QuotaError, Reservation};
use orbweaver_accounts::random;
use orbweaver_core::ids::{PageId, ProjectId};
use orbweaver_store::{Amount, CloudMode, NewPage, Store, StoreError};

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

/// The charge of work, known in full when it ends. Dropped before that, because nobody waits for the work
/// any more or it panicked, it bills what was paid, without pages.
#[derive(Debug)]
pub struct Charge {
    store: Store,
    reserved: Reservation,
    /// Reservations added later for further cloud pages; released when the usage is
    /// recorded.
    besides: Vec<Reservation>,
    token: String,
    call: &'static str,
    /// The pages of the whole work.
    pub amount: Amount,
    /// What was paid, whatever comes of it.
    pub spent: Spent,
    /// How much of that is billed.
    billed_micros: u64,
}

impl Charge {
    /// For work of `amount` pages, with its reservation `reserved`.
    pub fn new(
        store: &Store,
        reserved: Reservation,
        token: String,
        call: &'static str,
        amount: Amount,
    ) -> Self {
        Self {
            store: store.clone(),
            reserved,
            besides: Vec::new(),
            token,
            call,
            amount,
            spent: Spent::default(),
            billed_micros: 0,
        }
    }

    /// Pages that are reserved and not yet billed.
    pub fn left(&self) -> Amount {
        self.reserved.left()
    }

    /// Bills the work.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn bill(&mut self) -> Result<(), StoreError> {
        self.save(None).await.map(drop)
    }

    /// Bills the work, together with its page where that is new. Returns the page that is stored.
    pub(crate) async fn save(
        &mut self,
        page: Option<NewPage>,
    ) -> Result<Option<PageId>, StoreError> {
        let (token, cost) = (self.token.clone(), self.unbilled_micros());
        self.write(page, token, self.amount, cost).await
    }

    /// Bills a part of the work.
    pub(crate) async fn bill_part(
        &mut self,
        token: String,
        amount: Amount,
        cost_micros: u64,
    ) -> Result<(), StoreError> {
        let written = self.write(None, token, amount, cost_micros).await;
        written.map(drop)
    }

    /// Bills what was paid and is not billed with the work, without pages.
    ///
    /// # Errors
    /// When the database fails.
    #[crate::boxed]
    pub async fn bill_in_vain(&mut self) -> Result<(), StoreError> {
        let cost = self.unbilled_micros();
        if cost == 0 {
            return Ok(());
        }
        let token = cost_token(&self.token);
        let written = self.write(None, token, Amount::default(), cost).await;
        written.map(drop)
    }

    fn unbilled_micros(&self) -> u64 {
        self.spent.micros().saturating_sub(self.billed_micros)
    }

    async fn write(
        &mut self,
        page: Option<NewPage>,
        token: String,
        amount: Amount,
        cost_micros: u64,
    ) -> Result<Option<PageId>, StoreError> {
        let usage = self.reserved.usage(token, self.call, amount, cost_micros);
        let billed_before = self.billed_micros;
        self.billed_micros = billed_before.saturating_add(cost_micros);
        let store = self.store.clone();
        let writing = async move {
            match page {
                Some(page) => store.save_page(page, Some(usage)).await,
                None => store.bill(usage).await.map(|()| None),
            }
        };
        let written = match cost_micros {
            0 => writing.await,
            // What was paid is written also if nobody waits for it any more.
            _ => tokio::spawn(writing)
                .await
                .unwrap_or(Err(StoreError::Closed)),
        };
        if written.is_err() {
            self.billed_micros = billed_before;
        }
        written
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

impl Drop for Charge {
    fn drop(&mut self) {
        let cost = self.unbilled_micros();
        if cost == 0 {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let token = cost_token(&self.token);
        let usage = self
            .reserved
            .usage(token, self.call, Amount::default(), cost);
        let store = self.store.clone();
        runtime.spawn(async move {
            if let Err(error) = store.bill(usage).await {
                tracing::error!(%error, "cannot bill what was paid for abandoned work");
            }
        });
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
