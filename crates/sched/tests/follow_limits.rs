//! Worked example: a throttled queue gets runtime in one step and goes back to work in another.
//!
//! Model. One CPU, one task in a group of 10 ms per 100 ms. A slice is 5 ms, so the queue takes from the pool
//!        what it needs to hold 5 ms each time that it has none left.

use fairwind_sched::{
    BandwidthLimit, CfsRqId, CpuId, CpuPlace, GroupId, KernelProfile, Nanos, Release, Sched,
    Topology,
};

const MS: Nanos = 1_000_000;
const CPU: CpuId = CpuId(0);

fn one_cpu() -> Topology {
    let cpu = CpuPlace {
        core: 0,
        cluster: 0,
        llc: 0,
        package: 0,
        node: 0,
        capacity: 1024,
    };
    Topology {
        cpus: vec![cpu],
        node_distance: vec![vec![10]],
    }
}

/// A task that ran from 1 ms on, in ticks of 4 ms, and is throttled at 13 ms.
fn throttled(release: Release) -> (Sched, GroupId, CfsRqId) {
    let mut sched = Sched::new(KernelProfile::new(release, 1), one_cpu());
    let group = sched.create_group(GroupId::ROOT, MS);
    sched.groups[group].bandwidth.period_expires = 100 * MS;
    let limit = BandwidthLimit {
        quota: 10 * MS,
        period: 100 * MS,
        burst: 0,
    };
    sched.set_bandwidth(group, limit, MS).unwrap();
    let task = sched.spawn(CPU, MS);
    sched.sched_move_task(task, group, MS);
    sched.wake_up_new_task(CPU, task, MS);
    assert_eq!(sched.schedule(CPU, MS, false).next, task);
    for tick in 1..=3 {
        assert!(!sched.rqs[CPU].need_resched);
        sched.sched_tick(CPU, MS + tick * 4 * MS);
    }
    // 12 ms of 10 ms are gone.
    assert!(sched.rqs[CPU].need_resched);
    assert!(sched.schedule(CPU, 13 * MS, false).next != task);
    let cfs_rq = sched.groups[group].cfs_rq[CPU.idx()];
    assert!(sched.cfs_rqs[cfs_rq].throttled);
    assert_eq!(sched.cfs_rqs[cfs_rq].runtime_remaining, -2 * MS as i64);
    (sched, group, cfs_rq)
}

#[test]
fn what_a_refill_gives_waits_for_the_queue_to_go_back() {
    for release in [Release::V6_1, Release::V6_12] {
        let (mut sched, group, cfs_rq) = throttled(release);
        sched.follow_period_timer(group, 99 * MS);
        assert!(sched.rqs[CPU].cfsb_csd.is_empty(), "it has not expired");
        sched.follow_period_timer(group, 101 * MS);
        assert!(sched.cfs_rqs[cfs_rq].throttled);
        assert_eq!(sched.rqs[CPU].cfsb_csd, [cfs_rq]);
        assert_eq!(sched.cfs_rqs[cfs_rq].runtime_remaining, 1);
        assert_eq!(sched.groups[group].bandwidth.runtime, 8 * MS - 1);
        sched.follow_unthrottle(cfs_rq, 102 * MS);
        assert!(!sched.cfs_rqs[cfs_rq].throttled);
        assert!(sched.rqs[CPU].cfsb_csd.is_empty());
        assert_eq!(sched.rqs[CPU].nr_running, 1);
        assert_eq!(sched.groups[group].bandwidth.throttled_time, 89 * MS);
    }
}

#[test]
fn what_the_other_kernel_did_can_be_had_without_a_timer() {
    for release in [Release::V6_1, Release::V6_12] {
        let (mut sched, group, cfs_rq) = throttled(release);
        sched.follow_grant(cfs_rq);
        assert_eq!(sched.cfs_rqs[cfs_rq].runtime_remaining, 1);
        sched.follow_unthrottle(cfs_rq, 20 * MS);
        assert_eq!(sched.rqs[CPU].nr_running, 1);
        sched.groups[group].bandwidth.runtime = 7 * MS;
        let mut before_its_refill = sched.clone();
        assert!(before_its_refill.follow_throttle(cfs_rq, 21 * MS, true));
        assert!(before_its_refill.cfs_rqs[cfs_rq].throttled);
        let pool = before_its_refill.groups[group].bandwidth.runtime;
        assert_eq!(pool, 7 * MS - 1, "what the refill gives it is just enough");
        assert_eq!(before_its_refill.rqs[CPU].cfsb_csd, [cfs_rq]);
        assert!(sched.follow_throttle(cfs_rq, 21 * MS, false));
        assert!(!sched.follow_throttle(cfs_rq, 21 * MS, false));
        assert!(sched.cfs_rqs[cfs_rq].throttled);
        assert_eq!(sched.rqs[CPU].nr_running, 0);
        assert_eq!(sched.groups[group].bandwidth.runtime, 0);
    }
}

#[test]
fn an_exhausted_queue_has_no_more_than_its_task_has_run() {
    for release in [Release::V6_1, Release::V6_12] {
        let (mut sched, group, cfs_rq) = throttled(release);
        sched.follow_period_timer(group, 100 * MS);
        sched.follow_unthrottle(cfs_rq, 100 * MS);
        let task = sched.schedule(CPU, 100 * MS, false).next;
        let state = |sched: &Sched| {
            let remaining = sched.cfs_rqs[cfs_rq].runtime_remaining;
            (remaining, sched.groups[group].bandwidth.runtime)
        };
        let before = state(&sched);
        assert_eq!(before.0 as u64 + before.1, 8 * MS);
        sched.follow_exhausted(cfs_rq, 108 * MS);
        assert_eq!(state(&sched), before, "ours finds it so, too");
        sched.follow_exhausted(cfs_rq, 103 * MS);
        assert_eq!(state(&sched), (before.0.min(3 * MS as i64), 0));
        assert!(sched.schedule(CPU, 103 * MS, false).next != task);
        assert!(sched.cfs_rqs[cfs_rq].throttled);
    }
}

#[test]
fn a_pick_that_throttles_the_last_task_finds_none() {
    for release in [Release::V6_1, Release::V6_12] {
        let (mut sched, group, cfs_rq) = throttled(release);
        sched.follow_period_timer(group, 100 * MS);
        sched.follow_unthrottle(cfs_rq, 100 * MS);
        let task = sched.schedule(CPU, 100 * MS, false).next;
        assert!(sched.is_fair(task));
        assert!(sched.clone().schedule(CPU, 107 * MS, false).next == task);
        // 8 ms of 8 ms are gone: a reschedule comes to that while the task still runs.
        assert!(sched.follow_futile_pick(CPU, 108 * MS));
        assert_eq!(sched.rqs[CPU].curr, task);
        let next = sched.schedule(CPU, 108 * MS + 50_000, false).next;
        assert_eq!(next, sched.rqs[CPU].idle);
    }
}
