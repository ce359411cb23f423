//! The slow path: CPUs for new tasks.

use super::driver::{Driver, cpu};
use crate::profile::Release;
use crate::units::TaskId;

fn fork_from(d: &mut Driver, on: u32) -> TaskId {
    let task = d.sched.spawn(cpu(on), d.now);
    d.sched.wake_up_new_task(cpu(on), task, d.now);
    d.carry_out();
    task
}

/// CPUs 0 and 1 are busy. Of the idle groups the first one after the own is taken: 2.
#[test]
fn a_new_task_goes_to_an_idle_cpu() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 4, 1);
        d.hog(&[0]);
        d.hog(&[1]);
        d.ticks(3);
        let task = fork_from(&mut d, 0);
        assert_eq!(d.sched.tasks[task].cpu, cpu(2), "{release:?}");
    }
}

/// Two cores of two threads, CPU 0 busy: the whole idle core has more idle CPUs than the own one.
#[test]
fn a_new_task_prefers_the_core_with_more_idle_threads() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 2);
        d.hog(&[0]);
        d.ticks(3);
        // CPU 3 went idle last, so its caches are the warmest.
        d.sched.rqs[cpu(2)].idle_stamp = d.now - 2000;
        d.sched.rqs[cpu(3)].idle_stamp = d.now - 1000;
        let task = fork_from(&mut d, 0);
        assert_eq!(d.sched.tasks[task].cpu, cpu(3), "{release:?}");
    }
}

/// Of two idle CPUs of a group the one in the lighter sleep, whenever it went idle.
#[test]
fn of_idle_cpus_the_lightest_sleeper_is_taken() {
    let mut d = Driver::new(Release::V6_12, 1, 2, 2);
    d.hog(&[0]);
    d.ticks(3);
    for (id, stamp, latency) in [(2, 1000, 2), (3, 2000, 100)] {
        d.sched.rqs[cpu(id)].idle_stamp = stamp;
        d.sched.rqs[cpu(id)].idle_exit_latency = Some(latency);
    }
    let task = fork_from(&mut d, 0);
    assert_eq!(d.sched.tasks[task].cpu, cpu(2));
}

/// Every CPU is busy with one hog, CPU 2 with three: the new task stays off it, on the least
/// loaded.
#[test]
fn among_busy_cpus_load_decides() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 3, 1);
        d.ticking = d.mask(&[]);
        for id in [0, 0, 0, 1, 2, 2] {
            d.hog(&[id]);
        }
        d.ticking = d.mask(&[0, 1, 2]);
        d.ticks(80);
        let task = fork_from(&mut d, 0);
        assert_eq!(d.sched.tasks[task].cpu, cpu(1), "{release:?}");
    }
}
