//! Turning what happens into trace events.

use fairwind_sched::{CpuId, Effect, GroupId, Nanos, Sched, Switch, TaskId, TaskState};
use fairwind_trace::{
    Context, CounterInfo, CounterScope, CounterUnit, Event, EventKind, GroupInfo, GuestInfo,
    SWAPPER, TaskInfo, TaskState as TraceState, TraceSink,
};
use std::io;

/// Thread ids of the workload's tasks begin here; those below are kernel threads.
const FIRST_PID: u32 = 1000;

/// The thread id of a task of the workload.
pub(crate) fn pid_of(task: TaskId, nr_cpus: u32) -> u32 {
    FIRST_PID + task.0 - 2 * nr_cpus
}

/// Writes events to one or more traces.
pub(crate) struct Tracer {
    sinks: Vec<Box<dyn TraceSink>>,
    nr_cpus: u32,
    /// Who runs on each CPU as of the last switch written, `[nr_cpus]`.
    running: Vec<u32>,
    /// The counter of each CPU as it was last written, `[nr_cpus]`.
    nr_running: Vec<Option<u32>>,
    /// In what the CPU is whose events come now.
    context: Context,
    /// Whether each CPU had been asked to schedule before the call whose events come now, `[nr_cpus]`.
    asked_before: Vec<bool>,
    /// These were in a `schedule()` that was asked for: it forgets so only when it has picked.
    pub(crate) asked: bool,
    failed: Option<io::Error>,
}

impl Tracer {
    pub(crate) fn new(sinks: Vec<Box<dyn TraceSink>>, groups: &[String], sched: &Sched) -> Self {
        let nr_cpus = sched.nr_cpus() as u32;
        let mut tracer = Tracer {
            sinks,
            nr_cpus,
            running: vec![SWAPPER; nr_cpus as usize],
            nr_running: vec![None; nr_cpus as usize],
            context: Context::Task,
            asked_before: vec![false; nr_cpus as usize],
            asked: false,
            failed: None,
        };
        for (idx, path) in groups.iter().enumerate().skip(1) {
            let info = GroupInfo { path: path.clone() };
            tracer.each(|sink| sink.group(idx as u32, &info));
        }
        for cpu in 0..nr_cpus {
            let info = CounterInfo {
                name: "nr_running".to_string(),
                unit: CounterUnit::Count,
                scope: CounterScope::Cpu(cpu),
            };
            tracer.each(|sink| sink.counter(cpu, &info));
            let stop = TaskInfo {
                pid: 10 + cpu,
                tgid: 10 + cpu,
                comm: format!("migration/{cpu}"),
                group: 0,
            };
            tracer.each(|sink| sink.task(sched.rqs[CpuId(cpu)].stop.0, &stop));
        }
        for idx in 1..groups.len() as u32 {
            let info = CounterInfo {
                name: "runtime".to_string(),
                unit: CounterUnit::Nanos,
                scope: CounterScope::Group(idx),
            };
            tracer.each(|sink| sink.counter(nr_cpus + idx, &info));
        }
        tracer
    }

    fn each(&mut self, mut call: impl FnMut(&mut Box<dyn TraceSink>) -> io::Result<()>) {
        if self.failed.is_some() {
            return;
        }
        for sink in &mut self.sinks {
            if let Err(error) = call(sink) {
                self.failed = Some(error);
                return;
            }
        }
    }

    /// The first error, once.
    pub(crate) fn take_error(&mut self) -> Option<io::Error> {
        self.failed.take()
    }

    fn id(&self, task: TaskId) -> u32 {
        // Idle tasks are the first nr_cpus.
        if task.0 < self.nr_cpus {
            SWAPPER
        } else {
            task.0
        }
    }

    fn emit(&mut self, now: Nanos, cpu: CpuId, sched: &Sched, kind: EventKind) {
        let mut event = Event::new(now, cpu.0, self.running[cpu.idx()], kind);
        let now = sched.rqs[cpu].need_resched;
        let asked = &mut self.asked_before[cpu.idx()];
        // A call asks for schedule() when it has charged, moved and queued: what it told until then is without it.
        let early = matches!(
            kind,
            EventKind::SchedWaking { .. }
                | EventKind::SchedStatRuntime { .. }
                | EventKind::SchedMigrateTask { .. }
        );
        event.need_resched = self.asked || now && (*asked || !early);
        if !early {
            *asked = now;
        }
        event.context = self.context;
        self.each(|sink| sink.event(&event));
    }

    /// What comes next on a CPU is in another context.
    pub(crate) fn enter(&mut self, cpu: CpuId, sched: &Sched, context: Context) {
        self.context = context;
        self.asked_before[cpu.idx()] = sched.rqs[cpu].need_resched;
    }

    /// A task comes into being.
    pub(crate) fn task(
        &mut self,
        now: Nanos,
        cpu: CpuId,
        sched: &Sched,
        task: TaskId,
        parent: TaskId,
        name: &str,
    ) {
        let pid = pid_of(task, self.nr_cpus);
        let info = TaskInfo {
            pid,
            tgid: pid,
            comm: name.to_string(),
            group: sched.tasks[task].group.0,
        };
        self.each(|sink| sink.task(task.0, &info));
        if parent.is_some() {
            let kind = EventKind::SchedProcessFork {
                parent: parent.0,
                child: task.0,
            };
            self.emit(now, cpu, sched, kind);
        }
    }

