//! From workload to text that a stock rt-app takes.
//!
//! Model.       Strict JSON, each key once. Every task is written with "phases"; events are
//!              numbered within their phase (`run0`, `sleep1`).
//! Invariants.  What is written reads back as the same workload, warnings aside. What rt-app cannot
//!              express is refused, never dropped.

use crate::action::Launch;
use crate::global::{Calibration, Global, LogSize};
use crate::spec::*;
use std::fmt;

/// Groups that rt-app can hold at most.
const RTAPP_GROUPS_MAX: usize = 32;

/// What a stock rt-app cannot express.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// A group with a setting; rt-app only makes groups.
    GroupSetting {
        /// Path of the group.
        group: String,
        /// The setting's key.
        key: &'static str,
    },
    /// A stated working set.
    WorkingSet {
        /// Name of the task.
        task: String,
    },
    /// More groups than rt-app can hold.
    TooManyGroups {
        /// How many.
        groups: usize,
    },
    /// A task that locks spinlocks.
    Spinlock {
        /// Name of the task.
        task: String,
    },
    /// A virtual machine.
    Guest {
        /// Its name.
        guest: String,
    },
    /// No task: rt-app refuses such a file.
    NoTasks,
    /// A task that does what only models of programs do.
    Program {
        /// Name of the task.
        task: String,
    },
    /// A task or phase whose attributes return to the inherited CPUs, which no file can state.
    InheritedCpus {
        /// Name of the task.
        task: String,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::GroupSetting { group, key } => write!(
                f,
                "rt-app cannot set \"{key}\" of group {group}; set it in the cgroup's files before \
                 the run"
            ),
            WriteError::WorkingSet { task } => write!(
                f,
                "rt-app has no \"working_set\", which task {task} states; use \"memrun\" events"
            ),
            WriteError::TooManyGroups { groups } => {
                write!(
                    f,
                    "rt-app takes at most {RTAPP_GROUPS_MAX} task groups, here are {groups}"
                )
            }
            WriteError::Program { task } => write!(
                f,
                "rt-app cannot do what task {task} of a program does: run the program itself"
            ),
            WriteError::Spinlock { task } => write!(
                f,
                "rt-app runs in user space and has no spinlocks, which task {task} takes"
            ),
            WriteError::Guest { guest } => write!(
                f,
                "rt-app has no virtual machines such as {guest}: run rt-app inside one"
            ),
            WriteError::NoTasks => write!(f, "rt-app needs at least one task"),
            WriteError::InheritedCpus { task } => {
                write!(
                    f,
                    "rt-app cannot state that task {task} returns to the CPUs it inherited"
                )
            }
        }
    }
}

impl std::error::Error for WriteError {}

/// Writes a workload for a stock rt-app.
///
/// # Errors
/// If the workload uses what rt-app does not have: settings of groups, working sets.
pub fn write(workload: &Workload) -> Result<String, WriteError> {
    check(workload)?;
    let mut out = Writer {
        text: String::new(),
        depth: 0,
        first: true,
    };
    out.open(None);
    out.open(Some("tasks"));
    for task in &workload.tasks {
        write_task(&mut out, workload, task);
    }
    out.close();
    write_global(&mut out, &workload.global);
    out.close();
    out.text.push('\n');
    Ok(out.text)
}

fn check(workload: &Workload) -> Result<(), WriteError> {
    if workload.tasks.is_empty() {
        return Err(WriteError::NoTasks);
    }
    if let Some(guest) = workload.guests.first() {
        return Err(WriteError::Guest {
            guest: guest.name.clone(),
        });
    }
    for group in &workload.groups {
        if let Some(key) = group.first_setting() {
            return Err(WriteError::GroupSetting {
                group: group.path.clone(),
                key,
            });
        }
    }
    let mut used = std::collections::BTreeSet::new();
    for task in &workload.tasks {
        let spins = |event: &Event| matches!(event, Event::SpinLock(_) | Event::SpinUnlock(_));
        if task.phases.iter().flat_map(|p| &p.events).any(spins) {
            return Err(WriteError::Spinlock {
                task: task.name.clone(),
            });
        }
        if is_of_program(task) {
            return Err(WriteError::Program {
                task: task.name.clone(),
            });
        }
        let phases = task.phases.iter().map(|phase| &phase.attrs);
        for attrs in phases.chain([&task.attrs]) {
            used.extend(attrs.group.filter(|&group| group != ROOT_GROUP));
            if attrs.working_set.is_some() {
                return Err(WriteError::WorkingSet {
                    task: task.name.clone(),
                });
            }
            if attrs.cpus == Some(Affinity::Inherited) {
                return Err(WriteError::InheritedCpus {
                    task: task.name.clone(),
                });
            }
        }
    }
    if used.len() > RTAPP_GROUPS_MAX {
        return Err(WriteError::TooManyGroups { groups: used.len() });
    }
    Ok(())
}

