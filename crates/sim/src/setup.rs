//! From a workload to a machine that is about to run it.

use crate::cpu::Cpu;
use crate::event::{Event, SLOTS_PER_CPU};
use crate::locks::Locks;
use crate::measure::{GroupUsage, Totals};
use crate::power::PowerMeter;
use crate::simulation::{Config, Simulation};
use crate::spinlock::Spinlock;
use crate::task_run::TaskRun;
use crate::tracing::Tracer;
use crate::virt::Hypervisor;
use crate::warmth::Warmth;
use fairwind_engine::EventQueue;
use fairwind_sched::entity::SCHED_PRIO_TO_WEIGHT;
use fairwind_sched::group::RUNTIME_INF;
use fairwind_sched::{BandwidthLimit, CpuId, Feature, GroupId, Preempt, Sched, TaskId};
use fairwind_trace::TraceSink;
use fairwind_workload::{Affinity, Effects, GroupSpec, RunOptions, Runtime, Workload};
use std::collections::BTreeMap;
use std::fmt;

/// The workload asks for what the machine does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetupError {
    what: String,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for SetupError {}

impl SetupError {
    /// An error that says this.
    pub(crate) fn of(what: String) -> SetupError {
        SetupError { what }
    }

    /// The same, of a part of what was asked for.
    pub(crate) fn within(self, part: &str) -> SetupError {
        SetupError {
            what: format!("{part}: {}", self.what),
        }
    }
}

/// Refuses groups on CPUs the machine does not have.
fn check_groups(workload: &Workload, nr_cpus: usize) -> Result<(), SetupError> {
    for group in &workload.groups {
        let cpus = group.cpus.as_deref().unwrap_or(&[]);
        if let Some(cpu) = cpus.iter().find(|&&cpu| cpu as usize >= nr_cpus) {
            return Err(SetupError {
                what: format!(
                    "group {} asks for CPU {cpu}, but the machine has CPUs 0 to {}: choose a larger --machine or other CPUs",
                    group.path,
                    nr_cpus - 1
                ),
            });
        }
    }
    Ok(())
}

/// Is there a group whose weight or limit would count if groups competed?
fn has_group_settings(workload: &Workload) -> bool {
    workload.groups.iter().any(|group| {
        group.weight.is_some() || group.bandwidth.is_some() || group.idle == Some(true)
    })
}

/// Refuses limits that FLAT_GROUPS would not keep: those of groups with groups below them.
fn check_flat_limits(workload: &Workload) -> Result<(), SetupError> {
    for group in &workload.groups {
        let above = group.parent.map(|parent| &workload.groups[parent.idx()]);
        let limited = above.filter(|above| {
            let limit = above.bandwidth.as_ref();
            limit.is_some_and(|limit| limit.quota_us.is_some())
        });
        if let Some(above) = limited {
            return Err(SetupError {
                what: format!(
                    "group {} has a CPU limit, which under FLAT_GROUPS does not hold for {} below it: limit each of the groups without groups below them, or leave FLAT_GROUPS off",
                    above.path, group.path
                ),
            });
        }
    }
    Ok(())
}

/// Takes CPUs the machine does not have from tasks, and all limits from those left without any; tells whose.
fn fit_affinity(workload: &mut Workload, nr_cpus: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    for task in &mut workload.tasks {
        let phases = task.phases.iter_mut().map(|phase| &mut phase.attrs);
        for attrs in std::iter::once(&mut task.attrs).chain(phases) {
            let Some(Affinity::Cpus(cpus)) = &mut attrs.cpus else {
                continue;
            };
            let Some(&missing) = cpus.iter().find(|&&cpu| cpu as usize >= nr_cpus) else {
                continue;
            };
            cpus.retain(|&cpu| (cpu as usize) < nr_cpus);
            let instead = if cpus.is_empty() {
                attrs.cpus = Some(Affinity::Inherited);
                "it runs anywhere"
            } else {
                "it runs on the others it asks for"
            };
            warnings.push(format!(
                "task {} asks for CPU {missing}, but the machine has CPUs 0 to {}: {instead}",
                task.name,
                nr_cpus - 1
            ));
        }
    }
    warnings.dedup();
    warnings
}

