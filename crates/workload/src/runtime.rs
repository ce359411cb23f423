//! The run time: every task's place in its program, and the objects they share.
//!
//! Model.       A pure state machine. The caller owns clock and CPUs. It calls [`Runtime::step`]
//!              for a task that is on a CPU and done with its last step, and is told what the task
//!              does next, and in [`Effects`] what that does to others.
//! Invariants.  No clock, no randomness, no allocation in `step` but for forks and for growing
//!              `Effects`. Waiters are woken in the order they came, real-time ones first. Every
//!              run through a phase takes time, so that no program can stop the clock.
//! Units.       Nanoseconds of the caller's clock.
//! Source.      rt-app src/rt-app.c @ 55cb0c0 `run_event`, `thread_body`; glibc 2.36
//!              nptl/lowlevellock.h, pthread_mutex_lock.c, pthread_cond_wait.c, sem_waitcommon.c.
//! Deviations.  Threads start with their attributes instead of setting them on themselves. A run
//!              through a phase without any work or sleep costs [`RunOptions::loop_overhead_ns`] of
//!              work; other events are free, their cost being the caller's wakeups and switches.
//! Not here.    Priorities of boosted tasks, timer slack, time to read and write memory.

mod act;
mod effect;
mod inherit;
mod measures;
mod mutex;
mod process;
mod program;
mod queue;
mod stats;
mod step;
mod stream;
mod transfer;
mod variation;
mod wait_queue;

use crate::action::Launch;
use crate::spec::*;
pub use effect::*;
use inherit::PiMutexes;
pub use measures::{Measures, Stamps};
use mutex::Mutexes;
use process::Family;
use program::{NONE, Program};
use queue::{Link, NOT_RT, Queue};
use stats::Log;
pub use stats::{LoopRow, TaskStats};
use stream::{Progress, Stream};
use variation::Draws;
pub use variation::Variation;

/// A task's place in its program.
#[derive(Clone, Debug)]
struct Task {
    pc: u32,
    spec: TaskSpecId,
    /// Loops done of the present phase, and of all phases.
    phase_loop: u32,
    task_loop: u32,
    /// Attributes set last.
    applied: u32,
    /// Its unique timers begin here.
    timers: u32,
    /// Index in its name, and its fork number.
    index: u32,
    fork: Option<u32>,
    /// Which of the task's instances it is, forks not counted.
    instance: u32,
    /// Its address space.
    mm: u32,
    call: Progress,
    policy: Policy,
    /// It waits for a mutex that it saw taken, or comes back from a condition.
    contended: bool,
    /// The present run through a phase took time.
    timed: bool,
    life: Life,
    /// When it starts; its timers count from here.
    first_ns: u64,
    /// When it came to its first phase.
    begun_ns: u64,
    /// The mutex drawn last.
    chosen: MutexId,
    /// When the first run through the present phase began.
    phase_ns: u64,
    /// When the present lap began.
    lap_ns: u64,
    /// From being woken last to running.
    wakeup_ns: u64,
    /// When the present event began, or is due.
    mark_ns: u64,
    /// Runs through a phase so far.
    loops: u64,
}

/// Has a task ended?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Alive,
    /// Its end is paid for.
    Exiting,
    Exited,
}

/// Where a task comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// It is there at the start.
    Start,
    /// An rt-app `fork`, with its number.
    Fork(u32),
    /// Another task created it.
    Created(u32),
}

/// A timer.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// End of the present period; none: not used yet.
    next_ns: Option<u64>,
    relative: bool,
}

/// A barrier: who is still to come, and who waits.
#[derive(Clone, Copy, Debug)]
struct Barrier {
    missing: i64,
    waiters: Queue,
}

/// A semaphore.
#[derive(Clone, Copy, Debug)]
struct Semaphore {
    value: u64,
    /// Who posts to it adds to one of another kernel.
    crosses: bool,
    waiters: Queue,
}

/// A workload in execution.
#[derive(Clone, Debug)]
pub struct Runtime {
    options: RunOptions,
    program: Program,
    specs: Vec<(String, u32)>,
    buffers: Vec<BufferSpec>,
    tasks: Vec<Task>,
    /// `[nr_tasks]`, or empty.
    logs: Vec<Log>,
    /// `[nr_tasks]`, or empty where no task makes another.
    families: Vec<Family>,
    /// `[nr_tasks]`, beside the tasks because queues walk them.
    links: Vec<Link>,
    mutexes: Mutexes,
    pi: Option<PiMutexes>,
    conds: Vec<Queue>,
    barriers: Vec<Barrier>,
    semaphores: Vec<Semaphore>,
    streams: Vec<Stream>,
    measures: Measures,
    draws: Draws,
    /// Shared ones first, then those of each thread.
    timers: Vec<Timer>,
    /// `[nr_specs]`.
    forks: Vec<u32>,
    forks_refused: u64,
    /// Instances so far, forks not counted, `[nr_specs]`.
    instances: Vec<u32>,
    nr_alive: usize,
    /// Of these, those that the run waits for.
    nr_awaited: usize,
    device_waits: bool,
    cumulative_slack: bool,
    end_ns: Option<u64>,
}

