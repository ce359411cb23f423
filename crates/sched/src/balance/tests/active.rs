//! Pushing running tasks.

use super::driver::{Driver, cpu};
use crate::profile::Release;
use crate::topology::Topology;

/// Both threads of core 0 busy, core 1 idle. There is nothing queued to take, so each of CPU 2's
/// passes fails; the fourth has failed more often than `cache_nice_tries + 2` = 3 and has the
/// running task of CPU 0 pushed.
#[test]
fn a_busy_core_gives_one_of_two_running_tasks_to_an_idle_core() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 2);
        let moved = d.hog(&[0, 1, 2, 3]);
        d.hog(&[1, 0, 2, 3]);
        d.ticks(3);
        assert_eq!(d.nr_running(), [1, 1, 0, 0], "{release:?}");
        d.tick();
        assert_eq!(d.nr_running(), [0, 1, 1, 0], "{release:?}");
        assert_eq!(d.sched.rqs[cpu(2)].curr, moved);
        let stats = d.stats(2, 1);
        assert_eq!(
            (stats.alb_count, stats.alb_pushed, stats.alb_failed),
            (1, 1, 0)
        );
        d.ticks(50);
        assert_eq!(d.nr_running(), [0, 1, 1, 0], "one task a core is balanced");
    }
}

/// The running task may not leave: no stopper is woken for it.
#[test]
fn a_pinned_running_task_is_not_pushed() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 2);
        d.hog(&[0]);
        d.hog(&[1]);
        d.ticks(40);
        assert_eq!(d.nr_running(), [1, 1, 0, 0]);
        assert_eq!(d.stats(2, 1).alb_count, 0);
    }
}

fn big_little() -> Topology {
    let mut topology = Topology::regular(1, 2, 1);
    topology.cpus[0].capacity = 400;
    topology
}

/// A task that needs all of a small CPU is a misfit there, and goes to the big one as soon as that
/// is idle at a tick.
#[test]
fn a_task_too_big_for_its_cpu_is_pushed_to_a_bigger_one() {
    for release in Release::ALL {
        let mut d = Driver::on(release, big_little());
        let task = d.hog(&[0]);
        let all = d.mask(&[0, 1]);
        d.ticks(50);
        assert!(d.sched.task_util_est(task) > 320, "more than 80 % of it");
        assert_eq!(d.nr_running(), [1, 0]);
        assert_eq!(d.sched.rqs[cpu(0)].misfit_task_load, 0, "it is bound");
        d.sched.set_cpus_allowed(task, &all, d.now).unwrap();
        d.carry_out();
        d.ticks(2);
        assert_eq!(d.nr_running(), [0, 1], "{release:?}");
        // And never back.
        d.ticks(50);
        assert_eq!(d.nr_running(), [0, 1]);
    }
}
