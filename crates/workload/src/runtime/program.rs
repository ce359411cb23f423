//! A workload as a flat program.
//!
//! Model.       All phases of all tasks lie one behind the other in one array of operations. Events
//!              that block become several operations, so that a task's place in the program is all
//!              that is kept over a block:
//!
//! ```text
//! wait {c, m}   CondWait c, m · Lock m
//! sync {c, m}   Signal c · CondWait c, m · Lock m
//! suspend       Lock m · CondWait c, m · Lock m · Unlock m
//! resume        Lock m · Broadcast c · Unlock m
//! barrier b     BarrierArrive b · BarrierLeave b
//! timer         Timer · TimerWoke
//! run           Run · RunDone
//! ```
//!
//! Invariants.  A phase begins with PhaseBegin and ends with PhaseEnd; a task begins with Start.
//! Units.       Nanoseconds.

use crate::action::{Action, Launch};
use crate::spec::*;

/// No index.
pub(crate) const NONE: u32 = u32::MAX;

/// One operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Start,
    PhaseBegin {
        phase: u32,
    },
    PhaseEnd {
        phase: u32,
    },
    Run {
        ns: u64,
    },
    RunTime {
        ns: u64,
    },
    RunDone,
    Sleep {
        ns: u64,
    },
    Timer {
        timer: u32,
        unique: bool,
        period_ns: u64,
    },
    TimerWoke,
    Memory(MemoryUse),
    IoRun {
        bytes: u32,
    },
    Lock(MutexId),
    Unlock(MutexId),
    CondWait {
        cond: CondId,
        mutex: MutexId,
    },
    Signal(CondId),
    Broadcast(CondId),
    BarrierArrive(BarrierId),
    BarrierLeave(BarrierId),
    SemPost(SemId),
    SemWait(SemId),
    SpinLock(SpinlockId),
    SpinUnlock(SpinlockId),
    Yield,
    Fork(TaskSpecId),
    Program(Action),
}

/// A phase of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseProgram {
    /// Its PhaseBegin.
    pub(crate) begin: u32,
    pub(crate) loops: Loops,
    /// What is set when it begins; [`NONE`]: nothing.
    pub(crate) attrs: u32,
    /// The last phase of its task?
    pub(crate) last: bool,
}

/// A task's program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TaskProgram {
    /// Its Start.
    pub(crate) start: u32,
    /// Its first phase; the others follow.
    pub(crate) first_phase: u32,
    pub(crate) loops: Loops,
    pub(crate) launch: Launch,
    pub(crate) background: bool,
    pub(crate) delay_ns: u64,
    pub(crate) nr_unique_timers: u32,
    /// Its first timer in [`Program::unique_timers`].
    pub(crate) first_timer: u32,
    /// What a thread of it begins with, first phase included.
    pub(crate) initial: u32,
}

/// The whole program; it never changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    pub(crate) phases: Vec<PhaseProgram>,
    pub(crate) tasks: Vec<TaskProgram>,
    pub(crate) attrs: Vec<Attrs>,
    /// Is each timer relative? Those of a task lie together.
    pub(crate) unique_timers: Vec<bool>,
    /// Does any task make others, or wait for those it made?
    pub(crate) has_families: bool,
}

const NS_PER_US: u64 = 1_000;

impl Program {
    /// Lays out a workload.
    pub(crate) fn new(workload: &Workload) -> Program {
        let mut program = Program::default();
        for task in &workload.tasks {
            program.task(task, &workload.objects.buffers);
        }
        let of_families = |op: &Op| matches!(op, Op::Program(Action::Create(_) | Action::Reap));
        program.has_families = program.ops.iter().any(of_families);
        program
    }

    fn task(&mut self, task: &TaskSpec, buffers: &[BufferSpec]) {
        let changes = phase_changes(task, buffers);
        let mut initial = task.attrs.clone();
        overlay(&mut initial, &changes[0]);
        initial.working_set = Some(working_set(task, &task.phases[0], buffers));
        let program = TaskProgram {
            start: self.ops.len() as u32,
            first_phase: self.phases.len() as u32,
            loops: task.loops,
            launch: task.launch,
            background: task.background,
            delay_ns: u64::from(task.delay_us) * NS_PER_US,
            nr_unique_timers: task.unique_timers.len() as u32,
            first_timer: self.unique_timers.len() as u32,
            initial: self.attrs_id(initial),
        };
        self.unique_timers
            .extend(task.unique_timers.iter().map(|timer| timer.relative));
        self.ops.push(Op::Start);
        let nr_phases = task.phases.len();
        for (index, (phase, change)) in task.phases.iter().zip(changes).enumerate() {
            let attrs = if change.is_empty() {
                NONE
            } else {
                self.attrs_id(change)
            };
            let id = self.phases.len() as u32;
            let begin = self.ops.len() as u32;
            let last = index + 1 == nr_phases;
            self.phases.push(PhaseProgram {
                begin,
                loops: phase.loops,
                attrs,
                last,
            });
            self.ops.push(Op::PhaseBegin { phase: id });
            for &event in &phase.events {
                self.event(event);
            }
            self.ops.push(Op::PhaseEnd { phase: id });
        }
        self.tasks.push(program);
    }

    /// Equal attributes have one id, so that a task knows what it has set already.
    fn attrs_id(&mut self, attrs: Attrs) -> u32 {
        let known = self
            .attrs
            .iter()
            .rev()
            .take(64)
            .position(|known| *known == attrs);
        match known {
            Some(back) => (self.attrs.len() - 1 - back) as u32,
            None => {
                self.attrs.push(attrs);
                self.attrs.len() as u32 - 1
            }
        }
    }

