//! Models of programs: what they do on a toy machine, step by step and in sums.

mod executor;

use executor::Executor;
use fairwind_workload::programs::{self, LIST, Program};
use fairwind_workload::{Loops, RunOptions, StreamKind, Variation, parse, write};

const HOUR: u64 = 3_600_000_000_000;

fn still() -> RunOptions {
    RunOptions {
        variation: Variation::NONE,
        ..RunOptions::default()
    }
}

/// Runs a program to its end on so many CPUs.
fn run(program: &Program, cpus: usize) -> Executor {
    let mut executor = Executor::new(&program.workload, cpus, still());
    executor.run_until(HOUR);
    executor
}

fn program(spec: &str) -> Program {
    programs::parse(spec).unwrap_or_else(|error| panic!("{error}"))
}

fn metric(program: &Program, executor: &Executor, name: &str) -> f64 {
    let metric = program.metrics.iter().find(|metric| metric.name == name);
    let result = metric.unwrap().result(executor.runtime.measures());
    result.value.unwrap()
}

/// How many lines of the log end so.
fn count(executor: &Executor, what: &str) -> usize {
    executor
        .log
        .iter()
        .filter(|line| line.ends_with(what))
        .count()
}

#[test]
fn two_rounds_of_perf_pipe_step_by_step() {
    let executor = run(&program("perf-pipe:loops=2"), 1);
    // One CPU, no preemption, 1 us a call. The child waits for the parent's write each time, and the parent for the
    // answer. A write wakes the reader that waits; the reader runs when the writer itself waits. At the end the child's
    // exit wakes the parent, which had read the last answer before.
    let log = [
        "0 perf-0: Fork",
        "1 perf-0: fork answer-0",
        "1 perf-0: PipeWrite 4",
        // The child has not run: nobody to wake.
        "2 perf-0: PipeRead 4",
        "3 perf-0: wait",
        "3 answer-0: PipeRead 4",
        // It finds the number there.
        "4 answer-0: PipeWrite 4",
        "5 answer-0: wake perf-0",
        "5 answer-0: PipeRead 4",
        "6 answer-0: wait",
        "6 perf-0: PipeWrite 4",
        "7 perf-0: wake answer-0",
        "7 perf-0: PipeRead 4",
        "8 perf-0: wait",
        "8 answer-0: PipeWrite 4",
        "9 answer-0: wake perf-0",
        "9 answer-0: ExitProcess",
        "10 answer-0: exit",
        "10 perf-0: Wait",
        "11 perf-0: ExitProcess",
        "12 perf-0: exit",
    ];
    assert_eq!(executor.log, log);
    // From before the fork until after wait(): 11 us for two.
    let program = program("perf-pipe:loops=2");
    assert_eq!(metric(&program, &executor, "usecs/op"), 5.5);
}

#[test]
fn hackbench_carries_every_message_once() {
    for spec in [
        "hackbench:groups=2,fds=3,loops=4",
        "hackbench:groups=2,fds=3,loops=4,ipc=pipe",
        "hackbench:groups=2,fds=3,loops=4,ipc=pipe,mode=thread",
        "hackbench:groups=1,fds=2,loops=60,datasize=3000,ipc=pipe",
        "hackbench:groups=1,fds=2,loops=60,datasize=5000",
    ] {
        for cpus in 1..4 {
            let program = program(spec);
            let number = |name| {
                let found = program.params.iter().find(|(param, _)| *param == name);
                found.unwrap().1.parse::<u64>().unwrap()
            };
            let [groups, fds, loops, bytes] = ["groups", "fds", "loops", "datasize"].map(number);
            let executor = run(&program, cpus);
            assert_eq!(executor.runtime.nr_alive(), 0, "{spec} on {cpus}");
            let tasks = 2 * groups * fds;
            // Everybody is ready, is let go by the one byte that stays in the wake stream, and then each receiver gets
            // a message from each of its group's senders in each loop.
            let carried = |stream| executor.runtime.stream_bytes(stream);
            assert_eq!(carried(0), (tasks, tasks));
            assert_eq!(carried(1), (1, 0));
            for stream in 0..groups * fds {
                let all = fds * loops * bytes;
                assert_eq!(carried(2 + stream as u32), (all, all), "{spec}: {stream}");
            }
            let kind = program.workload.objects.streams[0];
            let word = if kind == StreamKind::Pipe {
                "PipeWrite"
            } else {
                "UnixSend"
            };
            let sends = count(&executor, &format!("{word} {bytes}")) as u64;
            assert_eq!(sends, groups * fds * fds * loops, "{spec}");
        }
    }
}

