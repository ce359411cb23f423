//! What the tasks of a recording did, for a simulation to do it again.
//!
//! Model.       For each thread, in order: how long it ran, how it slept, whom it woke. Time that it was ready but not
//!              on a CPU is left out: that is the scheduler's doing. A sleep that another kept thread ended, outside
//!              interrupts, is a [`Act::Wait`] and has its [`Act::Post`] at that place of the waker's run; any other
//!              lasts as long as it did. A new thread waits for the post of who made it.
//! Invariants.  Every wait has a post of its own, and the post was recorded no later. So with semaphores, which remember
//!              posts, the acts always come to their end: of those not yet done the one recorded first can be done.
//! Units.       ns of the trace clock inside; us in acts, what is left of a run goes to the next one.
//! Source.      include/trace/events/sched.h; kernel/sched/core.c `try_to_wake_up`, `__schedule` @ 6.12.
//! Not here.    The form of a file.

mod thread;

use crate::Recording;
use crate::record::{Party, PrevState, Record, What};
use std::collections::{BTreeMap, BTreeSet};
use thread::{State, Thread, Waker};

/// Threads that each CPU has for itself, and that a simulated machine has, too.
const PER_CPU: [&str; 8] = [
    "backlog_napi/",
    "cpuhp/",
    "idle_inject/",
    "irq_work/",
    "ksoftirqd/",
    "kworker/",
    "migration/",
    "rcuc/",
];

/// One thing that a task did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It ran.
    Run {
        /// How long on a CPU; 0 does nothing.
        us: u64,
    },
    /// It slept, and no other task woke it.
    Sleep {
        /// How long.
        us: u64,
    },
    /// It slept until its next post, if that has not come yet.
    Wait,
    /// It woke a task.
    Post {
        /// The thread id of that task.
        pid: i32,
    },
}

/// What is set on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// As events show it: 120 for nice 0, below 100 a real-time one.
    pub prio: i32,
    /// Path of its group; none: no event and no file tells it.
    pub group: Option<String>,
}

/// What a task did under one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The setting.
    pub setting: Setting,
    /// What it did.
    pub acts: Vec<Act>,
}

/// What a task did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Thread id.
    pub pid: i32,
    /// Its last name.
    pub comm: String,
    /// By time; none is empty.
    pub phases: Vec<Phase>,
}

/// A part of a recording, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From so long after its first event.
    pub from: u64,
    /// So long.
    pub length: u64,
}

/// What the tasks did in a part of a recording; those that did nothing are left out.
#[must_use]
pub fn behaviour(recording: &Recording, window: Window) -> Vec<Task> {
    follow(&recording.records, window)
}

fn follow(records: &[Record], window: Window) -> Vec<Task> {
    let first = records.first().map_or(0, |record| record.ts);
    let start = first.saturating_add(window.from);
    let end = start.saturating_add(window.length);
    let begin = records.partition_point(|record| record.ts < start);
    let stop = records.partition_point(|record| record.ts < end);
    let mut follower = Follower {
        start,
        threads: BTreeMap::new(),
        groups: BTreeMap::new(),
        made_as: BTreeMap::new(),
        current: BTreeMap::new(),
    };
    for record in &records[..begin] {
        follower.follow_groups(record);
    }
    let inside = &records[begin..stop.max(begin)];
    follower.find_running(inside);
    for record in inside {
        follower.follow_groups(record);
        follower.step(record);
    }
    let last = inside.last().map_or(start, |record| record.ts);
    follower.finish(last)
}

struct Follower {
    /// The beginning of the window.
    start: u64,
    threads: BTreeMap<i32, Thread>,
    groups: BTreeMap<i32, String>,
    /// Names that new threads got from who made them.
    made_as: BTreeMap<i32, String>,
    /// Who runs on each CPU.
    current: BTreeMap<u32, i32>,
}

impl Follower {
    fn follow_groups(&mut self, record: &Record) {
        match &record.what {
            What::Attach { pid, path, .. } => {
                self.groups.insert(*pid, path.clone());
                if let Some(thread) = self.threads.get_mut(pid) {
                    thread.join(record.ts, path);
                }
            }
            What::Fork { parent, child, .. } => {
                if let Some(path) = self.groups.get(parent).cloned() {
                    self.groups.insert(*child, path);
                }
            }
            _ => {}
        }
    }

