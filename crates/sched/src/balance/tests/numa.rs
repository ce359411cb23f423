//! Two nodes.

use super::driver::{Driver, cpu};
use crate::profile::Release;

/// Two nodes of eight CPUs, one LLC each: an eighth of a node, one task, may run while the other
/// node idles, and a pair is left together. `imb_numa_nr` = 8 / 8 = 1.
#[test]
fn a_pair_stays_on_its_node_and_four_tasks_do_not() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 2, 8, 1);
        d.ticking = d.mask(&[8]);
        let all: alloc::vec::Vec<u32> = (0..16).collect();
        let from = |first: u32| {
            let mut cpus = all.clone();
            cpus.swap(0, first as usize);
            cpus
        };
        let top = *d.domains(8).last().unwrap();
        assert_eq!(d.sched.domains.sd[top].name, "NUMA");
        assert_eq!(d.sched.domains.sd[top].imb_numa_nr, 1);
        d.hog(&from(0));
        d.hog(&from(0));
        d.ticks(20);
        assert_eq!(d.nr_running()[8], 0, "{release:?}: two are allowed");
        d.hog(&from(1));
        d.hog(&from(1));
        d.ticks(20);
        // (4 - 0) / 2 would move, but only one task of a CPU can: the other one runs.
        assert_eq!(d.nr_running()[8], 1, "{release:?}");
    }
}

/// Each task forked on CPU 0 compares idle CPUs. The first stays: no task runs yet, so one is
/// allowed. From then on two would run here, more than allowed, and any difference counts: 7 idle
/// CPUs against 8 send the second away, 7 against 7 keep the third.
#[test]
fn forks_go_to_the_node_with_more_idle_cpus() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 2, 8, 1);
        d.ticking = d.mask(&[]);
        let mut cpus = alloc::vec::Vec::new();
        for _ in 0..6 {
            let task = d.sched.spawn(cpu(0), d.now);
            d.sched.wake_up_new_task(cpu(0), task, d.now);
            d.carry_out();
            cpus.push(d.sched.tasks[task].cpu.0);
        }
        assert_eq!(cpus, [0, 8, 1, 9, 2, 10], "{release:?}");
    }
}
