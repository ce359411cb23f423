//! Each event by a worked example on a toy machine.

mod executor;

use executor::{Executor, run};
use fairwind_workload::*;

/// The lines of one task.
fn of(log: &[String], task: &str) -> Vec<String> {
    let mark = format!(" {task}: ");
    log.iter()
        .filter(|line| line.contains(&mark))
        .map(|line| line.replace(&mark, " "))
        .collect()
}

#[test]
fn run_and_sleep_alternate_as_often_as_loop_says() {
    let log = run(
        r#"{"tasks": {"a": {"loop": 2, "run": 10, "sleep": 5}}}"#,
        1,
        1_000,
    );
    assert_eq!(
        log,
        [
            "0 a-0: run 10",
            "10 a-0: sleep until 15",
            "15 a-0: run 10",
            "25 a-0: sleep until 30",
            "30 a-0: exit",
        ]
    );
}

#[test]
fn phases_repeat_within_and_as_a_whole() {
    let text = r#"{"tasks": {"a": {"loop": 2, "phases": {
        "x": {"loop": 2, "run": 1}, "y": {"run": 5}}}}}"#;
    let log = run(text, 1, 1_000);
    let expected = [
        "0 run 1", "1 run 1", "2 run 5", "7 run 1", "8 run 1", "9 run 5", "14 exit",
    ];
    assert_eq!(of(&log, "a-0"), expected);
}

#[test]
fn a_task_with_loop_zero_ends_at_once() {
    let text = r#"{"tasks": {"a": {"loop": 0, "phases": {"x": {"run": 1}}}}}"#;
    assert_eq!(run(text, 1, 1_000), ["0 a-0: exit"]);
}

#[test]
fn duration_ends_an_endless_run() {
    let text = r#"{"tasks": {"a": {"run": 400000}}, "global": {"duration": 1}}"#;
    let log = run(text, 1, 100_000_000);
    assert_eq!(
        log,
        [
            "0 a-0: run 400000",
            "400000 a-0: run 400000",
            "800000 a-0: run 400000"
        ]
    );
}

#[test]
fn delays_shift_starts_and_timers() {
    let text = r#"{"tasks": {"a": {"delay": 7, "loop": 1, "run": 1,
        "timer": {"ref": "unique", "period": 10}}}}"#;
    assert_eq!(
        run(text, 1, 1_000),
        ["7 a-0: run 1", "8 a-0: sleep until 17", "17 a-0: exit"]
    );
}

#[test]
fn runtime_counts_time_spent_waiting() {
    // One CPU: b starts its 10 us at 0, a only gets the CPU at 10 and works on till 20. The clock
    // starts when the event does.
    let text = r#"{"tasks": {
        "b": {"loop": 1, "runtime0": 10}, "a": {"loop": 1, "runtime0": 10}}}"#;
    let expected = [
        "0 b-0: run until 10",
        "10 b-0: exit",
        "10 a-1: run until 20",
        "20 a-1: exit",
    ];
    assert_eq!(run(text, 1, 1_000), expected);
}

/// Runs of 10, 10, 30, 10 and 10 ms, each followed by a timer of 20 ms.
fn late_once(mode: &str) -> Vec<String> {
    let phase = |run: u32| {
        format!(
            r#""p": {{"run": {run}, "timer": {{"ref": "unique", "period": 20, "mode": "{mode}"}}}}"#
        )
    };
    let phases = [10, 10, 30, 10, 10].map(phase).join(", ");
    let text = format!(r#"{{"tasks": {{"a": {{"loop": 1, "phases": {{ {phases} }}}}}}}}"#);
    of(&run(&text, 1, 1_000), "a-0")
}

#[test]
fn a_relative_timer_that_is_missed_starts_anew() {
    // Due at 20 and 40; the run from 40 ends at 70, after 60: missed, now counts from 70. The next
    // is due at 90, then at 110.
    assert_eq!(
        late_once("relative"),
        [
            "0 run 10",
            "10 sleep until 20",
            "20 run 10",
            "30 sleep until 40",
            "40 run 30",
            "70 run 10",
            "80 sleep until 90",
            "90 run 10",
            "100 sleep until 110",
            "110 exit",
        ]
    );
}

#[test]
fn an_absolute_timer_keeps_its_grid() {
    // Missed at 60 (now 70) and at 80 (now 80 is not before 80); met at 100.
    assert_eq!(
        late_once("absolute"),
        [
            "0 run 10",
            "10 sleep until 20",
            "20 run 10",
            "30 sleep until 40",
            "40 run 30",
            "70 run 10",
            "80 run 10",
            "90 sleep until 100",
            "100 exit",
        ]
    );
}

#[test]
fn a_shared_timer_is_moved_on_by_all_who_use_it() {
    // Both come at 0: the first sleeps to 10, the second a period further, to 20.
    let text = r#"{"tasks": {"a": {"instance": 2, "loop": 1,
        "timer": {"ref": "tick", "period": 10}}}}"#;
    let log = run(text, 2, 1_000);
    assert_eq!(log[..2], ["0 a-0: sleep until 10", "0 a-1: sleep until 20"]);
    let unique = run(&text.replace("tick", "unique"), 2, 1_000);
    assert_eq!(
        unique[..2],
        ["0 a-0: sleep until 10", "0 a-1: sleep until 10"]
    );
}

