//! Which CPU RT tasks run on: placement on wakeup, pushing, pulling, affinity.

use super::rig::{MS, Rig};
use crate::CpuMask;
use crate::features::Feature;
use crate::profile::Release;
use crate::units::CpuId;

const ALL: [u32; 2] = [0, 1];

#[test]
fn a_waking_task_avoids_a_cpu_that_runs_an_equal_or_stronger_one() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 2);
        let weak = rig.fifo(40, &ALL);
        rig.sleep(0);
        let strong = rig.fifo(50, &[0]);
        rig.wake(0, weak);
        assert_eq!([rig.curr(0), rig.curr(1)], [strong, weak]);
    }
}

#[test]
fn a_waking_task_stays_where_a_weaker_one_runs_and_that_one_is_pushed() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 2);
        let strong = rig.fifo(50, &ALL);
        rig.sleep(0);
        let weak = rig.fifo(40, &ALL);
        assert_eq!(rig.curr(0), weak);
        rig.wake(1, strong);
        assert_eq!(
            [rig.curr(0), rig.curr(1)],
            [strong, weak],
            "warm caches are for the stronger"
        );
    }
}

#[test]
fn a_pinned_equal_goes_first_and_the_other_moves() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 2);
        let free = rig.fifo(50, &ALL);
        assert_eq!(rig.curr(0), free);
        let pinned = rig.fifo(50, &[0]);
        assert_eq!([rig.curr(0), rig.curr(1)], [pinned, free]);
    }
}

#[test]
fn a_cpu_whose_priority_drops_pulls_the_strongest_waiting_task() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 2);
        let first = rig.fifo(60, &[0]);
        let other = rig.fifo(55, &[1]);
        let waits = rig.fifo(50, &ALL);
        let weaker = rig.fifo(45, &ALL);
        assert_eq!([rig.curr(0), rig.curr(1)], [first, other]);
        assert!(rig.sched.rqs[CpuId(0)].rt.overloaded);
        rig.sleep(1);
        assert_eq!(rig.curr(1), waits);
        rig.sleep(1);
        assert_eq!(rig.curr(1), weaker);
        assert!(
            !rig.sched.rqs[CpuId(0)].rt.overloaded,
            "one task is left, and it runs"
        );
    }
}

#[test]
fn a_pinned_task_is_neither_pushed_nor_pulled() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 2);
        rig.fifo(60, &[0]);
        let pinned = rig.fifo(50, &[0]);
        rig.fifo(40, &[1]);
        rig.run_until(20 * MS);
        rig.sleep(1);
        rig.run_until(40 * MS);
        assert_eq!(rig.curr(1), rig.sched.rqs[CpuId(1)].idle);
        assert_eq!(rig.sched.tasks[pinned].cpu, CpuId(0));
        assert!(!rig.sched.rqs[CpuId(0)].rt.overloaded);
    }
}

#[test]
fn widening_the_affinity_of_a_waiting_task_makes_it_pullable() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 2);
        rig.fifo(60, &[0]);
        let waits = rig.fifo(50, &[0]);
        rig.fifo(40, &[1]);
        rig.sched
            .set_cpus_allowed(waits, &CpuMask::all(2), rig.now)
            .expect("the CPUs are up");
        rig.settle();
        rig.sleep(1);
        assert_eq!(rig.curr(1), waits);
    }
}

#[test]
fn with_rt_push_ipi_the_overloaded_cpu_is_asked_to_push() {
    let mut rig = Rig::new(Release::V6_12, 2);
    rig.sched.profile.features.set(Feature::RT_PUSH_IPI, true);
    rig.fifo(60, &[0]);
    rig.fifo(55, &[1]);
    let waits = rig.fifo(50, &ALL);
    rig.sleep(1);
    assert_eq!(rig.curr(1), waits);
}

#[test]
fn of_equally_weak_cpus_the_own_then_the_wakers_then_each_in_turn() {
    let mut rig = Rig::new(Release::V6_12, 4);
    let task = rig.fifo(50, &[0, 1, 2, 3]);
    rig.sleep(0);
    // CPU 0 is idle: the task's own.
    assert_eq!(rig.sched.find_lowest_rq(CpuId(2), task), Some(CpuId(0)));
    rig.fifo(60, &[0]);
    assert_eq!(
        rig.sched.find_lowest_rq(CpuId(2), task),
        Some(CpuId(2)),
        "the caller's"
    );
    rig.fifo(60, &[2]);
    // Callers on busy CPUs take turns, each from its own last choice: 1, 3, 1, …
    let mut turn = |this| rig.sched.find_lowest_rq(CpuId(this), task).map(|cpu| cpu.0);
    assert_eq!(
        [turn(2), turn(2), turn(2), turn(0)],
        [Some(1), Some(3), Some(1), Some(1)]
    );
}

#[test]
fn an_offline_cpu_gets_no_tasks() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 2);
        let task = rig.fifo(50, &ALL);
        rig.sleep(0);
        rig.fifo(60, &[0]);
        rig.sched.rq_offline_rt(CpuId(1));
        assert_eq!(rig.sched.find_lowest_rq(CpuId(0), task), None);
        rig.sched.rq_online_rt(CpuId(1));
        assert_eq!(rig.sched.find_lowest_rq(CpuId(0), task), Some(CpuId(1)));
    }
}
