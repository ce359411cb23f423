//! The way of each task from CPU to CPU, from the recording's beginning to its end.

use crate::record::{Record, What};
use fairwind_sched::{CpuId, CpuMask};
use std::collections::BTreeMap;

/// A task's time on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stay {
    /// The first and the last record of it.
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) cpu: CpuId,
}

/// Where tasks stay, what they are called, and whose children they are.
pub(super) struct Courses {
    pub(super) nr_cpus: usize,
    /// By thread id.
    stays: BTreeMap<i32, Vec<Stay>>,
    /// The last name of each task.
    comms: BTreeMap<i32, String>,
    /// The children of each task, and with which record it forked each.
    pub(super) children: BTreeMap<i32, Vec<(i32, usize)>>,
}

impl Courses {
    pub(super) fn new(records: &[Record], nr_cpus: usize) -> Courses {
        let mut courses = Courses {
            nr_cpus,
            stays: BTreeMap::new(),
            comms: BTreeMap::new(),
            children: BTreeMap::new(),
        };
        for (at, r) in records.iter().enumerate() {
            match &r.what {
                What::Switch { prev, next, .. } => {
                    for party in [prev, next] {
                        courses.stay(party.pid, r.cpu, at);
                        let comm = courses.comms.entry(party.pid).or_default();
                        if *comm != party.comm {
                            comm.clone_from(&party.comm);
                        }
                    }
                }
                What::Wakeup { pid, target, .. } | What::WakeupNew { pid, target, .. } => {
                    courses.stay(*pid, *target, at);
                }
                What::Fork { parent, child, .. } => {
                    let children = courses.children.entry(*parent).or_default();
                    children.push((*child, at));
                }
                _ => {}
            }
        }
        courses
    }

    fn stay(&mut self, pid: i32, cpu: u32, at: usize) {
        if cpu as usize >= self.nr_cpus {
            return;
        }
        let stays = self.stays.entry(pid).or_default();
        match stays.last_mut().filter(|stay| stay.cpu.0 == cpu) {
            Some(stay) => stay.last = at,
            None => stays.push(Stay {
                first: at,
                last: at,
                cpu: CpuId(cpu),
            }),
        }
    }

    /// The stays of a task that begin with a record or later, and the one that it is in.
    pub(super) fn stays(&self, pid: i32, from: usize) -> &[Stay] {
        let stays = self.stays.get(&pid).map_or(&[][..], Vec::as_slice);
        &stays[stays.partition_point(|stay| stay.last < from)..]
    }

    /// The name of a task.
    pub(super) fn comm(&self, pid: i32) -> &str {
        self.comms.get(&pid).map_or("", String::as_str)
    }

    /// The CPUs on which so many of some stays are, at least.
    pub(super) fn cpus<'a>(&self, stays: impl Iterator<Item = &'a Stay>, least: usize) -> CpuMask {
        let mut times = vec![0; self.nr_cpus];
        stays.for_each(|stay| times[stay.cpu.idx()] += 1);
        let often = (0..self.nr_cpus).filter(|&cpu| times[cpu] >= least);
        CpuMask::of(self.nr_cpus, often.map(|cpu| CpuId(cpu as u32)))
    }
}