impl Simulation {
    /// Puts a workload on a machine at time 0. [`Self::warnings`] tells what of it the machine cannot do.
    ///
    /// # Errors
    /// If a group is limited to CPUs the machine does not have.
    pub fn new(config: Config, mut workload: Workload) -> Result<Simulation, SetupError> {
        let Config {
            machine,
            profile,
            duration,
            seed,
        } = config;
        let nr_cpus = machine.nr_cpus();
        check_groups(&workload, nr_cpus)?;
        if profile.features.has(Feature::FLAT_GROUPS) {
            check_flat_limits(&workload)?;
        }
        let mut warnings = fit_affinity(&mut workload, nr_cpus);
        if !profile.features.has(Feature::FAIR_GROUP_SCHED) && has_group_settings(&workload) {
            warnings
                .push("without FAIR_GROUP_SCHED groups have no weights and no limits".to_string());
        }
        let kernel_preemptible = matches!(profile.preempt, Preempt::Full | Preempt::Lazy);
        let mut sched = Sched::new(profile, machine.topology.clone());
        sched.seed(seed);
        sched.set_balance_cost(fairwind_sched::balance::BalanceCost {
            per_cpu_ns: machine.costs.search_ns.llc,
        });
        let options = RunOptions {
            seed,
            ..RunOptions::default()
        };
        let runtime = Runtime::with_options(&workload, options);
        let end = match (duration, runtime.end_ns()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let places = &machine.topology.cpus;
        let nr_cores = places.iter().map(|p| p.core + 1).max().unwrap_or(0) as usize;
        let nr_packages = places.iter().map(|p| p.package + 1).max().unwrap_or(0) as usize;
        let mut core_cpus = vec![Vec::new(); nr_cores];
        for (cpu, place) in places.iter().enumerate() {
            core_cpus[place.core as usize].push(CpuId(cpu as u32));
        }
        let nr_idle_states = machine.costs.idle.states().len();
        let widest = core_cpus.iter().map(Vec::len).max().unwrap_or(0);
        let smt_slows = (1..=widest).any(|busy| machine.costs.smt_speed_per_1024(busy) != 1024);
        let frequency_speeds = (0..=nr_cores as u32)
            .map(|active| machine.costs.frequency.speed_per_1024(active))
            .collect();
        let kernel_speeds: Vec<u64> = (0..=nr_cores as u32)
            .map(|active| machine.costs.frequency.kernel_speed_per_1024(active))
            .collect();
        let kernel_at_reference = !smt_slows && kernel_speeds.iter().all(|&speed| speed == 1024);
        let frequency_scales = (0..=nr_cores as u32)
            .map(|active| machine.costs.frequency.scale_per_1024(active))
            .collect();
        let mut simulation = Simulation {
            cpus: (0..nr_cpus as u32)
                .map(|cpu| Cpu::new(TaskId(cpu), nr_idle_states))
                .collect(),
            tasks: Vec::new(),
            task_ids: vec![TaskId::NONE; runtime.nr_tasks()],
            group_ids: Vec::new(),
            group_paths: vec!["/".to_string()],
            group_usage: vec![GroupUsage::default()],
            pressure: None,
            period_generations: vec![0],
            group_timer_cpus: vec![CpuId(0)],
            core_busy: vec![0; nr_cores],
            package_busy: vec![0; nr_packages],
            core_cpus,
            smt_slows,
            frequency_speeds,
            kernel_speeds,
            kernel_at_reference,
            frequency_scales,
            kernel_preemptible,
            locks: Locks::new(nr_cpus),
            spinlocks: vec![Spinlock::default(); workload.objects.spinlocks.len()],
            warmth: Warmth::new(&machine),
            donors: BTreeMap::new(),
            stream_cpus: vec![CpuId::NONE; workload.objects.streams.len()],
            stream_memory: vec![0; workload.objects.streams.len()],
            socket_memory: 0,
            power: PowerMeter::new(&machine, nr_packages, nr_cores),
            totals: Totals::default(),
            tracer: None,
            monitors: Vec::new(),
            violation: None,
            trace_error: None,
            warnings,
            hypervisor: Hypervisor::default(),
            platform: None,
            queue: EventQueue::with_slots(nr_cpus * SLOTS_PER_CPU),
            program_effects: Effects::default(),
            now: 0,
            end,
            seed,
            sched,
            machine,
            workload,
            runtime,
        };
        simulation.make_groups();
        let nr_tasks = simulation.runtime.nr_tasks();
        simulation.sched.reserve_tasks(nr_tasks);
        simulation
            .tasks
            .reserve_exact(simulation.sched.tasks.len() + nr_tasks);
        for task in simulation.sched.tasks.ids() {
            debug_assert_eq!(task.idx(), simulation.tasks.len());
            simulation.tasks.push(TaskRun::new(u32::MAX));
        }
        let deepest_polls = simulation.machine.costs.idle.states()[nr_idle_states - 1].polling;
        for cpu in simulation.sched.rqs.ids() {
            simulation.cpus[cpu.idx()].idle_since = Some(0);
            simulation.sched.rqs[cpu].polling = deepest_polls;
            simulation.cpus[cpu.idx()].idle_state = nr_idle_states - 1;
            simulation.sched.nohz_balance_enter_idle(cpu);
        }
        simulation.sched.found_idle();
        simulation.make_guests()?;
        simulation.carry_out_effects(CpuId(0));
        let starts: Vec<(usize, u64)> = simulation.runtime.start().collect();
        for (task, time) in starts {
            simulation
                .queue
                .push(time, Event::Start { task: task as u32 });
        }
        Ok(simulation)
    }

    /// Writes every event to a trace from now on; call before the run.
    pub fn trace_to(&mut self, sinks: Vec<Box<dyn TraceSink>>) {
        self.sched.notice_runtime = true;
        self.tracer = Some(Tracer::new(sinks, &self.group_paths, &self.sched));
    }

    fn make_groups(&mut self) {
        self.sched.reserve_groups(self.workload.groups.len());
        for idx in 0..self.workload.groups.len() {
            let spec = self.workload.groups[idx].clone();
            let group = match spec.parent {
                None => GroupId::ROOT,
                Some(parent) => self.make_group(self.group_ids[parent.idx()], &spec.path),
            };
            self.group_ids.push(group);
            self.set_group(group, &spec);
        }
    }

    /// Makes a group below another.
    pub(crate) fn make_group(&mut self, parent: GroupId, path: &str) -> GroupId {
        let group = self.sched.create_group(parent, self.now);
        self.group_paths.push(path.to_string());
        self.group_usage.push(GroupUsage::default());
        if let Some(pressure) = &mut self.pressure {
            pressure.add_group(parent, self.now);
        }
        self.period_generations.push(0);
        self.group_timer_cpus.push(CpuId(0));
        group
    }

    fn set_group(&mut self, group: GroupId, spec: &GroupSpec) {
        const CHECKED: &str = "group settings were checked when read";
        if let Some(weight) = spec.weight {
            let shares =
                weight.shares(|nice| u64::from(SCHED_PRIO_TO_WEIGHT[(nice + 20) as usize]));
            self.sched
                .set_shares(group, shares, self.now)
                .expect(CHECKED);
        }
        if let Some(limit) = spec.bandwidth {
            let limit = BandwidthLimit {
                quota: limit.quota_us.map_or(RUNTIME_INF, |us| us * 1000),
                period: limit.period_us * 1000,
                burst: limit.burst_us * 1000,
            };
            self.sched
                .set_first_bandwidth(group, limit, self.now)
                .expect(CHECKED);
        }
        if spec.idle == Some(true) {
            self.sched.set_idle(group, true, self.now).expect(CHECKED);
        }
        let clamps = &mut self.sched.groups[group].uclamp;
        *clamps = [
            spec.uclamp_min.unwrap_or(clamps[0]),
            spec.uclamp_max.unwrap_or(clamps[1]),
        ];
    }

    /// A task of the workload starts, as if a thread on CPU 0 had created it.
    pub(crate) fn start_task(&mut self, program: u32) {
        let cpu = self.sched.active.first().unwrap_or(CpuId(0));
        self.charge(cpu);
        let task = self.sched.spawn(cpu, self.now);
        self.announce(cpu, task, program, TaskId::NONE);
        self.carry_out_effects(cpu);
        self.resume(cpu);
    }

    /// The running task of `cpu` forks.
    pub(crate) fn fork_task(&mut self, cpu: CpuId, parent: TaskId, program: usize) {
        let task = self.sched.fork(cpu, self.now);
        self.task_ids.push(TaskId::NONE);
        debug_assert_eq!(self.task_ids.len(), program + 1);
        self.announce(cpu, task, program as u32, parent);
    }

    fn announce(&mut self, cpu: CpuId, task: TaskId, program: u32, parent: TaskId) {
        debug_assert_eq!(task.idx(), self.tasks.len());
        self.tasks.push(TaskRun::new(program));
        self.tasks[task.idx()].mm = self.runtime.address_space(program as usize);
        self.task_ids[program as usize] = task;
        self.vcpu_created(task, program as usize);
        if let Some(tracer) = &mut self.tracer {
            let name = self.runtime.name(program as usize);
            tracer.task(self.now, cpu, &self.sched, task, parent, &name);
        }
        let attrs = self.runtime.initial_attrs(program as usize).clone();
        self.apply_attrs(cpu, task, &attrs);
        self.sched.wake_up_new_task(cpu, task, self.now);
    }
}
