//! CPUs whose tick is stopped.

use super::driver::{Driver, TICK, cpu};
use crate::effects::Effect;
use crate::profile::Release;

fn tickless(release: Release) -> Driver {
    let mut d = Driver::new(release, 1, 4, 1);
    for id in 1..4 {
        d.sched.nohz_balance_enter_idle(cpu(id));
    }
    d.ticking = d.mask(&[0]);
    d
}

/// CPU 0 has three tasks: its tick kicks CPU 1, the first idle one. That balances for 2 and 3, and
/// for itself last: CPU 2 takes (3 - 0) / 2 = 1, CPU 3 one of the two left; CPU 1 finds nothing to
/// take. No task counts as cache-hot.
#[test]
fn one_idle_cpu_balances_for_all_and_itself_last() {
    for release in Release::ALL {
        let mut d = tickless(release);
        d.sched.profile.tunables.migration_cost_ns = 0;
        for _ in 0..3 {
            d.hog(&[0, 1, 2, 3]);
        }
        d.tick();
        assert_eq!(d.nr_running(), [1, 0, 1, 1], "{release:?}");
    }
}

/// The CPUs of a cache are counted busy while they tick, each once.
#[test]
fn tickless_cpus_do_not_count_as_busy() {
    let mut d = tickless(Release::V6_12);
    let shared = d.sched.domains.sd_llc_shared[0];
    assert_eq!(d.sched.domains.sds[shared].nr_busy_cpus, 1);
    d.sched.nohz_balance_enter_idle(cpu(1));
    assert_eq!(d.sched.domains.sds[shared].nr_busy_cpus, 1);
    d.sched.nohz_balance_exit_idle(cpu(1));
    d.sched.nohz_balance_exit_idle(cpu(1));
    assert_eq!(d.sched.domains.sds[shared].nr_busy_cpus, 2);
}

/// One task on a CPU of full capacity, and no other CPU of the cache busy: no idle CPU is disturbed
/// to balance. That they joined since the last round still makes one of them look once.
#[test]
fn a_lone_task_kicks_nobody_twice() {
    let mut d = tickless(Release::V6_12);
    d.hog(&[0]);
    d.now += TICK;
    d.sched.sched_tick(cpu(0), d.now);
    let kicks = |d: &Driver| {
        let is_kick = |e: &&Effect| matches!(e, Effect::KickIlb { .. });
        d.sched.effects.iter().filter(is_kick).count()
    };
    assert_eq!(kicks(&d), 1);
    d.carry_out();
    for _ in 0..6 {
        d.now += TICK;
        d.sched.sched_tick(cpu(0), d.now);
        assert_eq!(kicks(&d), 0);
        d.carry_out();
    }
}

/// A kicked CPU is not kicked again before it has answered.
#[test]
fn a_kick_is_sent_once() {
    let mut d = tickless(Release::V6_12);
    for _ in 0..3 {
        d.hog(&[0, 1, 2, 3]);
    }
    let mut kicks = 0;
    for _ in 0..3 {
        d.now += TICK;
        d.sched.sched_tick(cpu(0), d.now);
        for effect in core::mem::take(&mut d.sched.effects) {
            kicks += u32::from(effect == Effect::KickIlb { cpu: cpu(1) });
        }
    }
    assert_eq!(kicks, 1);
}

/// Load that a task left behind on a tickless CPU decays through the rounds of others, and then
/// nobody asks any more.
#[test]
fn blocked_load_decays_on_tickless_cpus() {
    let mut d = Driver::new(Release::V6_12, 1, 4, 1);
    d.hog(&[0]);
    d.hog(&[1]);
    d.ticks(50);
    d.sleep(1);
    let load = d.sched.cpu_load(cpu(1));
    assert!(load > 800);
    for id in 1..4 {
        d.sched.nohz_balance_enter_idle(cpu(id));
    }
    d.ticking = d.mask(&[0]);
    // 32 ms, eight ticks, are the half-life, and rounds come every ninth tick at the least.
    d.ticks(20);
    assert!(d.sched.cpu_load(cpu(1)) < load / 2);
    d.ticks(250);
    assert_eq!(d.sched.cpu_load(cpu(1)), 0);
    assert!(!d.sched.rqs[cpu(1)].has_blocked_load);
}
