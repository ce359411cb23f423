//! A workload in the making: what models of programs are written with.

use crate::action::{Action, ClockId, CounterId, LatencyId, Launch, StreamKind};
use crate::cgroup::GroupSpec;
use crate::spec::{
    Attrs, BufferId, BufferSpec, Event, GroupIdx, Loops, Objects, Phase, Policy, TaskSpec,
    TaskSpecId, Workload,
};

/// A workload in the making.
#[derive(Debug)]
pub(super) struct Draft {
    workload: Workload,
}

impl From<Action> for Event {
    fn from(action: Action) -> Event {
        Event::Program(action)
    }
}

/// A phase that is run through once.
pub(super) fn once(name: &str, events: Vec<Event>) -> Phase {
    repeat(name, Loops::Times(1), events)
}

/// A phase.
pub(super) fn repeat(name: &str, loops: Loops, events: Vec<Event>) -> Phase {
    Phase {
        name: name.to_string(),
        loops,
        attrs: Attrs::default(),
        events,
    }
}

impl Draft {
    pub(super) fn new() -> Draft {
        Draft {
            workload: Workload {
                global: Default::default(),
                groups: vec![GroupSpec {
                    path: "/".to_string(),
                    ..GroupSpec::default()
                }],
                tasks: Vec::new(),
                objects: Objects::default(),
                guests: Vec::new(),
                warnings: Vec::new(),
            },
        }
    }

    /// Adds the first of `count` streams of a kind.
    pub(super) fn streams(&mut self, kind: StreamKind, count: u32) -> u32 {
        let streams = &mut self.workload.objects.streams;
        let first = streams.len() as u32;
        streams.extend(std::iter::repeat_n(kind, count as usize));
        first
    }

    /// Adds a clock.
    pub(super) fn clock(&mut self) -> ClockId {
        self.workload.objects.measured.clocks += 1;
        ClockId(self.workload.objects.measured.clocks - 1)
    }

    /// Adds a counter.
    pub(super) fn counter(&mut self) -> CounterId {
        self.workload.objects.measured.counters += 1;
        CounterId(self.workload.objects.measured.counters - 1)
    }

    /// Adds a latency.
    pub(super) fn latency(&mut self) -> LatencyId {
        self.workload.objects.measured.latencies += 1;
        LatencyId(self.workload.objects.measured.latencies - 1)
    }

    /// Adds the first of `count` semaphores.
    pub(super) fn semaphores(&mut self, count: u32) -> u32 {
        let semaphores = &mut self.workload.objects.semaphores;
        let first = semaphores.len() as u32;
        semaphores.extend((first..first + count).map(|number| format!("semaphore{number}")));
        first
    }

    /// Adds the first of `count` mutexes.
    pub(super) fn mutexes(&mut self, count: u32) -> u32 {
        let mutexes = &mut self.workload.objects.mutexes;
        let first = mutexes.len() as u32;
        mutexes.extend((first..first + count).map(|number| format!("mutex{number}")));
        first
    }

    /// Adds a spinlock.
    pub(super) fn spinlock(&mut self, name: &str) -> u32 {
        let spinlocks = &mut self.workload.objects.spinlocks;
        spinlocks.push(name.to_string());
        spinlocks.len() as u32 - 1
    }

    /// Adds a buffer that is read and written from its start.
    pub(super) fn buffer(&mut self, size: u64) -> BufferId {
        let buffers = &mut self.workload.objects.buffers;
        buffers.push(BufferSpec {
            name: None,
            size,
            stride: 1,
            random: false,
            footprint: size,
        });
        BufferId(buffers.len() as u32 - 1)
    }

    /// I/O goes to a device that takes time.
    pub(super) fn slow_device(&mut self) {
        self.workload.global.io_device = "/dev/vda".to_string();
    }

    /// How often all phases of a task are run through.
    pub(super) fn repeat_task(&mut self, task: TaskSpecId, loops: Loops) {
        self.workload.tasks[task.idx()].loops = loops;
    }

    /// Adds the program's first process.
    pub(super) fn main(&mut self, name: &str, phases: Vec<Phase>) {
        let task = self.child(name, Launch::Process, phases);
        self.workload.tasks[task.idx()].instances = 1;
    }

    /// Adds a task of which others create instances.
    pub(super) fn child(&mut self, name: &str, launch: Launch, phases: Vec<Phase>) -> TaskSpecId {
        self.workload.tasks.push(TaskSpec {
            name: name.to_string(),
            instances: 0,
            delay_us: 0,
            loops: Loops::Times(1),
            attrs: Attrs {
                policy: Some(Policy::Other),
                priority: Some(0),
                ..Attrs::default()
            },
            phases,
            unique_timers: Vec::new(),
            launch,
            background: false,
        });
        TaskSpecId(self.workload.tasks.len() as u32 - 1)
    }

    /// Bytes that a task keeps using.
    pub(super) fn working_set(&mut self, task: TaskSpecId, bytes: u64) {
        self.workload.tasks[task.idx()].attrs.working_set = Some(bytes);
    }

    /// The same for all tasks.
    pub(super) fn working_set_of_all(&mut self, bytes: u64) {
        for task in &mut self.workload.tasks {
            task.attrs.working_set = Some(bytes);
        }
    }

    /// The run does not wait for a task's end.
    pub(super) fn background(&mut self, task: TaskSpecId) {
        self.workload.tasks[task.idx()].background = true;
    }

    pub(super) fn finish(self) -> Workload {
        self.workload
    }
}

/// Lets what starts with the run start in a group; children are in their parent's.
pub(super) fn put_into_group(workload: &mut Workload, path: &str) {
    let mut group = GroupIdx(0);
    let mut at = String::new();
    for part in path.split('/').skip(1) {
        at = format!("{at}/{part}");
        workload.groups.push(GroupSpec {
            path: at.clone(),
            parent: Some(group),
            ..GroupSpec::default()
        });
        group = GroupIdx(workload.groups.len() as u32 - 1);
    }
    for task in workload.tasks.iter_mut().filter(|task| task.instances > 0) {
        task.attrs.group = Some(group);
    }
}
