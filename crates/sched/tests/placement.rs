//! Worked examples: where a waking task goes, case by case, through the public interface.
//!
//! Model. A rig puts busy tasks on some CPUs, a sleeper on another, and wakes it from a third. Every machine is small
//!        enough to work the answer out by hand; both releases must give it.

mod rig;

use fairwind_sched::flags::WF_SYNC;
use fairwind_sched::{CpuId, CpuMask, Policy, Release, SchedAttr, Topology};
use rig::{MS, Rig, both};

#[test]
fn the_previous_cpu_if_it_is_idle() {
    // One cache of four CPUs; the waker runs on 0, the sleeper was on 2. WA_IDLE keeps an idle previous CPU.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleeper = rig.sleeper(2, &[0, 1, 2, 3]);
        rig.hogs(&[0]);
        assert_eq!(rig.wake(0, sleeper, 0), 2, "{release:?}");
    });
}

#[test]
fn the_wakers_cpu_if_it_is_idle_and_the_previous_one_is_not() {
    // An interrupt on idle CPU 1 wakes a task whose CPU 2 is busy: same cache, so the target is CPU 1.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleeper = rig.sleeper(2, &[0, 1, 2, 3]);
        rig.hogs(&[2]);
        assert_eq!(rig.wake(1, sleeper, 0), 1, "{release:?}");
    });
}

#[test]
fn a_sync_waker_that_is_alone_gives_its_cpu_if_nothing_is_idle() {
    // Both CPUs are busy. The waker says that it will sleep and is alone on CPU 0: the wakee comes there.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 2, 1));
        let sleeper = rig.sleeper(1, &[0, 1]);
        rig.hogs(&[0, 1]);
        assert_eq!(rig.wake(0, sleeper, WF_SYNC), 0, "{release:?}");
    });
}

#[test]
fn a_scan_finds_the_idle_cpu() {
    // The waker's CPU 0 and the previous CPU 1 are busy; of 2 and 3, 3 is idle.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleeper = rig.sleeper(1, &[0, 1, 2, 3]);
        rig.hogs(&[0, 1, 2]);
        rig.set_scan(0, 4, false);
        assert_eq!(rig.wake(0, sleeper, 0), 3, "{release:?}");
    });
}

#[test]
fn an_idle_cpu_is_chosen_again_until_a_task_is_queued_there() {
    // CPUs 0 to 2 are busy. Two wakers choose CPU 3 before either has queued its task; a third comes after the first has.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleepers = [0, 1, 2].map(|cpu| rig.sleeper(cpu, &[0, 1, 2, 3]));
        rig.hogs(&[0, 1, 2]);
        rig.set_scan(0, 4, false);
        let now = rig.now + MS;
        let choose = |rig: &mut Rig, cpu: usize| {
            let waker = CpuId(cpu as u32);
            rig.sched
                .choose_cpu_to_wake_on(waker, sleepers[cpu], now, 0)
                .unwrap()
        };
        let chosen = [0, 1].map(|cpu| choose(&mut rig, cpu));
        assert_eq!(chosen.map(|task| task.cpu), [CpuId(3); 2], "{release:?}");
        for (waker, task) in chosen.into_iter().enumerate() {
            rig.sched.wake_on_chosen_cpu(CpuId(waker as u32), task, now);
        }
        assert_ne!(choose(&mut rig, 2).cpu, CpuId(3), "{release:?}");
        rig.settle();
        let queued = |task| rig.sched.tasks[task].cpu;
        assert_eq!(sleepers.map(queued)[..2], [CpuId(3); 2], "{release:?}");
    });
}

#[test]
fn no_scan_when_the_cache_is_overloaded() {
    // The same, but SIS_UTIL says that looking is not worth it: one of the two candidates, both busy.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleeper = rig.sleeper(1, &[0, 1, 2, 3]);
        rig.hogs(&[0, 1, 2]);
        rig.set_scan(0, 0, false);
        let before = rig.sched.search.scans;
        assert!(rig.wake(0, sleeper, 0) <= 1, "{release:?}");
        assert_eq!(rig.sched.search.scans, before, "{release:?}");
    });
}

#[test]
fn a_scan_looks_at_no_more_cpus_than_it_may() {
    // Woken on its own CPU 1, which is the target, with 0, 1 and 2 busy. The scan begins behind it: a depth of 1 looks at
    // CPU 2 only, a depth of 2 also at the idle CPU 3.
    both(|release| {
        for (depth, goes) in [(1, 1), (2, 3)] {
            let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
            let sleeper = rig.sleeper(1, &[0, 1, 2, 3]);
            rig.hogs(&[0, 1, 2]);
            rig.set_scan(1, depth, false);
            assert_eq!(rig.wake(1, sleeper, 0), goes, "{release:?} depth {depth}");
        }
    });
}

