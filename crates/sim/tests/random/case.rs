//! A random case: everything a run is made of, from one number.

use crate::change::Change;
use crate::draw::Draw;
use crate::workload::{Contents, workload};
use fairwind_machine::{Costs, Machine};
use fairwind_sched::features::{FeatureInfo, GUEST_FEATURES, Origin};
use fairwind_sched::{BwInterleave, FEATURES, Feature, KernelProfile, Preempt, Release};
use fairwind_sim::{Config, Report, Simulation, monitor};
use fairwind_trace::{Header, create};
use fairwind_workload::parse;
use std::path::Path;

const MS: u64 = 1_000_000;

/// Cases from this number on are of 6.18, those before of the older releases.
pub(crate) const FIRST_OF_6_18: u64 = 1_000_000;

/// What kind of cases to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Theme {
    /// A few CPUs, few tasks, everything else.
    Small,
    /// Group trees with limits.
    Limits,
    /// CPUs go and come back.
    Hotplug,
    /// Up to 32 CPUs with SMT, several caches and nodes.
    Large,
    /// Default features and costs over a longer time.
    Long,
    /// Published changes and build options.
    Changes,
}

/// A case.
#[derive(Debug)]
pub(crate) struct Case {
    pub machine: String,
    pub free: bool,
    pub profile: KernelProfile,
    pub duration: u64,
    pub seed: u64,
    pub changes: Vec<(u64, Change)>,
    pub workload: String,
}

fn machine(draw: &mut Draw, theme: Theme) -> String {
    let small = [
        "1x1x1", "1x1x2", "1x2x1", "1x4x1", "1x2x2", "2x2x1", "2x1x2", "1x2x2x1",
    ];
    let large = [
        "1x4x2",
        "1x8x1",
        "2x4x2",
        "2x2x2x2",
        "2x2x1x2x2",
        "4x2x2",
        "1x2x8x1",
        "2x8x2",
        "4x4x2",
        "2x2x2x4x1",
    ];
    match theme {
        Theme::Large => draw.of(&large),
        Theme::Changes if draw.chance(30) => draw.of(&large),
        _ if draw.chance(10) => draw.of(&large),
        _ => draw.of(&small),
    }
    .to_string()
}

/// Switches what a kernel does not have by itself.
fn changes(draw: &mut Draw, profile: &mut KernelProfile) {
    // Those that only act on guests have cases of their own.
    let acts = |info: &&FeatureInfo| {
        info.origin == Origin::Change && !GUEST_FEATURES.contains(&info.feature)
    };
    for info in FEATURES.iter().filter(acts) {
        let chance = if info.default_in(profile.release) == Some(true) {
            5
        } else {
            40
        };
        if draw.chance(chance) {
            profile
                .features
                .set(info.feature, !profile.features.has(info.feature));
        }
    }
    profile.bw_interleave = draw.of(&BwInterleave::ALL);
    if draw.chance(30) {
        profile.bw_period_jitter_pct = draw.range(1, 50) as u32;
    }
    for name in [
        "base_slice_ns",
        "min_granularity_ns",
        "wakeup_granularity_ns",
    ] {
        if draw.chance(20) {
            let depth = draw.range(0, 2);
            // Not above the defaults, by which the monitors' bounds are reckoned.
            let value = draw.spread(100_000, 700_000) as i64;
            // Tunables of the other release are refused.
            let _ = profile.set_tunable(&format!("{name}@{depth}"), value);
        }
    }
}

fn profile(draw: &mut Draw, theme: Theme, seed: u64, nr_cpus: usize) -> KernelProfile {
    let older = draw.of(&[Release::V6_1, Release::V6_12]);
    let release = if seed < FIRST_OF_6_18 {
        older
    } else {
        Release::V6_18
    };
    let mut profile = KernelProfile::new(release, nr_cpus);
    profile.hz = draw.of(&[100, 250, 250, 1000]);
    profile.preempt = draw.of(&[Preempt::None, Preempt::Voluntary, Preempt::Full]);
    if release.has_lazy_preemption() && draw.chance(30) {
        profile.preempt = Preempt::Lazy;
    }
    if theme == Theme::Long {
        return profile;
    }
    if theme == Theme::Changes {
        changes(draw, &mut profile);
        return profile;
    }
    if draw.chance(50) {
        let own = |info: &&FeatureInfo| {
            info.origin == Origin::Kernel && info.default_in(release).is_some()
        };
        for info in FEATURES.iter().filter(own) {
            if draw.chance(15) {
                profile
                    .features
                    .set(info.feature, !profile.features.has(info.feature));
            }
        }
    }
    let tunables: [(&str, u64, u64); 7] = [
        ("base_slice_ns", 100_000, 20 * MS),
        ("latency_ns", 100_000, 50 * MS),
        ("min_granularity_ns", 100_000, 10 * MS),
        ("wakeup_granularity_ns", 1, 10 * MS),
        ("migration_cost_ns", 1, 5 * MS),
        ("sched_cfs_bandwidth_slice_us", 100, 10_000),
        ("nr_migrate", 1, 64),
    ];
    for (name, low, high) in tunables {
        if draw.chance(20) {
            let value = draw.spread(low, high) as i64;
            // Tunables of the other release are refused.
            let _ = profile.set_tunable(name, value);
        }
    }
    profile
}

