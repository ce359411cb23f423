//! Who runs on one CPU, and in which order.

use super::rig::{MS, Rig};
use crate::profile::Release;
use crate::task::Policy;
use crate::units::CpuId;

#[test]
fn fifo_tasks_run_in_order_of_arrival_until_they_sleep() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 1);
        let [a, b, c] = [50, 50, 50].map(|prio| rig.fifo(prio, &[0]));
        rig.run_until(500 * MS);
        assert_eq!(rig.curr(0), a, "no turns among FIFO tasks");
        rig.sleep(0);
        assert_eq!(rig.curr(0), b);
        rig.wake(0, a);
        rig.sleep(0);
        assert_eq!(rig.curr(0), c, "a came back behind c");
        rig.sleep(0);
        assert_eq!(rig.curr(0), a);
        assert_eq!(rig.ran(a), 500 * MS);
    }
}

#[test]
fn round_robin_tasks_take_turns_of_100_ms() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 1);
        let a = rig.spawn(Policy::Rr, 50, &[0]);
        let b = rig.spawn(Policy::Rr, 50, &[0]);
        // 100 ms are 25 ticks of 4 ms; the 25th tick ends the slice.
        rig.run_until(96 * MS);
        assert_eq!(rig.curr(0), a);
        rig.run_until(100 * MS);
        assert_eq!(rig.curr(0), b);
        rig.run_until(200 * MS);
        assert_eq!(rig.curr(0), a);
        rig.run_until(300 * MS);
        assert_eq!([rig.ran(a), rig.ran(b)], [200 * MS, 100 * MS]);
    }
}

#[test]
fn a_round_robin_task_alone_at_its_priority_keeps_the_cpu() {
    let mut rig = Rig::new(Release::V6_12, 1);
    let a = rig.spawn(Policy::Rr, 50, &[0]);
    rig.spawn(Policy::Rr, 49, &[0]);
    rig.run_until(400 * MS);
    assert_eq!(rig.curr(0), a);
    assert_eq!(rig.ran(a), 400 * MS);
}

#[test]
fn the_slice_follows_sched_rr_timeslice_ms_in_whole_ticks() {
    let mut rig = Rig::new(Release::V6_12, 1);
    rig.sched
        .profile
        .set_tunable("sched_rr_timeslice_ms", 10)
        .expect("6.12 has it");
    let a = rig.spawn(Policy::Rr, 50, &[0]);
    let b = rig.spawn(Policy::Rr, 50, &[0]);
    // 10 ms are 2.5 ticks, rounded up to 3.
    rig.run_until(8 * MS);
    assert_eq!(rig.curr(0), a);
    rig.run_until(12 * MS);
    assert_eq!(rig.curr(0), b);
}

#[test]
fn a_stronger_task_preempts_and_the_preempted_one_keeps_its_place() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 1);
        let low = rig.fifo(50, &[0]);
        let equal = rig.fifo(50, &[0]);
        assert_eq!(rig.curr(0), low);
        let high = rig.fifo(60, &[0]);
        assert_eq!(rig.curr(0), high);
        rig.sleep(0);
        assert_eq!(rig.curr(0), low, "it goes on before its equal");
        rig.yield_cpu(0);
        assert_eq!(rig.curr(0), equal, "yielding gives the place up");
    }
}

#[test]
fn deadline_tasks_rank_above_all_rt_and_rt_above_fair() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 1);
        let fair = rig.spawn(Policy::Normal, 0, &[0]);
        assert_eq!(rig.curr(0), fair);
        let rt = rig.fifo(99, &[0]);
        assert_eq!(rig.curr(0), rt);
        let deadline = rig.spawn(Policy::Deadline, 0, &[0]);
        assert_eq!(rig.curr(0), deadline);
        rig.sleep(0);
        assert_eq!(rig.curr(0), rt);
        rig.sleep(0);
        assert_eq!(rig.curr(0), fair);
    }
}

#[test]
fn rt_time_shows_in_avg_rt_and_all_tasks_in_nr_running() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 1);
        rig.fifo(50, &[0]);
        rig.fifo(40, &[0]);
        assert_eq!(rig.sched.rqs[CpuId(0)].nr_running, 2);
        rig.run_until(400 * MS);
        assert!(
            rig.sched.rqs[CpuId(0)].avg_rt.util_avg > 1000,
            "twelve half-lives of running"
        );
        rig.sleep(0);
        rig.sleep(0);
        assert_eq!(rig.sched.rqs[CpuId(0)].nr_running, 0);
        assert!(!rig.sched.rt_runnable(CpuId(0)));
    }
}

#[test]
fn lowering_the_running_task_below_a_waiting_one_switches() {
    for release in Release::ALL {
        let mut rig = Rig::new(release, 1);
        let a = rig.fifo(50, &[0]);
        let b = rig.fifo(40, &[0]);
        let attr = |priority| crate::SchedAttr {
            policy: Policy::Fifo,
            nice: 0,
            priority,
            runtime: 0,
        };
        rig.sched
            .sched_setscheduler(a, attr(30), rig.now)
            .expect("the attributes are legal");
        rig.settle();
        assert_eq!(rig.curr(0), b);
        rig.sched
            .sched_setscheduler(a, attr(45), rig.now)
            .expect("the attributes are legal");
        rig.settle();
        assert_eq!(rig.curr(0), a);
    }
}