    /// Who is switched away from first on a CPU has run there from the start.
    fn find_running(&mut self, records: &[Record]) {
        let mut seen = BTreeSet::new();
        for record in records {
            if let What::Switch { prev, .. } = &record.what
                && seen.insert(record.cpu)
            {
                self.current.insert(record.cpu, prev.pid);
                let start = self.start;
                if let Some(thread) = self.party(prev) {
                    thread.state = State::Running { since: start };
                }
            }
        }
    }

    fn step(&mut self, record: &Record) {
        self.runs_still(record);
        match &record.what {
            What::Switch {
                prev,
                prev_state,
                next,
            } => self.switch(record, prev, *prev_state, next),
            What::Waking {
                pid, comm, prio, ..
            } => {
                let party = Party {
                    pid: *pid,
                    comm: comm.clone(),
                    prio: *prio,
                };
                self.wake(record, &party);
            }
            What::Fork { child, comm, .. } => {
                self.made_as.insert(*child, comm.clone());
            }
            What::WakeupNew { pid, prio, .. } => {
                let party = Party {
                    pid: *pid,
                    comm: self.made_as.get(pid).cloned().unwrap_or_default(),
                    prio: *prio,
                };
                self.wake(record, &party);
            }
            _ => {}
        }
    }

    /// Whoever runs by the last switch of a CPU has run until now, if the event tells so.
    fn runs_still(&mut self, record: &Record) {
        if self.current.get(&record.cpu) == Some(&record.pid)
            && let Some(thread) = self.threads.get_mut(&record.pid)
        {
            thread.charge(record.ts);
        }
    }

    /// A kept thread, which is asleep since the start if it was not seen before.
    fn party(&mut self, party: &Party) -> Option<&mut Thread> {
        if party.pid == 0 || is_per_cpu(&party.comm) {
            return None;
        }
        let group = self.groups.get(&party.pid);
        let start = self.start;
        let thread = self.threads.entry(party.pid).or_insert_with(|| {
            let group = group.cloned();
            let prio = party.prio;
            Thread::asleep(Setting { prio, group }, start)
        });
        if !party.comm.is_empty() {
            thread.comm.clone_from(&party.comm);
        }
        Some(thread)
    }

    fn switch(&mut self, record: &Record, prev: &Party, state: PrevState, next: &Party) {
        let ts = record.ts;
        let known = self.current.insert(record.cpu, next.pid);
        // Events were lost: how long the other one ran after its last one is not known.
        if let Some(lost) = known.filter(|&pid| pid != prev.pid)
            && let Some(thread) = self.threads.get_mut(&lost)
        {
            thread.lose_sight();
        }
        if let Some(thread) = self.party(prev) {
            thread.switch_out(ts, state);
        }
        let Some(thread) = self.party(next) else {
            return;
        };
        let woken_early = thread.switch_in(ts, next.prio);
        if let Some(waker) = woken_early {
            self.post(waker, next.pid);
        }
    }

    fn wake(&mut self, record: &Record, woken: &Party) {
        let waker = self.waker(record, woken.pid);
        let Some(thread) = self.party(woken) else {
            return;
        };
        let slept = thread.wake(record.ts, waker);
        if let (true, Some(waker)) = (slept, waker) {
            self.post(waker, woken.pid);
        }
    }

    /// The place in the run of the task that wakes another; none in interrupts and where no kept thread runs.
    fn waker(&mut self, record: &Record, woken: i32) -> Option<Waker> {
        let pid = *self.current.get(&record.cpu)?;
        if record.irq || pid == woken {
            return None;
        }
        let thread = self.threads.get_mut(&pid)?;
        let place = thread.place(record.ts)?;
        Some(Waker { pid, place })
    }

    fn post(&mut self, waker: Waker, pid: i32) {
        if let Some(thread) = self.threads.get_mut(&waker.pid) {
            thread.post(waker.place, pid);
        }
    }

    fn finish(mut self, last: u64) -> Vec<Task> {
        for thread in self.threads.values_mut() {
            thread.finish(last);
        }
        let threads = self.threads.into_iter();
        let task = |(pid, thread): (i32, Thread)| Task {
            pid,
            comm: thread.comm,
            phases: thread.phases,
        };
        threads
            .map(task)
            .filter(|task| task.phases.iter().any(|phase| !phase.acts.is_empty()))
            .collect()
    }
}

fn is_per_cpu(comm: &str) -> bool {
    let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    PER_CPU
        .iter()
        .any(|name| comm.strip_prefix(name).is_some_and(digit))
}

#[cfg(test)]
mod tests;
