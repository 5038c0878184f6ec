//! Memory that a guest has from the start, so that it need not grow.

use wasm_encoder::Encode as _;
use wasmparser::{
    FunctionBody, ImportSectionReader, MemoryType, Operator, Parser, Payload, TypeRef,
};

/// Pages of 64 KiB that a growing memory gets from the start: what the shipped extractors take for
/// a page of 300 KB. They cost nothing until they are written to.
pub(crate) const RESERVED_PAGES: u32 = 64;

/// Pages by which a memory grows at least; a power of two.
pub(crate) const STEP_PAGES: u32 = 16;

/// How a module's memory gets [`RESERVED_PAGES`].
#[derive(Default)]
pub(super) struct Reserve {
    /// The module's own memory.
    pub memory: Option<MemoryType>,
    /// Number of its globals, imported ones included: the index of the added one.
    pub globals: u32,
    /// Whether it has a section of globals.
    pub has_section: bool,
}

impl Reserve {
    /// Whether the memory is the module's own, and none of a later standard.
    pub fn is_possible(&self) -> bool {
        self.memory.is_some_and(|memory| {
            !memory.memory64 && !memory.shared && memory.page_size_log2.is_none()
        })
    }

    /// The section of memories.
    pub fn memories(&self) -> Option<Vec<u8>> {
        let memory = self.memory?;
        let most = memory.maximum.unwrap_or(u64::MAX);
        let minimum = memory.initial.max(u64::from(RESERVED_PAGES).min(most));
        let mut out = vec![1];
        wasm_encoder::MemoryType {
            minimum,
            maximum: memory.maximum,
            memory64: false,
            shared: false,
            page_size_log2: None,
        }
        .encode(&mut out);
        Some(out)
    }

    /// The global that counts the pages that the guest knows of.
    pub fn global(&self) -> Vec<u8> {
        let pages = self.memory.map_or(0, |memory| memory.initial);
        let mut out = Vec::new();
        wasm_encoder::GlobalType {
            val_type: wasm_encoder::ValType::I32,
            mutable: true,
            shared: false,
        }
        .encode(&mut out);
        // At most 65,536.
        let pages = i32::try_from(pages).unwrap_or(i32::MAX);
        wasm_encoder::ConstExpr::i32_const(pages).encode(&mut out);
        out
    }
}

/// Whether a module of the component asks for the size of a memory that it imports, or grows it. The
/// module that has the memory would not know of that: both would take the same pages for their own.
pub(super) fn is_shared(component: &[u8]) -> bool {
    let mut imports_memory = false;
    for payload in Parser::new(0).parse_all(component) {
        match payload {
            Ok(Payload::ModuleSection { .. }) => imports_memory = false,
            Ok(Payload::ImportSection(imports)) => {
                let mut imports = imports.into_imports().filter_map(Result::ok);
                imports_memory = imports.any(|import| matches!(import.ty, TypeRef::Memory(_)));
            }
            Ok(Payload::CodeSectionEntry(body)) if imports_memory && counts_pages(&body) => {
                return true;
            }
            Ok(_) => {}
            // It does not compile either.
            Err(_) => return false,
        }
    }
    false
}

fn counts_pages(body: &FunctionBody<'_>) -> bool {
    let Ok(operators) = body.get_operators_reader() else {
        return false;
    };
    let counts = |operator| {
        matches!(
            operator,
            Operator::MemorySize { .. } | Operator::MemoryGrow { .. }
        )
    };
    operators.into_iter().filter_map(Result::ok).any(counts)
}

/// Number of globals that a module imports; `None` if it is damaged.
pub(super) fn imported_globals(imports: ImportSectionReader<'_>) -> Option<u32> {
    let mut globals = 0;
    for import in imports.into_imports() {
        globals += u32::from(matches!(import.ok()?.ty, TypeRef::Global(_)));
    }
    Some(globals)
}

/// Whether a section of this id follows that of the globals: exports, start, elements, code, data
/// and its count.
pub(super) fn is_after_globals(section: u8) -> bool {
    (7..=12).contains(&section)
}
