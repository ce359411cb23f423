//! Which kernel: the release whose functions are used, its features and its tunables.
//!
//! Invariants. A release is looked at only where a scheduler is built; the algorithms themselves never ask.
//! Source.     kernel/sched/{fair,rt,core,debug}.c @ 6.1.192, 6.12.117, 6.18.44; Debian's config (HZ=250).

use crate::features::Features;
use crate::interleave::BwInterleave;
use crate::levels::LevelTunables;
use crate::units::Nanos;
use alloc::string::String;
use alloc::vec::Vec;

/// A stable release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// 6.1.192: CFS.
    V6_1,
    /// 6.12.117: EEVDF.
    V6_12,
    /// 6.18.44: EEVDF, with slices that are protected as long as the shortest one that waits.
    V6_18,
}

impl Release {
    /// All releases, oldest first.
    pub const ALL: [Release; 3] = [Release::V6_1, Release::V6_12, Release::V6_18];

    /// `"6.1"`, `"6.12"`, `"6.18"`.
    pub fn name(self) -> &'static str {
        match self {
            Release::V6_1 => "6.1",
            Release::V6_12 => "6.12",
            Release::V6_18 => "6.18",
        }
    }

    /// The point release whose source was followed.
    pub fn point_release(self) -> &'static str {
        match self {
            Release::V6_1 => "6.1.192",
            Release::V6_12 => "6.12.117",
            Release::V6_18 => "6.18.44",
        }
    }

    /// Can the kernel be preempted lazily?
    pub fn has_lazy_preemption(self) -> bool {
        self == Release::V6_18
    }

    /// The release of that name.
    pub fn parse(name: &str) -> Option<Release> {
        Release::ALL
            .into_iter()
            .find(|r| r.name() == name || r.point_release() == name)
    }
}

/// When the kernel itself can be preempted; debugfs `sched/preempt`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Preempt {
    /// Only where it sleeps or returns to user space.
    None,
    /// Also at cond_resched().
    Voluntary,
    /// Anywhere outside critical sections.
    Full,
    /// 6.18: as `Full`, but what the fair class asks for waits until the running task is on its way to user space, or
    /// the next tick.
    Lazy,
}

macro_rules! tunables {
    ($($field:ident, $ty:ty, $unit:literal, $v6_1:expr, $v6_12:expr, $v6_18:expr, $doc:literal;)*) => {
        /// Tunables by their debugfs or sysctl names. Values hold after `tunable_scaling`.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct Tunables { $(#[doc = $doc] pub $field: $ty),* }

        /// Every tunable with unit and one line of help.
        pub const TUNABLES: &[TunableInfo] = &[$(TunableInfo {
            name: stringify!($field), unit: $unit, defaults: [$v6_1, $v6_12, $v6_18], help: $doc,
        }),*];

        impl Tunables {
            fn normalized(release: Release) -> Self {
                let value = |defaults: [Option<i64>; Release::ALL.len()]| defaults[release as usize].unwrap_or(0);
                Tunables { $($field: value([$v6_1, $v6_12, $v6_18]) as $ty),* }
            }

            /// The value of a tunable by name.
            pub fn get(&self, name: &str) -> Option<i64> {
                match name { $(stringify!($field) => Some(self.$field as i64),)* _ => None }
            }

            fn put(&mut self, name: &str, value: i64) {
                match name { $(stringify!($field) => self.$field = value as $ty,)* _ => {} }
            }
        }
    };
}

/// A row of [`TUNABLES`].
#[derive(Clone, Copy, Debug)]
pub struct TunableInfo {
    /// Its name in debugfs or sysctl.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// Default in each release, in their order, before scaling by the number of CPUs; `None`: not there.
    pub defaults: [Option<i64>; Release::ALL.len()],
    /// What it does, one line.
    pub help: &'static str,
}

impl TunableInfo {
    /// Its default in a release before scaling; `None` if it does not exist there.
    pub fn default_in(&self, release: Release) -> Option<i64> {
        self.defaults[release as usize]
    }
}

