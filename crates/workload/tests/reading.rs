//! What is accepted, and what it becomes.

use fairwind_workload::*;

fn read(text: &str) -> Workload {
    parse(text, "w.json").unwrap_or_else(|error| panic!("{error}"))
}

/// The warnings, without the file's name.
fn warnings(text: &str) -> Vec<String> {
    read(text)
        .warnings
        .iter()
        .map(|warning| warning.to_string().replace("w.json:", ""))
        .collect()
}

#[test]
fn defaults_are_those_of_rt_app() {
    let workload = read(r#"{"tasks": {"a": {"run": 1}}}"#);
    assert_eq!(workload.global, Global::default());
    assert_eq!(workload.global.duration_s, None);
    assert_eq!(workload.global.mem_buffer_size, 4_194_304);
    let task = &workload.tasks[0];
    assert_eq!(
        (task.instances, task.delay_us, task.loops),
        (1, 0, Loops::Forever)
    );
    assert_eq!(task.attrs.policy, Some(Policy::Other));
    assert_eq!(task.attrs.priority, Some(0));
    assert_eq!(task.phases.len(), 1);
    assert_eq!(task.phases[0].loops, Loops::Times(1));
    assert!(task.phases[0].attrs.is_empty());
    assert!(workload.warnings.is_empty());
    let fifo = read(r#"{"tasks": {"a": {"run": 1}}, "global": {"default_policy": "SCHED_FIFO"}}"#);
    assert_eq!(fifo.tasks[0].attrs.priority, Some(10));
}

#[test]
fn loops_mean_the_phase_without_phases_and_the_task_with_them() {
    let workload = read(
        r#"{"tasks": {
        "bare": {"run": 1}, "counted": {"loop": 5, "run": 1}, "endless": {"loop": -1, "run": 1},
        "phased": {"loop": 3, "phases": {"p": {"run": 1}, "q": {"loop": -1, "run": 1}}},
        "open": {"phases": {"p": {"run": 1}}}}}"#,
    );
    let loops: Vec<_> = workload
        .tasks
        .iter()
        .map(|task| {
            (
                task.loops,
                task.phases
                    .iter()
                    .map(|phase| phase.loops)
                    .collect::<Vec<_>>(),
            )
        })
        .collect();
    use Loops::{Forever, Times};
    assert_eq!(
        loops,
        [
            (Forever, vec![Times(1)]),
            (Times(1), vec![Times(5)]),
            (Times(1), vec![Forever]),
            (Times(3), vec![Times(1), Forever]),
            (Forever, vec![Times(1)]),
        ]
    );
}

#[test]
fn every_event_word_is_known_and_may_go_on() {
    let workload = read(
        r#"{"tasks": {"a": {"phases": {"p": {
            "run0": 1, "runtime_x": 2, "sleep1": 3, "mem9": 4, "memrun_": {"type": "write",
            "size": 8, "count": 5}, "iorun": 6, "lock1": "m", "unlock1": "m", "signal1": "c",
            "broadcast": "c", "wait1": {"ref": "c", "mutex": "m"},
            "sync1": {"ref": "d", "mutex": "n"}, "barrier1": "b",
            "timer1": {"ref": "t", "period": 7}, "timer2": {"ref": "uniq", "period": 8},
            "timer3": {"ref": "unique", "period": 9, "mode": "absolute"}, "resume1": "a",
            "suspend1": "", "yield1": "", "fork1": "a", "sem_post1": "s", "sem_wait1": "s"}}}}}"#,
    );
    let buffer = |id| BufferId(id);
    let (c, d, a) = (CondId(0), CondId(1), CondId(2));
    let (m, n, own) = (MutexId(0), MutexId(1), MutexId(2));
    let set = MemoryUse {
        buffer: buffer(0),
        kind: MemoryKind::Set,
        count: 4,
    };
    let write = MemoryUse {
        buffer: buffer(1),
        kind: MemoryKind::Write,
        count: 5,
    };
    assert_eq!(
        workload.tasks[0].phases[0].events,
        [
            Event::Run { us: 1 },
            Event::Runtime { us: 2 },
            Event::Sleep { us: 3 },
            Event::Memory(set),
            Event::Memory(write),
            Event::IoRun { bytes: 6 },
            Event::Lock(m),
            Event::Unlock(m),
            Event::Signal(c),
            Event::Broadcast(c),
            Event::Wait { cond: c, mutex: m },
            Event::Sync { cond: d, mutex: n },
            Event::Barrier(BarrierId(0)),
            Event::Timer {
                timer: TimerRef::Shared(0),
                period_us: 7
            },
            Event::Timer {
                timer: TimerRef::Shared(1),
                period_us: 8
            },
            Event::Timer {
                timer: TimerRef::Unique(0),
                period_us: 9
            },
            Event::Resume {
                cond: a,
                mutex: own
            },
            Event::Suspend {
                cond: a,
                mutex: own
            },
            Event::Yield,
            Event::Fork(TaskSpecId(0)),
            Event::SemPost(SemId(0)),
            Event::SemWait(SemId(0)),
        ]
    );
    assert!(!workload.tasks[0].unique_timers[0].relative);
    assert!(workload.objects.timers.iter().all(|timer| timer.relative));
}

