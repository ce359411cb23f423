//! A stream with every kind of event, and what the tests need around it.
#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fairwind_trace::{
    Context, CounterInfo, CounterScope, CounterUnit, Event, EventKind, GroupInfo, Header,
    PWR_EVENT_EXIT, SWAPPER, TaskInfo, TaskState, TraceSink,
};

pub(crate) fn header() -> Header {
    Header {
        nr_cpus: 4,
        kernel: "6.12".into(),
        machine: "two-by-two".into(),
        hz: 250,
    }
}

/// A new, empty folder for one test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The names of the files in a folder.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Announces two groups, three tasks and three counters.
pub(crate) fn announce(sink: &mut dyn TraceSink) {
    sink.group(
        1,
        &GroupInfo {
            path: "/web".into(),
        },
    )
    .unwrap();
    sink.group(
        2,
        &GroupInfo {
            path: "/web/worker".into(),
        },
    )
    .unwrap();
    let task = |pid, tgid, comm: &str, group| TaskInfo {
        pid,
        tgid,
        comm: comm.into(),
        group,
    };
    sink.task(0, &task(100, 100, "sh", 0)).unwrap();
    sink.task(1, &task(101, 101, "rt thread", 1)).unwrap();
    sink.task(2, &task(102, 101, "a-name-longer-than-comm", 2))
        .unwrap();
    let counter = |name: &str, unit, scope| CounterInfo {
        name: name.into(),
        unit,
        scope,
    };
    sink.counter(
        0,
        &counter("nr_running", CounterUnit::Count, CounterScope::Cpu(1)),
    )
    .unwrap();
    let left = counter(
        "runtime_remaining",
        CounterUnit::Nanos,
        CounterScope::Group(2),
    );
    sink.counter(1, &left).unwrap();
    sink.counter(
        2,
        &counter("nr_tasks", CounterUnit::Count, CounterScope::Machine),
    )
    .unwrap();
}

