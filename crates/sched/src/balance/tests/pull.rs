//! Pulling queued tasks: how many, from where, and how often it is tried.

use super::driver::{Driver, cpu};
use crate::balance::CpuIdleType;
use crate::profile::Release;
use crate::units::TaskId;

/// Four tasks on CPU 0 of four. The first tick of CPU 1 takes half of the difference, (4 - 0) / 2 =
/// 2; CPU 2 finds CPUs 0 and 1 with two each and takes one from the first, CPU 3 one from the
/// other. No task counts as cache-hot.
#[test]
fn four_tasks_spread_over_four_idle_cpus_within_one_tick() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 4, 1);
        d.sched.profile.tunables.migration_cost_ns = 0;
        for _ in 0..4 {
            d.hog(&[0, 1, 2, 3]);
        }
        assert_eq!(d.nr_running(), [4, 0, 0, 0]);
        d.tick();
        assert_eq!(d.nr_running(), [1, 1, 1, 1], "{release:?}");
        assert_eq!(d.stats(1, 0).of(CpuIdleType::Idle).lb_gained, 2);
        assert_eq!(d.stats(2, 0).of(CpuIdleType::Idle).lb_gained, 1);
        assert_eq!(d.stats(3, 0).of(CpuIdleType::Idle).lb_gained, 1);
    }
}

/// The least recently run tasks leave first, and of those that leave the last one detached is
/// queued first.
#[test]
fn tasks_leave_in_the_order_of_the_list_and_arrive_in_reverse() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 1);
        d.ticking = d.mask(&[]);
        let hogs: alloc::vec::Vec<_> = (0..5).map(|_| d.hog(&[0, 1])).collect();
        // New tasks join at the head: the first one runs, the second has waited longest.
        d.now += 8_000_000;
        d.sched.rqs[cpu(1)].idle_balance = true;
        d.sched.sched_balance_softirq(cpu(1), d.now);
        let moved: alloc::vec::Vec<_> = d
            .sched
            .effects
            .iter()
            .filter_map(|e| match e {
                crate::effects::Effect::Migrate { task, .. } => Some(*task),
                _ => None,
            })
            .collect();
        assert_eq!(moved, [hogs[1], hogs[2]], "(5 - 0) / 2 of them");
        // Each is put at the head of the destination's list in turn: the one detached first ends
        // there.
        assert_eq!(d.sched.rqs[cpu(1)].cfs_tasks_first, hogs[1]);
        assert_eq!(d.sched.rqs[cpu(1)].cfs_tasks_last, hogs[2]);
    }
}

/// With "always hot" nothing moves until a domain failed more often than `cache_nice_tries`: 1 for
/// an LLC.
#[test]
fn cache_hot_tasks_stay_until_balancing_has_failed_twice() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 1);
        d.sched.profile.tunables.migration_cost_ns = -1;
        d.hog(&[0, 1]);
        d.hog(&[0, 1]);
        let sd = d.domains(1)[0];
        assert_eq!(d.sched.domains.sd[sd].cache_nice_tries, 1);
        for failed in 1..=2 {
            d.tick();
            assert_eq!(d.nr_running(), [2, 0]);
            assert_eq!(d.sched.domains.sd[sd].nr_balance_failed, failed);
        }
        d.tick();
        assert_eq!(d.nr_running(), [1, 1]);
        assert_eq!(d.sched.domains.sd[sd].nr_balance_failed, 0);
        let stats = d.stats(1, 0);
        let idle = stats.of(CpuIdleType::Idle);
        assert_eq!(
            (idle.lb_failed, idle.lb_gained, idle.lb_hot_gained),
            (2, 1, 1)
        );
    }
}

