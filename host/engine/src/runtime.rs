//! The two `wasmtime::Engine`s, their linkers, and the stores of calls.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wasmtime::component::Linker;
use wasmtime::{
    Config, Enabled, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
    UpdateDeadline,
};

use crate::config::EngineConfig;
use crate::grants::EffectivePermissions;
use crate::host::HookHosts;
use crate::host::work::HostWork;
use crate::inspect::{POOL_CORE_INSTANCES, POOL_TABLE_ELEMENTS, POOL_TABLES};
use crate::interrupt::{Interrupter, RETRY, is_supported};
use crate::journal::Journal;
use crate::limits::Limits;
use crate::memory::MemoryBudget;
use crate::pool_slots::PoolSlots;
use crate::state::State;
use crate::ticker::{TICK, Ticker};
use crate::wit::v1::linker;

/// Stack size of a guest: enough for recursive descent, small enough that infinite recursion ends
/// quickly.
const MAX_WASM_STACK: usize = 512 << 10;
/// Bytes of linear memory that a slot keeps resident between calls: zeroing the touched pages
/// costs less than page faults.
const KEEP_RESIDENT: usize = 4 << 20;
/// The largest memory of a pooled instance, in bytes.
const POOL_MEMORY: usize = 1 << 30;

/// How a component runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Placement {
    /// In a pool slot, through the synchronous API on the engine's worker threads: extractors in
    /// compiled languages.
    Pool,
    /// With its own memory, as an asynchronous task: guests that may wait, and interpreters.
    OnDemand,
}

/// Both of wasmtime's engines.
pub(crate) struct Runtime {
    pool: wasmtime::Engine,
    on_demand: wasmtime::Engine,
    pool_linker: Linker<State>,
    /// One for each instance that the pool has room for.
    pub pool_slots: PoolSlots,
    counts_fuel: bool,
    /// CPU time of the host for a call, where the call's own limit is not higher.
    host_cpu: Duration,
    /// Interrupts guests; stands still while none runs.
    pub ticker: Ticker,
    /// Takes what happens in calls, once it is set.
    pub journal: OnceLock<Arc<dyn Journal>>,
    /// What hooks with state ask, once it is set.
    pub hook_hosts: OnceLock<Arc<dyn HookHosts>>,
    /// Stops guests of the pool; `None` where their code checks epochs.
    pub interrupter: Option<Arc<Interrupter>>,
}

impl Runtime {
    pub fn new(config: &EngineConfig) -> wasmtime::Result<Self> {
        let pool = wasmtime::Engine::new(&pooled(config)?)?;
        let on_demand = wasmtime::Engine::new(&on_demand(config)?)?;
        let interrupter = match is_supported() {
            true => Some(Arc::new(Interrupter::new(&pool)?)),
            false => None,
        };
        let engines = [pool.weak(), on_demand.weak()];
        let to_interrupt = interrupter.clone();
        let ticker = Ticker::start(move || {
            for engine in engines.iter().filter_map(EngineWeak::upgrade) {
                engine.increment_epoch();
            }
            match &to_interrupt {
                Some(interrupter) if interrupter.tick() => RETRY,
                _ => TICK,
            }
        })?;
        let mut pool_linker = Linker::new(&pool);
        linker::add_extractor_interfaces(&mut pool_linker)?;
        crate::wasi::add_base_sync(&mut pool_linker)?;
        Ok(Self {
            pool,
            on_demand,
            pool_linker,
            pool_slots: PoolSlots::new(pool_instances(config)),
            counts_fuel: config.count_fuel,
            host_cpu: config.host_cpu_ms.as_duration(),
            ticker,
            journal: OnceLock::new(),
            hook_hosts: OnceLock::new(),
            interrupter,
        })
    }

    /// What the host may do for one call with these limits, and this memory.
    pub fn host_work(&self, limits: &Limits, memory: &Arc<MemoryBudget>) -> HostWork {
        HostWork::of_call(self.host_cpu.max(limits.cpu()), memory)
    }

    pub fn engine(&self, placement: Placement) -> &wasmtime::Engine {
        match placement {
            Placement::Pool => &self.pool,
            Placement::OnDemand => &self.on_demand,
        }
    }

    /// Bytes that the pool's unused slots keep resident for the next calls.
    pub fn spare_bytes(&self) -> usize {
        self.pool.pooling_allocator_metrics().map_or(0, |pool| {
            let memories = pool.unused_memory_bytes_resident();
            memories + pool.unused_table_bytes_resident()
        })
    }

    /// The linker of all pooled extractors, which have no grants.
    pub fn pool_linker(&self) -> &Linker<State> {
        &self.pool_linker
    }

