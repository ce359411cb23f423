//! Worked examples: CPU limits.

mod rig;

use fairwind_sched::{BwInterleave, Release};
use rig::{MS, SEC, cpu_ns, finish, near, prepare_with, run};

#[test]
fn a_quarter_of_a_cpu() {
    // 25 ms of each 100 ms; what is overrun up to the tick is paid back in the next period.
    let json = r#"{ "cgroups": { "/a": { "cpu.max": "25000 100000" } },
        "tasks": { "hog": { "taskgroup": "/a", "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10, json);
        let used = cpu_ns(&report, "hog");
        // 100 periods, one more or less at the ends; a slice of 5 ms and a tick of 4 ms at the end.
        assert!(
            used.abs_diff(2500 * MS) <= (25 + 5 + 4) * MS,
            "{release:?}: {used}"
        );
        let group = &report.groups[1];
        assert!(
            group.nr_periods.abs_diff(100) <= 1,
            "{release:?}: {}",
            group.nr_periods
        );
        assert!(
            group.nr_throttled.abs_diff(100) <= 1,
            "{release:?}: {}",
            group.nr_throttled
        );
        // It waits whenever it does not run.
        assert!(
            (group.throttled_usec * 1000).abs_diff(7500 * MS) <= 100 * MS,
            "{release:?}: {}",
            group.throttled_usec
        );
    }
}

#[test]
fn one_and_a_half_cpus_of_four() {
    let json = r#"{ "cgroups": { "/a": { "cpu.max": "150000 100000" } },
        "tasks": { "hog": { "instance": 4, "taskgroup": "/a", "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x4x1", 10, json);
        // A slice and a tick for each CPU, and the first or last period.
        let slack = (150 + 4 * (5 + 4)) * MS;
        let used = cpu_ns(&report, "hog");
        assert!(used.abs_diff(15 * SEC) <= slack, "{release:?}: {used}");
    }
}

#[test]
fn the_tightest_limit_on_the_way_up_holds() {
    let json = r#"{
        "cgroups": { "/a": { "cpu.max": "20000 100000" }, "/a/b": { "cpu.max": "50000 100000" } },
        "tasks": {
            "hog": { "instance": 2, "taskgroup": "/a/b", "loop": -1, "run": 50000 },
            "other": { "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x2x1", 10, json);
        let used = cpu_ns(&report, "hog");
        assert!(
            used.abs_diff(2 * SEC) <= (20 + 2 * (5 + 4)) * MS,
            "{release:?}: {used}"
        );
    }
}

#[test]
fn a_limit_that_is_not_reached_costs_nothing() {
    let json = r#"{ "cgroups": { "/a": { "cpu.max": "50000 100000" } },
        "tasks": { "light": { "taskgroup": "/a", "loop": -1, "run": 1000, "timer": { "ref": "t", "period": 10000 } } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x1x1", 10, json);
        near(&format!("{release:?}"), cpu_ns(&report, "light"), SEC, 2);
        assert_eq!(
            (
                report.groups[1].nr_throttled,
                report.groups[1].throttled_usec
            ),
            (0, 0),
            "{release:?}"
        );
    }
}

/// Jobs of 35 ms every 400 ms under 20 ms in 100 ms, with the burst given.
fn jobs(burst_us: u64) -> String {
    format!(
        r#"{{ "cgroups": {{ "/a": {{ "cpu.max": "20000 100000", "cpu.max.burst": {burst_us} }} }},
        "tasks": {{ "job": {{ "taskgroup": "/a", "loop": -1, "run": 35000,
            "timer": {{ "ref": "t", "period": 400000, "mode": "absolute" }} }} }} }}"#
    )
}

