//! Caches: their sizes, and what a task pays to warm them up again.
//!
//! Model. A task with a working set of W bytes keeps its hottest `min(W, S_i)` bytes in each level
//! i of size S_i (L1d, L2, LLC). While it is away, others bring F_i bytes through level i; the
//! least recently used bytes, its own, give way once the level is full:
//!
//! ```text
//! resident_i = min(W, S_i)
//! lost_i     = min(resident_i, max(0, F_i - (S_i - resident_i)))     level i is shared with where it ran
//!            = resident_i                                            it is not
//! refill     = Σ_i lines(lost_i) × (cost_{i+1} - cost_i) / overlap
//! ```
//!
//! A line lost from level i is found one level further out, or further still if it is lost there
//! too; each level crossed adds the difference of the two levels' costs, so the sum over levels is
//! exact. `cost_1` is 0 (a hit in L1d is part of the run time), `cost_2` the L2, `cost_3` the LLC,
//! and past the LLC: memory of the node when the task stayed under its LLC; when it moved to
//! another LLC of the node, that LLC for what is still there and memory for the rest; remote memory
//! when it came from another node or package. `overlap` is how many lines the task has in flight at
//! a time, at most what the core can.
//!
//! Units.       Sizes in bytes; costs of one line in picoseconds; the result in nanoseconds,
//!              rounded down.
//! Deviations.  Least-recently-used replacement over whole levels: no sets, no partial hits. Clean
//!              lines: a line dirty in another core's L2 costs more than an LLC hit. Inclusive or
//!              not, an LLC is taken to hold what its cores' L2 hold. TLB and branch predictors are
//!              not modelled.
//! Not here.    Ongoing cost of running far from one's memory: only the refill is paid remotely.

use crate::distance::{Distance, REMOTE_CLASSES};

/// Cache sizes in bytes; 0 means that there is no such level.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Caches {
    /// Size of a line.
    pub line_bytes: u64,
    /// First-level data cache of each core.
    pub l1d_bytes: u64,
    /// Second-level cache.
    pub l2_bytes: u64,
    /// The second level belongs to a cluster of cores, not to one core.
    pub l2_per_cluster: bool,
    /// Last-level cache.
    pub llc_bytes: u64,
}

/// What a task touches while it runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorkingSet {
    /// Bytes that it comes back to.
    pub bytes: u64,
    /// Lines that it has in flight at a time when it misses: 1 follows pointers, streams reach the
    /// hardware's limit. 0 means the machine's typical overlap.
    pub overlap: u32,
}

impl WorkingSet {
    /// A working set with the machine's typical overlap.
    pub fn of(bytes: u64) -> WorkingSet {
        WorkingSet { bytes, overlap: 0 }
    }
}

/// Bytes that others brought through each cache in which a task last ran, since it left.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Footprint {
    /// Through the L1d of that core.
    pub l1d_bytes: u64,
    /// Through its L2.
    pub l2_bytes: u64,
    /// Through its LLC.
    pub llc_bytes: u64,
}

/// What fetching one cache line costs, by where it is found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RefillCosts {
    /// From L2.
    pub l2_line_ps: u64,
    /// From the LLC.
    pub llc_line_ps: u64,
    /// From another LLC of the same node.
    pub other_llc_line_ps: u64,
    /// From memory of the same node.
    pub memory_local_line_ps: u64,
    /// From memory or an LLC of another node, by class of [`Distance::Remote`]: `[REMOTE_CLASSES]`.
    pub memory_remote_line_ps: [u64; REMOTE_CLASSES],
    /// Lines that a core can have in flight (miss buffers).
    pub outstanding_misses: u32,
    /// Lines in flight at a time where a working set does not say.
    pub typical_overlap: u32,
}

impl Caches {
    /// Bytes of `working_set_bytes` that a level of `size` bytes held and that `footprint` pushed
    /// out.
    pub fn lost_bytes(size: u64, working_set_bytes: u64, footprint: u64) -> u64 {
        let resident = working_set_bytes.min(size);
        footprint.saturating_sub(size - resident).min(resident)
    }

