//! What a recording tells beside its events: kernel, machine, groups, and the state at its start.
//!
//! Model.      A folder with one file a fact, each a copy of what the kernel shows under that name.
//!             What a file does not tell stays at the kernel's default.
//! Not here.   The events: see `record`.

mod debug;
mod machine;

pub use debug::{QueueFacts, TaskFacts};

use crate::error::Error;
use fairwind_sched::{FEATURES, KernelProfile, Preempt, Release, Topology};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

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
}

impl Default for GroupFacts {
    fn default() -> Self {
        Self {
            shares: 1024,
            quota_us: None,
            period_us: 100_000,
            burst_us: 0,
            idle: false,
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
    /// `ktime`, ns: the clock of timers.
    pub ktime: u64,
}

/// What a recording tells beside its events.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The kernel with its features and tunables.
    pub profile: KernelProfile,
    /// The CPUs and their places.
    pub topology: Topology,
    /// Groups by their path, `/` the root.
    pub groups: BTreeMap<String, GroupFacts>,
    /// When `tasks` and `queues` were so.
    pub clock: Option<ClockFacts>,
    /// Tasks at that time.
    pub tasks: Vec<TaskFacts>,
    /// Fair queues at that time.
    pub queues: Vec<QueueFacts>,
}

/// What the caller tells where a recording does not.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The kernel's release.
    pub release: Option<Release>,
    /// The machine.
    pub topology: Option<Topology>,
}

impl Facts {
    /// Reads the files of a folder.
    ///
    /// # Errors
    /// If a file is damaged, or neither the folder nor `given` tells kernel or machine.
    pub fn read(folder: &Path, given: Given) -> Result<Facts, Error> {
        let get = |name: &str| read_optional(&folder.join(name));
        let release = given.release.or_else(|| release_of(&get("version").ok()?));
        let topology = match given.topology {
            Some(topology) => Some(topology),
            None => machine::topology(&folder.join("topology"), &get("topology")?)?,
        };
        let mut facts = Facts::of(Given { release, topology })?;
        facts.features(&get("features")?);
        facts.tunables(&get("tunables")?);
        facts.groups = groups(&get("cgroups")?);
        let release = facts.profile.release;
        let before = debug::read(release, &get("sched-debug.before")?);
        facts.clock = before.clock;
        facts.tasks = before.tasks;
        facts.queues = before.queues;
        Ok(facts)
    }

    /// Only what the caller tells, and the kernel's defaults.
    ///
    /// # Errors
    /// If kernel or machine is not told.
    pub fn of(given: Given) -> Result<Facts, Error> {
        let release = given.release.ok_or(Error::Missing {
            fact: "kernel",
            hint: "give it with --kernel, or check a folder with the file 'version'",
        })?;
        let topology = given.topology.ok_or(Error::Missing {
            fact: "machine",
            hint: "give it with --machine, or check a folder with the file 'topology'",
        })?;
        Ok(Facts {
            profile: KernelProfile::new(release, topology.nr_cpus()),
            topology,
            groups: BTreeMap::new(),
            clock: None,
            tasks: Vec::new(),
            queues: Vec::new(),
        })
    }

    /// When the clock of timers was 0, in the trace's clock, if the kernel counts the periods of limits from
    /// there; else each group has a phase of its own.
    pub(crate) fn start_of_periods(&self) -> Option<u64> {
        let clock = self.clock.as_ref()?;
        match self.profile.release {
            Release::V6_1 => clock.sched_clock.checked_sub(clock.ktime),
            Release::V6_12 => None,
        }
    }

    fn features(&mut self, text: &str) {
        for word in text.split_whitespace() {
            let (on, name) = match word.strip_prefix("NO_") {
                Some(name) => (false, name),
                None => (true, word),
            };
            // Features that have nothing to do with decisions are not known here.
            if let Some(info) = FEATURES.iter().find(|info| info.name == name) {
                self.profile.features.set(info.feature, on);
            }
        }
    }

    fn tunables(&mut self, text: &str) {
        for (name, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            if name == "preempt" {
                self.profile.preempt = match value.split(['(', ')']).nth(1) {
                    Some("none") => Preempt::None,
                    Some("full") => Preempt::Full,
                    _ => Preempt::Voluntary,
                };
            } else if let Ok(value) = value.trim().parse() {
                // What is unknown here (latency_warn_ms, NUMA balancing) decides nothing.
                let _ = self.profile.set_tunable(name, value);
            }
        }
        // Throttling of real-time tasks was off, or they would not have been recorded whole.
        self.profile.tunables.sched_rt_runtime_us = -1;
    }
}

fn read_optional(path: &Path) -> Result<String, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(problem) => Err(Error::Io {
            path: path.to_owned(),
            problem,
        }),
    }
}

/// The release that a `uname -a` line names.
pub(crate) fn release_of(uname: &str) -> Option<Release> {
    let numbers = uname.split([' ', '-']).filter(|word| word.contains('.'));
    numbers
        .filter_map(|word| word.match_indices('.').nth(1).map(|(end, _)| &word[..end]))
        .find_map(Release::parse)
}

/// Groups of the lines `/sys/fs/cgroup/cpu/PATH/FILE: VALUE`.
fn groups(text: &str) -> BTreeMap<String, GroupFacts> {
    let mut groups: BTreeMap<String, GroupFacts> = BTreeMap::new();
    for line in text.lines() {
        let Some((file, value)) = line.split_once(": ") else {
            continue;
        };
        let Some(path) = file.strip_prefix("/sys/fs/cgroup/cpu") else {
            continue;
        };
        let Some((path, file)) = path.rsplit_once('/') else {
            continue;
        };
        let path = if path.is_empty() { "/" } else { path };
        let group = groups.entry(path.to_owned()).or_default();
        let number = value.trim().parse::<u64>();
        match (file, number) {
            ("cpu.shares", Ok(value)) => group.shares = value,
            ("cpu.cfs_quota_us", value) => group.quota_us = value.ok(),
            ("cpu.cfs_period_us", Ok(value)) => group.period_us = value,
            ("cpu.cfs_burst_us", Ok(value)) => group.burst_us = value,
            ("cpu.idle", Ok(value)) => group.idle = value == 1,
            _ => {}
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_that_of_uname() {
        let uname = "Linux (none) 6.12.117+deb12-amd64 #1 SMP Debian 6.12.117-1 x86_64";
        assert_eq!(release_of(uname), Some(Release::V6_12));
        assert_eq!(
            release_of("Linux a 6.1.0-49-amd64 Debian 6.1.192-1"),
            Some(Release::V6_1)
        );
        assert_eq!(release_of("Linux a 5.10.0"), None);
    }

    #[test]
    fn groups_are_read_by_path() {
        let text = "/sys/fs/cgroup/cpu/cpu.shares: 1024 \n\
            /sys/fs/cgroup/cpu/b/c/cpu.shares: 512 \n\
            /sys/fs/cgroup/cpu/b/c/cpu.cfs_quota_us: 30000 \n\
            /sys/fs/cgroup/cpu/b/cpu.cfs_quota_us: -1 \n";
        let groups = groups(text);
        assert_eq!(groups.len(), 3);
        assert_eq!(groups["/b/c"].shares, 512);
        assert_eq!(groups["/b/c"].quota_us, Some(30_000));
        assert_eq!(groups["/b"].quota_us, None);
        assert_eq!(groups["/"], GroupFacts::default());
    }
}
