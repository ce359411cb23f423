//! A toy machine that runs workloads: some CPUs, one queue, no preemption.
//!
//! Model.       Tasks that can run queue in the order they became able to; a free CPU takes the
//!              first. Work takes as long as it says, a byte or hop of memory 1 us, a system call 1 us. Everything else is instantaneous. Each step
//!              becomes a line: `TIME TASK: WHAT`, times in microseconds.
//! Invariants.  Events are ordered by time, then by the order they were made in.

use fairwind_workload::*;
use std::collections::{BTreeMap, VecDeque};

/// The machine and what it runs.
pub(crate) struct Executor {
    pub(crate) runtime: Runtime,
    pub(crate) log: Vec<String>,
    pub(crate) now: u64,
    free: usize,
    ready: VecDeque<usize>,
    /// By time and number: the task, and whether it holds a CPU meanwhile.
    events: BTreeMap<(u64, u64), (usize, bool)>,
    nr_events: u64,
    pub(crate) steps: u64,
}

impl Executor {
    pub(crate) fn new(workload: &Workload, cpus: usize, options: RunOptions) -> Executor {
        let runtime = Runtime::with_options(workload, options);
        let mut executor = Executor {
            log: Vec::new(),
            now: options.t_zero_ns,
            free: cpus,
            ready: VecDeque::new(),
            events: BTreeMap::new(),
            nr_events: 0,
            steps: 0,
            runtime,
        };
        let starts: Vec<_> = executor.runtime.start().collect();
        for (task, at) in starts {
            executor.at(at, task, false);
        }
        executor
    }

    fn at(&mut self, time: u64, task: usize, on_cpu: bool) {
        self.nr_events += 1;
        self.events.insert((time, self.nr_events), (task, on_cpu));
    }

    /// Runs until a time, the end of the run, or the end of all events.
    pub(crate) fn run_until(&mut self, end: u64) {
        let end = self.runtime.end_ns().unwrap_or(end).min(end);
        while let Some((&(time, number), _)) = self.events.first_key_value() {
            if time > end || self.runtime.is_over() {
                break;
            }
            assert!(time >= self.now, "time goes back");
            self.now = time;
            let Some((task, on_cpu)) = self.events.remove(&(time, number)) else {
                break;
            };
            if on_cpu {
                self.take_step(task);
            } else {
                self.ready.push_back(task);
            }
            while self.free > 0
                && let Some(task) = self.ready.pop_front()
            {
                self.free -= 1;
                self.take_step(task);
            }
        }
    }

    /// Steps a task that holds a CPU until it works or gives the CPU up.
    fn take_step(&mut self, task: usize) {
        let mut out = Effects::default();
        loop {
            out.clear();
            self.steps += 1;
            let step = self.runtime.step(task, self.now, &mut out);
            self.note(task, &step, &out);
            for effect in &out.list {
                match *effect {
                    Effect::Wake { task, .. }
                    | Effect::WakeFromCall { task, .. }
                    | Effect::Fork { task, .. } => {
                        self.ready.push_back(task);
                    }
                    Effect::Boost { .. } | Effect::Unboost { .. } | Effect::Notify { .. } => {}
                }
            }
            let busy = match step {
                Step::Run { work_ns } => Some(self.now + work_ns),
                Step::RunTime { until_ns } => Some(until_ns),
                Step::Memory { count, .. } => Some(self.now + 1_000 * u64::from(count)),
                Step::Call { .. } => Some(self.now + 1_000),
                _ => None,
            };
            if let Some(until) = busy {
                self.at(until, task, true);
                return;
            }
            match step {
                // Steps are taken one task at a time: no spinlock is ever waited for.
                Step::SpinLock(_) | Step::SpinUnlock(_) => continue,
                Step::SetAttrs(_) | Step::Exec | Step::Fetch { .. } => continue,
                Step::SleepUntil(until) => self.at(until.max(self.now), task, false),
                Step::Io { ns } => self.at(self.now + ns, task, false),
                Step::Yield => self.ready.push_back(task),
                _ => {}
            }
            self.free += 1;
            return;
        }
    }

    fn note(&mut self, task: usize, step: &Step, out: &Effects) {
        let us = self.now / 1_000;
        let name = self.runtime.name(task);
        for effect in &out.list {
            let what = match *effect {
                Effect::Wake { task, sync: false } => format!("wake {}", self.runtime.name(task)),
                Effect::WakeFromCall { task, .. } => format!("wake {}", self.runtime.name(task)),
                Effect::Fork { task, .. } => format!("fork {}", self.runtime.name(task)),
                other => format!("{other:?}"),
            };
            self.log.push(format!("{us} {name}: {what}"));
        }
        let what = match *step {
            Step::Run { work_ns } => format!("run {}", work_ns / 1_000),
            Step::RunTime { until_ns } => format!("run until {}", until_ns / 1_000),
            Step::SleepUntil(until) => format!("sleep until {}", until / 1_000),
            Step::Memory { kind, count, .. } => format!("{kind:?} {count}"),
            Step::Io { ns } => format!("io {}", ns / 1_000),
            Step::Call { call, bytes: 0, .. } => format!("{call:?}"),
            Step::Call { call, bytes, .. } => format!("{call:?} {bytes}"),
            // What was written is at hand everywhere.
            Step::Fetch { .. } => return,
            Step::Wait => "wait".to_string(),
            Step::Exec => "exec".to_string(),
            Step::Block => "block".to_string(),
            Step::Yield => "yield".to_string(),
            Step::Exit => "exit".to_string(),
            Step::SetAttrs(_) => "set attributes".to_string(),
            Step::SpinLock(lock) => format!("spin_lock {}", lock.0),
            Step::SpinUnlock(lock) => format!("spin_unlock {}", lock.0),
        };
        self.log.push(format!("{us} {name}: {what}"));
    }
}

/// Runs a file on so many CPUs until a time in microseconds; what happened, line by line.
#[allow(dead_code)]
pub(crate) fn run(text: &str, cpus: usize, until_us: u64) -> Vec<String> {
    let workload = parse(text, "test.json").unwrap_or_else(|error| panic!("{error}"));
    let mut executor = Executor::new(&workload, cpus, RunOptions::default());
    executor.run_until(until_us * 1_000);
    executor.log
}