/// On CPU 0: a runs; b ran 0.3 ms ago; c woke last, after a long sleep. The list begins with c, so that b is tried first,
/// and where balancing has failed often enough b goes, hot as it is. With LB_COLD_FIRST c goes; and where all are hot, b
/// again.
#[test]
fn of_hot_and_cold_tasks_the_cold_one_goes_first() {
    for release in Release::ALL {
        let moved = |cold_first: bool, all_hot: bool| {
            let mut d = Driver::new(release, 1, 2, 1);
            d.ticking = d.mask(&[]);
            let features = &mut d.sched.profile.features;
            features.set(crate::features::Feature::LB_COLD_FIRST, cold_first);
            let [a, b, c] = [d.hog(&[0, 1]), d.hog(&[0, 1]), d.hog(&[0, 1])];
            d.now += 100_000_000;
            let now = d.now;
            (d.sched.rqs[cpu(0)].clock, d.sched.rqs[cpu(0)].clock_task) = (now, now);
            for (task, ago) in [(a, 0), (b, 300_000), (c, 50_000_000)] {
                let ago = if all_hot { 300_000 } else { ago };
                let se = d.sched.tasks[task].se;
                d.sched.ses[se].exec_start = now - ago;
            }
            assert_eq!(d.sched.rqs[cpu(0)].curr, a);
            assert_eq!(d.sched.rqs[cpu(0)].cfs_tasks_first, c, "b is behind it");
            let sd = d.domains(1)[0];
            d.sched.domains.sd[sd].nr_balance_failed = 2;
            d.sched.rqs[cpu(1)].idle_balance = true;
            d.sched.sched_balance_softirq(cpu(1), now);
            assert_eq!(d.nr_running(), [2, 1], "{release:?}");
            let first = d.sched.rqs[cpu(1)].cfs_tasks_first;
            if first == b { "b" } else { "c" }
        };
        assert_eq!(moved(false, false), "b", "{release:?}");
        assert_eq!(moved(true, false), "c", "{release:?}");
        assert_eq!(moved(true, true), "b", "{release:?}");
    }
}

/// Five tasks on CPU 0; CPU 1 goes idle. Half the difference would be two, but a newly idle CPU
/// takes one at a time.
#[test]
fn a_newly_idle_cpu_pulls_one_task() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 1);
        d.ticking = d.mask(&[]);
        for _ in 0..5 {
            d.hog(&[0, 1]);
        }
        d.hog(&[1]);
        d.sleep(1);
        assert_eq!(d.nr_running(), [4, 1]);
        let stats = d.stats(1, 0);
        let newly = stats.of(CpuIdleType::NewlyIdle);
        assert_eq!((newly.lb_count, newly.lb_gained), (1, 1));
        assert_eq!(d.sched.rqs[cpu(1)].idle_stamp, 0, "it did not become idle");
    }
}

/// Nothing is pulled where the CPU expects to be idle for less time than a pass takes.
#[test]
fn a_short_idle_time_is_not_worth_a_pass() {
    let mut d = Driver::new(Release::V6_12, 1, 2, 1);
    d.ticking = d.mask(&[]);
    for _ in 0..3 {
        d.hog(&[0, 1]);
    }
    let sd = d.domains(1)[0];
    d.sched.domains.sd[sd].max_newidle_lb_cost = 5000;
    d.sched.rqs[cpu(1)].avg_idle = 4999;
    d.hog(&[1]);
    d.sleep(1);
    assert_eq!(d.nr_running(), [3, 0]);
    d.sched.rqs[cpu(1)].avg_idle = 5000;
    d.hog(&[1]);
    // The task before did not leave the CPU idle for long.
    d.sched.rqs[cpu(1)].avg_idle = 5000;
    d.sleep(1);
    assert_eq!(d.nr_running(), [2, 1]);
}

