//! The interface `pages`, linked by hand: the data of a page is written directly from the shared
//! page into the guest's memory, without a copy in between.

use std::mem::MaybeUninit;
use std::sync::Arc;

use orbweaver_dom::Snapshot;
use wasmtime::StoreContextMut;
use wasmtime::component::__internal::{
    CanonicalAbiInfo, InstanceType, InterfaceType, LowerContext,
};
use wasmtime::component::{ComponentType, Linker, Lower, Resource, ResourceType};

use super::bindings::VERSION;
use crate::capability::pages::{HostPage, parse};
use crate::page::{Page, PageParts};
use crate::state::State;

/// `record snapshot { words: list<u32>, text: string }`, borrowed.
#[derive(ComponentType, Lower)]
#[component(record)]
struct SnapshotRecord<'a> {
    words: &'a [u32],
    text: &'a str,
}

/// A shared snapshot that lowers as [`SnapshotRecord`]: the result of a host function must be
/// `'static`, and cloning megabytes would cost more than passing them.
struct SharedSnapshot(Arc<Snapshot>);

type AsRecord = SnapshotRecord<'static>;

impl SharedSnapshot {
    fn record(&self) -> SnapshotRecord<'_> {
        SnapshotRecord {
            words: &self.0.words,
            text: &self.0.text,
        }
    }
}

// SAFETY: every item is that of `SnapshotRecord`, whose implementation wasmtime derives; wasmtime
// implements `Arc<T>` and `&T` through `T` in the same way.
unsafe impl ComponentType for SharedSnapshot {
    type Lower = <AsRecord as ComponentType>::Lower;

    const ABI: CanonicalAbiInfo = <AsRecord as ComponentType>::ABI;
    const MAY_REQUIRE_REALLOC: bool = <AsRecord as ComponentType>::MAY_REQUIRE_REALLOC;

    fn typecheck(ty: &InterfaceType, types: &InstanceType<'_>) -> wasmtime::Result<()> {
        <AsRecord as ComponentType>::typecheck(ty, types)
    }
}

// SAFETY: as above. The lifetime of `SnapshotRecord` has no effect on its lowered form, which
// consists of integers.
unsafe impl Lower for SharedSnapshot {
    fn linear_lower_to_flat<T>(
        &self,
        cx: &mut LowerContext<'_, T>,
        ty: InterfaceType,
        dst: &mut MaybeUninit<Self::Lower>,
    ) -> wasmtime::Result<()> {
        self.record().linear_lower_to_flat(cx, ty, dst)
    }

    fn linear_lower_to_memory<T>(
        &self,
        cx: &mut LowerContext<'_, T>,
        ty: InterfaceType,
        offset: usize,
    ) -> wasmtime::Result<()> {
        self.record().linear_lower_to_memory(cx, ty, offset)
    }
}

#[derive(ComponentType, Lower)]
#[component(record)]
struct Header {
    name: String,
    value: String,
}

#[derive(ComponentType, Lower)]
#[component(record)]
struct Hop {
    url: String,
    status: u16,
}

type Borrowed = (Resource<HostPage>,);

fn page(store: &StoreContextMut<'_, State>, page: &Borrowed) -> wasmtime::Result<Arc<Page>> {
    let state = store.data();
    // No signal ends a guest that is in the host: see `interrupt`.
    state.meter.check_if_overdue()?;
    Ok(Arc::clone(state.table.get(&page.0)?.page()))
}

fn interface() -> String {
    format!("orbweaver:plugin/pages@{VERSION}")
}

const SNAPSHOT: &str = "[method]page.snapshot";

/// Links `snapshot` for stores on worker threads: the page is parsed on that thread.
pub(crate) fn add_snapshot_sync(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker
        .instance(&interface())?
        .func_wrap(SNAPSHOT, |store, this: Borrowed| {
            Ok((SharedSnapshot(Arc::clone(page(&store, &this)?.snapshot())),))
        })
}

