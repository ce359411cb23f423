//! Random loads: no task is lost, none waits while a CPU that could run it idles for long.

use super::driver::{Driver, cpu};
use crate::profile::Release;
use crate::units::{CpuId, TaskId};
use alloc::vec::Vec;

/// A CPU's list of fair tasks, from its head on.
fn cfs_tasks(d: &Driver, on: CpuId) -> Vec<TaskId> {
    let first = d.sched.rqs[on].cfs_tasks_first;
    core::iter::successors(first.get(), |&t| d.sched.tasks[t].cfs_tasks_next.get()).collect()
}

/// Every task that wants to run is in exactly one list, that of its CPU.
fn assert_all_tasks_are_queued(d: &Driver, awake: usize, asleep: &[TaskId]) {
    let mut listed = 0;
    for on in d.sched.rqs.ids() {
        for task in cfs_tasks(d, on) {
            assert_eq!(d.sched.tasks[task].cpu, on);
            assert!(d.sched.tasks[task].is_queued());
            // 6.12 keeps some sleepers queued for a while.
            listed += usize::from(!asleep.contains(&task));
        }
    }
    assert_eq!(listed, awake);
}

/// Four CPUs of one cache, up to nine tasks that sleep and wake at random. After three quiet ticks
/// (the longest interval is two) no CPU idles beside one with two tasks that want to run.
#[test]
fn work_is_conserved_and_so_are_tasks() {
    for release in Release::ALL {
        for seed in 1..=20u64 {
            let mut d = Driver::new(release, 1, 4, 1);
            d.sched.profile.tunables.migration_cost_ns = 0;
            d.sched.seed(seed);
            let nr_tasks = 5 + seed as usize % 5;
            for i in 0..nr_tasks as u32 {
                d.hog(&[i % 2, (i + 1) % 4, (i + 2) % 4, 2, 3, 0, 1]);
            }
            let mut asleep: Vec<TaskId> = Vec::new();
            for _ in 0..60 {
                let draw = d.sched.next_random() >> 32;
                let on = cpu((draw % 4) as u32);
                if draw & 16 != 0 && !d.sched.is_idle(on) {
                    asleep.push(d.sched.rqs[on].curr);
                    d.sleep(on.0);
                } else if let Some(task) = asleep.pop() {
                    d.sched.try_to_wake_up(on, task, d.now, 0);
                    d.carry_out();
                }
                d.ticks(1);
                assert_all_tasks_are_queued(&d, nr_tasks - asleep.len(), &asleep);
            }
            d.ticks(3);
            let runnable: Vec<u32> = d
                .sched
                .rqs
                .iter()
                .map(|rq| d.sched.cfs_rqs[rq.cfs].h_nr_runnable)
                .collect();
            let idle = runnable.contains(&0);
            assert!(
                !idle || runnable.iter().all(|&nr| nr < 2),
                "{release:?} seed {seed}: {runnable:?}"
            );
        }
    }
}