    /// A linker for these grants.
    pub fn on_demand_linker(
        &self,
        grants: &EffectivePermissions,
    ) -> wasmtime::Result<Linker<State>> {
        let mut linker = Linker::new(&self.on_demand);
        linker::add_task_interfaces(&mut linker)?;
        crate::wasi::add_async(&mut linker, grants)?;
        Ok(linker)
    }

    /// A store for one call, with the call's limits. A guest whose code checks epochs is checked at
    /// every tick; a task also yields to others then.
    pub fn store(
        &self,
        placement: Placement,
        state: State,
        limits: &Limits,
    ) -> wasmtime::Result<Store<State>> {
        let mut store = Store::new(self.engine(placement), state);
        let bytes = limits.host_call_bytes().max(limits.output_bytes());
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(usize::try_from(bytes).unwrap_or(usize::MAX));
        // Besides host resources, the guest needs handles of its own.
        store.set_max_component_handles((limits.handles as usize).saturating_add(64));
        if self.counts_fuel {
            store.set_fuel(u64::MAX)?;
        }
        if placement == Placement::Pool && self.interrupter.is_some() {
            return Ok(store);
        }
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |store| {
            store.data().meter.check()?;
            Ok(match placement {
                Placement::Pool => UpdateDeadline::Continue(1),
                Placement::OnDemand => UpdateDeadline::Yield(1),
            })
        });
        Ok(store)
    }

    /// Fuel used by this store so far; 0 unless fuel is counted.
    pub fn fuel_used(&self, store: &Store<State>) -> u64 {
        if !self.counts_fuel {
            return 0;
        }
        store.get_fuel().map_or(0, |left| u64::MAX - left)
    }
}

/// Settings of both engines. Features that no supported tool chain uses are disabled, to reduce
/// the attack surface.
fn common(engine: &EngineConfig) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    if engine.portable_code {
        target_any_recent_processor(&mut config)?;
    }
    config
        .consume_fuel(engine.count_fuel)
        .epoch_interruption(true)
        .max_wasm_stack(MAX_WASM_STACK)
        .async_stack_size(2 << 20)
        .memory_init_cow(true)
        .wasm_threads(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false);
    Ok(config)
}

/// Features of a processor of level `x86-64-v3` (System V ABI): Intel since 2013, AMD since 2015.
#[cfg(target_arch = "x86_64")]
const RECENT_FEATURES: &[&str] = &[
    "has_sse3",
    "has_ssse3",
    "has_sse41",
    "has_sse42",
    "has_popcnt",
    "has_cmpxchg16b",
    "has_avx",
    "has_avx2",
    "has_bmi1",
    "has_bmi2",
    "has_fma",
    "has_lzcnt",
];
/// On other architectures only the features of the first version are used.
#[cfg(not(target_arch = "x86_64"))]
const RECENT_FEATURES: &[&str] = &[];

/// Compiles for any recent processor of this architecture instead of only for this machine's.
/// If the target is named, wasmtime does not detect the features of this processor.
fn target_any_recent_processor(config: &mut Config) -> wasmtime::Result<()> {
    let libc = if cfg!(target_env = "musl") {
        "musl"
    } else {
        "gnu"
    };
    let target = format!("{}-unknown-linux-{libc}", std::env::consts::ARCH);
    config.target(&target)?;
    for feature in RECENT_FEATURES {
        // SAFETY: the code is only wrong on a processor without the feature, and there wasmtime
        // refuses to load it.
        unsafe { config.cranelift_flag_enable(feature) };
    }
    Ok(())
}

fn pool_instances(config: &EngineConfig) -> u32 {
    config.max_instances.max(1)
}

/// The settings of [`Placement::OnDemand`].
pub(crate) fn on_demand(config: &EngineConfig) -> wasmtime::Result<Config> {
    let mut common = common(config)?;
    common
        // Adapters between two components composed into one access the memories of both,
        // and wasmtime panics if that is disabled.
        .wasm_multi_memory(true)
        .concurrency_support(true)
        .wasm_component_model_async(true);
    Ok(common)
}

/// The settings of [`Placement::Pool`].
pub(crate) fn pooled(config: &EngineConfig) -> wasmtime::Result<Config> {
    let instances = pool_instances(config);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(POOL_CORE_INSTANCES))
        .max_core_instances_per_component(POOL_CORE_INSTANCES)
        .total_memories(instances)
        .max_memories_per_component(1)
        .total_tables(instances.saturating_mul(POOL_TABLES))
        .max_tables_per_component(POOL_TABLES)
        .table_elements(usize::try_from(POOL_TABLE_ELEMENTS).unwrap_or(usize::MAX))
        .max_memory_size(POOL_MEMORY)
        .max_unused_warm_slots(instances)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto);
    let mut common = common(config)?;
    common
        .epoch_interruption(!is_supported())
        .concurrency_support(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Ok(common)
}
