//! What is refused, and in which words.

use fairwind_workload::{ErrorKind, parse, parse_files};

fn error(text: &str) -> String {
    match parse(text, "w.json") {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

/// A task with these members, on line 1; members begin at column 17.
fn task(members: &str) -> String {
    format!(r#"{{"tasks": {{"a":{{{members}}}}}}}"#)
}

#[test]
fn messages_have_place_fault_and_mending() {
    assert_eq!(
        error("{\n  \"tasks\": {\n    \"a\": { \"run\": 1, \"polcy\": \"SCHED_FIFO\" }\n  }\n}"),
        "w.json:3:22: unknown key \"polcy\", in tasks/a; expected one of barrier, broad, cpus, \
         deadline, delay, dl-deadline, dl-period, dl-runtime, exec, fork, instance, iorun, lock, \
         lock_order, loop, mem, memrun, nodes_membind, period, phases, policy, priority, \
         resources, resume, run, runtime, sem_post, sem_wait, signal, sleep, spin_lock, spin_unlock, suspend, sync, \
         taskgroup, timer, unlock, util_max, util_min, wait, working_set, yield (did you mean \
         \"policy\"?)"
    );
    assert_eq!(
        error(r#"{"tasks": {"a": {"run": 1 "sleep": 2}}}"#),
        "w.json:1:27: found '\"'; expected ',' or '}'"
    );
    assert_eq!(
        error(&task(r#""run": "long""#)),
        "w.json:1:24: found text, in tasks/a/run; expected microseconds, 0 to 2147483647"
    );
    assert_eq!(
        error(&task(r#""run": 1, "loop": 1, "loop": 2"#)),
        "w.json:1:38: key \"loop\" is given again (first on line 1), in tasks/a; expected one \
         \"loop\""
    );
    assert_eq!(
        error(r#"{"task": {}}"#),
        "w.json:1:2: unknown key \"task\"; expected one of cgroups, global, guests, resources, tasks (did \
         you mean \"tasks\"?)"
    );
}

/// Each text with a part of its error.
const REFUSED: &[(&str, &str)] = &[
    ("[]", "found an array; expected an object with \"tasks\""),
    (
        r#"{"tasks": 1}"#,
        "found an integer, in tasks; expected an object of tasks",
    ),
    (
        r#"{"tasks": {}, "tasks": {}}"#,
        "key \"tasks\" is given again",
    ),
    (
        r#"{"tasks": {"a": 3}}"#,
        "in tasks/a; expected an object that describes a task",
    ),
    (
        r#"{"tasks": {"a": {}}}"#,
        "\"a\" does nothing, in tasks/a; expected at least one event",
    ),
    // Attributes.
    (
        r#"{"tasks": {"a": {"run": 1, "policy": "SCHED_FIF0"}}}"#,
        "did you mean \"SCHED_FIFO\"?",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "priority": 20}}}"#,
        "bad value 20, in tasks/a/priority",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "priority": 0, "policy": "SCHED_RR"}}}"#,
        "expected 1 to 99 for SCHED_RR",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "cpus": []}}}"#,
        "bad value [], in tasks/a/cpus",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "cpus": [-1]}}}"#,
        "bad value -1",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "cpus": "3-1"}}}"#,
        "expected a list of CPUs",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "util_min": 1025}}}"#,
        "0 to 1024, or -1",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "taskgroup": "a"}}}"#,
        "a path that begins with \"/\"",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "taskgroup": "/a/../b"}}}"#,
        "without empty, \".\" or \"..\"",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "taskgroup": "/g", "policy": "SCHED_FIFO"}}}"#,
        "SCHED_FIFO in a task group, in tasks/a; expected SCHED_OTHER, SCHED_BATCH or SCHED_IDLE",
    ),
    (
        r#"{"tasks": {"a": {"taskgroup": "/g", "phases": {"p": {"run": 1},
            "q": {"run": 1, "policy": "SCHED_RR"}}}}}"#,
        "SCHED_RR in a task group, in tasks/a/phases/q",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "policy": "SCHED_DEADLINE"}}}"#,
        "SCHED_DEADLINE with runtime 0, deadline 0, period 0",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "policy": "SCHED_DEADLINE", "dl-runtime": 9, "dl-period": 8}}}"#,
        "2 <= dl-runtime <= dl-deadline <= dl-period",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "working_set": -1}}}"#,
        "bytes, from 0",
    ),
    // Structure.
    (
        r#"{"tasks": {"a": {"run": 1, "instance": -1}}}"#,
        "a number of threads",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "instance": 4194305}}}"#,
        "0 to 4194304",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "instance": 4194304}, "b": {"run": 1}}}"#,
        "at most 4194304 threads",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "loop": -2}}}"#,
        "a number of loops, or -1",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "delay": 1.5}}}"#,
        "a number that is no 64-bit integer",
    ),
    (r#"{"tasks": {"a": {"phases": {}}}}"#, "at least one phase"),
    (
        r#"{"tasks": {"a": {"phases": {"p": {"loop": 2}}}}}"#,
        "\"p\" does nothing",
    ),
    (
        r#"{"tasks": {"a": {"phases": {"p": {"run": 1}}, "sleep": 1}}}"#,
        "event \"sleep\" beside",
    ),
    (
        r#"{"tasks": {"a": {"phases": {"p": {"run": 1, "instance": 2}}}}}"#,
        "unknown key \"instance\", in tasks/a/phases/p; expected this key beside \"phases\"",
    ),
    // Events.
    (
        r#"{"tasks": {"a": {"run": -1}}}"#,
        "bad value -1, in tasks/a/run",
    ),
    (
        r#"{"tasks": {"a": {"run": 2147483648}}}"#,
        "bad value 2147483648",
    ),
    (
        r#"{"tasks": {"a": {"run"}}}"#,
        "found a key without a value",
    ),
    (r#"{"tasks": {"a": {"lock": 1}}}"#, "a mutex's name"),
    (
        r#"{"tasks": {"a": {"signal": null}}}"#,
        "found null, in tasks/a/signal",
    ),
    (
        r#"{"tasks": {"a": {"wait": "c"}}}"#,
        "{ \"ref\": NAME, \"mutex\": NAME }",
    ),
    (
        r#"{"tasks": {"a": {"wait": {"ref": "c", "mutx": "m"}}}}"#,
        "did you mean \"mutex\"?",
    ),
    (
        r#"{"tasks": {"a": {"timer": {"ref": "t"}}}}"#,
        "no key \"period\", in tasks/a/timer",
    ),
    (
        r#"{"tasks": {"a": {"timer": {"ref": "t", "period": 1, "mode": "abs"}}}}"#,
        "bad value \"abs\"",
    ),
    (
        r#"{"tasks": {"a": {"fork": "worker"}, "worke": {"run": 1}}}"#,
        "unknown name \"worker\", in tasks/a/fork; expected the name of a task of this workload \
         (did you mean \"worke\"?)",
    ),
    (
        r#"{"tasks": {"a": {"suspend": 1}}}"#,
        "a text, which is ignored",
    ),
    (
        r#"{"tasks": {"a": {"yield": 1}}}"#,
        "a text, which is ignored",
    ),
    (
        r#"{"tasks": {"a": {"memrun": {"type": "read", "size": 1}}}}"#,
        "no key \"count\"",
    ),
    (
        r#"{"tasks": {"a": {"memrun": {"type": "poke", "size": 1, "count": 1}}}}"#,
        "\"poke\"",
    ),
    (
        r#"{"tasks": {"a": {"memrun": {"type": "chase", "size": 100, "count": 1}}}}"#,
        "a chase of at least twice its stride",
    ),
    (
        r#"{"tasks": {"a": {
            "memrun0": {"type": "read", "size": 64, "count": 1, "ref": "b"},
            "memrun1": {"type": "read", "size": 128, "count": 1, "ref": "b"}}}}"#,
        "one size, stride and pattern for all that share a ref",
    ),
    // Global.
    (
        r#"{"tasks": {}, "global": {"duraton": 1}}"#,
        "did you mean \"duration\"?",
    ),
    (
        r#"{"tasks": {}, "global": {"duration": "1"}}"#,
        "seconds, or -1 for no end",
    ),
    (
        r#"{"tasks": {}, "global": {"duration": 1, "duration": 1}}"#,
        "given again",
    ),
    (
        r#"{"tasks": {}, "global": {"pi_enabled": 1}}"#,
        "true or false",
    ),
    (
        r#"{"tasks": {}, "global": {"calibration": "GPU0"}}"#,
        "\"CPU<n>\" or ns per loop",
    ),
    (
        r#"{"tasks": {}, "global": {"ftrace": "main,run"}}"#,
        "main,task,loop,event,stats,none",
    ),
    (
        r#"{"tasks": {}, "global": {"log_size": "big"}}"#,
        "\"file\", \"disable\", \"auto\"",
    ),
    (
        r#"{"tasks": {}, "global": {"mem_buffer_size": 0}}"#,
        "bytes, 1 to",
    ),
    // Older grammar.
    (
        r#"{"tasks": {}, "resources": {"m": {"type": "mutx"}}}"#,
        "did you mean \"mutex\"?",
    ),
    (
        r#"{"tasks": {"a": {"exec": 1, "lock_order": ["m"]}}}"#,
        "unknown name \"m\"",
    ),
    (
        r#"{"tasks": {"a": {"exec": 1, "run": 1}}}"#,
        "event \"run\" beside \"exec\"",
    ),
    (
        r#"{"tasks": {"a": {"exec": 1, "lock_order": "m"}}}"#,
        "an array of resources' names",
    ),
    // Groups.
    (
        r#"{"cgroups": {"a": {}}}"#,
        "bad value \"a\", in cgroups/a; expected a path that begins",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.wieght": 1}}}"#,
        "did you mean \"cpu.weight\"?",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.weight": 0}}}"#,
        "a weight of 1 to 10000",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.weight": 10001}}}"#,
        "a weight of 1 to 10000",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.weight.nice": 20}}}"#,
        "a nice value of -20 to 19",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.weight": 1, "cpu.shares": 2}}}"#,
        "both cpu.weight and cpu.sha",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.weight": 1, "cpu.idle": 1}}}"#,
        "cpu.weight on a group with cpu.i",
    ),
    (r#"{"cgroups": {"/a": {"cpu.idle": 2}}}"#, "0 or 1"),
    (
        r#"{"cgroups": {"/": {"cpu.weight": 1}}}"#,
        "cpu.weight on the root group",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.max": "999 100000"}}}"#,
        "a quota of at least 1000 us",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.max": "1000 999"}}}"#,
        "a period of 1000 to 1000000 us",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.max": "1000 1000001"}}}"#,
        "a period of 1000 to 1000000 us",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.max": "much"}}}"#,
        "\"QUOTA PERIOD\" or [QUOTA, PERIOD]",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.max": [1000]}}}"#,
        "\"QUOTA PERIOD\" or [QUOTA, PERIOD]",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.max": [5000, 10000], "cpu.max.burst": 5001}}}"#,
        "a burst no longer than the quota",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.max": "max", "cpu.cfs_quota_us": 1000}}}"#,
        "both cpu.max and cpu.cfs_quota_us",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.cfs_quota_us": 20000}, "/a/b/c": {"cpu.cfs_quota_us": 20001}}}"#,
        "a larger share of CPU time than /a has",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.uclamp.min": "100.01"}}}"#,
        "a percentage of 0 to 100",
    ),
    (
        r#"{"cgroups": {"/a": {"cpu.uclamp.max": "12.345"}}}"#,
        "up to two decimals",
    ),
    (
        r#"{"cgroups": {"/a": {"cpuset.cpus": "x"}}}"#,
        "expected a list of CPUs",
    ),
    (
        r#"{"cgroups": {"/a": {}, "/a/": {"cpu.weight": 1}, "/a": {"cpu.weight": 2}}}"#,
        "differ",
    ),
    (
        r#"{"tasks": {"a": {"run": 1, "taskgroup": {"cpu.weight": 1}}}}"#,
        "no key \"path\"",
    ),
];

#[test]
fn each_fault_is_named() {
    for (text, part) in REFUSED {
        let message = error(text);
        assert!(message.contains(part), "{text}\n{message}\nlacks: {part}");
        assert!(message.starts_with("w.json:"), "{message}");
    }
}

#[test]
fn kinds_carry_their_facts() {
    let error = parse(r#"{"tasks": {"a": {"fork": "b"}}}"#, "f").unwrap_err();
    assert_eq!((error.line, error.column), (1, 26));
    assert_eq!(error.path, "tasks/a/fork");
    let ErrorKind::UnknownName { name, nearest, .. } = *error.kind else {
        panic!("{error}");
    };
    assert_eq!((name.as_str(), nearest), ("b", None));
}

#[test]
fn a_task_may_not_be_in_two_files() {
    let one = r#"{"tasks": {"a": {"run": 1}}}"#;
    let error = parse_files(&[("x", one), ("y", one)])
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("y:1:12: key \"a\" is given again"),
        "{error}"
    );
}
