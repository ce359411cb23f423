//! RT throttling (6.1).

use super::rig::{MS, Rig};
use crate::features::Feature;
use crate::profile::{KernelProfile, Release};
use crate::task::Policy;
use crate::units::CpuId;

const SECOND: u64 = 1000 * MS;

#[test]
fn an_rt_hog_leaves_5_percent_to_fair_tasks() {
    let mut rig = Rig::new(Release::V6_1, 1);
    let rt = rig.fifo(50, &[0]);
    let fair = rig.spawn(Policy::Normal, 0, &[0]);
    // The period began at 1 ns. The tick at 948 ms finds less than 950 ms used, the one at 952 ms more.
    rig.run_until(951 * MS);
    assert_eq!(rig.curr(0), rt);
    rig.run_until(952 * MS);
    assert_eq!(rig.curr(0), fair);
    assert!(rig.sched.rqs[CpuId(0)].rt.throttled);
    assert_eq!(
        rig.sched.rqs[CpuId(0)].nr_running,
        1,
        "throttled tasks are not counted"
    );
    rig.run_until(SECOND);
    assert_eq!(rig.curr(0), fair);
    rig.run_until(SECOND + MS);
    assert_eq!(rig.curr(0), rt);
    assert_eq!(rig.ran(fair), 48 * MS + 1);
    // Overuse is carried over: 2 ms, then 4 ms, then 2 ms again; ten periods differ from 9.5 s by no more than a tick.
    rig.run_until(10 * SECOND + MS);
    assert!(
        rig.ran(fair).abs_diff(500 * MS) <= 4 * MS,
        "fair ran for {} ns",
        rig.ran(fair)
    );
}

#[test]
fn who_another_kernel_throttles_is_not_counted() {
    let mut rig = Rig::new(Release::V6_1, 1);
    rig.fifo(50, &[0]);
    rig.spawn(Policy::Normal, 0, &[0]);
    for (throttled, counted) in [(true, 1), (true, 1), (false, 2)] {
        rig.sched.follow_rt_throttled(CpuId(0), throttled);
        assert_eq!(rig.sched.rqs[CpuId(0)].nr_running, counted);
    }
}

#[test]
fn without_a_limit_rt_takes_everything() {
    for runtime in [-1, 1_000_000] {
        let mut profile = KernelProfile::new(Release::V6_1, 1);
        profile
            .set_tunable("sched_rt_runtime_us", runtime)
            .expect("6.1 has it");
        let mut rig = Rig::with_profile(profile, 1);
        let rt = rig.fifo(50, &[0]);
        let fair = rig.spawn(Policy::Normal, 0, &[0]);
        rig.run_until(5 * SECOND);
        assert_eq!(
            [rig.ran(rt), rig.ran(fair)],
            [5 * SECOND, 0],
            "runtime {runtime} µs"
        );
    }
}

#[test]
fn the_period_timer_stops_without_rt_tasks_and_starts_with_the_next() {
    let mut rig = Rig::new(Release::V6_1, 1);
    let rt = rig.fifo(50, &[0]);
    rig.run_until(10 * MS);
    rig.sleep(0);
    assert!(rig.sched.rt_root().bandwidth.period_active);
    // The first period's end takes the 10 ms off and finds nothing left to count.
    rig.run_until(SECOND + MS);
    assert!(!rig.sched.rt_root().bandwidth.period_active);
    assert_eq!(rig.sched.rqs[CpuId(0)].rt.time, 0);
    rig.wake(0, rt);
    // The period that was running then is kept: it ends at 2 s and 1 ns.
    assert_eq!(rig.sched.rt_root().bandwidth.expires, 2 * SECOND + 1);
    rig.run_until(5 * SECOND + MS);
    assert!(rig.sched.rt_root().bandwidth.period_active);
}

#[test]
fn with_rt_runtime_share_a_cpu_borrows_from_the_others() {
    let mut profile = KernelProfile::new(Release::V6_1, 2);
    profile.features.set(Feature::RT_RUNTIME_SHARE, true);
    let mut rig = Rig::with_profile(profile, 2);
    let rt = rig.fifo(50, &[0]);
    let fair = rig.spawn(Policy::Normal, 0, &[0]);
    rig.run_until(3 * SECOND);
    assert_eq!([rig.ran(rt), rig.ran(fair)], [3 * SECOND, 0]);
    // Half of what CPU 1 has would make 1425 ms; a period is all that CPU 0 can use.
    let borrowed = [0, 1].map(|cpu| rig.sched.rqs[CpuId(cpu)].rt.borrowed);
    assert_eq!(borrowed, [50 * MS as i64, -(50 * MS as i64)]);
    rig.sched.rq_offline_rt(CpuId(0));
    let borrowed = [0, 1].map(|cpu| rig.sched.rqs[CpuId(cpu)].rt.borrowed);
    assert_eq!(borrowed, [0, 0], "leaving, it gives back what it borrowed");
}

#[test]
fn another_cpu_does_not_throttle_for_this_one() {
    let mut rig = Rig::new(Release::V6_1, 2);
    let hog = rig.fifo(50, &[0]);
    let light = rig.fifo(50, &[1]);
    rig.run_until(400 * MS);
    rig.sleep(1);
    rig.run_until(800 * MS);
    rig.wake(1, light);
    rig.run_until(990 * MS);
    assert!(rig.sched.rqs[CpuId(0)].rt.throttled);
    assert_eq!(rig.curr(1), light);
    assert_eq!(rig.sched.rqs[CpuId(1)].rt.highest_curr, 49);
    assert_eq!(rig.sched.tasks[hog].cpu, CpuId(0));
}

#[test]
fn a_late_period_timer_refills_for_each_period_it_missed() {
    let mut rig = Rig::new(Release::V6_1, 1);
    let rt = rig.fifo(50, &[0]);
    // No tick and no timer for 2.5 s: the hog ran on, and is throttled when that is noticed.
    rig.now = 2500 * MS;
    rig.sched.sched_tick(CpuId(0), rig.now);
    rig.settle();
    assert_ne!(rig.curr(0), rt);
    assert_eq!(rig.sched.rqs[CpuId(0)].rt.time, 2500 * MS);
    // Periods began at 1 ns, 1 s and 2 s: three times 950 ms cover what it used.
    rig.sched.rt_timer(CpuId(0), rig.now);
    rig.settle();
    assert_eq!(rig.curr(0), rt);
    assert_eq!(rig.sched.rqs[CpuId(0)].rt.time, 0);
    assert_eq!(rig.sched.rt_root().bandwidth.expires, 3 * SECOND + 1);
}