#[test]
fn names_are_per_kind_and_suspend_shares_those_of_the_task() {
    let workload = read(
        r#"{"tasks": {"x": {"lock": "x", "suspend", "unlock": "x", "sem_post": "x", "barrier": "x"},
                      "y": {"resume": "x", "broad": "x"}}}"#,
    );
    assert_eq!(workload.objects.mutexes, ["x"]);
    assert_eq!(workload.objects.conds, ["x"]);
    assert_eq!(workload.objects.semaphores, ["x"]);
    assert_eq!(workload.objects.barriers.len(), 1);
}

#[test]
fn equal_keys_stay_apart_and_in_order() {
    let workload = read(
        r#"{"tasks": {"a": {"phases": {
            "p": {"run": 1, "sleep": 2, "run": 3}, "q": {"run": 4}, "p": {"run": 5}}},
            "a": {"run": 6}}}"#,
    );
    let names: Vec<_> = workload
        .tasks
        .iter()
        .map(|task| task.name.as_str())
        .collect();
    assert_eq!(names, ["a", "a1"]);
    let phases: Vec<_> = workload.tasks[0]
        .phases
        .iter()
        .map(|phase| phase.name.as_str())
        .collect();
    assert_eq!(phases, ["p", "q", "p1"]);
    let events = &workload.tasks[0].phases[0].events;
    let expected = [
        Event::Run { us: 1 },
        Event::Sleep { us: 2 },
        Event::Run { us: 3 },
    ];
    assert_eq!(*events, expected);
    assert_eq!(
        workload.warnings[0].what,
        "a second task \"a\" is called \"a1\""
    );
}

#[test]
fn barriers_count_references_times_instances() {
    let workload = read(
        r#"{"tasks": {"a": {"instance": 3, "barrier": "B", "run": 1}, "b": {"barrier": "B",
            "run": 1}, "t": {"instance": 0, "barrier": "B", "run": 1}}}"#,
    );
    assert_eq!(workload.objects.barriers[0].users, 4);
    assert_eq!(
        workload.warnings[0].what,
        "barrier \"B\" does not count forked threads"
    );
}

#[test]
fn instances_of_a_task_share_a_buffer_and_tasks_do_by_ref() {
    let chase = r#""memrun": {"type": "chase", "size": 4096, "count": 1, "ref": "r"}"#;
    let workload = read(&format!(
        r#"{{"tasks": {{"a": {{"instance": 2, "mem": 1, "mem2": 2, {chase}}},
                        "b": {{"mem": 1, {chase}}}}}}}"#
    ));
    let buffers = &workload.objects.buffers;
    assert_eq!(buffers.len(), 3);
    assert_eq!(buffers[1].name.as_deref(), Some("r"));
    assert_eq!(
        (buffers[1].stride, buffers[1].random, buffers[1].footprint),
        (64, true, 4096)
    );
}

