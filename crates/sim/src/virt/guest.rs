//! One guest: how it is made of what the workload says and the host's machine.
//!
//! Model.       The guest's machine has the topology it is given, the caches and costs of the host's, and one idle state, HLT,
//!              which costs what the host makes of it. How fast its CPUs are is the host's, and nothing its kernel can see.
//!              Its kernel is the release it is given, or else the host's, with default features and tunables but for the
//!              switches it is given, whatever the host's are.

use super::directed_yield::YieldStats;
use super::params::Kvm;
use super::platform::Platform;
use super::rq_lock::RqLock;
use super::vcpu::Vcpu;
use crate::kernel_choice::{Choice, SwitchError};
use crate::setup::SetupError;
use crate::simulation::{Config, Simulation};
use fairwind_machine::{Frequency, IdleState, IdleStates, Machine, Power};
use fairwind_sched::{KernelProfile, Nanos, Release, Topology};
use fairwind_workload::{GuestSpec, GuestTopology, TaskSpecId, Virtqueue};

/// A guest.
pub(crate) struct Guest {
    pub(crate) name: String,
    /// Its kernel and what runs on it.
    pub(crate) sim: Box<Simulation>,
    /// The task of the host's workload that its vCPUs' threads are.
    pub(crate) threads: TaskSpecId,
    /// Its first vCPU among all of the host.
    pub(crate) first_vcpu: u32,
    pub(crate) nr_vcpus: u32,
    pub(crate) kvm: Kvm,
    pub(crate) virtqueues: Vec<Virtqueue>,
    /// `last_boosted_vcpu`: to whom a round yielded last.
    pub(crate) last_boosted: usize,
    pub(crate) yields: YieldStats,
}

impl Guest {
    /// Nothing it waits for is left to do.
    pub(crate) fn is_over(&self, now: Nanos) -> bool {
        self.sim.runtime.is_over() || self.sim.end.is_some_and(|end| now >= end)
    }
}

/// The guest's kernel, and what has no effect in it.
fn profile(
    spec: &GuestSpec,
    host: Release,
    warnings: &mut Vec<String>,
) -> Result<KernelProfile, SetupError> {
    let nr_vcpus = spec.topology.nr_vcpus() as usize;
    let Some(kernel) = &spec.kernel else {
        return Ok(KernelProfile::new(host, nr_vcpus));
    };
    let mut items = kernel.text.split(',').map(str::trim).peekable();
    let named = items.peek().and_then(|first| Release::parse(first));
    if named.is_some() {
        items.next();
    }
    let release = named.unwrap_or(host);
    let mut choice = Choice::of(KernelProfile::new(release, nr_vcpus));
    for item in items {
        let switched = choice.switch(item);
        switched.map_err(|error| unknown_switch(item, &error).within(&kernel.place))?;
    }
    warnings.extend(choice.warnings.into_iter().map(|(_, what)| what));
    Ok(choice.profile)
}

/// What is neither a kernel nor a switch of it.
fn unknown_switch(item: &str, error: &SwitchError) -> SetupError {
    if item.is_empty() || item.starts_with(|c: char| c.is_ascii_digit()) {
        let names = Release::ALL.map(Release::name).join(", ");
        let form = "KERNEL[,SWITCH]..., such as \"6.1,NO_SIS_UTIL,hz=1000\"";
        return SetupError::of(format!(
            "no kernel \"{item}\"; there are {names}; expected {form}"
        ));
    }
    SetupError::of(error.to_string())
}

/// The machine that a guest sees.
fn machine(name: &str, topology: GuestTopology, host: &Machine) -> Machine {
    let GuestTopology {
        sockets,
        cores,
        threads,
    } = topology;
    let mut topology = Topology::regular(sockets, cores, threads);
    for place in &mut topology.cpus {
        place.node = 0;
    }
    topology.node_distance = vec![vec![10]];
    let state = |name: &str| IdleState {
        name: name.to_string(),
        exit_latency_ns: 0,
        target_residency_ns: 0,
        power_mw: 0,
        polling: false,
    };
    let mut costs = host.costs.clone();
    costs.idle = IdleStates::new(vec![state("POLL"), state("HLT")]).expect("in order");
    costs.smt_speed_per_1024 = Vec::new();
    costs.frequency = Frequency {
        turbo: Vec::new(),
        invariance_cores: 0,
        kernel_khz: 0,
        ..costs.frequency
    };
    costs.power = Power::default();
    Machine::new(name, "a guest", topology, host.caches, costs)
}

impl Simulation {
    /// Makes the guests of the workload.
    pub(crate) fn make_guests(&mut self) -> Result<(), SetupError> {
        for (idx, spec) in std::mem::take(&mut self.workload.guests)
            .into_iter()
            .enumerate()
        {
            let guest = self.make_guest(idx, spec)?;
            self.hypervisor.guests.push(guest);
            self.hypervisor.rq_locks = self.sched.rqs.ids().map(RqLock::of).collect();
        }
        Ok(())
    }

    fn make_guest(&mut self, idx: usize, spec: GuestSpec) -> Result<Guest, SetupError> {
        let release = self.sched.profile.release;
        let kvm = Kvm::of(release, spec.kvm);
        let nr_vcpus = spec.topology.nr_vcpus();
        let mut warnings = Vec::new();
        let profile = profile(&spec, release, &mut warnings)?;
        let config = Config {
            machine: machine(&spec.name, spec.topology, &self.machine),
            profile,
            duration: None,
            // Guests of one kind do not draw the same numbers.
            seed: self.seed.wrapping_add((idx as u64 + 1) << 32),
        };
        let mut sim = Simulation::new(config, spec.workload)
            .map_err(|error| error.within(&format!("guest {}", spec.name)))?;
        sim.platform = Some(Box::new(Platform::new(
            nr_vcpus as usize,
            self.machine.clone(),
            spec.spinlocks,
        )));
        warnings.append(&mut sim.warnings);
        for warning in warnings {
            self.warnings
                .push(format!("guest {}: {warning}", spec.name));
        }
        for queue in &spec.virtqueues {
            self.runtime.cross(queue.host);
            sim.runtime.cross(queue.guest);
        }
        let first_vcpu = self.hypervisor.vcpus.len() as u32;
        for index in 0..nr_vcpus {
            self.hypervisor.vcpus.push(Vcpu::new(idx, index, &kvm.ple));
        }
        Ok(Guest {
            name: spec.name,
            sim: Box::new(sim),
            threads: spec.vcpus,
            first_vcpu,
            nr_vcpus,
            kvm,
            virtqueues: spec.virtqueues,
            last_boosted: 0,
            yields: YieldStats::default(),
        })
    }
}
