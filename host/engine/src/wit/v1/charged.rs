//! Passes to a guest what is charged to its call: the charge ends when the guest has its copy.

use std::mem::MaybeUninit;

use wasmtime::component::__internal::{
    CanonicalAbiInfo, InstanceType, InterfaceType, LowerContext,
};
use wasmtime::component::{ComponentType, Lower};

use crate::memory::Charged;

// SAFETY: every item is that of `T`, as of wasmtime's own `Arc<T>`.
unsafe impl<T: ComponentType> ComponentType for Charged<T> {
    type Lower = T::Lower;

    const ABI: CanonicalAbiInfo = T::ABI;
    const MAY_REQUIRE_REALLOC: bool = T::MAY_REQUIRE_REALLOC;

    fn typecheck(ty: &InterfaceType, types: &InstanceType<'_>) -> wasmtime::Result<()> {
        T::typecheck(ty, types)
    }
}

// SAFETY: as above.
unsafe impl<T: Lower> Lower for Charged<T> {
    fn linear_lower_to_flat<U>(
        &self,
        cx: &mut LowerContext<'_, U>,
        ty: InterfaceType,
        dst: &mut MaybeUninit<Self::Lower>,
    ) -> wasmtime::Result<()> {
        (**self).linear_lower_to_flat(cx, ty, dst)
    }

    fn linear_lower_to_memory<U>(
        &self,
        cx: &mut LowerContext<'_, U>,
        ty: InterfaceType,
        offset: usize,
    ) -> wasmtime::Result<()> {
        (**self).linear_lower_to_memory(cx, ty, offset)
    }
}
