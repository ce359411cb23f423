//! What a recording tells beside its events: kernel, machine, groups, and the state at its start.
//!
//! Model.      A folder with one file a fact, each a copy of what the kernel shows under that name.
//!             What a file does not tell stays at the kernel's default.
//! Not here.   The events: see `record`.

mod debug;
mod groups;
mod machine;

pub use debug::{CpuFacts, QueueFacts, TaskFacts};

use crate::error::Error;
use crate::gaps::{self, Gap};
use fairwind_sched::features::Origin;
use fairwind_sched::{
    CpuId, CpuMask, FEATURES, KernelProfile, Preempt, Release, Topology, TunableError,
};
use fairwind_trace::TraceInfo;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A group of tasks as its files say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupFacts {
    /// `cpu.shares`.
    pub shares: u64,
    /// `cpu.cfs_quota_us`; `None` is no limit.
    pub quota_us: Option<u64>,
    /// `cpu.cfs_period_us`.
    pub period_us: u64,
    /// `cpu.cfs_burst_us`.
    pub burst_us: u64,
    /// `cpu.idle`.
    pub idle: bool,
    /// `nr_periods` of `cpu.stat`: how many periods with a limit it had.
    pub nr_periods: u64,
}

impl GroupFacts {
    /// Has it a limit, or had it one?
    pub(crate) fn had_limit(&self) -> bool {
        self.quota_us.is_some() || self.nr_periods != 0
    }
}

impl Default for GroupFacts {
    fn default() -> Self {
        Self {
            shares: 1024,
            quota_us: None,
            period_us: 100_000,
            burst_us: 0,
            idle: false,
            nr_periods: 0,
        }
    }
}

/// When the debug files were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockFacts {
    /// Ticks since boot, as the kernel counts them.
    pub jiffies: u64,
    /// `sched_clk`, ns.
    pub sched_clock: u64,
    /// `cpu_clk`, ns: the clock of run queues, which is `sched_clk` with an offset from boot.
    pub cpu_clock: u64,
    /// `ktime`, ns: the clock of timers as `sched_clk` was read; ticks are due at multiples of their length.
    pub ktime: u64,
}

impl ClockFacts {
    /// The kernel reads one clock after the other, first that of timers, so that `sched_clk` is no further ahead of that, and
    /// the clock of run queues of `sched_clk`, than any reading says: that of another time, too.
    fn narrow(&mut self, other: &ClockFacts) {
        let least = |ahead: fn(&ClockFacts) -> i64| ahead(self).min(ahead(other));
        let of_timers = least(|of| of.sched_clock.wrapping_sub(of.ktime).cast_signed());
        let of_queues = least(|of| of.cpu_clock.wrapping_sub(of.sched_clock).cast_signed());
        self.ktime = self
            .sched_clock
            .saturating_add_signed(of_timers.saturating_neg());
        self.cpu_clock = self.sched_clock.saturating_add_signed(of_queues);
    }
}

/// What a recording tells beside its events.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The kernel with its features and tunables.
    pub profile: KernelProfile,
    /// The same in the end, if somebody changed features or tunables.
    pub profile_after: Option<KernelProfile>,
    /// The CPUs and their places.
    pub topology: Topology,
    /// CPUs that are offline.
    pub offline: Vec<CpuId>,
    /// CPUs that are in no domain though others are.
    pub isolated: CpuMask,
    /// Groups by their path, `/` the root.
    pub groups: BTreeMap<String, GroupFacts>,
    /// These are all groups that there were: a file lists them.
    pub groups_listed: bool,
    /// Cgroups without the CPU controller: their tasks are in the group above.
    pub no_groups: BTreeSet<String>,
    /// When `tasks` and `queues` were so.
    pub clock: Option<ClockFacts>,
    /// CPUs at that time.
    pub cpus: Vec<CpuFacts>,
    /// Tasks at that time.
    pub tasks: Vec<TaskFacts>,
    /// Tasks after the recording, or at its end.
    pub tasks_after: Vec<TaskFacts>,
    /// When that was, by the clock of run queues, ns; 0 if it is not told.
    pub after: u64,
    /// Fair queues at that time.
    pub queues: Vec<QueueFacts>,
    /// Tasks, by thread id or name, and the groups that they are in from the start, or from when they are forked.
    pub members: Vec<(String, String)>,
    /// Real-time tasks may be throttled: they had a limit in the beginning or the end, or it is not told.
    pub rt_limited: bool,
    /// What is not told.
    pub gaps: Vec<Gap>,
}

