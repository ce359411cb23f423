//! Following another scheduler's balancing.

use super::driver::{Driver, cpu};
use crate::balance::{CpuIdleType, FollowedMove, Found, MigrationType, Verdict};
use crate::profile::Release;

/// Five tasks on the first of two CPUs, and a pass that is asked on a copy: it moves two, says so, and what is followed
/// afterwards leaves the queues as if it had been done here.
#[test]
fn a_pass_that_is_followed_is_the_pass_that_was_asked() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 1);
        d.ticking = d.mask(&[]);
        let hogs: alloc::vec::Vec<_> = (0..5).map(|_| d.hog(&[0, 1])).collect();
        d.now += 8_000_000;
        let sd = d.sched.domains.base[1];
        let mut asked = d.sched.clone();
        asked.report_passes(true);
        asked.ask_balance(cpu(1), sd, CpuIdleType::Idle, d.now);
        let [report] = asked.pass_reports() else {
            panic!("one pass: {:?}", asked.pass_reports());
        };
        assert_eq!((report.moved, report.imbalance), (2, 2), "{release:?}");
        assert_eq!((report.src_cpu, report.groups.len()), (Some(cpu(0)), 2));
        let moves = [(hogs[1], Verdict::Moves), (hogs[2], Verdict::Moves)];
        assert_eq!(report.candidates[0], (hogs[0], Verdict::Runs));
        assert_eq!(report.candidates[1..], moves);

        let mut told = d.sched.clone();
        told.report_passes(true);
        told.follow_found(Found {
            src_cpu: cpu(0),
            nr_running: 2,
            imbalance: 1,
            migration_type: MigrationType::Task,
        });
        told.ask_balance(cpu(1), sd, CpuIdleType::Idle, d.now);
        let [report] = told.pass_reports() else {
            panic!("one pass: {:?}", told.pass_reports());
        };
        assert_eq!(
            (report.moved, report.groups.len()),
            (1, 0),
            "as it was told"
        );
        assert_eq!(report.candidates.len(), 2, "no more than were queued then");

        let followed = moves.map(|(task, _)| FollowedMove {
            task,
            dest: cpu(1),
            src_now: d.now,
            dest_now: d.now,
        });
        for moved in &followed {
            d.sched.follow_tried(moved.task, moved.dest);
        }
        assert_eq!(d.sched.follow_pass(&followed), 0, "all could be moved");
        let order = |sched: &crate::Sched| {
            [cpu(0), cpu(1)].map(|cpu| {
                let rq = &sched.rqs[cpu];
                (rq.nr_running, rq.cfs_tasks_first, rq.cfs_tasks_last)
            })
        };
        assert_eq!(order(&d.sched), order(&asked));
        assert_eq!(d.sched.follow_pass(&followed), 2, "they are there already");
    }
}

/// Five tasks on the first of two CPUs, of which a pass tries three and moves one: the next one tries the two that are left last.
#[test]
fn what_a_pass_tried_and_left_is_tried_last() {
    let mut d = Driver::new(Release::V6_1, 1, 2, 1);
    d.ticking = d.mask(&[]);
    let hogs: alloc::vec::Vec<_> = (0..5).map(|_| d.hog(&[0, 1])).collect();
    d.now += 8_000_000;
    d.sched.profile.tunables.nr_migrate = 3;
    d.sched.follow_looked(cpu(0), &[hogs[1]]);
    d.sched.profile.tunables.nr_migrate = 32;
    d.sched.report_passes(true);
    d.sched.follow_found(Found {
        src_cpu: cpu(0),
        nr_running: 5,
        imbalance: 4,
        migration_type: MigrationType::Task,
    });
    let sd = d.sched.domains.base[1];
    d.sched.ask_balance(cpu(1), sd, CpuIdleType::NotIdle, d.now);
    let [report] = d.sched.pass_reports() else {
        panic!("one pass: {:?}", d.sched.pass_reports());
    };
    let tried: alloc::vec::Vec<_> = report.candidates.iter().map(|&(task, _)| task).collect();
    assert_eq!(tried, [hogs[1], hogs[3], hogs[4], hogs[0], hogs[2]]);
}

/// Jiffies that are told stay as they are while time goes on, and count for when a domain is due.
#[test]
fn told_jiffies_do_not_follow_from_the_time() {
    let mut d = Driver::new(Release::V6_12, 1, 2, 1);
    d.sched.follow_jiffies(5000);
    d.sched.follow_clock(cpu(0), d.now + 100_000_000);
    assert_eq!(d.sched.jiffies, 5000);
    let sd = d.sched.domains.base[0];
    d.sched
        .ask_balance(cpu(0), sd, CpuIdleType::Idle, d.now + 100_000_000);
    assert_eq!(d.sched.last_balance(sd).last_balance, 5000);
}

/// Five tasks on the first of two CPUs.
#[test]
fn a_pass_that_only_looks_moves_nothing() {
    for release in Release::ALL {
        let mut d = Driver::new(release, 1, 2, 1);
        d.ticking = d.mask(&[]);
        for _ in 0..5 {
            d.hog(&[0, 1]);
        }
        d.now += 8_000_000;
        let sd = d.sched.domains.base[1];
        for (only_look, moved) in [(true, 0), (false, 2)] {
            let mut sched = d.sched.clone();
            sched.only_look(only_look);
            sched.ask_balance(cpu(1), sd, CpuIdleType::Idle, d.now);
            let rq = &sched.rqs[cpu(1)];
            assert_eq!((rq.nr_running, rq.clock), (moved, d.now), "{release:?}");
        }
    }
}