    /// Is a working set still in every cache of the core where it was, after a footprint that leaves it room? Then there is
    /// nothing to compute.
    pub fn hold_all(&self, working_set_bytes: u64, footprint: Footprint) -> bool {
        let holds = |size, footprint: u64| footprint.saturating_add(working_set_bytes) <= size;
        holds(self.l1d_bytes, footprint.l1d_bytes)
            && holds(self.l2_bytes, footprint.l2_bytes)
            && holds(self.llc_bytes, footprint.llc_bytes)
    }
}

/// Extra nanoseconds that a task pays to warm up; see the model above. `from` is the distance from
/// the CPU where it last ran to the one where it runs now, `since` what went through the caches of
/// the former.
pub(crate) fn refill_ns(
    caches: &Caches,
    costs: &RefillCosts,
    working_set: WorkingSet,
    since: Footprint,
    from: Distance,
) -> u64 {
    let bytes = working_set.bytes;
    let l1d_shared = from <= Distance::Smt;
    let l2_shared = l1d_shared || (from == Distance::Cluster && caches.l2_per_cluster);
    let llc_shared = from <= Distance::Llc;
    let lost = |size: u64, footprint: u64, shared: bool| {
        if shared {
            Caches::lost_bytes(size, bytes, footprint)
        } else {
            bytes.min(size)
        }
    };
    let lost_l1d = lost(caches.l1d_bytes, since.l1d_bytes, l1d_shared);
    let lost_l2 = lost(caches.l2_bytes, since.l2_bytes, l2_shared);

    let pushed_out = Caches::lost_bytes(caches.llc_bytes, bytes, since.llc_bytes);
    let beyond_llc = |line_ps: u64| line_ps.saturating_sub(costs.llc_line_ps);
    let (near_lost, near_ps, far_lost, far_ps) = match from {
        Distance::Remote(class) => {
            let idx = usize::from(class.max(1) - 1).min(REMOTE_CLASSES - 1);
            (
                0,
                0,
                bytes.min(caches.llc_bytes),
                beyond_llc(costs.memory_remote_line_ps[idx]),
            )
        }
        _ if llc_shared => (0, 0, pushed_out, beyond_llc(costs.memory_local_line_ps)),
        _ => (
            bytes.min(caches.llc_bytes) - pushed_out,
            beyond_llc(costs.other_llc_line_ps),
            pushed_out,
            beyond_llc(costs.memory_local_line_ps),
        ),
    };

    let lines = |lost: u64| u128::from(lost.div_ceil(caches.line_bytes.max(1)));
    let total_ps = lines(lost_l1d) * u128::from(costs.l2_line_ps)
        + lines(lost_l2) * u128::from(costs.llc_line_ps.saturating_sub(costs.l2_line_ps))
        + lines(near_lost) * u128::from(near_ps)
        + lines(far_lost) * u128::from(far_ps);
    let wanted = if working_set.overlap == 0 {
        costs.typical_overlap
    } else {
        working_set.overlap
    };
    let overlap = u128::from(wanted.min(costs.outstanding_misses).max(1));
    u64::try_from(total_ps / (overlap * 1000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHES: Caches = Caches {
        line_bytes: 64,
        l1d_bytes: 6_400,
        l2_bytes: 64_000,
        l2_per_cluster: false,
        llc_bytes: 640_000,
    };
    const COSTS: RefillCosts = RefillCosts {
        l2_line_ps: 4_000,
        llc_line_ps: 20_000,
        other_llc_line_ps: 70_000,
        memory_local_line_ps: 100_000,
        memory_remote_line_ps: [180_000, 250_000, 250_000],
        outstanding_misses: 10,
        typical_overlap: 4,
    };

    fn cost(bytes: u64, overlap: u32, since: Footprint, from: Distance) -> u64 {
        refill_ns(&CACHES, &COSTS, WorkingSet { bytes, overlap }, since, from)
    }

    #[test]
    fn nothing_lost_costs_nothing() {
        assert_eq!(cost(64_000, 1, Footprint::default(), Distance::SameCpu), 0);
        assert_eq!(cost(64_000, 1, Footprint::default(), Distance::Smt), 0);
        // 3 200 resident bytes leave 3 200 free in L1d; a footprint that fits there pushes nothing
        // out.
        let since = Footprint {
            l1d_bytes: 3_200,
            ..Footprint::default()
        };
        assert_eq!(cost(3_200, 1, since, Distance::SameCpu), 0);
        assert!(CACHES.hold_all(3_200, since));
        assert!(!CACHES.hold_all(3_201, since));
    }

    #[test]
    fn footprint_pushes_out_what_no_longer_fits() {
        // 6 400 - 3 200 free; 4 480 brought in, so 1 280 bytes = 20 lines are lost to L2: 20 × 4
        // ns.
        let since = Footprint {
            l1d_bytes: 4_480,
            ..Footprint::default()
        };
        assert_eq!(cost(3_200, 1, since, Distance::SameCpu), 80);
        // A footprint larger than the level takes no more than what was there: 50 lines.
        let since = Footprint {
            l1d_bytes: 1 << 40,
            ..Footprint::default()
        };
        assert_eq!(cost(3_200, 1, since, Distance::SameCpu), 200);
    }

    #[test]
    fn another_core_of_the_llc_refills_from_it() {
        // 6 400 bytes, all from the LLC: 100 lines × 20 ns, whichever level they would have been
        // in.
        assert_eq!(cost(6_400, 1, Footprint::default(), Distance::Llc), 2_000);
        // 12 800 bytes: 100 lines used to be in L1d (20 ns more), 100 in L2 (16 ns more).
        assert_eq!(cost(12_800, 1, Footprint::default(), Distance::Llc), 3_600);
    }

    #[test]
    fn a_cluster_shares_l2_only_where_it_has_one() {
        let mut shared = CACHES;
        shared.l2_per_cluster = true;
        let set = WorkingSet {
            bytes: 6_400,
            overlap: 1,
        };
        let near = refill_ns(
            &shared,
            &COSTS,
            set,
            Footprint::default(),
            Distance::Cluster,
        );
        assert_eq!(near, 400);
        assert_eq!(
            cost(6_400, 1, Footprint::default(), Distance::Cluster),
            2_000
        );
    }

    #[test]
    fn another_llc_gives_what_it_still_has() {
        // 100 lines at 70 ns from the other LLC.
        assert_eq!(cost(6_400, 1, Footprint::default(), Distance::Node), 7_000);
        // The other LLC lost half of it: 50 × 70 + 50 × 100.
        let since = Footprint {
            llc_bytes: 640_000 - 3_200,
            ..Footprint::default()
        };
        assert_eq!(cost(6_400, 1, since, Distance::Node), 8_500);
    }

    #[test]
    fn another_node_pays_its_class() {
        assert_eq!(
            cost(6_400, 1, Footprint::default(), Distance::Remote(1)),
            18_000
        );
        assert_eq!(
            cost(6_400, 1, Footprint::default(), Distance::Remote(2)),
            25_000
        );
    }

    #[test]
    fn overlap_divides_up_to_the_hardware_limit() {
        assert_eq!(cost(6_400, 2, Footprint::default(), Distance::Llc), 1_000);
        assert_eq!(cost(6_400, 0, Footprint::default(), Distance::Llc), 500);
        assert_eq!(cost(6_400, 99, Footprint::default(), Distance::Llc), 200);
    }

    #[test]
    fn a_set_larger_than_the_llc_never_had_the_rest_there() {
        // Only the LLC's 640 000 bytes can be lost: 100 × 4 + 1 000 × 16 + 10 000 × 80 ns.
        let since = Footprint {
            l1d_bytes: 1 << 40,
            l2_bytes: 1 << 40,
            llc_bytes: 1 << 40,
        };
        assert_eq!(
            cost(1 << 40, 1, since, Distance::SameCpu),
            400 + 16_000 + 800_000
        );
    }
}