/// What the caller tells where a recording does not.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The kernel's release.
    pub release: Option<Release>,
    /// The machine.
    pub topology: Option<Topology>,
    /// A folder with the kernel's own files.
    pub folder: Option<PathBuf>,
    /// Files of groups as `PATH/FILE: VALUE`, the path from the root group on.
    pub cgroups: Vec<String>,
    /// Tasks, by thread id or name, and their groups.
    pub members: Vec<(String, String)>,
}

impl Facts {
    /// Reads the files of a folder, if there is one, and what the trace says of the machine.
    ///
    /// # Errors
    /// If a file is damaged, or the kernel is told nowhere.
    pub fn read(given: Given, trace: &TraceInfo) -> Result<Facts, Error> {
        let folder = given.folder.as_deref();
        let get = |name: &str| match folder {
            Some(folder) => read_optional(&folder.join(name)),
            None => Ok(String::new()),
        };
        let release = match given.release {
            Some(release) => release,
            None => release_told(&get("version")?, trace.uname.as_deref())?,
        };
        let mut gaps = Vec::new();
        let domains = get("domains")?;
        let (topology, offline, domains) = match given.topology {
            Some(topology) => (topology, Vec::new(), ""),
            None => {
                let path = folder.unwrap_or(Path::new("")).join("topology");
                let text = get("topology")?;
                let (topology, offline) = machine::topology(&path, &text, trace, &mut gaps)?;
                (topology, offline, &domains[..])
            }
        };
        let mut facts = Facts {
            profile: KernelProfile::new(release, topology.nr_cpus()),
            profile_after: None,
            isolated: machine::isolated(domains, topology.nr_cpus()),
            topology,
            offline,
            groups: BTreeMap::new(),
            groups_listed: false,
            no_groups: BTreeSet::new(),
            clock: None,
            cpus: Vec::new(),
            tasks: Vec::new(),
            tasks_after: Vec::new(),
            after: 0,
            queues: Vec::new(),
            members: given.members,
            rt_limited: true,
            gaps,
        };
        let features = get("features")?;
        facts.features(&features);
        let debug = get("sched-debug.before")?;
        let mut tunables = get("tunables")?;
        if tunables.is_empty() {
            tunables = debug::tunables(&debug);
        }
        facts.tunables(&tunables);
        let before = debug::read(release, &debug);
        if before.clock.is_none() || before.tasks.is_empty() {
            facts.gaps.push(gaps::STATE);
        }
        facts.clock = before.clock;
        let text = get("sched-debug.after")?;
        facts.profile_after = changed_profile(&facts.profile, &features, [&debug, &text]);
        let after = debug::read(release, &text);
        if let (Some(clock), Some(after)) = (&mut facts.clock, after.clock) {
            clock.narrow(&after);
        }
        facts.tasks_after = after.tasks;
        facts.rt_limited = before.rt_limited != Some(false) || after.rt_limited == Some(true);
        facts.after = after.clock.map_or(0, |clock| clock.cpu_clock);
        facts.cpus = before.cpus;
        facts.tasks = before.tasks;
        facts.queues = before.queues;
        facts.groups(&get("cgroups")?, &given.cgroups);
        Ok(facts)
    }

    /// Groups, by the lines of a file and those that are given. Who is in them, the debug file tells of those from before.
    fn groups(&mut self, cgroups: &str, given: &[String]) {
        if cgroups.is_empty() && given.is_empty() {
            let placed = self.tasks.iter().any(|task| task.group != "/");
            let gap = if placed { gaps::WEIGHTS } else { gaps::GROUPS };
            self.gaps.push(gap);
        }
        if groups::any_unread(cgroups.lines()) {
            self.gaps.push(gaps::SOME_WEIGHTS);
        }
        self.groups_listed = !cgroups.is_empty();
        let given = given.iter().map(String::as_str);
        (self.groups, self.no_groups) = groups::read(cgroups.lines().chain(given));
        let members = self.members.iter().map(|(_, group)| group);
        let before = self.tasks.iter().map(|task| &task.group);
        let told_of = members.chain(before).cloned().collect();
        groups::add_ancestors(&mut self.groups, told_of);
    }

    /// When the clock of timers was 0, in the trace's clock, if the kernel counts the periods of limits from
    /// there; else each group has a phase of its own. The clock of timers may have begun before the trace's.
    pub(crate) fn start_of_periods(&self) -> Option<i64> {
        let clock = self.clock.as_ref()?;
        match self.profile.release {
            Release::V6_1 => clock.sched_clock.checked_signed_diff(clock.ktime),
            Release::V6_12 | Release::V6_18 => None,
        }
    }

