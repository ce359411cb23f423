//! The simulation: its state, and the loop that takes events in order.

use crate::cpu::Cpu;
use crate::event::Event;
use crate::locks::Locks;
use crate::measure::{GroupUsage, Totals};
use crate::monitor::{Monitor, Violation};
use crate::power::PowerMeter;
use crate::psi::Pressure;
use crate::spinlock::Spinlock;
use crate::task_run::TaskRun;
use crate::tracing::Tracer;
use crate::virt::{Hypervisor, Platform};
use crate::warmth::Warmth;
use fairwind_engine::{Due, EventQueue};
use fairwind_machine::Machine;
use fairwind_sched::{CpuId, GroupId, KernelProfile, Nanos, Sched, TaskId};
use fairwind_workload::{Effects, Measures, Runtime, Workload};
use std::collections::BTreeMap;
use std::io;

/// What to run a workload on.
#[derive(Clone, Debug)]
pub struct Config {
    /// The hardware.
    pub machine: Machine,
    /// The kernel.
    pub profile: KernelProfile,
    /// When to end, at the latest; none: when the workload says.
    pub duration: Option<Nanos>,
    /// Seed of what the kernel draws at random.
    pub seed: u64,
}

/// Why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The time asked for is reached; call again to go on.
    TimeReached,
    /// The duration is over, or the last task has ended.
    Finished,
}

/// A machine running a workload.
pub struct Simulation {
    pub(crate) sched: Sched,
    pub(crate) machine: Machine,
    pub(crate) queue: EventQueue<Event>,
    pub(crate) workload: Workload,
    pub(crate) runtime: Runtime,
    pub(crate) program_effects: Effects,
    pub(crate) cpus: Vec<Cpu>,
    /// `[nr_tasks of sched]`.
    pub(crate) tasks: Vec<TaskRun>,
    /// The scheduler's id of each task of the workload; none before it starts.
    pub(crate) task_ids: Vec<TaskId>,
    /// The scheduler's id of each group of the workload.
    pub(crate) group_ids: Vec<GroupId>,
    /// Path of each group of the scheduler.
    pub(crate) group_paths: Vec<String>,
    /// CPU time spent in each group of the scheduler, those below not counted.
    pub(crate) group_usage: Vec<GroupUsage>,
    /// Pressure, if it is watched.
    pub(crate) pressure: Option<Box<Pressure>>,
    pub(crate) period_generations: Vec<u32>,
    /// The CPU on which each group's timers were last armed.
    pub(crate) group_timer_cpus: Vec<CpuId>,
    /// Busy threads of each core, `[nr_cores]`.
    pub(crate) core_busy: Vec<u32>,
    /// Threads of each core, `[nr_cores]`.
    pub(crate) core_cpus: Vec<Vec<CpuId>>,
    /// Busy cores of each package, `[nr_packages]`.
    pub(crate) package_busy: Vec<u32>,
    pub(crate) smt_slows: bool,
    /// Speed at the clock frequency of a package with so many busy cores, in 1/1024.
    pub(crate) frequency_speeds: Vec<u64>,
    /// That of the kernel's work.
    pub(crate) kernel_speeds: Vec<u64>,
    /// Are they all 1024, with one busy thread and with several?
    pub(crate) kernel_at_reference: bool,
    /// What running time counts for in utilisation then, of 1024.
    pub(crate) frequency_scales: Vec<u64>,
    pub(crate) kernel_preemptible: bool,
    pub(crate) locks: Locks,
    /// Those that tasks take.
    pub(crate) spinlocks: Vec<Spinlock>,
    pub(crate) warmth: Warmth,
    /// Of each task that others wait for and lend their priority: who that is.
    pub(crate) donors: BTreeMap<TaskId, Vec<TaskId>>,
    /// Where each stream was last used, `[nr_streams]`.
    pub(crate) stream_cpus: Vec<CpuId>,
    /// Memory of the socket buffers in each stream when it was last used, `[nr_streams]`.
    pub(crate) stream_memory: Vec<u32>,
    /// That of all streams together.
    pub(crate) socket_memory: u64,
    pub(crate) power: PowerMeter,
    pub(crate) totals: Totals,
    pub(crate) tracer: Option<Tracer>,
    pub(crate) monitors: Vec<Box<dyn Monitor>>,
    pub(crate) violation: Option<Violation>,
    pub(crate) trace_error: Option<io::Error>,
    pub(crate) warnings: Vec<String>,
    /// Guests of this machine.
    pub(crate) hypervisor: Hypervisor,
    /// What this machine runs on, if it is a guest.
    pub(crate) platform: Option<Box<Platform>>,
    pub(crate) now: Nanos,
    pub(crate) end: Option<Nanos>,
    pub(crate) seed: u64,
}

impl Simulation {
    /// The scheduler, to look at.
    pub fn sched(&self) -> &Sched {
        &self.sched
    }

    /// The present time.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// How many events wait for their time.
    pub fn pending_events(&self) -> usize {
        self.queue.len()
    }

    /// When the run ends at the latest; none: with its last task.
    pub fn end(&self) -> Option<Nanos> {
        self.end
    }

    /// What the workload asks for and does not get on this machine.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What the programs of the workload have measured.
    pub fn measures(&self) -> &Measures {
        self.runtime.measures()
    }

