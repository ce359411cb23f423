//! Which CPUs run at which priority, for finding the one that minds an RT task least.
//!
//! Model.      One set of CPUs a level. A search takes the weakest level below the task's own that has an allowed
//!             CPU, and all allowed CPUs of that level.
//! Units.      Levels: 0 no RT task, 1..99 `rt_priority` of the strongest one, 100 a deadline task or server.
//! Invariants. An online CPU is on exactly one level, an offline one on none.
//! Source.     kernel/sched/cpupri.c @ 6.1, 6.12 (the same).

use crate::cpumask::CpuMask;
use crate::task::MAX_RT_PRIO;
use crate::units::CpuId;
use alloc::vec;
use alloc::vec::Vec;

const NR_LEVELS: usize = 101;
/// Deadline tasks or the fair server queued; the kernel's CPUPRI_HIGHER.
const HIGHER: u8 = 100;
/// Not online; the kernel's CPUPRI_INVALID.
const INVALID: u8 = u8::MAX;

#[derive(Clone, Default, Debug)]
struct Level {
    count: u32,
    /// Empty until a CPU first gets here: most levels are never used.
    mask: CpuMask,
}

/// The levels of all CPUs.
#[derive(Clone, Debug)]
pub(crate) struct CpuPri {
    levels: Vec<Level>,
    /// `[nr_cpus]`
    level_of: Vec<u8>,
}

/// The level of a kernel priority.
fn level(prio: i32) -> u8 {
    if prio < 0 {
        HIGHER
    } else {
        (MAX_RT_PRIO - 1 - prio).max(0) as u8
    }
}

impl CpuPri {
    /// All CPUs without RT tasks.
    pub(crate) fn new(nr_cpus: usize) -> CpuPri {
        let mut levels = vec![Level::default(); NR_LEVELS];
        levels[0] = Level {
            count: nr_cpus as u32,
            mask: CpuMask::all(nr_cpus),
        };
        CpuPri {
            levels,
            level_of: vec![0; nr_cpus],
        }
    }

    /// The CPU's strongest RT task has this kernel priority now.
    pub(crate) fn set(&mut self, cpu: CpuId, prio: i32) {
        self.set_level(cpu, level(prio));
    }

    /// The CPU is above all RT tasks.
    pub(crate) fn set_higher(&mut self, cpu: CpuId) {
        self.set_level(cpu, HIGHER);
    }

    /// The CPU goes offline.
    pub(crate) fn set_invalid(&mut self, cpu: CpuId) {
        self.set_level(cpu, INVALID);
    }

    fn set_level(&mut self, cpu: CpuId, new: u8) {
        let old = core::mem::replace(&mut self.level_of[cpu.idx()], new);
        if old == new {
            return;
        }
        if new != INVALID {
            let nr_cpus = self.level_of.len();
            let level = &mut self.levels[new as usize];
            if level.mask.words().is_empty() {
                level.mask = CpuMask::none(nr_cpus);
            }
            level.mask.set(cpu);
            level.count += 1;
        }
        if old != INVALID {
            let level = &mut self.levels[old as usize];
            level.mask.clear(cpu);
            level.count -= 1;
        }
    }

    /// Is there an allowed CPU below this priority at all?
    pub(crate) fn any_below(&self, prio: i32, allowed: &CpuMask) -> bool {
        self.levels[..level(prio) as usize]
            .iter()
            .any(|l| l.count != 0 && allowed.intersects(&l.mask))
    }

    /// Puts into `lowest` the allowed, active CPUs of the weakest level that has one that `fits`; false if there is
    /// none below the priority.
    pub(crate) fn find(
        &self,
        prio: i32,
        allowed: &CpuMask,
        active: &CpuMask,
        lowest: &mut CpuMask,
        fits: Option<&dyn Fn(CpuId) -> bool>,
    ) -> bool {
        for level in self.levels[..level(prio) as usize]
            .iter()
            .filter(|l| l.count != 0)
        {
            lowest.assign_and(allowed, &level.mask);
            lowest.and_with(active);
            if let Some(fits) = fits {
                let mut from = 0;
                while let Some(cpu) = lowest.next_from(from) {
                    if !fits(cpu) {
                        lowest.clear(cpu);
                    }
                    from = cpu.idx() + 1;
                }
            }
            if !lowest.is_empty() {
                return true;
            }
        }
        // Running where it does not fit is better than not running.
        fits.is_some() && self.find(prio, allowed, active, lowest, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(pri: &CpuPri, prio: i32, allowed: &[u32]) -> Vec<u32> {
        let allowed = CpuMask::of(4, allowed.iter().map(|&c| CpuId(c)));
        let mut lowest = CpuMask::none(4);
        let found = pri.find(prio, &allowed, &CpuMask::all(4), &mut lowest, None);
        assert_eq!(found, pri.any_below(prio, &allowed));
        if found {
            lowest.iter().map(|c| c.0).collect()
        } else {
            Vec::new()
        }
    }

    #[test]
    fn the_weakest_level_with_an_allowed_cpu_is_taken() {
        let mut pri = CpuPri::new(4);
        // rt_priority 50 on CPU 0, 10 on CPUs 1 and 2, none on CPU 3.
        pri.set(CpuId(0), 49);
        pri.set(CpuId(1), 89);
        pri.set(CpuId(2), 89);
        assert_eq!(
            search(&pri, 98, &[0, 1, 2, 3]),
            [3],
            "rt_priority 1 is above no RT task only"
        );
        assert_eq!(search(&pri, 40, &[0, 1, 2]), [1, 2]);
        assert_eq!(search(&pri, 40, &[0]), [0]);
        assert!(
            search(&pri, 49, &[0]).is_empty(),
            "an equal priority does not yield"
        );
        pri.set_higher(CpuId(3));
        assert!(search(&pri, 0, &[3]).is_empty());
        assert!(search(&pri, -1, &[3]).is_empty());
        assert_eq!(search(&pri, -1, &[0, 3]), [0]);
        pri.set_invalid(CpuId(0));
        assert!(search(&pri, 0, &[0, 3]).is_empty());
    }

    #[test]
    fn a_fitting_cpu_is_preferred_over_a_weaker_level_but_not_required() {
        let mut pri = CpuPri::new(4);
        pri.set(CpuId(2), 89);
        let all = CpuMask::all(4);
        let mut lowest = CpuMask::none(4);
        assert!(pri.find(40, &all, &all, &mut lowest, Some(&|cpu| cpu == CpuId(2))));
        assert_eq!(lowest, CpuMask::of(4, [CpuId(2)]));
        assert!(pri.find(40, &all, &all, &mut lowest, Some(&|_| false)));
        assert_eq!(lowest, CpuMask::of(4, [0, 1, 3].map(CpuId)));
    }
}
