//! Worked examples of SIS_CACHE: the two averages step by step, and what a scan passes over.

mod rig;

use fairwind_sched::{CpuId, Feature, GroupId, Nanos, Release, TaskId, TaskState, Topology};
use rig::{MS, Rig, both};

const US: Nanos = 1_000;
const ON: &[Feature] = &[Feature::SIS_CACHE];

/// The running task of a CPU sleeps for so long, and is woken by an interrupt there.
fn nap(rig: &mut Rig, cpu: u32, duration: Nanos) -> TaskId {
    let task = rig.sched.rqs[CpuId(cpu)].curr;
    fall_asleep(rig, cpu);
    rig.now += duration;
    rig.sched.try_to_wake_up(CpuId(cpu), task, rig.now, 0);
    rig.settle();
    task
}

fn fall_asleep(rig: &mut Rig, cpu: u32) {
    rig.sched
        .set_current_state(CpuId(cpu), TaskState::Interruptible);
    rig.sched.schedule(CpuId(cpu), rig.now, false);
    rig.settle();
}

#[test]
fn the_average_follows_short_sleeps_and_forgets_with_long_ones() {
    // migration_cost is 500 µs. 0 + 80/8 = 10; 10 + (90 − 10)/8 = 20; 20/2 after 600 µs; 10/2 after just 500 µs.
    both(|release| {
        let mut rig = Rig::with(release, Topology::regular(1, 2, 1), ON);
        let task = rig.start(0, &[0]);
        for (sleep, avg) in [(80, 10_000), (90, 20_000), (600, 10_000), (500, 5_000)] {
            nap(&mut rig, 0, sleep * US);
            assert_eq!(
                rig.sched.tasks[task].avg_hot_dur, avg,
                "{release:?}: {sleep} us"
            );
        }
    });
}

#[test]
fn a_cpu_stays_hot_for_the_average_and_never_shorter() {
    both(|release| {
        let mut rig = Rig::with(release, Topology::regular(1, 2, 1), ON);
        rig.start(0, &[0]);
        let timeout = |rig: &Rig| rig.sched.rqs[CpuId(0)].cache_hot_timeout;
        nap(&mut rig, 0, 80 * US);
        assert_eq!(
            timeout(&rig),
            0,
            "{release:?}: when it fell asleep its average was 0"
        );
        let start = rig.now;
        nap(&mut rig, 0, 90 * US);
        assert_eq!(timeout(&rig), start + 10 * US, "{release:?}");
        // Average 20 µs now; a sleep of 1 ms halves it, but what was promised stays.
        let start = rig.now;
        nap(&mut rig, 0, MS);
        assert_eq!(timeout(&rig), start + 20 * US, "{release:?}");
    });
}

#[test]
fn a_cpu_with_something_else_to_run_is_not_hot() {
    // A second task waits on CPU 0 whenever the first one falls asleep.
    both(|release| {
        let mut rig = Rig::with(release, Topology::regular(1, 2, 1), ON);
        let task = rig.start(0, &[0]);
        nap(&mut rig, 0, 80 * US);
        rig.now += MS;
        let other = rig.sched.spawn(CpuId(0), rig.now);
        let here = rig.only(&[0]);
        rig.sched.set_cpus_allowed(other, &here, rig.now).unwrap();
        rig.sched.wake_up_new_task(CpuId(0), other, rig.now);
        rig.settle();
        let first = rig.sched.rqs[CpuId(0)].curr;
        rig.sched.tasks[first].avg_hot_dur = 10 * US;
        fall_asleep(&mut rig, 0);
        assert_eq!(rig.sched.rqs[CpuId(0)].cache_hot_timeout, 0, "{release:?}");
        assert!(first == task || first == other);
    });
}

#[test]
fn a_dequeue_that_is_no_sleep_clears_the_mark() {
    // A move to another group takes the running task off its queue and puts it back.
    both(|release| {
        let mut rig = Rig::with(release, Topology::regular(1, 2, 1), ON);
        let task = rig.start(0, &[0]);
        let group = rig.sched.create_group(GroupId::ROOT, rig.now);
        rig.sched.tasks[task].asleep_since = Some(rig.now);
        rig.sched.sched_move_task(task, group, rig.now);
        assert_eq!(rig.sched.tasks[task].asleep_since, None, "{release:?}");
    });
}

/// Four CPUs with one cache; hogs on 0 and 1, and a sleeper that was on 1, where it is woken: the scan goes 2, 3, 0, 1.
/// These CPUs are hot, and the scan may look at so many CPUs.
fn goes(release: Release, features: &[Feature], hot: &[u32], depth: i32) -> u32 {
    let mut rig = Rig::with(release, Topology::regular(1, 4, 1), features);
    let sleeper = rig.sleeper(1, &[0, 1, 2, 3]);
    rig.hogs(&[0, 1]);
    for &cpu in hot {
        rig.sched.rqs[CpuId(cpu)].cache_hot_timeout = rig.now + 2 * MS;
    }
    rig.set_scan(1, depth, false);
    rig.wake(1, sleeper, 0)
}

