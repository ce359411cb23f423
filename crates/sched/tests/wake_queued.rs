//! Worked examples of WA_QUEUED_WEIGHT: whether a waking task comes to its waker's CPU.
//!
//! Model. One node of two CPUs of one cache. A task slept on CPU 1, and CPU 0 wakes it.

mod rig;

use fairwind_sched::flags::WF_SYNC;
use fairwind_sched::{CpuId, Feature, GroupId, Release, TaskId, Topology};
use rig::{Rig, both};

/// A task bound to a CPU, running or in line.
fn hog(rig: &mut Rig, cpu: u32) -> TaskId {
    let task = rig.sched.spawn(CpuId(cpu), rig.now);
    let here = rig.only(&[cpu]);
    rig.sched.set_cpus_allowed(task, &here, rig.now).unwrap();
    rig.sched.wake_up_new_task(CpuId(cpu), task, rig.now);
    rig.settle();
    task
}

/// Where the task comes to with so many hogs on the two CPUs, all in the root or each in a group of its own.
fn comes_to(release: Release, hogs: [usize; 2], grouped: bool, wake_flags: u32) -> u32 {
    let mut rig = Rig::with(
        release,
        Topology::regular(1, 2, 1),
        &[Feature::WA_QUEUED_WEIGHT],
    );
    for feature in [Feature::WA_IDLE, Feature::WA_WEIGHT] {
        rig.sched.profile.features.set(feature, false);
    }
    let sleeper = rig.sleeper(1, &[0, 1]);
    for (cpu, count) in hogs.into_iter().enumerate() {
        for _ in 0..count {
            let hog = hog(&mut rig, cpu as u32);
            if grouped {
                let group = rig.sched.create_group(GroupId::ROOT, rig.now);
                rig.sched.sched_move_task(hog, group, rig.now);
            }
        }
    }
    rig.settle();
    rig.wake(0, sleeper, wake_flags)
}

#[test]
fn the_waker_s_cpu_may_have_an_eighth_more() {
    // imbalance_pct of a cache's domain is 117, half of it 8: with the task 3 tasks here against 3 there, 300 ≤ 324; 4
    // against 3, 400 > 324.
    both(|release| {
        for grouped in [false, true] {
            assert_eq!(comes_to(release, [2, 3], grouped, 0), 0, "{release:?}");
            assert_eq!(comes_to(release, [3, 3], grouped, 0), 1, "{release:?}");
        }
    });
}

#[test]
fn a_waker_about_to_sleep_does_not_count() {
    // Of 3 tasks here 2 are left: with the task 3 against 3.
    both(|release| {
        assert_eq!(comes_to(release, [3, 3], false, WF_SYNC), 0, "{release:?}");
        assert_eq!(comes_to(release, [4, 3], false, WF_SYNC), 1, "{release:?}");
    });
}