impl Case {
    /// The case of a number.
    pub(crate) fn new(theme: Theme, seed: u64) -> Case {
        let draw = &mut Draw::new(seed ^ ((theme as u64) << 56));
        let machine = machine(draw, theme);
        let nr_cpus = Machine::load(&machine).unwrap().nr_cpus();
        let profile = profile(draw, theme, seed, nr_cpus);
        let duration = match theme {
            Theme::Long => draw.range(500, 1500) * MS,
            Theme::Large => draw.range(10, 40) * MS,
            _ => draw.range(20, 150) * MS,
        };
        // Limits of groups with groups below them are refused then.
        let flat = profile.features.has(Feature::FLAT_GROUPS);
        let contents = Contents {
            nr_cpus: nr_cpus as u64,
            max_tasks: if theme == Theme::Large { 24 } else { 8 },
            max_groups: match theme {
                Theme::Limits => 8,
                Theme::Large => 4,
                Theme::Long if draw.chance(50) => 0,
                _ => 4,
            },
            limits: (matches!(theme, Theme::Limits | Theme::Changes) || draw.chance(30)) && !flat,
            rt: draw.chance(50),
            locks: draw.chance(60),
        };
        let workload = workload(draw, contents);
        let nr_changes = if theme == Theme::Hotplug {
            draw.range(2, 20)
        } else {
            draw.range(0, 12)
        };
        let mut changes: Vec<(u64, Change)> = (0..nr_changes)
            .map(|_| {
                let time = draw.range(0, duration);
                let hotplug = theme == Theme::Hotplug;
                (
                    time,
                    Change::random(draw, nr_cpus as u64, hotplug, contents.limits),
                )
            })
            .collect();
        changes.sort_by_key(|change| change.0);
        Case {
            machine,
            free: draw.chance(50),
            profile,
            duration,
            seed,
            changes,
            workload,
        }
    }

    /// The simulation at time 0, watched by all monitors.
    pub(crate) fn simulation(&self) -> Simulation {
        let mut machine = Machine::load(&self.machine).unwrap();
        if self.free {
            machine = machine.with_costs(Costs::none());
        }
        let config = Config {
            machine,
            profile: self.profile.clone(),
            duration: Some(self.duration),
            seed: self.seed,
        };
        let workload = parse(&self.workload, "case.json").unwrap_or_else(|error| panic!("{error}"));
        let mut simulation =
            Simulation::new(config, workload).unwrap_or_else(|error| panic!("{error}"));
        for monitor in monitor::all() {
            simulation.add_monitor(monitor);
        }
        simulation
    }

    /// Runs it, and writes a trace up to where it went wrong if asked to; what the monitors or the report say is wrong.
    pub(crate) fn run(&self, trace: Option<&Path>) -> Result<Report, String> {
        let mut simulation = self.simulation();
        if let Some(path) = trace {
            let header = Header {
                nr_cpus: simulation.sched().nr_cpus() as u32,
                kernel: self.profile.release.name().to_string(),
                machine: self.machine.clone(),
                hz: self.profile.hz,
            };
            let sink = create(path, &header).map_err(|error| error.to_string())?;
            simulation.trace_to(vec![sink]);
        }
        for (time, change) in &self.changes {
            simulation.run_until(*time);
            if simulation.violation().is_none() {
                change.apply(&mut simulation);
            }
        }
        simulation.run();
        simulation.finish().map_err(|error| error.to_string())?;
        if let Some(violation) = simulation.violation() {
            return Err(violation.to_string());
        }
        let report = simulation.report(false);
        let mut busy = 0;
        for cpu in &report.cpus {
            busy += cpu.busy_ns;
            if cpu.busy_ns + cpu.idle_ns != report.duration_ns {
                return Err(format!(
                    "cpu {}: {} busy + {} idle",
                    cpu.cpu, cpu.busy_ns, cpu.idle_ns
                ));
            }
        }
        let tasks: u64 = report.tasks.iter().map(|task| task.cpu_ns).sum();
        if tasks > busy {
            return Err(format!(
                "tasks ran for {tasks} ns, CPUs were busy for {busy}"
            ));
        }
        Ok(report)
    }
}
