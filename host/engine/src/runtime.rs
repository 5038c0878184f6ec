//! The two wasmtime engines, their linkers, and the clock that interrupts guests.

use std::sync::Arc;
use std::thread;

use wasmtime::component::Linker;
use wasmtime::{
    Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig,
};

use crate::config::EngineConfig;
use crate::grants::Effective;
use crate::inspect::{POOL_CORE_INSTANCES, POOL_TABLE_ELEMENTS, POOL_TABLES};
use crate::meter::TICK;
use crate::state::State;
use crate::wit::v0_1_0::host;

/// The guest's stack: deep enough for recursive descent, shallow enough that runaway
/// recursion ends at once.
const MAX_WASM_STACK: usize = 512 << 10;
/// Linear memory that a slot keeps resident between calls, in bytes: zeroing the pages a
/// call touched costs less than faulting them in again.
const KEEP_RESIDENT: usize = 4 << 20;
/// The largest memory of a pooled instance, in bytes.
const POOL_MEMORY: usize = 1 << 30;

/// Where a component runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Placement {
    /// In a pool slot, through the synchronous API on the engine's worker threads:
    /// extractors in a compiled language.
    Pool,
    /// In memory of its own, as a task: whatever may wait, and whole interpreters.
    OnDemand,
}

/// Both engines.
pub(crate) struct Runtime {
    pub pool: Engine,
    pub on_demand: Engine,
    pool_linker: Linker<State>,
}

impl Runtime {
    pub fn new(config: &EngineConfig) -> wasmtime::Result<Self> {
        let pool = Engine::new(&pooled(config))?;
        let on_demand = Engine::new(
            common()
                // What passes strings between two components that were composed into one
                // uses the memories of both, and wasmtime panics where that is off.
                .wasm_multi_memory(true)
                .concurrency_support(true)
                .wasm_component_model_async(true),
        )?;
        tick([pool.weak(), on_demand.weak()])?;
        let mut pool_linker = Linker::new(&pool);
        host::add_base(&mut pool_linker)?;
        crate::wasi::add_base_sync(&mut pool_linker)?;
        Ok(Self {
            pool,
            on_demand,
            pool_linker,
        })
    }

    pub fn engine(&self, placement: Placement) -> &Engine {
        match placement {
            Placement::Pool => &self.pool,
            Placement::OnDemand => &self.on_demand,
        }
    }

    /// The linker of all pooled extractors: they have no grants.
    pub fn pool_linker(&self) -> &Linker<State> {
        &self.pool_linker
    }

    /// A linker with these grants baked in.
    pub fn on_demand_linker(&self, grants: &Effective) -> wasmtime::Result<Linker<State>> {
        let mut linker = Linker::new(&self.on_demand);
        host::add_base(&mut linker)?;
        host::add_calls(&mut linker)?;
        crate::wasi::add_async(&mut linker, grants)?;
        Ok(linker)
    }
}

/// What both engines share. Features that no supported tool chain emits stay off: less
/// for a hostile binary to work with.
fn common() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(MAX_WASM_STACK)
        .async_stack_size(2 << 20)
        .memory_init_cow(true)
        .wasm_threads(false)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_relaxed_simd(false);
    config
}

fn pooled(config: &EngineConfig) -> Config {
    let instances = config.max_instances.max(1);
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
    let mut config = common();
    config
        .concurrency_support(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// Advances both epochs until both engines are gone.
fn tick(engines: [EngineWeak; 2]) -> wasmtime::Result<()> {
    let engines = Arc::new(engines);
    thread::Builder::new()
        .name("plugin-epoch".to_owned())
        .spawn(move || {
            loop {
                thread::sleep(TICK);
                let mut alive = false;
                for engine in engines.iter().filter_map(EngineWeak::upgrade) {
                    engine.increment_epoch();
                    alive = true;
                }
                if !alive {
                    return;
                }
            }
        })?;
    Ok(())
}