tunables! {
    latency_ns, u64, "ns", Some(6_000_000), None, None, "period in which every task should run once (scaled by CPUs)";
    min_granularity_ns, u64, "ns", Some(750_000), None, None, "shortest slice (scaled by CPUs)";
    idle_min_granularity_ns, u64, "ns", Some(750_000), None, None, "shortest slice of an idle entity beside others";
    wakeup_granularity_ns, u64, "ns", Some(1_000_000), None, None, "lead a waking task needs to preempt (scaled by CPUs)";
    base_slice_ns, u64, "ns", None, Some(700_000), Some(700_000), "slice of a task that asks for none (scaled by CPUs)";
    migration_cost_ns, i64, "ns", Some(500_000), Some(500_000), Some(500_000), "a task that ran less long ago is cache hot; -1: always, 0: never";
    nr_migrate, u32, "tasks", Some(32), Some(32), Some(32), "most tasks one balancing pass looks at";
    tunable_scaling, u32, "0|1|2", Some(1), Some(1), Some(1), "scale times by CPUs: 0 none, 1 logarithmic, 2 linear";
    sched_child_runs_first, u32, "0|1", Some(0), None, None, "a forked child runs before its parent";
    sched_cfs_bandwidth_slice_us, u64, "us", Some(5000), Some(5000), Some(5000), "runtime a CPU takes from a group's quota at a time";
    sched_rt_period_us, u64, "us", Some(1_000_000), Some(1_000_000), Some(1_000_000), "period of RT throttling";
    sched_rt_runtime_us, i64, "us", Some(950_000), Some(950_000), Some(950_000), "RT tasks' part of it; -1: no limit";
    sched_rr_timeslice_ms, u32, "ms", Some(100), Some(100), Some(100), "round-robin slice of SCHED_RR";
    fair_server_runtime_ns, u64, "ns", None, Some(50_000_000), Some(50_000_000), "CPU time RT leaves to fair tasks per period";
    fair_server_period_ns, u64, "ns", None, Some(1_000_000_000), Some(1_000_000_000), "period of the fair server";
}

/// A tunable was set that does not exist, or to a value it cannot have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TunableError {
    /// No tunable of this name in this release; the names there are.
    Unknown(Vec<&'static str>),
    /// The value is out of range; what is allowed.
    Range(String),
    /// This one cannot be set for a level.
    NoLevels,
    /// This is no depth; what is one.
    Depth(String),
}

/// A kernel to schedule like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelProfile {
    /// The release.
    pub release: Release,
    /// Features, on or off.
    pub features: Features,
    /// Tunables.
    pub tunables: Tunables,
    /// What differs at some level of the group tree, by depth.
    pub levels: Vec<LevelTunables>,
    /// Ticks a second.
    pub hz: u32,
    /// Idle CPUs stop their tick (CONFIG_NO_HZ_IDLE, nohz=).
    pub nohz: bool,
    /// Time in interrupts is no task's (CONFIG_IRQ_TIME_ACCOUNTING; Debian leaves it out).
    pub irq_time: bool,
    /// When the kernel itself can be preempted.
    pub preempt: Preempt,
    /// Utilisation clamps honoured (CONFIG_UCLAMP_TASK; Debian leaves it out).
    pub uclamp: bool,
    /// By how many CPUs times are scaled: those that are online.
    pub scaled_cpus: usize,
    /// Where in time the periods of CPU limits begin.
    pub bw_interleave: BwInterleave,
    /// Periods of CPU limits vary by so many percent, either way.
    pub bw_period_jitter_pct: u32,
    /// SIS_CACHE: idle CPUs that a scan may pass over, in percent of the CPUs it may look at.
    pub sis_cache_hot_pct: u32,
}

impl KernelProfile {
    /// A release with its defaults on a machine of `nr_cpus`, configured as Debian's kernels are.
    pub fn new(release: Release, nr_cpus: usize) -> Self {
        let mut profile = KernelProfile {
            release,
            features: Features::defaults(release),
            tunables: Tunables::normalized(release),
            levels: Vec::new(),
            hz: 250,
            nohz: true,
            irq_time: false,
            preempt: Preempt::Voluntary,
            uclamp: false,
            scaled_cpus: 1,
            bw_interleave: match release {
                Release::V6_1 => BwInterleave::Aligned,
                Release::V6_12 | Release::V6_18 => BwInterleave::Random,
            },
            bw_period_jitter_pct: 0,
            sis_cache_hot_pct: 50,
        };
        profile.scale_times(nr_cpus);
        profile
    }