#[test]
fn a_full_pipe_stops_the_writer_until_a_page_is_read() {
    // 17 messages of a page: the pipe takes 16. The receiver runs when the sender waits.
    let executor = run(
        &program("hackbench:groups=1,fds=1,loops=17,datasize=4k,ipc=pipe"),
        1,
    );
    let sender: Vec<_> = executor
        .log
        .iter()
        .filter(|line| line.contains("sender-0"))
        .collect();
    let waits = sender.iter().filter(|line| line.ends_with("wait")).count();
    // Once for the wake stream, once for room.
    assert_eq!(waits, 2);
    assert_eq!(executor.runtime.stream_bytes(2), (17 * 4096, 17 * 4096));
}

#[test]
fn every_program_runs_with_its_defaults_and_says_what_it_takes() {
    for info in LIST {
        let program = program(info.name);
        assert!(
            info.params.iter().any(|param| param.name == info.load),
            "{}",
            info.name
        );
        assert_eq!(programs::parse(&program.spec()).unwrap(), program);
        assert!(!program.metrics.is_empty());
        // No task may turn without taking time.
        let endless = |loops| matches!(loops, Loops::Forever);
        for task in &program.workload.tasks {
            let forever = task.phases.iter().any(|phase| endless(phase.loops));
            assert!(task.background || !forever, "{}: {}", info.name, task.name);
        }
        assert!(write(&program.workload).is_err(), "{}", info.name);
    }
}

#[test]
fn wrong_specifications_are_told_with_a_way_to_mend_them() {
    for (spec, what, hint) in [
        (
            "hackbnch",
            "hackbnch: there is no program \"hackbnch\"",
            "did you mean \"hackbench\"?",
        ),
        (
            "hackbench:grups=4",
            "hackbench:grups=4: unknown key \"grups\"",
            "did you mean \"groups\"?",
        ),
        (
            "hackbench:groups=0",
            "hackbench:groups=0: bad value \"0\" for groups",
            "groups is a number from 1 to 1000",
        ),
        (
            "hackbench:ipc=pip",
            "hackbench:ipc=pip: bad value \"pip\" for ipc",
            "ipc is socket or pipe",
        ),
        (
            "hackbench:groups",
            "hackbench:groups: \"groups\" is not of the form KEY=VALUE",
            "write hackbench:groups=10",
        ),
        (
            "hackbench:groups=1,groups=2",
            "hackbench:groups=1,groups=2: key \"groups\" is given again",
            "give it once",
        ),
        (
            "hackbench:cgroup=a//b",
            "hackbench:cgroup=a//b: bad value \"a//b\" for cgroup",
            "cgroup is the path of a group, such as /a/b",
        ),
    ] {
        let error = programs::parse(spec).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.hint()), (what, hint));
    }
    let unlike = programs::parse("x:y=1").unwrap_err();
    assert!(unlike.hint().starts_with("programs are hackbench, "));
}

#[test]
fn programs_and_files_share_a_machine_and_a_group() {
    let file =
        r#"{ "tasks": { "hog": { "run": 10 } }, "cgroups": { "/a": { "cpu.weight": 50 } } }"#;
    let file = parse(file, "hog.json").unwrap();
    let made = vec![
        program("hackbench:groups=1,fds=2,loops=3,cgroup=/a"),
        program("perf-pipe:loops=5,cgroup=/a/b"),
        program("perf-pipe:loops=6"),
    ];
    let (workload, made) = programs::join(Some(file), made);
    let paths: Vec<_> = workload
        .groups
        .iter()
        .map(|group| group.path.as_str())
        .collect();
    assert_eq!(paths, ["/", "/a", "/a/b"]);
    let names: Vec<_> = workload
        .tasks
        .iter()
        .map(|task| task.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "hog",
            "receiver",
            "sender",
            "hackbench",
            "answer",
            "perf",
            "answer.2",
            "perf.2"
        ]
    );
    let mut executor = Executor::new(&workload, 2, still());
    while !executor.runtime.is_over() {
        let now = executor.now;
        executor.run_until(now + 1_000_000);
        assert!(executor.now < HOUR);
    }
    // The hog is still there; each program has its own numbers.
    assert_eq!(executor.runtime.nr_alive(), 1);
    assert!(metric(&made[0], &executor, "Time") > 0.0);
    let op = |program| metric(program, &executor, "usecs/op");
    assert!(op(&made[1]) > 0.0 && op(&made[2]) > 0.0);
}