#[test]
fn affinity_comes_first() {
    // CPUs 2 and 3 are idle, and the sleeper may use 1 and 3 only.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleeper = rig.sleeper(1, &[1, 3]);
        rig.hogs(&[0, 1]);
        rig.set_scan(0, 4, false);
        assert_eq!(rig.wake(0, sleeper, 0), 3, "{release:?}");
    });
}

#[test]
fn a_single_allowed_cpu_needs_no_search() {
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleeper = rig.sleeper(1, &[1]);
        rig.hogs(&[0, 1]);
        let before = rig.sched.search.wakeups;
        assert_eq!(rig.wake(0, sleeper, 0), 1, "{release:?}");
        assert_eq!(rig.sched.search.wakeups, before, "{release:?}");
    });
}

#[test]
fn the_cpu_before_the_previous_one() {
    // recent_used_cpu is 3; the target and the previous CPU are busy. A scan would have found the idle CPU 2 first.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleeper = rig.sleeper(1, &[0, 1, 2, 3]);
        rig.hogs(&[0, 1]);
        rig.sched.tasks[sleeper].recent_used_cpu = CpuId(3);
        rig.set_scan(0, 4, false);
        assert_eq!(rig.wake(0, sleeper, 0), 3, "{release:?}");
        assert_eq!(
            rig.sched.tasks[sleeper].recent_used_cpu,
            CpuId(1),
            "{release:?}"
        );
    });
}

#[test]
fn an_idle_core_before_an_idle_thread() {
    // Two threads a core: 0,1 | 2,3 | 4,5 | 6,7. Busy: 0 (waker), 2 (previous), 4. Idle threads: 1, 3, 5; idle core: 6,7.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 2));
        let all = rig.all();
        let sleeper = rig.sleeper(2, &all);
        rig.hogs(&[0, 2, 4]);
        rig.set_scan(0, 8, true);
        let goes = rig.wake(0, sleeper, 0);
        assert!(goes == 6 || goes == 7, "{release:?}: {goes}");
    });
}

#[test]
fn the_previous_cpus_sibling_when_no_core_is_idle() {
    // As before with 6 busy, too: no idle core, so the previous CPU's sibling is taken before any scan.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 2));
        let all = rig.all();
        let sleeper = rig.sleeper(2, &all);
        rig.hogs(&[0, 2, 4, 6]);
        rig.set_scan(0, 8, false);
        let before = rig.sched.search.scans;
        assert_eq!(rig.wake(0, sleeper, 0), 3, "{release:?}");
        assert_eq!(rig.sched.search.scans, before, "{release:?}");
    });
}

#[test]
fn a_search_for_an_idle_core_that_fails_says_so() {
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 2));
        let all = rig.all();
        let sleeper = rig.sleeper(2, &all);
        rig.hogs(&[0, 2, 4, 6]);
        rig.set_scan(0, 8, true);
        // It takes the first idle thread it came across: one of 1, 3, 5 and 7.
        let goes = rig.wake(0, sleeper, 0);
        assert!(goes % 2 == 1, "{release:?}: {goes}");
        let shared = rig.sched.domains.sd_llc_shared[0];
        assert!(!rig.sched.domains.sds[shared].has_idle_cores, "{release:?}");
    });
}

#[test]
fn an_idle_previous_cpu_in_another_cache_keeps_its_task() {
    // Two sockets of two CPUs. The waker is busy on 0, the sleeper's CPU 2 is idle: no pull across caches.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(2, 2, 1));
        let all = rig.all();
        let sleeper = rig.sleeper(2, &all);
        rig.hogs(&[0]);
        assert_eq!(rig.wake(0, sleeper, 0), 2, "{release:?}");
    });
}

#[test]
fn a_sync_waker_pulls_into_its_cache() {
    // The same with a sync waker that is alone: the target is its CPU 0, which is busy; its cache has 1 idle.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(2, 2, 1));
        let all = rig.all();
        let sleeper = rig.sleeper(2, &all);
        rig.hogs(&[0]);
        rig.set_scan(0, 2, false);
        assert_eq!(rig.wake(0, sleeper, WF_SYNC), 1, "{release:?}");
    });
}