    /// A task joins a group.
    pub(crate) fn attach(
        &mut self,
        now: Nanos,
        cpu: CpuId,
        sched: &Sched,
        task: TaskId,
        group: GroupId,
    ) {
        self.emit(
            now,
            cpu,
            sched,
            EventKind::CgroupAttachTask {
                task: task.0,
                group: group.0,
            },
        );
    }

    /// A context switch; the scheduler has done it already.
    pub(crate) fn switch(&mut self, now: Nanos, cpu: CpuId, sched: &Sched, switch: &Switch) {
        let prev_state = match switch.prev_state {
            TaskState::Running | TaskState::New | TaskState::Waking => TraceState::Running,
            TaskState::Interruptible => TraceState::Sleeping,
            TaskState::Uninterruptible => TraceState::DiskSleep,
            TaskState::Stopped => TraceState::Stopped,
            TaskState::Dead => TraceState::Dead,
        };
        let prev = self.id(switch.prev);
        let kind = EventKind::SchedSwitch {
            prev,
            prev_prio: sched.tasks[switch.prev].prio,
            prev_state,
            next: self.id(switch.next),
            next_prio: sched.tasks[switch.next].prio,
        };
        let event = Event::new(now, cpu.0, prev, kind);
        self.each(|sink| sink.event(&event));
        self.running[cpu.idx()] = self.id(switch.next);
        let (asked, nr_running) = (sched.rqs[cpu].need_resched, sched.rqs[cpu].nr_running);
        self.asked_before[cpu.idx()] = asked;
        if self.nr_running[cpu.idx()].replace(nr_running) != Some(nr_running) {
            self.emit(
                now,
                cpu,
                sched,
                EventKind::Counter {
                    counter: cpu.0,
                    value: nr_running.into(),
                },
            );
        }
    }

    /// The timer interrupt.
    pub(crate) fn tick(&mut self, now: Nanos, cpu: CpuId, sched: &Sched) {
        self.emit(now, cpu, sched, EventKind::LocalTimerEntry);
    }

    /// An idle state is entered or left.
    pub(crate) fn idle(&mut self, now: Nanos, cpu: CpuId, state: u32) {
        let event = Event::new(now, cpu.0, SWAPPER, EventKind::CpuIdle { state });
        self.each(|sink| sink.event(&event));
    }

    /// A task ends.
    pub(crate) fn exit(&mut self, now: Nanos, cpu: CpuId, sched: &Sched, task: TaskId) {
        self.emit(
            now,
            cpu,
            sched,
            EventKind::SchedProcessExit {
                task: task.0,
                prio: sched.tasks[task].prio,
            },
        );
    }

    /// Something the scheduler told.
    pub(crate) fn effect(&mut self, now: Nanos, cpu: CpuId, sched: &Sched, effect: Effect) {
        let about = |task: TaskId| {
            let t = &sched.tasks[task];
            (task.0, t.prio, t.cpu.0)
        };
        let kind = match effect {
            Effect::Waking { task, cpu } => EventKind::SchedWaking {
                task: task.0,
                prio: sched.tasks[task].prio,
                target_cpu: cpu.0,
            },
            Effect::Wakeup { task } => {
                let (task, prio, target_cpu) = about(task);
                EventKind::SchedWakeup {
                    task,
                    prio,
                    target_cpu,
                }
            }
            Effect::WakeupNew { task } => {
                let (task, prio, target_cpu) = about(task);
                EventKind::SchedWakeupNew {
                    task,
                    prio,
                    target_cpu,
                }
            }
            Effect::Migrate { task, orig, dest } => {
                let prio = sched.tasks[task].prio;
                EventKind::SchedMigrateTask {
                    task: task.0,
                    prio,
                    orig_cpu: orig.0,
                    dest_cpu: dest.0,
                }
            }
            Effect::StatRuntime { task, runtime } => EventKind::SchedStatRuntime {
                task: task.0,
                runtime,
            },
            Effect::Throttle { cfs_rq } => {
                let cfs = &sched.cfs_rqs[cfs_rq];
                EventKind::CfsThrottle {
                    group: cfs.tg.0,
                    target_cpu: cfs.cpu.0,
                    runtime_remaining: cfs.runtime_remaining,
                }
            }
            Effect::Unthrottle { cfs_rq, waited } => {
                let cfs = &sched.cfs_rqs[cfs_rq];
                EventKind::CfsUnthrottle {
                    group: cfs.tg.0,
                    target_cpu: cfs.cpu.0,
                    throttled_ns: waited,
                }
            }
            Effect::StartPeriodTimer { group, .. } => EventKind::Counter {
                counter: self.nr_cpus + group.0,
                value: sched.groups[group].bandwidth.runtime.min(i64::MAX as u64) as i64,
            },
            _ => return,
        };
        self.emit(now, cpu, sched, kind);
    }

    /// Gives the traces a session number, and those of a guest its host's.
    pub(crate) fn session(&mut self, trace_id: u64, host: Option<u64>) {
        for sink in &mut self.sinks {
            sink.session(trace_id, host);
        }
    }

    /// Tells of a guest.
    pub(crate) fn guest(&mut self, name: &str, trace_id: u64, vcpus: &[TaskId]) {
        let info = GuestInfo {
            name: name.to_string(),
            trace_id,
            vcpus: vcpus
                .iter()
                .map(|&task| pid_of(task, self.nr_cpus))
                .collect(),
        };
        for sink in &mut self.sinks {
            sink.guest(&info);
        }
    }

    /// Completes the traces.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some(error) = self.take_error() {
            return Err(error);
        }
        self.sinks.into_iter().try_for_each(|sink| sink.finish())
    }
}