#[test]
fn suspend_and_resume_work_by_task_name_and_wake_all_instances() {
    let text = r#"{"tasks": {
        "s": {"instance": 2, "loop": 1, "suspend": "s", "run": 3},
        "r": {"loop": 1, "sleep": 5, "resume": "s", "run": 1}}}"#;
    let log = run(text, 4, 1_000);
    assert_eq!(
        of(&log, "r-2"),
        [
            "0 sleep until 5",
            "5 wake s-0",
            "5 wake s-1",
            "5 run 1",
            "6 exit"
        ]
    );
    assert_eq!(of(&log, "s-0"), ["0 block", "5 run 3", "8 exit"]);
    assert_eq!(of(&log, "s-1"), ["0 block", "5 run 3", "8 exit"]);
}

#[test]
fn a_resume_that_comes_first_is_lost() {
    let text = r#"{"tasks": {
        "r": {"loop": 1, "resume": "s", "run": 1},
        "s": {"loop": 1, "suspend"}}}"#;
    let log = run(text, 2, 1_000);
    assert_eq!(of(&log, "s-1"), ["0 block"]);
}

#[test]
fn semaphores_remember_posts() {
    let text = r#"{"tasks": {
        "p": {"loop": 1, "sem_post": "s", "sem_post2": "s", "sleep": 9, "sem_post3": "s", "run": 1},
        "w": {"loop": 3, "sem_wait": "s", "run": 2}}}"#;
    let log = run(text, 2, 1_000);
    let expected = ["0 run 2", "2 run 2", "4 block", "9 run 2", "11 exit"];
    assert_eq!(of(&log, "w-1"), expected);
    assert_eq!(
        of(&log, "p-0"),
        ["0 sleep until 9", "9 wake w-1", "9 run 1", "10 exit"]
    );
}

#[test]
fn the_last_at_a_barrier_wakes_the_others_in_order() {
    let text = r#"{"tasks": {
        "a": {"instance": 2, "loop": 1, "barrier": "B", "run": 4},
        "b": {"loop": 1, "run": 6, "barrier": "B", "run2": 1}}}"#;
    let log = run(text, 3, 1_000);
    assert_eq!(
        of(&log, "b-2"),
        ["0 run 6", "6 wake a-0", "6 wake a-1", "6 run 1", "7 exit"]
    );
    assert_eq!(of(&log, "a-1"), ["0 block", "6 run 4", "10 exit"]);
}

#[test]
fn a_barrier_can_be_used_again() {
    let text = r#"{"tasks": {
        "a": {"loop": 2, "run": 3, "barrier": "B"},
        "b": {"loop": 2, "run": 5, "barrier": "B"}}}"#;
    let log = run(text, 2, 1_000);
    let expected = ["0 run 3", "3 block", "5 run 3", "8 block", "10 exit"];
    assert_eq!(of(&log, "a-0"), expected);
}

#[test]
fn a_mutex_keeps_others_out() {
    let text = r#"{"tasks": {"a": {"instance": 3, "loop": 1,
        "lock": "m", "run": 10, "unlock": "m", "sleep": 1}}}"#;
    let log = run(text, 3, 1_000);
    assert_eq!(
        log,
        [
            "0 a-0: run 10",
            "0 a-1: block",
            "0 a-2: block",
            "10 a-0: wake a-1",
            "10 a-0: sleep until 11",
            "10 a-1: run 10",
            "11 a-0: exit",
            "20 a-1: wake a-2",
            "20 a-1: sleep until 21",
            "20 a-2: run 10",
            "21 a-1: exit",
            "30 a-2: sleep until 31",
            "31 a-2: exit",
        ]
    );
}