/// Does a task do what only models of programs do?
fn is_of_program(task: &TaskSpec) -> bool {
    let acts = |event: &Event| matches!(event, Event::Program(_));
    let of_program =
        |phase: &Phase| matches!(phase.loops, Loops::For { .. }) || phase.events.iter().any(acts);
    task.background || task.launch != Launch::WithTheRun || task.phases.iter().any(of_program)
}

fn write_task(out: &mut Writer, workload: &Workload, task: &TaskSpec) {
    out.open(Some(&task.name));
    out.int("instance", task.instances);
    if task.delay_us > 0 {
        out.int("delay", task.delay_us);
    }
    out.loops(task.loops);
    write_attrs(out, workload, &task.attrs);
    out.open(Some("phases"));
    for phase in &task.phases {
        out.open(Some(&phase.name));
        out.loops(phase.loops);
        write_attrs(out, workload, &phase.attrs);
        for (number, event) in phase.events.iter().enumerate() {
            write_event(out, workload, task, number, event);
        }
        out.close();
    }
    out.close();
    out.close();
}

fn write_attrs(out: &mut Writer, workload: &Workload, attrs: &Attrs) {
    if let Some(policy) = attrs.policy {
        out.text("policy", policy.name());
    }
    out.int_if("priority", attrs.priority);
    if let Some(params) = attrs.deadline {
        out.int("dl-runtime", params.runtime_us);
        out.int("dl-period", params.period_us);
        out.int("dl-deadline", params.deadline_us);
    }
    if let Some(Affinity::Cpus(cpus)) = &attrs.cpus {
        out.ints("cpus", cpus);
    }
    if let Some(nodes) = &attrs.nodes_membind {
        out.ints("nodes_membind", nodes);
    }
    out.int_if("util_min", attrs.util_min);
    out.int_if("util_max", attrs.util_max);
    if let Some(group) = attrs.group {
        out.text("taskgroup", &workload.groups[group.idx()].path);
    }
}

fn write_event(
    out: &mut Writer,
    workload: &Workload,
    task: &TaskSpec,
    number: usize,
    event: &Event,
) {
    let objects = &workload.objects;
    let key = |word: &str| format!("{word}{number}");
    let mutex_name = |mutex: &MutexId| objects.mutexes[mutex.idx()].as_str();
    let cond_name = |cond: &CondId| objects.conds[cond.idx()].as_str();
    let mut pair = |word: &str, cond: &CondId, mutex: &MutexId| {
        out.open(Some(&key(word)));
        out.text("ref", cond_name(cond));
        out.text("mutex", mutex_name(mutex));
        out.close();
    };
    match event {
        Event::Wait { cond, mutex } => pair("wait", cond, mutex),
        Event::Sync { cond, mutex } => pair("sync", cond, mutex),
        Event::Run { us } => out.int(&key("run"), us),
        Event::Runtime { us } => out.int(&key("runtime"), us),
        Event::Sleep { us } => out.int(&key("sleep"), us),
        Event::IoRun { bytes } => out.int(&key("iorun"), bytes),
        Event::Timer { timer, period_us } => {
            let spec = match timer {
                TimerRef::Shared(timer) => &objects.timers[*timer as usize],
                TimerRef::Unique(timer) => &task.unique_timers[*timer as usize],
            };
            out.open(Some(&key("timer")));
            out.text("ref", &spec.name);
            out.int("period", period_us);
            if !spec.relative {
                out.text("mode", "absolute");
            }
            out.close();
        }
        Event::Memory(memory) => write_memory(out, objects, number, memory),
        Event::Lock(mutex) => out.text(&key("lock"), mutex_name(mutex)),
        Event::Unlock(mutex) => out.text(&key("unlock"), mutex_name(mutex)),
        Event::Signal(cond) => out.text(&key("signal"), cond_name(cond)),
        Event::Broadcast(cond) => out.text(&key("broad"), cond_name(cond)),
        Event::Barrier(barrier) => {
            out.text(&key("barrier"), &objects.barriers[barrier.idx()].name);
        }
        Event::Suspend { .. } => out.text(&key("suspend"), &task.name),
        Event::Resume { cond, .. } => out.text(&key("resume"), cond_name(cond)),
        Event::SemPost(sem) => out.text(&key("sem_post"), &objects.semaphores[sem.idx()]),
        Event::SemWait(sem) => out.text(&key("sem_wait"), &objects.semaphores[sem.idx()]),
        Event::Yield => out.text(&key("yield"), ""),
        Event::SpinLock(_) | Event::SpinUnlock(_) | Event::Program(_) => {
            unreachable!("refused before")
        }
        Event::Fork(spec) => out.text(&key("fork"), &workload.tasks[spec.idx()].name),
    }
}