    fn event(&mut self, event: Event) {
        let ns = |us: u32| u64::from(us) * NS_PER_US;
        let ops = &mut self.ops;
        match event {
            Event::Run { us } => ops.extend([Op::Run { ns: ns(us) }, Op::RunDone]),
            Event::Runtime { us } => ops.extend([Op::RunTime { ns: ns(us) }, Op::RunDone]),
            Event::Sleep { us } => ops.push(Op::Sleep { ns: ns(us) }),
            Event::Timer { timer, period_us } => {
                let (timer, unique) = match timer {
                    TimerRef::Shared(timer) => (timer, false),
                    TimerRef::Unique(timer) => (timer, true),
                };
                let period_ns = ns(period_us);
                ops.extend([
                    Op::Timer {
                        timer,
                        unique,
                        period_ns,
                    },
                    Op::TimerWoke,
                ]);
            }
            Event::Memory(memory) => ops.push(Op::Memory(memory)),
            Event::IoRun { bytes } => ops.push(Op::IoRun { bytes }),
            Event::Lock(mutex) => ops.push(Op::Lock(mutex)),
            Event::Unlock(mutex) => ops.push(Op::Unlock(mutex)),
            Event::Wait { cond, mutex } => {
                ops.extend([Op::CondWait { cond, mutex }, Op::Lock(mutex)]);
            }
            Event::Sync { cond, mutex } => {
                ops.extend([
                    Op::Signal(cond),
                    Op::CondWait { cond, mutex },
                    Op::Lock(mutex),
                ]);
            }
            Event::Suspend { cond, mutex } => ops.extend([
                Op::Lock(mutex),
                Op::CondWait { cond, mutex },
                Op::Lock(mutex),
                Op::Unlock(mutex),
            ]),
            Event::Resume { cond, mutex } => {
                ops.extend([Op::Lock(mutex), Op::Broadcast(cond), Op::Unlock(mutex)]);
            }
            Event::Signal(cond) => ops.push(Op::Signal(cond)),
            Event::Broadcast(cond) => ops.push(Op::Broadcast(cond)),
            Event::Barrier(barrier) => {
                ops.extend([Op::BarrierArrive(barrier), Op::BarrierLeave(barrier)]);
            }
            Event::SemPost(sem) => ops.push(Op::SemPost(sem)),
            Event::SemWait(sem) => ops.push(Op::SemWait(sem)),
            Event::SpinLock(lock) => ops.push(Op::SpinLock(lock)),
            Event::SpinUnlock(lock) => ops.push(Op::SpinUnlock(lock)),
            Event::Yield => ops.push(Op::Yield),
            Event::Fork(task) => ops.push(Op::Fork(task)),
            Event::Program(action) => ops.push(Op::Program(action)),
        }
    }
}

/// What each phase sets when it begins.
///
/// Policy, priority, clamps and group stay until changed. CPUs and working set do not: a phase
/// without its own takes the task's, so they are set by every phase of a task whose phases differ.
fn phase_changes(task: &TaskSpec, buffers: &[BufferSpec]) -> Vec<Attrs> {
    let cpus_differ = task.phases.iter().any(|phase| phase.attrs.cpus.is_some());
    let sets: Vec<u64> = task
        .phases
        .iter()
        .map(|phase| working_set(task, phase, buffers))
        .collect();
    let sets_differ = sets.iter().any(|&set| set != sets[0]);
    let change = |(phase, set): (&Phase, u64)| {
        let mut attrs = phase.attrs.clone();
        if cpus_differ {
            let cpus = attrs.cpus.or_else(|| task.attrs.cpus.clone());
            attrs.cpus = Some(cpus.unwrap_or(Affinity::Inherited));
        }
        attrs.working_set = sets_differ.then_some(set);
        attrs
    };
    task.phases.iter().zip(sets).map(change).collect()
}

/// Bytes a phase keeps using: those stated, and the buffers its events name.
fn working_set(task: &TaskSpec, phase: &Phase, buffers: &[BufferSpec]) -> u64 {
    let stated = phase
        .attrs
        .working_set
        .or(task.attrs.working_set)
        .unwrap_or(0);
    let mut used: Vec<(BufferId, u64)> = Vec::new();
    for event in &phase.events {
        let Event::Memory(memory) = event else {
            continue;
        };
        let bytes = touched(memory, &buffers[memory.buffer.idx()]);
        match used.iter_mut().find(|(buffer, _)| *buffer == memory.buffer) {
            Some((_, most)) => *most = bytes.max(*most),
            None => used.push((memory.buffer, bytes)),
        }
    }
    used.iter()
        .fold(stated, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

/// Bytes of a buffer that a use touches.
pub(crate) fn touched(memory: &MemoryUse, buffer: &BufferSpec) -> u64 {
    let count = u64::from(memory.count);
    match memory.kind {
        // The chain goes on where it stopped, so that in time it goes all around.
        MemoryKind::Chase if count > 0 => buffer.footprint,
        MemoryKind::Chase => 0,
        _ => count.min(buffer.footprint),
    }
}

/// Sets on `attrs` what `change` sets.
fn overlay(attrs: &mut Attrs, change: &Attrs) {
    fn put<T: Clone>(slot: &mut Option<T>, value: &Option<T>) {
        if value.is_some() {
            slot.clone_from(value);
        }
    }
    put(&mut attrs.policy, &change.policy);
    put(&mut attrs.priority, &change.priority);
    put(&mut attrs.deadline, &change.deadline);
    put(&mut attrs.cpus, &change.cpus);
    put(&mut attrs.nodes_membind, &change.nodes_membind);
    put(&mut attrs.util_min, &change.util_min);
    put(&mut attrs.util_max, &change.util_max);
    put(&mut attrs.group, &change.group);
    put(&mut attrs.working_set, &change.working_set);
}
