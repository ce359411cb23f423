//! Sets of CPUs, each kept once.
//!
//! Invariants. Two ids that one index gave are equal exactly when their sets are.

use super::ids::SpanId;
use crate::cpumask::CpuMask;
use crate::table::Table;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Finds a set's id by its content; needed only while a tree is built.
#[derive(Default)]
pub(super) struct SpanIndex {
    ids: BTreeMap<Vec<u64>, SpanId>,
}

impl SpanIndex {
    /// The id of the set in `spans`, a new one at its first sight.
    pub(super) fn intern(&mut self, spans: &mut Table<SpanId, CpuMask>, mask: &CpuMask) -> SpanId {
        if let Some(&id) = self.ids.get(mask.words()) {
            return id;
        }
        let id = spans.push(mask.clone());
        self.ids.insert(mask.words().to_vec(), id);
        id
    }
}