#[test]
fn burst_lets_a_job_run_through() {
    for release in Release::ALL {
        let without = run(release, "1x1x1", 10, &jobs(0));
        let with = run(release, "1x1x1", 10, &jobs(20_000));
        // 25 jobs either way.
        near("without", cpu_ns(&without, "job"), 25 * 35 * MS, 40);
        near("with", cpu_ns(&with, "job"), 25 * 35 * MS, 40);
        // 15 ms beyond the quota have to wait for the next refill, unless 20 ms were saved up since the last job. The
        // first job finds them too: a burst that is written fills the pool.
        assert!(
            without.groups[1].nr_throttled >= 24,
            "{release:?}: {}",
            without.groups[1].nr_throttled
        );
        assert_eq!(without.groups[1].nr_bursts, 0);
        assert_eq!(with.groups[1].nr_throttled, 0, "{release:?}");
        assert!(
            with.groups[1].nr_bursts >= 20,
            "{release:?}: {}",
            with.groups[1].nr_bursts
        );
        // Each such period used 15 ms more than its quota, less the part of the job that fell into another period. The
        // first also took the 1 ms that a CPU keeps when it gives back the rest of its slice.
        let kept = 1_000 / with.groups[1].nr_bursts;
        let burst = with.groups[1].burst_usec / with.groups[1].nr_bursts;
        assert!((1..=15_000 + kept).contains(&burst), "{release:?}: {burst}");
    }
}

#[test]
fn lifting_a_limit_takes_effect_at_once() {
    let json = r#"{ "cgroups": { "/a": { "cpu.max": "10000 100000" } },
        "tasks": { "hog": { "taskgroup": "/a", "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let mut simulation = rig::prepare(release, "1x1x1", 2 * SEC, json);
        simulation.run_until(SEC);
        let unlimited = fairwind_sched::BandwidthLimit {
            quota: fairwind_sched::group::RUNTIME_INF,
            period: 100 * MS,
            burst: 0,
        };
        simulation
            .set_bandwidth(fairwind_sched::GroupId(1), unlimited)
            .unwrap();
        let report = rig::finish(simulation);
        // A tenth of the first second, all of the second one.
        let used = cpu_ns(&report, "hog");
        assert!(
            used.abs_diff(1100 * MS) <= (10 + 5 + 4) * MS,
            "{release:?}: {used}"
        );
    }
}

/// Two groups that may use a quarter of the only CPU each. Aligned, they are let loose together, and one waits for the other;
/// at 0 and 50 ms of the period neither ever finds the other running.
#[test]
fn even_periods_of_two_quarters_do_not_overlap() {
    let json = r#"{
        "cgroups": { "/a": { "cpu.max": "25000 100000" }, "/b": { "cpu.max": "25000 100000" } },
        "tasks": { "a": { "taskgroup": "/a", "loop": -1, "run": 50000 },
                   "b": { "taskgroup": "/b", "loop": -1, "run": 50000 } } }"#;
    for release in Release::ALL {
        let waited = |interleave| {
            let report = finish(prepare_with(release, "1x1x1", 10 * SEC, json, |profile| {
                profile.bw_interleave = interleave;
            }));
            let tasks = report.tasks.iter();
            tasks
                .map(|t| t.run_delay_ns - t.throttled_ns)
                .collect::<Vec<_>>()
        };
        let aligned = waited(BwInterleave::Aligned);
        assert!(
            aligned.iter().sum::<u64>() > SEC,
            "{release:?}: {aligned:?}"
        );
        // Both begin in the first period, before the second group's phase.
        let even = waited(BwInterleave::Even);
        assert!(
            even.iter().all(|&ns| ns <= 50 * MS),
            "{release:?}: {even:?}"
        );
    }
}

/// Two that always want a CPU and one that comes and goes share two CPUs and a limit, so that balancing moves who waits, from a queue that
/// has been held back for long to one that has not, and the other way round. Waiting for quota is a part of waiting.
#[test]
fn a_task_that_is_moved_while_it_waits_is_throttled_no_longer_than_it_waits() {
    let json = r#"{ "cgroups": { "/a": { "cpu.max": "20000 100000" } },
        "tasks": {
            "busy": { "instance": 2, "taskgroup": "/a", "run": 15000, "sleep": 85000 },
            "third": { "taskgroup": "/a", "run": 3000, "sleep": 37000 },
            "other": { "instance": 2, "run": 700, "sleep": 900 } } }"#;
    for release in Release::ALL {
        let report = run(release, "1x2x1", 10, json);
        let mut moved = 0;
        for t in &report.tasks {
            moved += if t.throttled_ns > 0 { t.migrations } else { 0 };
            // The queue's clock may be behind by the kernel's work of a switch.
            let most = t.run_delay_ns + MS;
            assert!(
                t.throttled_ns <= most,
                "{release:?}: {} {} {}",
                t.name,
                t.throttled_ns,
                t.run_delay_ns
            );
        }
        assert!(moved > 0, "{release:?}");
    }
}