    /// So many CPUs are online from now on; kernel `update_sysctl`.
    pub(crate) fn scale_times(&mut self, nr_cpus: usize) {
        let factor = scaling_factor(self.tunables.tunable_scaling, nr_cpus);
        let before = self.scaling_factor();
        self.scaled_cpus = nr_cpus;
        for scaled in [
            &mut self.tunables.latency_ns,
            &mut self.tunables.min_granularity_ns,
            &mut self.tunables.wakeup_granularity_ns,
            &mut self.tunables.base_slice_ns,
        ] {
            *scaled = *scaled * factor / before;
        }
    }

    /// What the scaled tunables are multiplied by.
    pub(crate) fn scaling_factor(&self) -> u64 {
        scaling_factor(self.tunables.tunable_scaling, self.scaled_cpus)
    }

    /// Length of a tick in ns.
    pub fn tick_nsec(&self) -> Nanos {
        1_000_000_000 / u64::from(self.hz)
    }

    /// Sets a tunable by name; `NAME@DEPTH` sets it for one level of the group tree (see `levels`).
    ///
    /// # Errors
    /// If the release has no such tunable or the value is out of its range.
    pub fn set_tunable(&mut self, name: &str, value: i64) -> Result<(), TunableError> {
        let (name, depth) = match name.split_once('@') {
            Some((name, depth)) => (name, Some(depth)),
            None => (name, None),
        };
        let known = |info: &&TunableInfo| info.default_in(self.release).is_some();
        if !TUNABLES.iter().filter(known).any(|info| info.name == name) {
            return Err(TunableError::Unknown(
                TUNABLES.iter().filter(known).map(|i| i.name).collect(),
            ));
        }
        let (low, high) = match name {
            "migration_cost_ns" => (-1, i64::from(u32::MAX)),
            "sched_rt_runtime_us" => (-1, self.tunables.sched_rt_period_us as i64),
            "sched_child_runs_first" => (0, 1),
            "tunable_scaling" => (0, 2),
            "base_slice_ns" | "latency_ns" | "min_granularity_ns" => (100_000, 1_000_000_000),
            "wakeup_granularity_ns" | "idle_min_granularity_ns" | "fair_server_runtime_ns" => {
                (0, 1_000_000_000)
            }
            _ => (1, 1_000_000_000),
        };
        if !(low..=high).contains(&value) {
            return Err(TunableError::Range(alloc::format!("{low} to {high}")));
        }
        match depth {
            Some(depth) => return self.set_level_tunable(name, depth, value as u64),
            None => self.tunables.put(name, value),
        }
        Ok(())
    }
}

/// Kernel `get_update_sysctl_factor`.
fn scaling_factor(tunable_scaling: u32, nr_cpus: usize) -> u64 {
    let cpus = nr_cpus.clamp(1, 8) as u64;
    match tunable_scaling {
        0 => 1,
        2 => cpus,
        _ => 1 + u64::from(cpus.ilog2()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_scale_with_the_logarithm_of_the_cpus() {
        assert_eq!(
            KernelProfile::new(Release::V6_12, 1).tunables.base_slice_ns,
            700_000
        );
        assert_eq!(
            KernelProfile::new(Release::V6_12, 6).tunables.base_slice_ns,
            2_100_000
        );
        assert_eq!(
            KernelProfile::new(Release::V6_12, 240)
                .tunables
                .base_slice_ns,
            2_800_000
        );
        assert_eq!(
            KernelProfile::new(Release::V6_1, 8).tunables.latency_ns,
            24_000_000
        );
    }

    #[test]
    fn times_are_scaled_anew_when_other_cpus_are_online() {
        let mut profile = KernelProfile::new(Release::V6_1, 4);
        profile.scale_times(3);
        let tunables = &profile.tunables;
        assert_eq!(
            (tunables.latency_ns, tunables.wakeup_granularity_ns),
            (12_000_000, 2_000_000)
        );
        assert_eq!(tunables.idle_min_granularity_ns, 750_000);
        profile.scale_times(4);
        assert_eq!(profile, KernelProfile::new(Release::V6_1, 4));
    }

    #[test]
    fn a_tunable_of_another_release_is_refused_with_the_names_there_are() {
        let mut profile = KernelProfile::new(Release::V6_12, 1);
        assert!(matches!(profile.set_tunable("latency_ns", 1_000_000),
            Err(TunableError::Unknown(names)) if names.contains(&"base_slice_ns")));
        assert_eq!(profile.set_tunable("base_slice_ns", 3_000_000), Ok(()));
        assert_eq!(profile.tunables.get("base_slice_ns"), Some(3_000_000));
    }
}
