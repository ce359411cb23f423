//! Worked examples of SIS_EMPTY_CFS_RQ: where a task of a group wakes when nothing is idle, and whether it runs at once.
//!
//! Model. Two nodes of four CPUs, a last-level cache each, a hog on every CPU. Group /a has a hog on CPU 7, and a task that
//!        slept there; an interrupt on CPU 7 wakes it.

mod rig;

use fairwind_sched::entity::NICE_0_LOAD;
use fairwind_sched::{CpuId, Feature, GroupId, Release, SeId, TaskId, Topology};
use rig::{MS, Rig, both};

/// The machine, the sleeper, and its group.
fn machine(
    release: Release,
    features: &[Feature],
    sleepers_cpus: &[u32],
) -> (Rig, TaskId, GroupId) {
    let mut rig = Rig::with(release, Topology::regular(2, 4, 1), features);
    let group = rig.sched.create_group(GroupId::ROOT, rig.now);
    let sleeper = rig.sleeper(7, sleepers_cpus);
    rig.sched.sched_move_task(sleeper, group, rig.now);
    rig.hogs(&[0, 1, 2, 3, 4, 5, 6]);
    let member = rig.start(7, &[7]);
    rig.sched.sched_move_task(member, group, rig.now);
    rig.settle();
    rig.now += 100 * MS;
    (rig, sleeper, group)
}

const ON: &[Feature] = &[Feature::SIS_EMPTY_CFS_RQ];
const ALL: &[u32] = &[0, 1, 2, 3, 4, 5, 6, 7];

/// The entity of a group on a CPU.
fn entity(rig: &Rig, group: GroupId, cpu: usize) -> SeId {
    rig.sched.cfs_rqs[rig.sched.groups[group].cfs_rq[cpu]].se
}

#[test]
fn the_first_cpu_of_the_cache_without_a_task_of_the_group() {
    // The cache of CPU 7 is 4 to 7; /a has nothing on 4, 5 and 6. Without the change the task stays
    // on CPU 7, in line with the other one.
    both(|release| {
        let (mut rig, sleeper, _) = machine(release, &[], ALL);
        assert_eq!(rig.wake(7, sleeper, 0), 7, "{release:?}");
        let (mut rig, sleeper, _) = machine(release, ON, ALL);
        assert_eq!(rig.wake(7, sleeper, 0), 4, "{release:?}");
        assert_eq!(rig.sched.search.empty_cfs_rq, 1, "{release:?}");
    });
}

#[test]
fn it_runs_there_at_once() {
    both(|release| {
        let (mut rig, sleeper, _) = machine(release, ON, ALL);
        rig.wake(7, sleeper, 0);
        assert_eq!(rig.sched.rqs[CpuId(4)].curr, sleeper, "{release:?}");
    });
}

#[test]
fn cfs_places_the_group_half_a_latency_before_the_hog() {
    // 8 CPUs: latency 24 ms, halved by GENTLE_FAIR_SLEEPERS. The hog on CPU 4 is alone, so min_vruntime is its own.
    let (mut rig, sleeper, group) = machine(Release::V6_1, ON, ALL);
    let hog = rig.sched.rqs[CpuId(4)].curr;
    rig.wake(7, sleeper, 0);
    let hog = &rig.sched.ses[rig.sched.tasks[hog].se];
    let group = &rig.sched.ses[entity(&rig, group, 4)];
    assert_eq!(hog.vruntime.wrapping_sub(group.vruntime), 12 * MS);
}

#[test]
fn eevdf_places_the_group_with_two_slices_of_lag() {
    // 8 CPUs: a slice of 2.8 ms; two slices are more than a tick. The hog is alone: V is its vruntime before the group
    // joins. V − v is the lag once more by (W + w)/W, so that 5.6 ms of CPU time are left after joining.
    let (mut rig, sleeper, group) = machine(Release::V6_12, ON, ALL);
    let hog = rig.sched.rqs[CpuId(4)].curr;
    rig.wake(7, sleeper, 0);
    let hog = &rig.sched.ses[rig.sched.tasks[hog].se];
    let group = &rig.sched.ses[entity(&rig, group, 4)];
    let ahead = hog.vruntime.wrapping_sub(group.vruntime);
    let lag = ahead * 1024 / (1024 + group.weight()) * group.load.weight / NICE_0_LOAD;
    // The weight is rounded to 1/1024 on the way.
    assert!(lag.abs_diff(5_600_000) <= 5_600_000 / 256, "{lag}");
}

#[test]
fn affinity_counts() {
    both(|release| {
        let (mut rig, sleeper, _) = machine(release, ON, &[1, 6, 7]);
        assert_eq!(rig.wake(7, sleeper, 0), 6, "{release:?}");
        let (mut rig, sleeper, _) = machine(release, ON, &[1, 7]);
        assert_eq!(
            rig.wake(7, sleeper, 0),
            7,
            "{release:?}: CPU 1 is in another cache"
        );
    });
}

#[test]
fn an_idle_cpu_is_better() {
    both(|release| {
        let (mut rig, sleeper, _) = machine(release, ON, ALL);
        let hog = rig.sched.rqs[CpuId(6)].curr;
        rig.sched
            .set_current_state(CpuId(6), fairwind_sched::TaskState::Interruptible);
        rig.sched.schedule(CpuId(6), rig.now, false);
        rig.settle();
        rig.set_scan(7, 4, false);
        assert_ne!(rig.sched.rqs[CpuId(6)].curr, hog);
        assert_eq!(rig.wake(7, sleeper, 0), 6, "{release:?}");
        assert_eq!(rig.sched.search.empty_cfs_rq, 0, "{release:?}");
    });
}

#[test]
fn tasks_of_the_root_group_stay() {
    both(|release| {
        let (mut rig, sleeper, _) = machine(release, ON, ALL);
        rig.sched.sched_move_task(sleeper, GroupId::ROOT, rig.now);
        assert_eq!(rig.wake(7, sleeper, 0), 7, "{release:?}");
    });
}

#[test]
fn a_group_that_is_everywhere_stays() {
    // Another task of /a on each CPU of the cache.
    both(|release| {
        let (mut rig, sleeper, group) = machine(release, ON, ALL);
        for cpu in [4, 5, 6] {
            let hog = rig.sched.rqs[CpuId(cpu)].curr;
            rig.sched.sched_move_task(hog, group, rig.now);
        }
        rig.settle();
        assert_eq!(rig.wake(7, sleeper, 0), 7, "{release:?}");
        assert_eq!(rig.sched.search.empty_cfs_rq, 0, "{release:?}");
    });
}