#[test]
fn wait_gives_the_mutex_back_and_takes_it_again() {
    // The signal finds w waiting; w wakes while s still has the mutex, so it blocks a second time.
    let text = r#"{"tasks": {
        "w": {"loop": 1, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "run": 2, "unlock": "m"},
        "s": {"loop": 1, "sleep": 5, "lock": "m", "signal": "c", "run": 10, "unlock": "m"}}}"#;
    let log = run(text, 2, 1_000);
    assert_eq!(
        of(&log, "w-0"),
        ["0 block", "5 block", "15 run 2", "17 exit"]
    );
    let expected = [
        "0 sleep until 5",
        "5 wake w-0",
        "5 run 10",
        "15 wake w-0",
        "15 exit",
    ];
    assert_eq!(of(&log, "s-1"), expected);
}

#[test]
fn signal_wakes_the_first_and_broad_wakes_all() {
    let waiters = r#""w": {"instance": 3, "loop": 1, "lock": "m",
        "wait": {"ref": "c", "mutex": "m"}, "unlock": "m", "run": 1}"#;
    let text = |event: &str| {
        format!(r#"{{"tasks": {{ {waiters}, "s": {{"loop": 1, "sleep": 5, "{event}": "c"}} }}}}"#)
    };
    let wakes = |event: &str| of(&run(&text(event), 4, 1_000), "s-3");
    assert_eq!(wakes("signal"), ["0 sleep until 5", "5 wake w-0", "5 exit"]);
    assert_eq!(
        wakes("broad"),
        [
            "0 sleep until 5",
            "5 wake w-0",
            "5 wake w-1",
            "5 wake w-2",
            "5 exit"
        ]
    );
}

#[test]
fn sync_hands_the_turn_over() {
    let side = r#"{"loop": 2, "lock": "m", "run": 3,
        "sync": {"ref": "c", "mutex": "m"}, "unlock": "m"}"#;
    let text = format!(r#"{{"tasks": {{"a": {side}, "b": {side} }}}}"#);
    let log = run(&text, 1, 1_000);
    assert_eq!(
        log,
        [
            "0 a-0: run 3",
            // Non-preemptive: b starts when a waits, and its signal wakes a.
            "3 a-0: block",
            "3 b-1: run 3",
            "6 b-1: wake a-0",
            "6 b-1: block",
            "6 a-0: run 3",
            "9 a-0: wake b-1",
            "9 a-0: block",
            "9 b-1: run 3",
            "12 b-1: wake a-0",
            "12 b-1: block",
            "12 a-0: exit",
        ]
    );
}

#[test]
fn yield_lets_the_other_go_first() {
    let text = r#"{"tasks": {
        "a": {"loop": 1, "run": 1, "yield": "", "run2": 1}, "b": {"loop": 1, "run": 5}}}"#;
    let log = run(text, 1, 1_000);
    assert_eq!(
        log,
        [
            "0 a-0: run 1",
            "1 a-0: yield",
            "1 b-1: run 5",
            "6 b-1: exit",
            "6 a-0: run 1",
            "7 a-0: exit"
        ]
    );
}

#[test]
fn forks_are_named_numbered_and_run() {
    let text = r#"{"tasks": {
        "f": {"loop": 2, "fork": "t", "run": 5},
        "t": {"instance": 0, "loop": 1, "run": 1}}}"#;
    let log = run(text, 2, 1_000);
    assert_eq!(
        log,
        [
            "0 f-0: fork t-1-0000",
            "0 f-0: run 5",
            "0 t-1-0000: run 1",
            "1 t-1-0000: exit",
            "5 f-0: fork t-2-0001",
            "5 f-0: run 5",
            "5 t-2-0001: run 1",
            "6 t-2-0001: exit",
            "10 f-0: exit",
        ]
    );
}