#[test]
fn a_wide_fan_is_not_drawn_to_its_waker() {
    // With a cache of 2 CPUs, a slave that flips among 2 wakees and a master that flips among 2 · 2 make a wide fan: the
    // sync waker's CPU is no candidate, and the search stays in the previous CPU's cache (2 and 3).
    both(|release| {
        let goes = |master: u32, slave: u32| {
            let mut rig = Rig::new(release, Topology::regular(2, 2, 1));
            let all = rig.all();
            let sleeper = rig.sleeper(2, &all);
            let waker = rig.start(0, &[0]);
            rig.hogs(&[2, 3]);
            rig.sched.tasks[waker].wakee_flips = master;
            rig.sched.tasks[waker].last_wakee = sleeper;
            rig.sched.tasks[sleeper].wakee_flips = slave;
            rig.set_scan(0, 2, false);
            rig.set_scan(2, 2, false);
            rig.wake(0, sleeper, WF_SYNC)
        };
        assert!(
            goes(4, 1) <= 1,
            "{release:?}: the slave flips less than the cache has CPUs"
        );
        assert!(
            goes(3, 2) <= 1,
            "{release:?}: the master flips less than that many times more"
        );
        assert!(goes(4, 2) >= 2, "{release:?}");
    });
}

#[test]
fn a_cpu_with_only_idle_policy_tasks_counts_as_idle() {
    // CPU 2, the sleeper's, runs a SCHED_IDLE task only; an interrupt there wakes the sleeper.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleeper = rig.sleeper(2, &[0, 1, 2, 3]);
        let low = rig.start(2, &[2]);
        let idle = SchedAttr {
            policy: Policy::Idle,
            nice: 0,
            priority: 0,
            runtime: 0,
        };
        rig.sched.sched_setscheduler(low, idle, rig.now).unwrap();
        rig.settle();
        rig.hogs(&[0, 1, 3]);
        assert_eq!(rig.wake(2, sleeper, 0), 2, "{release:?}");
        assert_eq!(
            rig.sched.rqs[CpuId(2)].curr,
            sleeper,
            "{release:?}: and it preempts"
        );
    });
}

#[test]
fn an_offline_cpu_is_never_chosen() {
    // The sleeper's CPU 2 is gone: placement still names it, for it looks idle, and the fallback takes the first usable CPU
    // of the node.
    both(|release| {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let sleeper = rig.sleeper(2, &[0, 1, 2, 3]);
        rig.hogs(&[0]);
        rig.sched.cpu_down(CpuId(2), rig.now).unwrap();
        rig.settle();
        assert_eq!(rig.wake(0, sleeper, 0), 0, "{release:?}");
    });
}

#[test]
fn slices_scale_with_the_cpus_that_are_online() {
    // 6.12 builds its domains while the leaving CPU still counts, so that the next one that leaves makes a difference.
    for (release, name, slices) in [
        (
            Release::V6_1,
            "min_granularity_ns",
            [2_250_000, 1_500_000, 1_500_000],
        ),
        (
            Release::V6_12,
            "base_slice_ns",
            [2_100_000, 2_100_000, 1_400_000],
        ),
    ] {
        let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
        let slice = |rig: &Rig| rig.sched.profile.tunables.get(name).unwrap();
        let mut found = vec![slice(&rig)];
        for cpu in [3, 2] {
            rig.sched.follow_cpu_leaves(CpuId(cpu), rig.now).unwrap();
            rig.sched.follow_cpu_left(CpuId(cpu), rig.now);
            rig.sched.follow_domains(Some(CpuId(cpu)));
            found.push(slice(&rig));
        }
        assert_eq!(found, slices, "{release:?}");
        for cpu in [2, 3] {
            rig.sched.follow_cpu_returns(CpuId(cpu), rig.now).unwrap();
            rig.sched.follow_domains(None);
        }
        assert_eq!(slice(&rig), slices[0], "{release:?}");
    }
}

#[test]
fn an_isolated_cpu_is_not_looked_for() {
    both(|release| {
        for isolated in [false, true] {
            let mut rig = Rig::new(release, Topology::regular(1, 4, 1));
            if isolated {
                rig.sched.isolate(&CpuMask::of(4, [CpuId(3)]));
            }
            let sleeper = rig.sleeper(0, &[0, 1, 2, 3]);
            rig.hogs(&[0, 1, 2]);
            rig.settle();
            rig.set_scan(0, 4, false);
            let chosen = rig.wake(0, sleeper, 0);
            assert_eq!(chosen == 3, !isolated, "{release:?}: CPU {chosen}");
        }
    });
}
