//! The fair server (from 6.12 on).

use super::rig::{MS, Rig};
use crate::profile::Release;
use crate::task::Policy;
use crate::units::CpuId;

const CPU: CpuId = CpuId(0);
const SECOND: u64 = 1000 * MS;

#[test]
fn starved_fair_tasks_get_50_ms_of_each_second() {
    // The server counts as a task in 6.12.
    for (release, nr_running) in [(Release::V6_12, 3), (Release::V6_18, 2)] {
        starved(release, nr_running);
    }
}

fn starved(release: Release, nr_running: u32) {
    let mut rig = Rig::new(release, 1);
    let rt = rig.fifo(50, &[0]);
    let fair = rig.spawn(Policy::Normal, 0, &[0]);
    let server = &rig.sched.rqs[CPU].rt.server;
    assert_eq!(
        (server.active, server.queued, server.timer),
        (true, false, Some(950 * MS))
    );
    rig.run_until(950 * MS - 1);
    assert_eq!((rig.curr(0), rig.ran(fair)), (rt, 0));
    // Zero laxity: 50 ms of runtime, 50 ms to the deadline.
    rig.run_until(950 * MS);
    assert_eq!(rig.curr(0), fair);
    assert_eq!(rig.sched.rqs[CPU].nr_running, nr_running);
    // The tick at 1000 ms finds the runtime used up.
    rig.run_until(SECOND);
    assert_eq!((rig.curr(0), rig.ran(fair)), (rt, 50 * MS));
    // A new period of deferring begins there.
    rig.run_until(1950 * MS - 1);
    assert_eq!(rig.curr(0), rt);
    rig.run_until(1950 * MS);
    assert_eq!(rig.curr(0), fair);
    rig.run_until(10 * SECOND);
    assert_eq!(rig.ran(fair), 500 * MS);
    assert_eq!(rig.ran(rt), 9500 * MS);
}

#[test]
fn what_the_tick_is_late_delays_the_next_turn() {
    // As recorded from 6.12.117 at 250 Hz: turns of 53.4 ms that begin 1003.4 ms apart.
    let mut rig = Rig::new(Release::V6_12, 1);
    rig.fifo(50, &[0]);
    rig.run_until(MS);
    let fair = rig.spawn(Policy::Normal, 0, &[0]);
    rig.run_until(951 * MS);
    assert_eq!(rig.curr(0), fair);
    // 49 ms at the tick at 1000 ms, 53 ms at the next.
    rig.run_until(1004 * MS);
    assert_ne!(rig.curr(0), fair);
    rig.run_until(1954 * MS - 1);
    assert_ne!(rig.curr(0), fair);
    rig.run_until(1954 * MS);
    assert_eq!((rig.curr(0), rig.ran(fair)), (fair, 53 * MS));
}

#[test]
fn a_task_that_sleeps_as_the_runtime_ends_is_served_at_the_next_deadline() {
    let mut rig = Rig::new(Release::V6_12, 1);
    let rt = rig.fifo(50, &[0]);
    let fair = rig.spawn(Policy::Normal, 0, &[0]);
    rig.run_until(998 * MS);
    assert_eq!(rig.curr(0), fair);
    rig.sleep(0);
    rig.run_until(999 * MS);
    // 2 ms are left up to the deadline at 1950 ms: it runs on at once, and they are used up at the tick at 1004 ms.
    rig.wake(0, fair);
    assert_eq!(rig.curr(0), fair);
    rig.run_until(1003 * MS);
    rig.sleep(0);
    assert_eq!(rig.curr(0), rt);
    let server = rig.sched.rqs[CPU].rt.server;
    assert_eq!(
        (server.runtime, server.defer_armed, server.timer),
        (-2 * MS as i64, false, Some(1950 * MS))
    );
}

