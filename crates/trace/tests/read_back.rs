//! What this crate writes, it reads: the same events, from trace.dat and from text.

mod sample;
mod stream;

use fairwind_trace::{
    Context, Event, EventFormat, EventKind, RawEvent, SWAPPER, TaskState, TraceFile, TraceKind,
    open,
};

/// The task numbers of the stream, by pid.
fn task(pid: i64) -> u32 {
    match pid {
        0 => SWAPPER,
        100..=102 => (pid - 100) as u32,
        _ => panic!("pid {pid}"),
    }
}

fn group(path: &str) -> u32 {
    ["/", "/web", "/web/worker"]
        .iter()
        .position(|known| *known == path)
        .unwrap() as u32
}

fn state(bits: i64) -> TaskState {
    let states = [
        TaskState::Running,
        TaskState::Preempted,
        TaskState::Sleeping,
        TaskState::DiskSleep,
        TaskState::Stopped,
        TaskState::Traced,
        TaskState::Dead,
        TaskState::Zombie,
        TaskState::Parked,
        TaskState::Idle,
    ];
    *states
        .iter()
        .find(|state| state.bits().cast_signed() == bits)
        .unwrap()
}

/// The event that was written.
fn written(trace: &TraceFile, raw: &RawEvent<'_>) -> Event {
    let format: &EventFormat = trace.formats().get(raw.event);
    let int = |name| raw.int(format.field(name).unwrap_or_else(|| panic!("no {name}")));
    let text = |name| raw.str(format.field(name).unwrap());
    let cpu = |name| int(name) as u32;
    let prio = int_or(raw, format, "prio") as i32;
    let who = || task(int("pid"));
    let kind = match (format.system.as_str(), format.name.as_str()) {
        ("sched", "sched_switch") => EventKind::SchedSwitch {
            prev: task(int("prev_pid")),
            prev_prio: int("prev_prio") as i32,
            prev_state: state(int("prev_state")),
            next: task(int("next_pid")),
            next_prio: int("next_prio") as i32,
        },
        ("sched", "sched_waking") => EventKind::SchedWaking {
            task: who(),
            prio,
            target_cpu: cpu("target_cpu"),
        },
        ("sched", "sched_wakeup") => EventKind::SchedWakeup {
            task: who(),
            prio,
            target_cpu: cpu("target_cpu"),
        },
        ("sched", "sched_wakeup_new") => EventKind::SchedWakeupNew {
            task: who(),
            prio,
            target_cpu: cpu("target_cpu"),
        },
        ("sched", "sched_migrate_task") => EventKind::SchedMigrateTask {
            task: who(),
            prio,
            orig_cpu: cpu("orig_cpu"),
            dest_cpu: cpu("dest_cpu"),
        },
        ("sched", "sched_process_fork") => EventKind::SchedProcessFork {
            parent: task(int("parent_pid")),
            child: task(int("child_pid")),
        },
        ("sched", "sched_process_exec") => EventKind::SchedProcessExec { task: who() },
        ("sched", "sched_process_exit") => EventKind::SchedProcessExit { task: who(), prio },
        ("sched", "sched_stat_runtime") => EventKind::SchedStatRuntime {
            task: who(),
            runtime: int("runtime").cast_unsigned(),
        },
        ("irq_vectors", "local_timer_entry") => EventKind::LocalTimerEntry,
        ("cgroup", "cgroup_attach_task") => EventKind::CgroupAttachTask {
            task: who(),
            group: group(text("dst_path")),
        },
        ("power", "cpu_idle") => EventKind::CpuIdle {
            state: int("state") as u32,
        },
        ("fairwind", "cfs_throttle") => EventKind::CfsThrottle {
            group: group(text("path")),
            target_cpu: cpu("target_cpu"),
            runtime_remaining: int("runtime_remaining"),
        },
        ("fairwind", "cfs_unthrottle") => EventKind::CfsUnthrottle {
            group: group(text("path")),
            target_cpu: cpu("target_cpu"),
            throttled_ns: int("throttled").cast_unsigned(),
        },
        ("fairwind", "sched_set_need_resched") => EventKind::SchedSetNeedResched {
            task: who(),
            target_cpu: cpu("target_cpu"),
        },
        ("fairwind", "counter") => EventKind::Counter {
            counter: [
                "cpu1 nr_running",
                "/web/worker runtime_remaining",
                "nr_tasks",
            ]
            .iter()
            .position(|known| *known == text("name"))
            .unwrap() as u32,
            value: int("value"),
        },
        other => panic!("{other:?}"),
    };
    let context = match (raw.flags & 0x08 != 0, raw.flags & 0x10 != 0) {
        (true, _) => Context::HardIrq,
        (false, true) => Context::SoftIrq,
        (false, false) => Context::Task,
    };
    Event {
        ts: raw.ts,
        cpu: raw.cpu,
        task: task(raw.common_pid.into()),
        context,
        need_resched: raw.flags & 0x04 != 0,
        kind,
    }
}

fn int_or(raw: &RawEvent<'_>, format: &EventFormat, name: &str) -> i64 {
    format.field(name).map_or(0, |field| raw.int(field))
}

fn read_back(name: &str, events: &[Event]) -> Vec<Event> {
    let path = stream::folder(&format!("read_back_{name}")).join(name);
    stream::write(&path, events.iter().copied());
    let trace = open(&path).unwrap();
    let stats = trace.check();
    assert!(stats.table().is_empty(), "{name}: {}", stats.table());
    assert_eq!(trace.info().nr_cpus, 4);
    let read: Vec<_> = trace.events().map(|raw| written(&trace, &raw)).collect();
    assert_eq!(read.len(), events.len());
    if trace.kind() == TraceKind::TraceDat6 {
        let info = trace.info();
        assert_eq!(info.clock.as_deref(), Some("mono"));
        assert_eq!(info.uname.as_deref(), Some("Linux two-by-two 6.12 x86_64"));
        assert_eq!(
            info.cmdlines.get(&102).map(String::as_str),
            Some("a-name-longer-t")
        );
    }
    read
}

/// Text has microseconds, rounded to the nearest.
fn in_text(event: &Event) -> Event {
    Event {
        ts: (event.ts + 500) / 1000 * 1000,
        ..*event
    }
}

#[test]
fn every_kind_of_event_comes_back() {
    let events = stream::events();
    assert_eq!(read_back("all.dat", &events), events);
    let rounded: Vec<_> = events.iter().map(in_text).collect();
    assert_eq!(read_back("all.txt", &events), rounded);
}

#[test]
fn many_events_come_back() {
    let events: Vec<_> = stream::many().collect();
    assert!(read_back("many.dat", &events) == events);
    let rounded: Vec<_> = events.iter().map(in_text).collect();
    assert!(read_back("many.txt", &events) == rounded);
}

#[test]
fn both_formats_say_the_same_of_flags_and_fields() {
    let folder = stream::folder("read_back_both");
    let read = |name: &str| {
        let path = folder.join(name);
        stream::write(&path, stream::events());
        sample::told(&open(&path).unwrap())
    };
    let (dat, txt) = (read("all.dat"), read("all.txt"));
    for (dat, txt) in dat.iter().zip(&txt) {
        assert_eq!((dat.pid, dat.cpu, &dat.name), (txt.pid, txt.cpu, &txt.name));
        assert_eq!(dat.flags, txt.flags, "{dat:?}");
        for (name, value) in &dat.fields {
            assert_eq!(Some(value), txt.fields.get(name), "{name}: {dat:?} {txt:?}");
        }
    }
    assert_eq!(dat.len(), txt.len());
}