#[test]
fn a_forked_task_counts_its_delay_and_timers_from_the_start_of_the_run() {
    // Forked at 50: its delay of 60 ends at 60, and its first timer is due at 60 + 10.
    let text = r#"{"tasks": {
        "f": {"loop": 1, "run": 50, "fork": "t"},
        "t": {"instance": 0, "delay": 60, "loop": 1, "run": 1,
              "timer": {"ref": "unique", "period": 10}}}}"#;
    let log = run(text, 2, 1_000);
    let expected = [
        "50 sleep until 60",
        "60 run 1",
        "61 sleep until 70",
        "70 exit",
    ];
    assert_eq!(of(&log, "t-1-0000"), expected);
}

#[test]
fn forks_have_a_limit() {
    let text = r#"{"tasks": {"f": {"loop": 1030, "fork": "t", "run": 1},
        "t": {"instance": 0, "loop": 1, "run": 1}}}"#;
    let workload = parse(text, "t").unwrap();
    let mut executor = Executor::new(&workload, 2, RunOptions::default());
    executor.run_until(10_000_000);
    assert_eq!(executor.runtime.nr_tasks(), 1 + 1024);
    assert_eq!(executor.runtime.forks_refused(), 6);
    assert_eq!(executor.runtime.nr_alive(), 0);
}

#[test]
fn memory_steps_tell_what_they_touch() {
    let text = r#"{"tasks": {"a": {"loop": 1, "mem": 1000, "memrun": {
        "type": "chase", "size": 1000, "count": 50}, "memrun1": {"type": "read", "size": 64,
        "count": 100}}}, "global": {"mem_buffer_size": 600}}"#;
    let workload = parse(text, "t").unwrap();
    let mut runtime = Runtime::new(&workload);
    let mut out = Effects::default();
    let mut seen = Vec::new();
    while let Step::Memory {
        kind,
        count,
        buffer,
        working_set,
    } = runtime.step(0, seen.len() as u64, &mut out)
    {
        seen.push((kind, count, working_set, runtime.buffer(buffer).size));
    }
    // 1000 / 64 = 15 places, of which the chase uses 8: 512 bytes.
    assert_eq!(
        seen,
        [
            (MemoryKind::Set, 1000, 600, 600),
            (MemoryKind::Chase, 50, 512, 1000),
            (MemoryKind::Read, 100, 64, 64),
        ]
    );
    // The working set is that of all three.
    assert_eq!(runtime.initial_attrs(0).working_set, Some(600 + 512 + 64));
}

#[test]
fn iorun_waits_for_devices_but_not_for_dev_null() {
    let text = r#"{"tasks": {"a": {"loop": 1, "iorun": 1000, "run": 1}}}"#;
    assert_eq!(run(text, 1, 1_000), ["0 a-0: run 1", "1 a-0: exit"]);
    let text = text.replace("}}}", r#"}}, "global": {"io_device": "/dev/sda"}}"#);
    // 20 us and 1000 bytes at 500 bytes per microsecond.
    assert_eq!(
        run(&text, 1, 1_000),
        ["0 a-0: io 22", "22 a-0: run 1", "23 a-0: exit"]
    );
}

#[test]
fn a_loop_that_takes_no_time_costs_the_overhead() {
    let text = r#"{"tasks": {"a": {"resume": "a", "run": 0, "sem_post": "s", "mem": 0}}}"#;
    let log = run(text, 1, 3);
    assert_eq!(
        log,
        [
            "0 a-0: run 1",
            "1 a-0: run 1",
            "2 a-0: run 1",
            "3 a-0: run 1"
        ]
    );
}

#[test]
fn legacy_tasks_run_their_resources_in_order() {
    // 5 of exec, 2 of which under m; then wake the other and sleep to the end of the period.
    let text = r#"{"tasks": {
        "w": {"exec": 1, "lock_order": ["c"], "loop": 1,
              "resources": {"c": {"duration": 0, "access": ["k"]}}},
        "t": {"exec": 5, "period": 20, "deadline": 20, "lock_order": ["m", "go"], "loop": 1,
              "resources": {"m": {"duration": 2}, "go": {"access": ["k"]}}}},
        "resources": {"m": {"type": "mutex"}, "c": {"type": "wait"},
                      "go": {"type": "signal", "target": "c"}}}"#;
    let log = run(text, 2, 1_000);
    assert_eq!(
        of(&log, "t-1"),
        [
            "0 run 2",
            "2 wake w-0",
            "2 run 3",
            "5 sleep until 20",
            "20 exit"
        ]
    );
    assert_eq!(of(&log, "w-0"), ["0 block", "2 run 1", "3 exit"]);
}
