//! Several workloads as one: files and programs on the same machine at the same time.
//!
//! Model.       Tasks of one follow those of the other, and each keeps its own objects; groups of equal paths are one group,
//!              of which the first that states a setting counts. Beside programs the tasks of files run in the background: the
//!              run is over when the programs are.
//!              If one has an I/O device of its own, all I/O goes there.
//! Invariants.  Names of tasks stay unique: a later one that is taken gets a number.

use super::Program;
use crate::action::Action;
use crate::global::Global;
use crate::spec::*;
use std::collections::BTreeSet;

/// Puts a workload of files and programs on one machine; the programs' metrics then read the joint run.
pub fn join(files: Option<Workload>, programs: Vec<Program>) -> (Workload, Vec<Program>) {
    let mut whole = files;
    let mut joined = Vec::new();
    if let Some(files) = whole.as_mut().filter(|_| !programs.is_empty()) {
        for task in &mut files.tasks {
            task.background = true;
        }
    }
    for mut program in programs {
        let workload = match whole {
            None => program.workload.clone(),
            Some(mut before) => {
                let measured = before.objects.measured;
                for metric in &mut program.metrics {
                    let value = &mut metric.value;
                    value.shift(measured.clocks, measured.counters, measured.latencies);
                }
                append(&mut before, program.workload.clone());
                before
            }
        };
        whole = Some(workload);
        joined.push(program);
    }
    let nothing = || super::draft::Draft::new().finish();
    (whole.unwrap_or_else(nothing), joined)
}

/// How far the ids of a workload move when it is put behind another.
struct Shift {
    tasks: u32,
    mutexes: u32,
    conds: u32,
    barriers: u32,
    semaphores: u32,
    spinlocks: u32,
    timers: u32,
    buffers: u32,
    streams: u32,
    clocks: u32,
    counters: u32,
    latencies: u32,
    /// Where each group went.
    groups: Vec<GroupIdx>,
}

fn append(whole: &mut Workload, mut other: Workload) {
    let objects = &whole.objects;
    let shift = Shift {
        tasks: whole.tasks.len() as u32,
        mutexes: objects.mutexes.len() as u32,
        conds: objects.conds.len() as u32,
        barriers: objects.barriers.len() as u32,
        semaphores: objects.semaphores.len() as u32,
        spinlocks: objects.spinlocks.len() as u32,
        timers: objects.timers.len() as u32,
        buffers: objects.buffers.len() as u32,
        streams: objects.streams.len() as u32,
        clocks: objects.measured.clocks,
        counters: objects.measured.counters,
        latencies: objects.measured.latencies,
        groups: add_groups(whole, &other),
    };
    let mut names: BTreeSet<String> = whole.tasks.iter().map(|task| task.name.clone()).collect();
    for task in &mut other.tasks {
        let own = std::mem::take(&mut task.name);
        let numbered = (2..).map(|number| format!("{own}.{number}"));
        let free = std::iter::once(own.clone()).chain(numbered);
        task.name = free
            .into_iter()
            .find(|name| !names.contains(name))
            .unwrap_or(own);
        names.insert(task.name.clone());
        shift.attrs(&mut task.attrs);
        for phase in &mut task.phases {
            shift.attrs(&mut phase.attrs);
            for event in &mut phase.events {
                shift.event(event);
            }
        }
    }
    for guest in &mut other.guests {
        guest.vcpus.0 += shift.tasks;
        for queue in &mut guest.virtqueues {
            queue.host.0 += shift.semaphores;
        }
    }
    whole.guests.append(&mut other.guests);
    whole.tasks.append(&mut other.tasks);
    let (into, from) = (&mut whole.objects, &mut other.objects);
    into.mutexes.append(&mut from.mutexes);
    into.conds.append(&mut from.conds);
    into.barriers.append(&mut from.barriers);
    into.semaphores.append(&mut from.semaphores);
    into.spinlocks.append(&mut from.spinlocks);
    into.timers.append(&mut from.timers);
    into.buffers.append(&mut from.buffers);
    into.streams.append(&mut from.streams);
    into.measured.clocks += from.measured.clocks;
    into.measured.counters += from.measured.counters;
    into.measured.latencies += from.measured.latencies;
    if other.global.io_device != Global::default().io_device {
        whole.global.io_device = other.global.io_device;
    }
    whole.warnings.append(&mut other.warnings);
}

/// Adds the groups that are not there yet; tells where each is now.
fn add_groups(whole: &mut Workload, other: &Workload) -> Vec<GroupIdx> {
    let mut moved: Vec<GroupIdx> = Vec::new();
    for group in &other.groups {
        let known = whole
            .groups
            .iter()
            .position(|known| known.path == group.path);
        let at = known.unwrap_or_else(|| {
            let mut group = group.clone();
            group.parent = group.parent.map(|parent| moved[parent.idx()]);
            whole.groups.push(group);
            whole.groups.len() - 1
        });
        moved.push(GroupIdx(at as u32));
    }
    moved
}

impl Shift {
    fn attrs(&self, attrs: &mut Attrs) {
        if let Some(group) = &mut attrs.group {
            *group = self.groups[group.idx()];
        }
    }

    fn event(&self, event: &mut Event) {
        match event {
            Event::Run { .. }
            | Event::Runtime { .. }
            | Event::Sleep { .. }
            | Event::IoRun { .. }
            | Event::Yield => {}
            Event::Timer { timer, .. } => {
                if let TimerRef::Shared(timer) = timer {
                    *timer += self.timers;
                }
            }
            Event::Memory(memory) => memory.buffer.0 += self.buffers,
            Event::Lock(mutex) | Event::Unlock(mutex) => mutex.0 += self.mutexes,
            Event::Wait { cond, mutex }
            | Event::Sync { cond, mutex }
            | Event::Suspend { cond, mutex }
            | Event::Resume { cond, mutex } => {
                cond.0 += self.conds;
                mutex.0 += self.mutexes;
            }
            Event::Signal(cond) | Event::Broadcast(cond) => cond.0 += self.conds,
            Event::Barrier(barrier) => barrier.0 += self.barriers,
            Event::SemPost(sem) | Event::SemWait(sem) => sem.0 += self.semaphores,
            Event::SpinLock(lock) | Event::SpinUnlock(lock) => lock.0 += self.spinlocks,
            Event::Fork(task) => task.0 += self.tasks,
            Event::Program(action) => self.action(action),
        }
    }

    fn action(&self, action: &mut Action) {
        match action {
            Action::Compute { .. }
            | Action::Exec
            | Action::Reap
            | Action::StartLap
            | Action::LockChosen
            | Action::UnlockChosen => {}
            Action::Read { stream, .. } | Action::Write { stream, .. } | Action::Poll(stream) => {
                stream.first += self.streams
            }
            Action::Create(task) => task.0 += self.tasks,
            Action::Stamp(clock) => clock.0 += self.clocks,
            Action::Count { counter, .. } => counter.0 += self.counters,
            Action::Post(sem) | Action::Take(sem) => sem.first += self.semaphores,
            Action::Choose { first, turns, .. } => {
                *first += self.mutexes;
                turns.0 += self.counters;
            }
            Action::Record { into, .. } => into.0 += self.latencies,
        }
    }
}