    /// Does a CPU forget that tasks were left to it before it queues them, and so look idle in between (`sched_ttwu_pending`)?
    pub(crate) fn clears_pending_first(&self) -> bool {
        match self.profile.release {
            Release::V6_1 => true,
            Release::V6_12 | Release::V6_18 => false,
        }
    }

    /// Does the timer's interrupt put throttled queues of other CPUs back itself, one after the other
    /// (`distribute_cfs_runtime`)?
    pub(crate) fn returns_in_order(&self) -> bool {
        match self.profile.release {
            Release::V6_1 => true,
            Release::V6_12 | Release::V6_18 => false,
        }
    }

    /// Is the entity with the earliest deadline picked, of those that are owed CPU time (`pick_eevdf`)?
    pub(crate) fn picks_by_deadline(&self) -> bool {
        match self.profile.release {
            Release::V6_1 => false,
            Release::V6_12 | Release::V6_18 => true,
        }
    }

    /// Does a waker read the virtual time of the queue that a task leaves without that queue's lock
    /// (`migrate_task_rq_fair`)?
    pub(crate) fn reads_time_left_behind(&self) -> bool {
        match self.profile.release {
            Release::V6_1 => true,
            Release::V6_12 | Release::V6_18 => false,
        }
    }

    fn features(&mut self, text: &str) {
        let told = set_features(&mut self.profile, text);
        let release = self.profile.release;
        let there = FEATURES
            .iter()
            .filter(|info| info.origin == Origin::Kernel && info.default_in(release).is_some());
        let missing = there.filter(|info| !told.contains(info.name)).count();
        if told.is_empty() {
            self.gaps.push(gaps::FEATURES);
        } else if missing > 0 {
            self.gaps.push(gaps::SOME_FEATURES);
        }
    }

    fn tunables(&mut self, text: &str) {
        let mut told = 0;
        let mut odd = 0;
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            if name == "preempt" {
                self.profile.preempt = match value.split(['(', ')']).nth(1) {
                    Some("none") => Preempt::None,
                    Some("full") => Preempt::Full,
                    Some("lazy") => Preempt::Lazy,
                    _ => Preempt::Voluntary,
                };
            } else if let Ok(value) = value.trim().parse() {
                match self.profile.set_tunable(name, value) {
                    Ok(()) => told += 1,
                    Err(
                        TunableError::Range(_) | TunableError::NoLevels | TunableError::Depth(_),
                    ) => odd += 1,
                    // What is unknown here (latency_warn_ms, NUMA balancing) decides nothing.
                    Err(TunableError::Unknown(_)) => {}
                }
            } else {
                odd += 1;
            }
        }
        if told == 0 {
            self.gaps.push(gaps::TUNABLES);
        } else if odd > 0 || !text.ends_with('\n') {
            self.gaps.push(gaps::SOME_TUNABLES);
        }
        // The recording shows when real-time tasks are throttled, whatever their limit is.
        self.profile.tunables.sched_rt_runtime_us = -1;
    }
}

/// The kernel by the debug files of the beginning and the end, if its settings differ in them.
fn changed_profile(
    first: &KernelProfile,
    features: &str,
    debug: [&str; 2],
) -> Option<KernelProfile> {
    let [before, after] = debug.map(debug::tunables);
    let pairs = |text| str::lines(text).filter_map(|line| line.split_once(' '));
    let before: BTreeMap<&str, &str> = pairs(&before).collect();
    let mut profile = first.clone();
    for (name, value) in pairs(&after) {
        if before.get(name).is_some_and(|before| *before != value) {
            // What is unknown or out of range is left as it was, as it is in the beginning.
            let _ = profile.set_tunable(name, value.parse().ok()?);
        }
    }
    let [before, after] = debug.map(|text| debug::features(text, features));
    let words: Vec<&str> = features.split_whitespace().collect();
    if before.is_some_and(|before| before.split(' ').eq(words)) {
        set_features(&mut profile, &after?);
    }
    (profile != *first).then_some(profile)
}

