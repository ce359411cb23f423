//! Behaviours of short recordings.

use super::*;

const US: u64 = 1000;
const ALL: Window = Window {
    from: 0,
    length: u64::MAX,
};

fn party(pid: i32) -> Party {
    let comm = if pid == 0 { "swapper" } else { "task" };
    Party {
        pid,
        comm: comm.into(),
        prio: 120,
    }
}

fn switch(us: u64, cpu: u32, prev: i32, prev_state: PrevState, next: i32) -> Record {
    let (prev, next) = (party(prev), party(next));
    let what = What::Switch {
        prev,
        prev_state,
        next,
    };
    Record::of_task(us * US, cpu, what)
}

fn waking(us: u64, cpu: u32, pid: i32) -> Record {
    let what = What::Waking {
        pid,
        comm: "task".into(),
        prio: 120,
        slept_on: cpu,
    };
    Record::of_task(us * US, cpu, what)
}

fn acts(tasks: &[Task], pid: i32) -> Vec<Act> {
    let task = tasks.iter().find(|task| task.pid == pid);
    let phases = task.map_or(&[][..], |task| &task.phases);
    phases.iter().flat_map(|phase| phase.acts.clone()).collect()
}

use PrevState::{Interruptible as Sleeps, Runnable as Ready};

#[test]
fn waiting_for_a_cpu_is_left_out_and_interrupts_end_sleeps_by_time() {
    let records = [
        switch(0, 0, 0, Ready, 1),
        switch(10, 0, 1, Ready, 2),
        switch(25, 0, 2, Sleeps, 1),
        switch(30, 0, 1, Sleeps, 0),
        Record {
            irq: true,
            ..waking(70, 0, 1)
        },
        switch(72, 0, 0, Ready, 1),
        switch(75, 0, 1, Sleeps, 0),
    ];
    let tasks = follow(&records, ALL);
    let (run, sleep) = (|us| Act::Run { us }, |us| Act::Sleep { us });
    // Who is not seen at the start sleeps until it appears.
    assert_eq!(acts(&tasks, 1), [run(15), sleep(40), run(3)]);
    assert_eq!(acts(&tasks, 2), [sleep(10), run(15)]);
}

#[test]
fn where_events_are_lost_a_task_has_run_until_its_last_one() {
    let charge = |us: u64, pid| Record {
        pid,
        ..Record::of_task(
            us * US,
            0,
            What::Runtime {
                pid,
                runtime: US,
                vruntime: None,
            },
        )
    };
    let records = [
        switch(0, 0, 0, Ready, 1),
        charge(4, 1),
        charge(8, 1),
        // The switch from 1 to 2 is lost.
        switch(20, 0, 2, Sleeps, 1),
        switch(23, 0, 1, Sleeps, 0),
    ];
    let tasks = follow(&records, ALL);
    assert_eq!(acts(&tasks, 1), [Act::Run { us: 11 }]);
}

#[test]
fn a_wakeup_by_a_task_is_a_post_in_its_run() {
    let records = [
        switch(0, 0, 0, Ready, 1),
        switch(0, 1, 2, Sleeps, 0),
        waking(10, 0, 2),
        switch(12, 1, 0, Ready, 2),
        switch(20, 0, 1, Sleeps, 0),
    ];
    let tasks = follow(&records, ALL);
    let run = |us| Act::Run { us };
    assert_eq!(acts(&tasks, 1), [run(10), Act::Post { pid: 2 }, run(10)]);
    assert_eq!(acts(&tasks, 2), [Act::Wait, run(8)]);
}

#[test]
fn a_wakeup_before_the_switch_away_counts_only_if_no_other_follows() {
    let start = [switch(0, 0, 0, Ready, 1), switch(0, 1, 0, Ready, 2)];
    let early = [waking(10, 0, 2), switch(11, 1, 2, Sleeps, 0)];
    let alone = [switch(13, 1, 0, Ready, 2), switch(20, 1, 2, Sleeps, 0)];
    let again = [waking(15, 0, 2), switch(16, 1, 0, Ready, 2)];
    let posts = |records: Vec<Record>| {
        let tasks = follow(&records, ALL);
        let of = |pid, act: Act| acts(&tasks, pid).iter().filter(|a| **a == act).count();
        (of(1, Act::Post { pid: 2 }), of(2, Act::Wait))
    };
    assert_eq!(posts([&start[..], &early, &alone].concat()), (1, 1));
    assert_eq!(posts([&start[..], &early, &again].concat()), (1, 1));
    let stayed = [waking(10, 0, 2), switch(11, 1, 2, Ready, 0)];
    assert_eq!(posts([&start[..], &stayed, &alone].concat()), (0, 0));
}

#[test]
fn a_group_or_priority_of_its_own_begins_a_phase() {
    let attach = What::Attach {
        pid: 1,
        root: 0,
        path: "/web".into(),
    };
    let records = [
        switch(0, 0, 0, Ready, 1),
        Record::of_task(4 * US, 0, attach),
        switch(10, 0, 1, Sleeps, 0),
    ];
    let tasks = follow(&records, ALL);
    let phases = &tasks[0].phases;
    assert_eq!(phases.len(), 2);
    assert_eq!(phases[0].acts, [Act::Run { us: 4 }]);
    assert_eq!(phases[1].acts, [Act::Run { us: 6 }]);
    assert_eq!(phases[1].setting.group.as_deref(), Some("/web"));
}

#[test]
fn a_window_is_cut_out() {
    let records = [
        switch(0, 0, 0, Ready, 1),
        switch(50, 0, 1, Ready, 2),
        switch(90, 0, 2, Ready, 1),
    ];
    let window = Window {
        from: 40 * US,
        length: 20 * US,
    };
    let tasks = follow(&records, window);
    assert_eq!(acts(&tasks, 1), [Act::Run { us: 10 }]);
    // It begins to run with the last event of the window.
    assert_eq!(acts(&tasks, 2), [Act::Sleep { us: 10 }]);
}

#[test]
fn a_new_thread_has_the_name_that_its_fork_tells() {
    let fork = |child, comm: &str| What::Fork {
        parent: 1,
        child,
        comm: comm.into(),
    };
    let begin = |pid| What::WakeupNew {
        pid,
        prio: 120,
        target: 1,
    };
    let at = |us: u64, what| Record::of_task(us * US, 0, what);
    let records = [
        switch(0, 0, 0, Ready, 1),
        at(5, fork(7, "kworker/1:1H")),
        at(6, begin(7)),
        at(8, fork(8, "worker")),
        at(9, begin(8)),
        switch(20, 0, 1, Sleeps, 0),
    ];
    let tasks = follow(&records, ALL);
    let names: Vec<&str> = tasks.iter().map(|task| task.comm.as_str()).collect();
    assert_eq!(
        names,
        ["task", "worker"],
        "a simulated machine has workers of its own"
    );
}