/// Links `snapshot` for tasks: the page is parsed on another thread, and its memory and CPU time
/// are charged to the guest.
pub(crate) fn add_snapshot_async(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker
        .instance(&interface())?
        .func_wrap_async(SNAPSHOT, |mut store, (handle,): Borrowed| {
            Box::new(async move {
                let state = store.data_mut();
                let held = state.table.get_mut(&handle)?;
                let limits = held.reserve_parse()?;
                let page = Arc::clone(held.page());
                let (meter, turn) = (Arc::clone(&state.meter), Arc::clone(&state.parsing));
                parse(&page, limits, &meter, &turn).await?;
                store.data_mut().table.get_mut(&handle)?.recharge()?;
                Ok::<_, wasmtime::Error>((SharedSnapshot(Arc::clone(page.snapshot())),))
            })
        })
}

/// Links everything of `pages` except `snapshot`.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    let mut pages = linker.instance(&interface())?;
    pages.resource(
        "page",
        ResourceType::host::<HostPage>(),
        |mut store, rep| {
            store
                .data_mut()
                .table
                .delete(Resource::<HostPage>::new_own(rep))?;
            Ok(())
        },
    )?;

    pages.func_wrap("[method]page.info", |store, this: Borrowed| {
        Ok((PageInfo::of(page(&store, &this)?.parts()),))
    })?;
    pages.func_wrap("[method]page.url", |store, this: Borrowed| {
        Ok((page(&store, &this)?.parts().url.clone(),))
    })?;
    pages.func_wrap("[method]page.final-url", |store, this: Borrowed| {
        Ok((page(&store, &this)?.parts().final_url.clone(),))
    })?;
    pages.func_wrap("[method]page.status", |store, this: Borrowed| {
        Ok((status(page(&store, &this)?.parts()),))
    })?;
    pages.func_wrap("[method]page.headers", |store, this: Borrowed| {
        Ok((headers(page(&store, &this)?.parts()),))
    })?;
    pages.func_wrap("[method]page.redirects", |store, this: Borrowed| {
        Ok((redirects(page(&store, &this)?.parts()),))
    })?;
    pages.func_wrap("[method]page.size", |store, this: Borrowed| {
        Ok((page(&store, &this)?.parts().body.len() as u64,))
    })?;
    pages.func_wrap("[method]page.cost-usd", |store, this: Borrowed| {
        Ok((cost_usd(page(&store, &this)?.parts()),))
    })?;
    pages.func_wrap("[method]page.body", |store, this: Borrowed| {
        Ok((Arc::clone(&page(&store, &this)?.parts().body),))
    })?;
    pages.func_wrap(
        "[method]page.read",
        |store, (this, offset, max): (Resource<HostPage>, u64, u32)| {
            let page = page(&store, &(this,))?;
            let body = &page.parts().body;
            let start = usize::try_from(offset).map_or(body.len(), |at| at.min(body.len()));
            let end = start.saturating_add(max as usize).min(body.len());
            Ok((body.get(start..end).unwrap_or_default().to_vec(),))
        },
    )?;
    pages.func_wrap("[method]page.html", |store, this: Borrowed| {
        Ok((Arc::clone(&page(&store, &this)?.parts().html),))
    })
}

#[derive(ComponentType, Lower)]
#[component(record)]
struct PageInfo {
    url: String,
    #[component(name = "final-url")]
    final_url: String,
    status: Option<u16>,
    headers: Vec<Header>,
    redirects: Vec<Hop>,
    size: u64,
    #[component(name = "cost-usd")]
    cost_usd: Option<f64>,
}

impl PageInfo {
    fn of(parts: &PageParts) -> Self {
        Self {
            url: parts.url.clone(),
            final_url: parts.final_url.clone(),
            status: status(parts),
            headers: headers(parts),
            redirects: redirects(parts),
            size: parts.body.len() as u64,
            cost_usd: cost_usd(parts),
        }
    }
}

fn status(parts: &PageParts) -> Option<u16> {
    (parts.status > 0).then_some(parts.status)
}

fn cost_usd(parts: &PageParts) -> Option<f64> {
    (parts.cost_usd > 0.0).then_some(parts.cost_usd)
}

fn headers(parts: &PageParts) -> Vec<Header> {
    let headers = parts.headers.iter();
    headers
        .map(|(name, value)| Header {
            name: name.clone(),
            value: value.clone(),
        })
        .collect()
}

fn redirects(parts: &PageParts) -> Vec<Hop> {
    let hops = parts.redirects.iter();
    hops.map(|hop| Hop {
        url: hop.url.clone(),
        status: hop.status,
    })
    .collect()
}