/// Switches features on and off as words tell it, and which were known.
fn set_features<'a>(profile: &mut KernelProfile, text: &'a str) -> BTreeSet<&'a str> {
    let mut told = BTreeSet::new();
    for word in text.split_whitespace() {
        let (on, name) = match word.strip_prefix("NO_") {
            Some(name) => (false, name),
            None => (true, word),
        };
        // Features that have nothing to do with decisions are not known here.
        if let Some(info) = FEATURES.iter().find(|info| info.name == name) {
            profile.features.set(info.feature, on);
            told.insert(name);
        }
    }
    told
}

/// The release of the file, or of the trace.
fn release_told(version: &str, uname: Option<&str>) -> Result<Release, Error> {
    let told = [Some(version), uname];
    let found = told.iter().flatten().find_map(|text| release_of(text));
    let text = told
        .into_iter()
        .flatten()
        .find(|text| !text.trim().is_empty());
    match (found, text) {
        (Some(release), _) => Ok(release),
        (None, Some(text)) => Err(Error::UnknownKernel {
            found: text.to_owned(),
        }),
        (None, None) => Err(Error::Missing {
            fact: "kernel",
            hint: "give it with --kernel, or check a folder with the file 'version'",
        }),
    }
}

/// A file's text, empty if there is none. Bytes that are no text stay as marks of that.
fn read_optional(path: &Path) -> Result<String, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(problem) => Err(Error::Io {
            path: path.to_owned(),
            problem,
        }),
    }
}

/// The release that a `uname -a` line names.
fn release_of(uname: &str) -> Option<Release> {
    let numbers = uname.split([' ', '-']).filter(|word| word.contains('.'));
    // Of 6.12.117 the first two numbers; a release candidate has no third.
    let release = |word: &'_ str| {
        let end = word.match_indices('.').nth(1);
        Release::parse(&word[..end.map_or(word.len(), |(end, _)| end)])
    };
    numbers.into_iter().find_map(release)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_sched::Feature;

    #[test]
    fn the_clock_of_run_queues_is_no_further_ahead_than_any_reading_says() {
        let read = |sched_clock, cpu_clock| ClockFacts {
            jiffies: 1,
            sched_clock,
            cpu_clock,
            ktime: 0,
        };
        // The first reading took 12 us longer between the two clocks.
        let mut clock = read(1_000_000, 600_015);
        clock.narrow(&read(9_000_000, 8_600_003));
        assert_eq!((clock.sched_clock, clock.cpu_clock), (1_000_000, 600_003));
        clock.narrow(&read(9_500_000, 9_100_009));
        assert_eq!((clock.cpu_clock, clock.ktime), (600_003, 0));
        // Between that of timers and the next one it took 4 us longer the first time.
        let mut later = read(1_500_000, 1_100_009);
        later.ktime = 500_004;
        clock.narrow(&later);
        assert_eq!((clock.cpu_clock, clock.ktime), (600_003, 4));
    }

    #[test]
    fn the_debug_files_tell_which_settings_change() {
        const NAMES: &str = "PLACE_LAG RUN_TO_PARITY\n";
        let first = KernelProfile::new(Release::V6_12, 4);
        let debug = |slice: &str, mask: u32| {
            format!("  .sysctl_sched_base_slice : {slice}\n  .sysctl_sched_features : {mask}\n")
        };
        let before = debug("2.100000", 3);
        let changed = |names: &str, after: &str| changed_profile(&first, names, [&before, after]);
        assert_eq!(changed(NAMES, &before), None);
        assert_eq!(changed(NAMES, ""), None, "there is none of the end");
        let after = changed(NAMES, &debug("5.000000", 1)).unwrap();
        assert_eq!(after.tunables.base_slice_ns, 5_000_000);
        assert!(after.features.has(Feature::PLACE_LAG));
        assert!(!after.features.has(Feature::RUN_TO_PARITY));
        let others = "PLACE_LAG NO_RUN_TO_PARITY\n";
        let by_slice = changed(others, &debug("5.000000", 1)).unwrap();
        assert!(
            by_slice.features == first.features,
            "these are not the names of its bits"
        );
    }

    #[test]
    fn the_release_is_that_of_uname() {
        let uname = "Linux (none) 6.12.117+deb12-amd64 #1 SMP Debian 6.12.117-1 x86_64";
        assert_eq!(release_of(uname), Some(Release::V6_12));
        assert_eq!(
            release_of("Linux a 6.1.0-49-amd64 Debian 6.1.192-1"),
            Some(Release::V6_1)
        );
        assert_eq!(release_of("Linux a 6.12-rc3 x86_64"), Some(Release::V6_12));
        assert_eq!(release_of("Linux a 5.10.0"), None);
    }
}