/// Every kind of event once or more, a nanosecond or more apart, with a pause longer than a
/// ring-buffer event's time difference can say.
pub(crate) fn events() -> Vec<Event> {
    use EventKind as K;
    let hardirq = |event: Event| Event {
        context: Context::HardIrq,
        ..event
    };
    let resched = |event: Event| Event {
        need_resched: true,
        ..event
    };
    let at = Event::new;
    let switch = |prev, prev_prio, prev_state, next, next_prio| K::SchedSwitch {
        prev,
        prev_prio,
        prev_state,
        next,
        next_prio,
    };
    let mut events = vec![
        at(
            1_000,
            0,
            0,
            K::SchedProcessFork {
                parent: 0,
                child: 1,
            },
        ),
        at(
            1_499,
            0,
            0,
            K::SchedWakeupNew {
                task: 1,
                prio: 120,
                target_cpu: 1,
            },
        ),
        at(
            1_500,
            1,
            SWAPPER,
            K::CpuIdle {
                state: PWR_EVENT_EXIT,
            },
        ),
        at(
            1_501,
            1,
            SWAPPER,
            switch(SWAPPER, 120, TaskState::Running, 1, 120),
        ),
        at(2_000, 1, 1, K::SchedProcessExec { task: 1 }),
        at(2_100, 1, 1, K::CgroupAttachTask { task: 1, group: 2 }),
        at(
            2_101,
            1,
            1,
            K::Counter {
                counter: 0,
                value: 1,
            },
        ),
        at(
            2_102,
            1,
            1,
            K::Counter {
                counter: 1,
                value: -7,
            },
        ),
        at(
            2_103,
            1,
            1,
            K::Counter {
                counter: 2,
                value: i64::MAX,
            },
        ),
        // 200 ms later: more than 2^27 ns after the last event of CPU 1.
        hardirq(at(200_002_103, 1, 1, K::LocalTimerEntry)),
        hardirq(at(
            200_002_200,
            1,
            1,
            K::SchedStatRuntime {
                task: 1,
                runtime: 200_000_699,
            },
        )),
        hardirq(at(
            200_002_201,
            1,
            1,
            K::SchedWaking {
                task: 2,
                prio: 49,
                target_cpu: 3,
            },
        )),
        hardirq(at(
            200_002_202,
            1,
            1,
            K::SchedMigrateTask {
                task: 2,
                prio: 49,
                orig_cpu: 3,
                dest_cpu: 1,
            },
        )),
        hardirq(at(
            200_002_203,
            1,
            1,
            K::SchedSetNeedResched {
                task: 1,
                target_cpu: 1,
            },
        )),
        resched(hardirq(at(
            200_002_204,
            1,
            1,
            K::SchedWakeup {
                task: 2,
                prio: 49,
                target_cpu: 1,
            },
        ))),
        Event {
            context: Context::SoftIrq,
            ..at(
                200_002_205,
                2,
                SWAPPER,
                K::SchedWaking {
                    task: 0,
                    prio: 100,
                    target_cpu: 0,
                },
            )
        },
        resched(at(
            200_002_300,
            1,
            1,
            switch(1, 120, TaskState::Preempted, 2, 49),
        )),
        at(200_002_400, 1, 2, K::SchedProcessExit { task: 2, prio: 49 }),
        at(
            200_002_500,
            1,
            2,
            K::CfsThrottle {
                group: 2,
                target_cpu: 1,
                runtime_remaining: -12_345,
            },
        ),
        at(
            3_000_000_000,
            3,
            SWAPPER,
            K::CfsUnthrottle {
                group: 2,
                target_cpu: 1,
                throttled_ns: 2_799_997_500,
            },
        ),
        at(3_000_000_001, 3, SWAPPER, K::CpuIdle { state: 2 }),
    ];
    let states = [
        TaskState::Running,
        TaskState::Sleeping,
        TaskState::DiskSleep,
        TaskState::Stopped,
        TaskState::Traced,
        TaskState::Dead,
        TaskState::Zombie,
        TaskState::Parked,
        TaskState::Idle,
    ];
    for (ts, state) in (3_000_000_100..).zip(states) {
        events.push(at(ts, 1, 2, switch(2, -1, state, SWAPPER, 120)));
    }
    events
}

/// Many switches and wakeups on all CPUs: enough to fill many pages, bundles and buffers.
pub(crate) fn many() -> impl Iterator<Item = Event> {
    (0..60_000_u32).map(|number| {
        let cpu = number % 4;
        let task = number % 3;
        let kind = if number % 5 == 0 {
            EventKind::SchedWakeup {
                task,
                prio: 120,
                target_cpu: (cpu + 1) % 4,
            }
        } else {
            EventKind::SchedSwitch {
                prev: task,
                prev_prio: 120,
                prev_state: TaskState::Sleeping,
                next: SWAPPER,
                next_prio: 120,
            }
        };
        Event::new(
            10_000_000_000 + u64::from(number) * 1_234_567,
            cpu,
            task,
            kind,
        )
    })
}

/// Writes a whole trace.
pub(crate) fn write(path: &Path, events: impl IntoIterator<Item = Event>) {
    let mut sink = fairwind_trace::create(path, &header()).unwrap();
    announce(sink.as_mut());
    for event in events {
        sink.event(&event).unwrap();
    }
    sink.finish().unwrap();
}

/// Runs a command that has to succeed, and returns what it printed.
pub(crate) fn printed(command: &mut Command, how_to_install: &str) -> String {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => panic!("{command:?} cannot run: {error}\n{how_to_install}"),
    };
    let Output {
        status,
        stdout,
        stderr,
    } = output;
    let errors = String::from_utf8_lossy(&stderr);
    assert!(
        status.success(),
        "{command:?} failed:\n{errors}\n{how_to_install}"
    );
    String::from_utf8(stdout).unwrap()
}

/// The `event: fields` part of each line of an ftrace text.
pub(crate) fn payloads(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (columns, payload) = line.split_once(": ").unwrap();
            assert!(columns.contains('['), "no columns: {line}");
            payload.to_owned()
        })
        .collect()
}