#[test]
fn fair_tasks_that_ran_by_themselves_need_no_server() {
    let mut rig = Rig::new(Release::V6_12, 1);
    let fair = rig.spawn(Policy::Normal, 0, &[0]);
    // 60 ms by its own right: at the tick at 52 ms the 50 ms are used up, and a new period of deferring begins.
    rig.run_until(60 * MS);
    let server = rig.sched.rqs[CPU].rt.server;
    assert_eq!(
        (server.deadline, server.runtime),
        (1052 * MS, 42 * MS as i64)
    );
    let rt = rig.fifo(50, &[0]);
    // With 42 ms left, zero laxity is at 1010 ms. The timer, set for 1002 ms, moves itself there.
    rig.run_until(1010 * MS - 1);
    assert_eq!((rig.curr(0), rig.ran(fair)), (rt, 60 * MS));
    rig.run_until(1010 * MS);
    assert_eq!(rig.curr(0), fair);
}

#[test]
fn the_server_stops_when_nothing_is_left_to_run() {
    let mut rig = Rig::new(Release::V6_12, 1);
    let rt = rig.fifo(50, &[0]);
    let fair = rig.spawn(Policy::Normal, 0, &[0]);
    rig.run_until(960 * MS);
    assert_eq!(rig.curr(0), fair);
    rig.sleep(0);
    assert_eq!(rig.curr(0), rt);
    let server = &rig.sched.rqs[CPU].rt.server;
    assert_eq!(
        (server.active, server.queued, server.timer),
        (false, false, None)
    );
    assert_eq!(rig.sched.rqs[CPU].nr_running, 1);
    // Woken again while starvation lasts, it runs on what is left of the period's runtime.
    rig.run_until(970 * MS);
    rig.wake(0, fair);
    assert_eq!(rig.curr(0), fair);
    rig.run_until(1200 * MS);
    assert_eq!(rig.curr(0), rt);
}

#[test]
fn a_runtime_of_0_turns_the_server_off() {
    let mut rig = Rig::new(Release::V6_12, 1);
    rig.sched
        .profile
        .set_tunable("fair_server_runtime_ns", 0)
        .expect("6.12 has it");
    rig.fifo(50, &[0]);
    let fair = rig.spawn(Policy::Normal, 0, &[0]);
    rig.run_until(5 * SECOND);
    assert_eq!(rig.ran(fair), 0);
}

#[test]
fn runtime_and_period_follow_the_tunables() {
    let mut rig = Rig::new(Release::V6_12, 1);
    rig.sched
        .profile
        .set_tunable("fair_server_runtime_ns", 100 * MS as i64)
        .expect("6.12 has it");
    rig.sched
        .profile
        .set_tunable("fair_server_period_ns", 500 * MS as i64)
        .expect("6.12 has it");
    rig.fifo(50, &[0]);
    let fair = rig.spawn(Policy::Normal, 0, &[0]);
    rig.run_until(5 * SECOND);
    assert_eq!(rig.ran(fair), SECOND);
}

#[test]
fn a_cpu_whose_server_runs_takes_no_rt_tasks() {
    let mut rig = Rig::new(Release::V6_12, 2);
    rig.fifo(50, &[0]);
    rig.spawn(Policy::Normal, 0, &[0]);
    let waits = rig.fifo(60, &[1, 0]);
    let strong = rig.fifo(70, &[1]);
    assert_eq!([rig.curr(0), rig.curr(1)], [waits, strong]);
    rig.run_until(960 * MS);
    assert!(rig.sched.rqs[CPU].rt.server.queued);
    assert_eq!(rig.sched.find_lowest_rq(CpuId(1), waits), None);
}

#[test]
fn a_cpu_that_goes_offline_stops_its_server() {
    let mut rig = Rig::new(Release::V6_12, 2);
    rig.fifo(50, &[1]);
    rig.spawn(Policy::Normal, 0, &[1]);
    rig.run_until(960 * MS);
    assert!(rig.sched.rqs[CpuId(1)].rt.server.queued);
    rig.sched.rq_offline_rt(CpuId(1));
    let rq = &rig.sched.rqs[CpuId(1)];
    assert_eq!(
        (rq.rt.server.active, rq.rt.server.timer, rq.nr_running),
        (false, None, 2)
    );
}