fn write_memory(out: &mut Writer, objects: &Objects, number: usize, memory: &MemoryUse) {
    let buffer = &objects.buffers[memory.buffer.idx()];
    let kind = match memory.kind {
        MemoryKind::Set => return out.int(&format!("mem{number}"), memory.count),
        MemoryKind::Write => "write",
        MemoryKind::Read => "read",
        MemoryKind::Chase => "chase",
    };
    out.open(Some(&format!("memrun{number}")));
    out.text("type", kind);
    out.int("size", buffer.size);
    out.int("count", memory.count);
    if memory.kind == MemoryKind::Chase {
        out.int("stride", buffer.stride);
        out.text(
            "pattern",
            if buffer.random {
                "random"
            } else {
                "sequential"
            },
        );
    }
    if let Some(name) = &buffer.name {
        out.text("ref", name);
    }
    out.close();
}

fn write_global(out: &mut Writer, global: &Global) {
    out.open(Some("global"));
    match global.duration_s {
        Some(seconds) => out.int("duration", seconds),
        None => out.int("duration", -1),
    }
    out.text("default_policy", global.default_policy.name());
    out.flag("pi_enabled", global.pi_enabled);
    out.text("io_device", &global.io_device);
    out.int("mem_buffer_size", global.mem_buffer_size);
    out.flag("cumulative_slack", global.cumulative_slack);
    let real_run = &global.real_run;
    match real_run.calibration {
        Some(Calibration::Cpu(cpu)) => out.text("calibration", &format!("CPU{cpu}")),
        Some(Calibration::NsPerLoop(ns)) => out.int("calibration", ns),
        None => {}
    }
    if let Some(lock) = real_run.lock_pages {
        out.flag("lock_pages", lock);
    }
    if let Some(gnuplot) = real_run.gnuplot {
        out.flag("gnuplot", gnuplot);
    }
    let texts = [
        ("logdir", &real_run.logdir),
        ("log_basename", &real_run.log_basename),
        ("ftrace", &real_run.ftrace),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            out.text(key, text);
        }
    }
    match &real_run.log_size {
        Some(LogSize::Megabytes(size)) => out.int("log_size", size),
        Some(LogSize::Mode(mode)) => out.text("log_size", mode),
        None => {}
    }
    out.close();
}

/// Indented JSON, as it grows.
struct Writer {
    text: String,
    depth: usize,
    /// Nothing stands in the present object yet.
    first: bool,
}

impl Writer {
    fn key(&mut self, key: &str) {
        self.line();
        self.quote(key);
        self.text.push_str(": ");
    }

    fn line(&mut self) {
        if !self.first {
            self.text.push(',');
        }
        self.first = false;
        self.text.push('\n');
        self.text.push_str(&"  ".repeat(self.depth));
    }

    fn open(&mut self, key: Option<&str>) {
        if let Some(key) = key {
            self.key(key);
        }
        self.text.push('{');
        self.depth += 1;
        self.first = true;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.text.push('\n');
        self.text.push_str(&"  ".repeat(self.depth));
        self.text.push('}');
        self.first = false;
    }

    fn int(&mut self, key: &str, number: impl fmt::Display) {
        self.key(key);
        self.text.push_str(&number.to_string());
    }

    fn int_if(&mut self, key: &str, number: Option<impl fmt::Display>) {
        if let Some(number) = number {
            self.int(key, number);
        }
    }

    fn ints(&mut self, key: &str, numbers: &[u32]) {
        let list: Vec<_> = numbers.iter().map(u32::to_string).collect();
        self.int(key, format_args!("[{}]", list.join(", ")));
    }

    fn flag(&mut self, key: &str, flag: bool) {
        self.int(key, flag);
    }

    fn text(&mut self, key: &str, text: &str) {
        self.key(key);
        self.quote(text);
    }

    fn loops(&mut self, loops: Loops) {
        match loops {
            Loops::Forever => self.int("loop", -1),
            Loops::Times(times) => self.int("loop", times),
            Loops::For { .. } => unreachable!("refused before"),
        }
    }

    fn quote(&mut self, text: &str) {
        self.text.push('"');
        for letter in text.chars() {
            match letter {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                letter if u32::from(letter) < 0x20 => {
                    self.text.push_str(&format!("\\u{:04x}", u32::from(letter)));
                }
                letter => self.text.push(letter),
            }
        }
        self.text.push('"');
    }
}