    /// Bytes written to and read from a stream of the workload so far.
    pub fn stream_bytes(&self, stream: u32) -> (u64, u64) {
        self.runtime.stream_bytes(stream)
    }

    /// Checks an invariant from now on, after every event.
    pub fn add_monitor(&mut self, monitor: Box<dyn Monitor>) {
        self.monitors.push(monitor);
    }

    /// The first invariant that a monitor found broken.
    pub fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Runs until `until`, or to the end.
    pub fn run_until(&mut self, until: Nanos) -> Outcome {
        let until = self.end.map_or(until, |end| end.min(until));
        if self.hypervisor.guests.is_empty() {
            while !self.is_over() && self.own_event(until) {
                self.look();
            }
        } else {
            while !self.is_over()
                && let Some((time, guest)) = self.next_event().filter(|&(time, _)| time <= until)
            {
                self.now = time;
                match guest {
                    None => _ = self.own_event(time),
                    Some(guest) => _ = self.hypervisor.guests[guest].sim.own_event(time),
                }
                self.settle();
                self.look();
            }
        }
        if self.is_over() {
            return Outcome::Finished;
        }
        self.now = self.now.max(until);
        if self.end == Some(self.now) {
            Outcome::Finished
        } else {
            Outcome::TimeReached
        }
    }

    /// Handles the next event of this machine; false: there is none up to `until`.
    #[inline(always)]
    pub(crate) fn own_event(&mut self, until: Nanos) -> bool {
        let Some((time, due)) = self.queue.pop_until(until) else {
            return false;
        };
        self.now = time;
        self.handle(match due {
            Due::Slot(slot) => Event::of_slot(slot),
            Due::Event(event) => event,
        });
        true
    }

    /// Looks after an event for what ends the run.
    #[inline]
    fn look(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            self.trace_error = tracer.take_error();
        }
        if !self.monitors.is_empty() {
            self.watch();
        }
    }

    /// Runs to the end.
    ///
    /// # Panics
    /// If the run has no end: no duration was given and a task loops forever.
    pub fn run(&mut self) {
        assert!(
            self.end.is_some() || self.workload_ends(),
            "the run has no end"
        );
        while self.run_until(Nanos::MAX) != Outcome::Finished {}
    }

    /// Does the workload end by itself?
    pub fn workload_ends(&self) -> bool {
        use fairwind_workload::Loops;
        let awaited = |task: &&fairwind_workload::TaskSpec| !task.background;
        let own = self.workload.tasks.iter().filter(awaited).all(|task| {
            task.loops != Loops::Forever
                && task
                    .phases
                    .iter()
                    .all(|phase| phase.loops != Loops::Forever)
        });
        own && { self.hypervisor.guests.iter() }
            .all(|guest| guest.sim.end.is_some() || guest.sim.workload_ends())
    }

    fn is_over(&self) -> bool {
        self.violation.is_some()
            || self.trace_error.is_some()
            || (self.runtime.is_over() && self.end.is_none() && { self.hypervisor.guests.iter() }
                .all(|guest| guest.is_over(self.now)))
    }

    /// Handles an event, or keeps it if it is for a vCPU that does not run.
    #[inline(always)]
    pub(crate) fn handle(&mut self, event: Event) {
        self.totals.events += 1;
        if self.platform.is_some() && self.defer(event) {
            return;
        }
        self.take(event);
    }

    /// Handles an event.
    #[inline(always)]
    pub(crate) fn take(&mut self, event: Event) {
        match event {
            Event::Segment { cpu } => {
                if self.cpus[cpu.idx()].planned {
                    self.charge(cpu);
                    self.resume(cpu);
                }
            }
            Event::Tick { cpu } => self.tick(cpu),
            Event::Ipi { cpu } => self.ipi(cpu),
            Event::Placed { cpu } => self.placed(cpu),
            Event::Timer { task, cpu, awake } => self.timer(task, cpu, awake),
            Event::PeriodTimer { group, generation } => self.period_timer(group, generation),
            Event::SlackTimer { group } => self.slack_timer(group),
            Event::Hrtick { cpu, generation } => self.hrtick(cpu, generation),
            Event::RtTimer { cpu, generation } => self.rt_timer(cpu, generation),
            Event::Virtqueue { cpu, semaphore } => self.virtqueue_interrupt(cpu, semaphore),
            Event::Start { task } => self.start_task(task),
        }
    }

    /// Lets the monitors look at the state.
    pub(crate) fn watch(&mut self) {
        let mut monitors = std::mem::take(&mut self.monitors);
        for monitor in &mut monitors {
            if let Err(violation) = monitor.check(self) {
                self.violation.get_or_insert(violation);
            }
        }
        self.monitors = monitors;
    }

    /// Ends the run: accounts everything up to now and completes the trace.
    ///
    /// # Errors
    /// If the trace could not be written.
    pub fn finish(&mut self) -> io::Result<()> {
        for guest in &mut self.hypervisor.guests {
            guest.sim.now = self.now;
            guest.sim.finish()?;
        }
        for cpu in self.sched.rqs.ids() {
            self.account(cpu);
        }
        self.power.advance_all(self.now, &self.machine);
        if let Some(error) = self.trace_error.take() {
            return Err(error);
        }
        self.trace_guests();
        self.tracer.take().map_or(Ok(()), Tracer::finish)
    }
}
