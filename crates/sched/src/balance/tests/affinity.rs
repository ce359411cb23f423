//! Tasks that may not run everywhere.

use super::driver::{Driver, cpu};
use crate::balance::CpuIdleType;
use crate::profile::Release;

/// Three tasks bound to CPU 0. Each pass of CPU 1 finds them pinned and doubles the interval,
/// beyond the domain's maximum of 4 ms, up to 512.
#[test]
fn pinned_tasks_stay_and_lengthen_the_interval() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 1);
        for _ in 0..3 {
            d.hog(&[0]);
        }
        let sd = d.domains(1)[0];
        let mut intervals = alloc::vec![d.sched.domains.sd[sd].balance_interval];
        for _ in 0..600 {
            d.tick();
            let interval = d.sched.domains.sd[sd].balance_interval;
            if intervals.last() != Some(&interval) {
                intervals.push(interval);
            }
        }
        assert_eq!(d.nr_running(), [3, 0]);
        assert_eq!(intervals, [2, 4, 8, 16, 32, 64, 128, 256, 512]);
        let stats = d.stats(1, 0);
        let idle = stats.of(CpuIdleType::Idle);
        assert_eq!((idle.lb_failed, idle.lb_gained), (0, 0));
        assert_eq!(idle.lb_balanced, idle.lb_count, "counted as balanced");
    }
}

/// Two cores of two threads. The tasks on CPU 0 may use CPU 3 but not CPU 2, which balances for its
/// core: it hands them on. 6.1 moves half of the difference, 6.12 sees a core with several busy
/// threads and moves one.
#[test]
fn what_may_not_run_here_goes_to_a_sibling() {
    for (release, expected) in [
        (Release::V6_1, [2, 0, 0, 2]),
        (Release::V6_12, [3, 0, 0, 1]),
    ] {
        let mut d = Driver::new(release, 1, 2, 2);
        d.ticking = d.mask(&[2]);
        for _ in 0..4 {
            d.hog(&[0, 3]);
        }
        d.tick();
        assert_eq!(d.nr_running(), expected, "{release:?}");
    }
}

/// CPU 1 cannot take what its sibling has too much of, so the level above learns that their core is
/// imbalanced.
#[test]
fn pinned_tasks_make_the_group_above_imbalanced() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 2);
        d.ticking = d.mask(&[1]);
        for _ in 0..3 {
            d.hog(&[0, 2]);
        }
        d.tick();
        let above = d.domains(1)[1];
        let sgc = d.sched.domains.sg[d.sched.domains.sd[above].groups].sgc;
        assert!(d.sched.domains.sgc[sgc].imbalance);
        // The other core sees the group as imbalanced and takes one task at a time.
        d.ticking = d.mask(&[2]);
        d.tick();
        assert_eq!(d.nr_running()[2], 1, "{release:?}");
    }
}

/// A kernel thread of its CPU is left alone whatever its mask says.
#[test]
fn per_cpu_kernel_threads_stay() {
    let mut d = Driver::new(Release::V6_12, 1, 2, 1);
    for _ in 0..3 {
        let task = d.hog(&[0, 1]);
        d.sched.tasks[task].is_per_cpu_kthread = true;
    }
    d.tick();
    assert_eq!(d.nr_running(), [3, 0]);
    assert!(d.sched.is_idle(cpu(1)));
}