impl Runtime {
    /// A run of the workload that starts at time 0.
    pub fn new(workload: &Workload) -> Runtime {
        Runtime::with_options(workload, RunOptions::default())
    }

    /// A run of the workload.
    ///
    /// # Panics
    /// If an option is below what its description asks for.
    pub fn with_options(workload: &Workload, options: RunOptions) -> Runtime {
        assert!(
            options.loop_overhead_ns > 0 && options.io_bytes_per_ms > 0,
            "{options:?}"
        );
        let objects = &workload.objects;
        let global = &workload.global;
        let timer = |relative| Timer {
            next_ns: None,
            relative,
        };
        let barrier = |barrier: &BarrierSpec| Barrier {
            missing: i64::from(barrier.users) - 1,
            waiters: Queue::EMPTY,
        };
        let empty = Semaphore {
            value: 0,
            crosses: false,
            waiters: Queue::EMPTY,
        };
        let nr_mutexes = objects.mutexes.len();
        let mut runtime = Runtime {
            options,
            program: Program::new(workload),
            specs: workload
                .tasks
                .iter()
                .map(|task| (task.name.clone(), task.instances))
                .collect(),
            buffers: objects.buffers.clone(),
            tasks: Vec::new(),
            logs: Vec::new(),
            families: Vec::new(),
            links: Vec::new(),
            mutexes: Mutexes::new(nr_mutexes),
            pi: global.pi_enabled.then(|| PiMutexes::new(nr_mutexes)),
            conds: vec![Queue::EMPTY; objects.conds.len()],
            barriers: objects.barriers.iter().map(barrier).collect(),
            semaphores: vec![empty; objects.semaphores.len()],
            streams: objects
                .streams
                .iter()
                .map(|&kind| Stream::new(kind))
                .collect(),
            measures: Measures::new(objects.measured),
            draws: Draws::new(options.variation, options.seed),
            timers: objects
                .timers
                .iter()
                .map(|spec| timer(spec.relative))
                .collect(),
            forks: vec![0; workload.tasks.len()],
            forks_refused: 0,
            instances: vec![0; workload.tasks.len()],
            nr_alive: 0,
            nr_awaited: 0,
            device_waits: !matches!(global.io_device.as_str(), "/dev/null" | "/dev/zero"),
            cumulative_slack: global.cumulative_slack,
            end_ns: global
                .duration_s
                .map(|seconds| options.t_zero_ns + u64::from(seconds) * 1_000_000_000),
        };
        let nr_tasks = { workload.tasks.iter() }
            .map(|task| task.instances as usize)
            .sum();
        runtime.tasks.reserve_exact(nr_tasks);
        for (spec, task) in workload.tasks.iter().enumerate() {
            for _ in 0..task.instances {
                runtime.add_task(TaskSpecId(spec as u32), Origin::Start);
            }
        }
        runtime
    }

    /// The tasks there are at the start, and when each starts.
    pub fn start(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let starters = self
            .tasks
            .iter()
            .enumerate()
            .filter(|&(index, task)| task.fork.is_none() && self.parent(index) == NONE);
        starters.map(|(index, task)| (index, task.first_ns))
    }

    /// When all tasks are ended; none: the run ends with its last task.
    pub fn end_ns(&self) -> Option<u64> {
        self.end_ns
    }

    /// Tasks so far, ended ones included.
    pub fn nr_tasks(&self) -> usize {
        self.tasks.len()
    }

    /// Tasks that have not ended.
    pub fn nr_alive(&self) -> usize {
        self.nr_alive
    }

    /// Has every task ended that the run waits for?
    pub fn is_over(&self) -> bool {
        self.nr_awaited == 0
    }

    /// What programs have measured.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// Draws a time around its mean, as the run's variation has it.
    #[inline]
    pub fn vary(&mut self, mean_ns: u64) -> u64 {
        self.draws.vary(mean_ns)
    }

    /// Forks beyond [`FORKS_LIMIT`], where a real rt-app would have given up.
    pub fn forks_refused(&self) -> u64 {
        self.forks_refused
    }

    /// From now on who posts to a semaphore only causes an [`Effect::Notify`].
    pub fn cross(&mut self, semaphore: SemId) {
        self.semaphores[semaphore.idx()].crosses = true;
    }

    /// Adds one to a semaphore, from outside.
    pub fn post(&mut self, semaphore: SemId, out: &mut Effects) {
        let semaphore = &mut self.semaphores[semaphore.idx()];
        semaphore.value += 1;
        step::wake_first(&mut semaphore.waiters, &mut self.links, out);
    }

    /// What a task is.
    pub fn spec(&self, task: usize) -> TaskSpecId {
        self.tasks[task].spec
    }

