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
fn netperf_takes_two_calls_a_transaction() {
    // Client and server on a CPU each, 1 us a call. While the client asks for the response the server sends it, and while
    // the client sends the next request the server asks for it: 2 us. The one that begins within 1 ms is the last.
    let program = program("netperf:duration=1ms");
    let executor = run(&program, 3);
    assert_eq!(metric(&program, &executor, "Trans. Rate"), 500.0 / 0.001);
    let (requests, responses) = (
        executor.runtime.stream_bytes(2),
        executor.runtime.stream_bytes(3),
    );
    assert_eq!((requests, responses), ((500, 500), (500, 500)));
}

#[test]
fn tbench_sends_what_its_list_says() {
    let program = program("tbench:clients=2,duration=3ms");
    let executor = run(&program, 2);
    // Whole rounds of 100 operations: 3 of them write 64 KiB, 4 read 60 KiB, 18 read 4 KiB and 4 of the writes are
    // smaller, and so on: 546 179 bytes.
    let rounds = count(&executor, "TcpSend 65595") as f64 / 3.0;
    assert!(rounds >= 2.0 && rounds.fract() == 0.0, "{rounds}");
    assert_eq!(count(&executor, "TcpSend 61499") as f64, rounds * 4.0);
    assert_eq!(count(&executor, "TcpSend 4155") as f64, rounds * 20.0);
    let data = 18 * 4096 + 4 * 61_440 + 2048 + 8192 + 3 * 512;
    let data = data + 3 * 65_536 + 2 * 4096 + 2 + 2048 + 8192;
    let throughput = rounds * f64::from(data) / 0.003 / 1_048_576.0;
    let printed = metric(&program, &executor, "Throughput");
    assert!(
        (printed / throughput - 1.0).abs() < 1e-9,
        "{printed}, {throughput}"
    );
    for stream in 1..5 {
        let (written, read) = executor.runtime.stream_bytes(stream);
        assert_eq!(written, read, "{stream}");
    }
}

#[test]
fn lat_ctx_counts_hops() {
    let executor = run(&program("lat_ctx:processes=3,rounds=10"), 2);
    // Alone once unmeasured and 10 times; around once unmeasured and 10 times.
    let hops = 1 + 10 + 3 + 3 * 10;
    assert_eq!(count(&executor, "PipeWrite 4"), hops);
    // The two children ask for the token once more.
    assert_eq!(count(&executor, "PipeRead 4"), hops + 2);
}

#[test]
fn lat_ctx_prints_what_a_hop_takes_beyond_the_overhead() {
    let program = program("lat_ctx:processes=2,rounds=10");
    // One CPU: a hop is a write and a read, as in the overhead.
    assert_eq!(metric(&program, &run(&program, 1), "switch"), 0.0);
    // Two: a process asks for the token while the other writes, and has paid for that when it comes.
    assert_eq!(metric(&program, &run(&program, 2), "switch"), -1.0);
}

#[test]
fn schbench_counts_requests_and_its_own_latencies() {
    let program = program("schbench:threads=2,duration=1ms,operations=1,footprint=1k");
    let executor = run(&program, 4);
    // 6 x 6 matrices: 216 steps of 0.8 ns. Each worker sleeps 100 us and works 0.172 us: 9 requests in 1 ms.
    assert_eq!(metric(&program, &executor, "average rps"), 18_000.0);
    let request = metric(&program, &executor, "Request Latencies 50.0th");
    assert!((request / 100.172 - 1.0).abs() < 0.01, "{request}");
}

#[test]
fn stress_ng_shares_its_operations_out() {
    let program = program("stress-ng:cpu=2,cpu-ops=5");
    let executor = run(&program, 2);
    // Three operations of 950 us each, rounded up. The first worker starts at 1 us; the second, made at 2 us, when the
    // parent waits at 3 us. It ends with a call at 2854 us, when the parent is waiting for it.
    assert_eq!(metric(&program, &executor, "real time"), 0.002_854);
    assert_eq!(count(&executor, "run 950"), 6);
}

#[test]
fn sysbench_counts_events_begun_in_time() {
    let cpu = program("sysbench-cpu:time=10ms");
    // 490 us an event; the 21st begins at 9.8 ms.
    assert_eq!(metric(&cpu, &run(&cpu, 1), "events per second"), 2100.0);
    let cpu = program("sysbench-cpu:time=10ms,prime=2500");
    // An eighth of it: (1/4)^1.5. 61.25 us; the 164th begins at 9.98 ms.
    assert_eq!(metric(&cpu, &run(&cpu, 1), "events per second"), 16_400.0);
    let locks = program("sysbench-threads:time=1ms,yields=4,threads=1");
    // 4 times 25 ns of work, and 1 us for coming back to the first phase, as the last one takes no time itself.
    let executor = run(&locks, 1);
    assert_eq!(metric(&locks, &executor, "events per second"), 910_000.0);
    assert_eq!(count(&executor, "yield"), 910 * 4);
}

#[test]
fn volano_gives_every_message_to_every_user_of_its_room() {
    let program = program("volano:rooms=2,users=3,messages=2,work=0us");
    let executor = run(&program, 2);
    assert_eq!(executor.runtime.nr_alive(), 0);
    let (sent, received) = (2 * 3 * 2, 2 * 3 * 3 * 2);
    assert_eq!(count(&executor, "TcpSend 100"), sent + received);
    assert_eq!(count(&executor, "TcpReceive 100"), sent + received);
}

#[test]
fn httperf_gets_a_reply_for_every_call() {
    // Bursts of 2, 2 and 1; three sessions over two workers.
    let program = program("httperf:sessions=3,calls=5,burst=2,workers=2,work=10us");
    let executor = run(&program, 2);
    assert_eq!(count(&executor, "TcpSend 70"), 15);
    assert_eq!(count(&executor, "TcpSend 4096"), 15);
    let carried: Vec<_> = (0..4)
        .map(|stream| executor.runtime.stream_bytes(stream))
        .collect();
    let of = |calls: u64, bytes: u64| (calls * bytes, calls * bytes);
    assert_eq!(carried, [of(10, 70), of(5, 70), of(10, 4096), of(5, 4096)]);
}

#[test]
fn a_transaction_of_oltp_is_its_queries_and_a_commit_on_the_disk() {
    let program = program("oltp:connections=1,duration=1ms,queries=3");
    let executor = run(&program, 3);
    // BEGIN, 3 queries of 50 us and COMMIT with 20 us of latency and 8 us for 4 KiB at 500 MB/s. With the calls about
    // 185 us: the sixth begins within 1 ms.
    assert_eq!(metric(&program, &executor, "transactions"), 6000.0);
    assert_eq!(count(&executor, "UnixSend 60"), 6 * 5);
    assert_eq!(count(&executor, "UnixSend 200"), 6 * 5);
    assert_eq!(count(&executor, "io 28"), 6);
}

#[test]
fn producers_and_consumers_pass_all_items() {
    let program = program("producer-consumer:pairs=2,items=5,places=1");
    let executor = run(&program, 3);
    assert_eq!(executor.runtime.nr_alive(), 0);
    assert_eq!(count(&executor, "run 10"), 2 * 2 * 5);
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
