//! Electric energy, from which cores are busy and which idle state the others are in.
//!
//! Model. A core draws what its number of busy threads costs, or its idle state's power; a package adds its idle and
//!        uncore power. Energy is the sum over time.
//! Deviations. An idle core counts as being in its shallowest sleeping state: which state it is in matters by less than the
//!        difference to an active core.
//! Units. mW, ns and nJ·1000 (= mW·ns).

use fairwind_machine::{Machine, Power};
use fairwind_sched::Nanos;

/// The energy of one package so far.
#[derive(Clone, Debug)]
struct Package {
    since: Nanos,
    cores_mw: u64,
    awake: u32,
    energy: u128,
}

impl Package {
    #[inline]
    fn advance(&mut self, now: Nanos, power: &Power) {
        let mw = power.package_mw(self.cores_mw, self.awake > 0);
        self.energy += u128::from(mw) * u128::from(now - self.since);
        self.since = now;
    }
}

/// Adds up energy.
#[derive(Clone, Debug)]
pub(crate) struct PowerMeter {
    packages: Vec<Package>,
    core_busy: Vec<u32>,
    idle_mw: u64,
}

impl PowerMeter {
    pub(crate) fn new(machine: &Machine, nr_packages: usize, nr_cores: usize) -> Self {
        let states = machine.costs.idle.states();
        let idle_mw = states.get(1).or(states.first()).map_or(0, |s| s.power_mw);
        let mut packages = vec![
            Package {
                since: 0,
                cores_mw: 0,
                awake: 0,
                energy: 0
            };
            nr_packages
        ];
        let mut seen = vec![false; nr_cores];
        for place in &machine.topology.cpus {
            if !std::mem::replace(&mut seen[place.core as usize], true) {
                packages[place.package as usize].cores_mw +=
                    machine.costs.power.core_mw(0, idle_mw);
            }
        }
        PowerMeter {
            packages,
            core_busy: vec![0; nr_cores],
            idle_mw,
        }
    }

    /// A core's number of busy threads changed.
    pub(crate) fn change(
        &mut self,
        now: Nanos,
        machine: &Machine,
        package: usize,
        core: usize,
        busy: u32,
    ) {
        let power = &machine.costs.power;
        let p = &mut self.packages[package];
        p.advance(now, power);
        let before = std::mem::replace(&mut self.core_busy[core], busy);
        p.cores_mw =
            p.cores_mw + power.core_mw(busy, self.idle_mw) - power.core_mw(before, self.idle_mw);
        match (before, busy) {
            (0, 1..) => p.awake += 1,
            (1.., 0) => p.awake -= 1,
            _ => {}
        }
    }

    /// Brings all packages up to now.
    pub(crate) fn advance_all(&mut self, now: Nanos, machine: &Machine) {
        for package in &mut self.packages {
            package.advance(now, &machine.costs.power);
        }
    }

    /// Energy in mJ.
    pub(crate) fn energy_mj(&self) -> u64 {
        let total: u128 = self.packages.iter().map(|p| p.energy).sum();
        (total / 1_000_000_000) as u64
    }
}