    /// Which of its kind's instances a task is, forks not counted.
    pub fn instance(&self, task: usize) -> u32 {
        self.tasks[task].instance
    }

    /// A task's name: `name-index`, and `-fork` behind it for forks; of programs `name-instance`.
    pub fn name(&self, task: usize) -> String {
        let Task {
            spec,
            index,
            fork,
            instance,
            ..
        } = self.tasks[task];
        let name = &self.specs[spec.idx()].0;
        match fork {
            None if self.program.tasks[spec.idx()].launch != Launch::WithTheRun => {
                format!("{name}-{instance}")
            }
            None => format!("{name}-{index}"),
            Some(fork) => format!("{name}-{index}-{fork:04}"),
        }
    }

    /// What a task begins with: attributes of the task and of its first phase. The working set is
    /// always stated.
    pub fn initial_attrs(&self, task: usize) -> &Attrs {
        let program = &self.program.tasks[self.tasks[task].spec.idx()];
        &self.program.attrs[program.initial as usize]
    }

    /// What a [`Step::SetAttrs`] sets.
    pub fn attrs(&self, id: AttrsId) -> &Attrs {
        &self.program.attrs[id.0 as usize]
    }

    /// A buffer that a [`Step::Memory`] names.
    pub fn buffer(&self, id: BufferId) -> &BufferSpec {
        &self.buffers[id.idx()]
    }

    /// How often a task has run through a phase.
    pub fn loops(&self, task: usize) -> u64 {
        self.tasks[task].loops
    }

    /// What rt-app would have logged of a task so far; none unless [`RunOptions::log_loops`] asks for it.
    pub fn stats(&self, task: usize) -> Option<&TaskStats> {
        self.logs.get(task).map(|log| &log.stats)
    }

    /// Counts a wakeup: the task was due at one time and on a CPU at another.
    pub fn woke(&mut self, task: usize, due_ns: u64, now_ns: u64) {
        let latency = now_ns.saturating_sub(due_ns);
        self.tasks[task].wakeup_ns = latency;
        if let Some(log) = self.logs.get_mut(task) {
            log.stats.woke(latency);
        }
    }

    /// Adds a child of a task.
    fn add_child(&mut self, spec: TaskSpecId, parent: u32) -> u32 {
        self.add_task(spec, Origin::Created(parent)) as u32
    }

    fn add_task(&mut self, spec: TaskSpecId, origin: Origin) -> usize {
        let program = self.program.tasks[spec.idx()];
        let index = self.tasks.len();
        let (fork, parent) = match origin {
            Origin::Start => (None, NONE),
            Origin::Fork(number) => (Some(number), NONE),
            Origin::Created(parent) => (None, parent),
        };
        let instance = self.instances[spec.idx()];
        self.instances[spec.idx()] += u32::from(fork.is_none());
        let mm = match program.launch {
            Launch::WithTheRun => 0,
            Launch::Process => index as u32 + 1,
            Launch::Thread => self.tasks[parent as usize].mm,
        };
        let timers = self.timers.len() as u32;
        let first = program.first_timer as usize;
        let unique = first..first + program.nr_unique_timers as usize;
        let relative = self.program.unique_timers[unique].iter();
        self.timers.extend(relative.map(|&relative| Timer {
            next_ns: None,
            relative,
        }));
        self.tasks.push(Task {
            pc: program.start,
            spec,
            phase_loop: 0,
            task_loop: 0,
            applied: self.program.phases[program.first_phase as usize].attrs,
            timers,
            index: index as u32,
            fork,
            instance,
            mm,
            call: Progress::default(),
            policy: Policy::Other,
            contended: false,
            timed: false,
            life: Life::Alive,
            begun_ns: 0,
            chosen: MutexId(0),
            phase_ns: 0,
            lap_ns: 0,
            wakeup_ns: 0,
            first_ns: self.options.t_zero_ns + program.delay_ns,
            mark_ns: 0,
            loops: 0,
        });
        if self.options.log_loops {
            self.logs.push(Log::default());
        }
        if self.program.has_families {
            self.families.push(Family::of(parent));
        }
        self.links.push(Link::new());
        if let Some(pi) = &mut self.pi {
            pi.add_task();
        }
        self.nr_alive += 1;
        self.nr_awaited += usize::from(!program.background);
        self.note_priority(index, program.initial);
        index
    }

    /// Keeps a task's place among waiters in step with its attributes.
    fn note_priority(&mut self, task: usize, attrs: u32) {
        let attrs = &self.program.attrs[attrs as usize];
        let policy = attrs.policy.unwrap_or(self.tasks[task].policy);
        self.tasks[task].policy = policy;
        if attrs.policy.is_some() || attrs.priority.is_some() {
            self.links[task].priority = match (policy, attrs.priority) {
                (Policy::Deadline, _) => 0,
                (Policy::Rr | Policy::Fifo, Some(priority)) => (99 - priority) as u8,
                _ => NOT_RT,
            };
        }
    }
}
