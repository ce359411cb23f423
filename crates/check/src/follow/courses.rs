//! The way of each task from CPU to CPU, from the recording's beginning to its end.

use crate::record::{Record, What};
use fairwind_sched::{CpuId, CpuMask};
use std::collections::BTreeMap;

/// Where tasks come to, and whose children they are.
pub(super) struct Courses {
    nr_cpus: usize,
    /// To which CPU a task comes with which record, by thread id.
    comes: BTreeMap<i32, Vec<(usize, CpuId)>>,
    /// The children of each task, and with which record it forked the first.
    pub(super) children: BTreeMap<i32, (usize, Vec<i32>)>,
}

impl Courses {
    pub(super) fn new(records: &[Record], nr_cpus: usize) -> Courses {
        let mut courses = Courses {
            nr_cpus,
            comes: BTreeMap::new(),
            children: BTreeMap::new(),
        };
        for (at, r) in records.iter().enumerate() {
            let (pid, cpu) = match &r.what {
                What::Switch { next, .. } => (next.pid, r.cpu),
                What::Wakeup { pid, target, .. } | What::WakeupNew { pid, target, .. } => {
                    (*pid, *target)
                }
                What::Fork { parent, child, .. } => {
                    let children = courses.children.entry(*parent);
                    children.or_insert((at, Vec::new())).1.push(*child);
                    continue;
                }
                _ => continue,
            };
            let comes = courses.comes.entry(pid).or_default();
            let stays = comes.last().is_some_and(|(_, last)| last.0 == cpu);
            if !stays && (cpu as usize) < nr_cpus {
                comes.push((at, CpuId(cpu)));
            }
        }
        courses
    }

    pub(super) fn nr_cpus(&self) -> usize {
        self.nr_cpus
    }

    /// How often a task comes to each CPU from a record on, where it is then included.
    pub(super) fn count(&self, times: &mut [usize], pid: i32, from: usize) {
        let comes = self.comes.get(&pid).map_or(&[][..], Vec::as_slice);
        let first = comes.partition_point(|(at, _)| *at <= from);
        for (_, cpu) in &comes[first.saturating_sub(1)..] {
            times[cpu.idx()] += 1;
        }
    }

    /// The CPUs of which tasks come to each so many times.
    pub(super) fn cpus(&self, times: &[usize], least: usize) -> CpuMask {
        let often = (0..self.nr_cpus).filter(|&cpu| times[cpu] >= least);
        CpuMask::of(self.nr_cpus, often.map(|cpu| CpuId(cpu as u32)))
    }
}