/// What a pass costs is noted as the longest one of the domain, and charged: 100 ns for each of two
/// CPUs.
#[test]
fn the_cost_of_a_newly_idle_pass_is_kept_and_fades() {
    let mut d = Driver::new(Release::V6_12, 1, 2, 1);
    d.ticking = d.mask(&[]);
    d.sched
        .set_balance_cost(crate::balance::BalanceCost { per_cpu_ns: 100 });
    for _ in 0..3 {
        d.hog(&[0, 1]);
    }
    d.hog(&[1]);
    d.sleep(1);
    let sd = d.domains(1)[0];
    assert_eq!(d.sched.domains.sd[sd].max_newidle_lb_cost, 200);
    assert_eq!(d.sched.balance_time_spent(), 200);
    // A second and a tick later periodic balancing takes 3/256 off it: 200 · 253 / 256 = 197.
    d.now += 1_004_000_000;
    d.sched.sched_balance_softirq(cpu(1), d.now);
    assert_eq!(d.sched.domains.sd[sd].max_newidle_lb_cost, 197);
}

/// A balanced domain is looked at less and less often, up to its maximum of twice its CPUs in ms.
#[test]
fn intervals_double_while_balanced_and_are_longer_while_busy() {
    let mut d = Driver::new(Release::V6_12, 1, 4, 1);
    let sd = d.domains(0)[0];
    assert_eq!(d.sched.domains.sd[sd].balance_interval, 4);
    d.tick();
    assert_eq!(d.sched.domains.sd[sd].balance_interval, 8);
    d.ticks(4);
    assert_eq!(d.sched.domains.sd[sd].balance_interval, 8);
    // 8 ms are two ticks; while busy 16 times that, less one; and never more than 0.1 s for each of
    // the three CPUs that were up before the last one came.
    assert_eq!(d.sched.get_sd_balance_interval(sd, false), 2);
    assert_eq!(d.sched.get_sd_balance_interval(sd, true), 31);
    d.sched.domains.sd[sd].balance_interval = 1000;
    assert_eq!(d.sched.get_sd_balance_interval(sd, true), 75);
}

/// The LLC is idle, so a search may look at all of it.
#[test]
fn a_pass_over_the_llc_sets_how_far_to_search() {
    let mut d = Driver::new(Release::V6_12, 1, 4, 1);
    d.tick();
    let shared = d.sched.domains.sd_llc_shared[0];
    assert_eq!(d.sched.domains.sds[shared].nr_idle_scan, 4);
}

/// The counters come out in the order of the release's idle types.
#[test]
fn schedstat_lists_idle_first_in_6_1_and_second_in_6_12() {
    for (release, first) in [(Release::V6_1, 0), (Release::V6_12, 8)] {
        let mut d = Driver::new(release, 1, 2, 1);
        d.tick();
        let fields = d.sched.schedstat_domain(d.domains(1)[0]);
        let expected = [1, 1, 0, 0, 0, 0, 0, 1];
        assert_eq!(
            fields[first..first + 8],
            expected,
            "one pass, balanced, no busy group"
        );
        assert_eq!(fields.iter().sum::<u64>(), 3);
    }
}

/// Picks that the list only notes leave the order that a list would have from which each task is taken to the front.
#[test]
fn the_least_recently_run_comes_first_though_picks_move_nobody() {
    let mut d = Driver::new(Release::V6_12, 1, 1, 1);
    d.ticking = d.mask(&[]);
    let mut order: alloc::vec::Vec<_> = (0..6).map(|_| d.hog(&[0])).collect();
    let runs = d.sched.rqs[cpu(0)].curr;
    order.retain(|&task| task != runs);
    for &task in &order {
        d.sched.cfs_tasks_picked(cpu(0), task);
    }
    let mut random = 1u32;
    for round in 0..200 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let task = order.remove((random >> 16) as usize % order.len());
        order.push(task);
        d.sched.cfs_tasks_picked(cpu(0), task);
        if round % 7 != 0 {
            continue;
        }
        let mut found = alloc::vec::Vec::new();
        let mut at = d.sched.cfs_tasks_before(cpu(0), TaskId::NONE);
        while at.is_some() {
            found.push(at);
            at = d.sched.cfs_tasks_before(cpu(0), at);
        }
        found.retain(|&task| task != runs);
        assert_eq!(found, order, "round {round}");
    }
}