#[test]
fn deadline_parameters_default_to_each_other() {
    let params = |members: &str| {
        let text = format!(r#"{{"tasks": {{"a": {{"run": 1, {members}}}}}}}"#);
        let deadline = read(&text).tasks[0].attrs.deadline;
        deadline.map(|params| (params.runtime_us, params.period_us, params.deadline_us))
    };
    let dl = r#""policy": "SCHED_DEADLINE""#;
    assert_eq!(
        params(&format!(r#"{dl}, "dl-runtime": 5"#)),
        Some((5, 5, 5))
    );
    assert_eq!(
        params(&format!(r#"{dl}, "dl-runtime": 5, "dl-period": 9"#)),
        Some((5, 9, 9))
    );
    let older = r#""runtime": 5, "deadline": 7, "period": 8"#;
    assert_eq!(params(&format!("{dl}, {older}")), Some((5, 8, 7)));
    // A custom slice; but "runtime" beside SCHED_OTHER is an event and nothing else.
    assert_eq!(params(r#""dl-runtime": 100"#), Some((100, 100, 100)));
    assert_eq!(params(r#""runtime": 100"#), None);
    let flat = read(&format!(r#"{{"tasks": {{"a": {{{dl}, "runtime": 5}}}}}}"#));
    assert_eq!(flat.tasks[0].phases[0].events, [Event::Runtime { us: 5 }]);
}

#[test]
fn groups_come_with_their_parents_and_settings() {
    let workload = read(
        r#"{"cgroups": {
            "/a/b": {"cpu.max": "25000 100000", "cpu.max.burst": 5000, "cpuset.cpus": "0-3,8"},
            "/a": {"cpu.weight": 250, "cpu.uclamp.min": "12.5", "cpu.uclamp.max": "max"},
            "/v1": {"cpu.shares": 1, "cpu.cfs_quota_us": 50000, "cpu.cfs_period_us": 25000},
            "/nice": {"cpu.weight.nice": -5, "cpu.max": ["max", 50000]},
            "/idle": {"cpu.idle": 1, "cpu.max": 30000}},
          "tasks": {"t": {"run": 1, "taskgroup": "/a/b"},
                    "u": {"run": 1, "taskgroup": {"path": "/x", "cpu.weight": 7, "cpus": "1"}},
                    "n": {"run": 1, "taskgroup": ""}}}"#,
    );
    let group = |path: &str| {
        let found = workload.groups.iter().find(|group| group.path == path);
        found.unwrap_or_else(|| panic!("no group {path}"))
    };
    let b = group("/a/b");
    assert_eq!(b.parent, Some(GroupIdx(1)));
    assert_eq!(workload.groups[1].path, "/a");
    let limit = |quota_us, period_us, burst_us| {
        Some(Bandwidth {
            quota_us,
            period_us,
            burst_us,
        })
    };
    assert_eq!(b.bandwidth, limit(Some(25_000), 100_000, 5_000));
    assert_eq!(b.cpus, Some(vec![0, 1, 2, 3, 8]));
    assert_eq!(group("/a").weight, Some(GroupWeight::Weight(250)));
    // 12.5 % of 1024 is 128.
    assert_eq!(
        (group("/a").uclamp_min, group("/a").uclamp_max),
        (Some(128), Some(1024))
    );
    assert_eq!(group("/v1").weight, Some(GroupWeight::Shares(2)));
    assert_eq!(group("/v1").bandwidth, limit(Some(50_000), 25_000, 0));
    assert_eq!(group("/nice").weight, Some(GroupWeight::Nice(-5)));
    assert_eq!(group("/nice").bandwidth, limit(None, 50_000, 0));
    assert_eq!(group("/idle").idle, Some(true));
    assert_eq!(group("/idle").bandwidth, limit(Some(30_000), 100_000, 0));
    assert_eq!(group("/x").weight, Some(GroupWeight::Weight(7)));
    assert_eq!(group("/x").cpus, Some(vec![1]));
    let member = workload.tasks[0].attrs.group.map(|group| group.idx());
    assert_eq!(
        member.map(|group| workload.groups[group].path.as_str()),
        Some("/a/b")
    );
    assert_eq!(workload.tasks[2].attrs.group, None);
}

#[test]
fn a_child_may_state_more_than_its_parent_under_cgroup_v2() {
    let workload =
        read(r#"{"cgroups": {"/a": {"cpu.max": "10000"}, "/a/b": {"cpu.max": "20000"}}}"#);
    assert_eq!(workload.groups.len(), 3);
}

#[test]
fn files_are_merged() {
    let workload = parse_files(&[
        ("g", r#"{"global": {"duration": 5, "pi_enabled": true}}"#),
        (
            "a",
            r#"{"tasks": {"a": {"exec": 9, "lock_order": ["w"], "resources": {"w": {}}}}}"#,
        ),
        (
            "r",
            r#"{"resources": {"w": {"type": "wait"}}, "global": {"duration": 6}}"#,
        ),
        (
            "b",
            r#"{"tasks": {"b": {"broad": "w"}}, "cgroups": {"/g": {}}}"#,
        ),
    ])
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(workload.global.duration_s, Some(6));
    assert!(workload.global.pi_enabled);
    let names: Vec<_> = workload
        .tasks
        .iter()
        .map(|task| task.name.as_str())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let events = &workload.tasks[0].phases[0].events;
    assert!(matches!(events[0], Event::Wait { .. }), "{events:?}");
    assert_eq!(workload.groups.len(), 2);
    let overridden = workload.warnings.iter().find(|warning| warning.file == "g");
    assert_eq!(
        overridden.map(|warning| warning.what.as_str()),
        Some("\"duration\" is overridden by a later file")
    );
}

#[test]
fn a_fragment_loads_and_says_so() {
    assert_eq!(
        warnings(r#"{"global": {"duration": 1}}"#),
        ["1:1: no tasks: nothing will run"]
    );
    assert_eq!(warnings("{}"), ["1:1: no tasks: nothing will run"]);
}

#[test]
fn keys_without_effect_are_told_once() {
    let text = r#"{"tasks": {
        "a": {"run": 1, "nodes_membind": [0], "kthread": true, "_note": "x"},
        "b": {"run": 1, "nodes_membind": [1], "kthread": true, "_note": "y"}},
        "global": {"lock_pages": true, "logdir": "./", "gnuplot": false, "calibration": 200,
                   "log_basename": "x", "log_size": "Disable", "ftrace": true}}"#;
    let told = warnings(text);
    let about = |key: &str| {
        told.iter()
            .filter(|line| line.contains(&format!("\"{key}\"")))
            .count()
    };
    for key in [
        "nodes_membind",
        "kthread",
        "_*",
        "lock_pages",
        "logdir",
        "gnuplot",
        "calibration",
        "log_basename",
        "log_size",
        "ftrace",
    ] {
        assert_eq!(about(key), 1, "{key}: {told:#?}");
    }
    assert_eq!(told.len(), 10, "{told:#?}");
    let real_run = read(text).global.real_run;
    assert_eq!(real_run.calibration, Some(Calibration::NsPerLoop(200)));
    assert_eq!(
        real_run.log_size,
        Some(LogSize::Mode("disable".to_string()))
    );
    assert_eq!(
        real_run.ftrace.as_deref(),
        Some("main,task,loop,event,stats")
    );
}

#[test]
fn what_is_read_otherwise_than_one_may_think_is_told() {
    for (text, part) in [
        (
            r#"{"tasks": {"a": {"suspend": "b"}, "b": {"resume": "a"}}}"#,
            "the name \"b\" is ignored",
        ),
        (
            r#"{"tasks": {"a": {"suspend": "a"}}}"#,
            "nothing ever wakes those that wait or suspend",
        ),
        (
            r#"{"tasks": {"a": {"resume": "z"}}}"#,
            "nothing ever waits or suspends on \"z\"",
        ),
        (
            r#"{"tasks": {"a": {"loop": 0, "run": 1}}}"#,
            "\"loop\" 0 is repeated for ever",
        ),
        (
            r#"{"tasks": {"a": {"barrier0": "B", "barrier1": "B"}}}"#,
            "used twice by one task",
        ),
        (
            r#"{"tasks": {"a": {"timer": {"period": 5}}}}"#,
            "one named \"unknown\"",
        ),
        (
            r#"{"tasks": {"a": {"run": 1, "period": 5}}}"#,
            "\"period\" has no effect",
        ),
        (
            r#"{"tasks": {"a": {"phases": {"p": {"run": 1, "dl-runtime": 5}}}}}"#,
            "rt-app drops \"dl-runtime\"",
        ),
        (
            r#"{"cgroups": {"/a": {"cpu.shares": 1}}}"#,
            "the kernel makes 2 of these shares",
        ),
        (
            r#"{"cgroups": {"/a": {"cpu.max.burst": 1}}}"#,
            "a burst without a quota",
        ),
        (
            r#"{"tasks": {"a": {"memrun": {"type": "read", "size": 9, "count": 1, "stride": 8}}}}"#,
            "only a chase has it",
        ),
    ] {
        let told = warnings(text);
        assert!(
            told.iter().any(|line| line.contains(part)),
            "{text}\n{told:#?}"
        );
    }
}

#[test]
fn the_examples_of_the_guide_load() {
    let guide = include_str!("../../../docs/workloads.md");
    let blocks: Vec<&str> = guide
        .split("```json\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or(""))
        .collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let whole = block.trim_start().starts_with('{');
        read(&if whole {
            block.to_string()
        } else {
            format!("{{{block}}}")
        });
    }
}