#[test]
fn a_scan_passes_over_a_hot_cpu() {
    both(|release| {
        assert_eq!(goes(release, &[], &[2], 4), 2, "{release:?}: off");
        assert_eq!(goes(release, ON, &[2], 4), 3, "{release:?}: on");
        assert_eq!(goes(release, ON, &[3], 4), 2, "{release:?}: 2 is not hot");
    });
}

#[test]
fn half_of_the_depth_is_passed_over() {
    // A depth of d allows (d + 1)/2. One: CPU 2 is passed over, CPU 3 is taken, hot as it is.
    both(|release| assert_eq!(goes(release, ON, &[2, 3], 2), 3, "{release:?}"));
}

#[test]
fn how_many_are_passed_over_can_be_set() {
    // Three CPUs may be looked at, and one more ends the scan. Of 4, 24 % allow none, 25 % one, 50 % two.
    for (percent, cpu) in [(0, 2), (24, 2), (25, 3), (50, 1)] {
        both(|release| {
            let mut rig = Rig::with(release, Topology::regular(1, 4, 1), ON);
            rig.sched.profile.sis_cache_hot_pct = percent;
            let sleeper = rig.sleeper(1, &[0, 1, 2, 3]);
            rig.hogs(&[0, 1]);
            for cpu in [2, 3] {
                rig.sched.rqs[CpuId(cpu)].cache_hot_timeout = rig.now + 2 * MS;
            }
            rig.set_scan(1, 3, false);
            assert_eq!(rig.wake(1, sleeper, 0), cpu, "{release:?}: {percent} %");
        });
    }
}

#[test]
fn the_first_hot_cpu_if_there_is_no_other() {
    both(|release| assert_eq!(goes(release, ON, &[2, 3], 4), 2, "{release:?}"));
}

#[test]
fn nothing_when_the_depth_ends_first() {
    // Three CPUs may be looked at: 2, 3 and 0. The fourth ends the scan, and the sleeper stays with the target.
    both(|release| assert_eq!(goes(release, ON, &[2, 3], 3), 1, "{release:?}"));
}

#[test]
fn without_a_depth_nothing_is_passed_over() {
    both(|release| {
        let mut rig = Rig::with(release, Topology::regular(1, 4, 1), ON);
        rig.sched.profile.features.set(Feature::SIS_UTIL, false);
        let sleeper = rig.sleeper(1, &[0, 1, 2, 3]);
        rig.hogs(&[0, 1]);
        rig.sched.rqs[CpuId(2)].cache_hot_timeout = rig.now + 2 * MS;
        assert_eq!(rig.wake(1, sleeper, 0), 2, "{release:?}");
    });
}

#[test]
fn a_timeout_that_is_over_means_nothing() {
    // wake() lets 1 ms pass: a timeout at exactly that time is over.
    both(|release| {
        let mut rig = Rig::with(release, Topology::regular(1, 4, 1), ON);
        let sleeper = rig.sleeper(1, &[0, 1, 2, 3]);
        rig.hogs(&[0, 1]);
        rig.sched.rqs[CpuId(2)].cache_hot_timeout = rig.now + MS;
        rig.set_scan(1, 4, false);
        assert_eq!(rig.wake(1, sleeper, 0), 2, "{release:?}");
    });
}

#[test]
fn the_sleeper_gets_its_own_cpu() {
    both(|release| {
        let mut rig = Rig::with(release, Topology::regular(1, 4, 1), ON);
        let sleeper = rig.sleeper(2, &[0, 1, 2, 3]);
        rig.hogs(&[0]);
        rig.sched.rqs[CpuId(2)].cache_hot_timeout = rig.now + 2 * MS;
        assert_eq!(rig.wake(0, sleeper, 0), 2, "{release:?}");
    });
}

#[test]
fn idle_cores_are_passed_over_thread_by_thread() {
    // Cores 0,1 | 2,3 | 4,5 | 6,7; hogs on 0 and 2; woken on 2, so the scan goes 3, 4, 5, 6, 7, 0, 1, 2. CPU 3 is an idle
    // thread of a busy core. With every thread of the idle cores hot it is what is left; a depth of 8 allows to pass over
    // 4, which is all of 4, 5, 6 and 7.
    both(|release| {
        for (hot, goes) in [
            (&[][..], 4),
            (&[4][..], 5),
            (&[4, 5][..], 6),
            (&[4, 5, 6][..], 7),
            (&[4, 5, 6, 7][..], 3),
        ] {
            let mut rig = Rig::with(release, Topology::regular(1, 4, 2), ON);
            let all = rig.all();
            let sleeper = rig.sleeper(2, &all);
            rig.hogs(&[0, 2]);
            for &cpu in hot {
                rig.sched.rqs[CpuId(cpu)].cache_hot_timeout = rig.now + 2 * MS;
            }
            rig.set_scan(2, 8, true);
            assert_eq!(rig.wake(2, sleeper, 0), goes, "{release:?}: hot {hot:?}");
        }
    });
}
