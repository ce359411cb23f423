//! Groups, as their cgroup files say.
//!
//! Model.   Lines `PATH/FILE: VALUE`. The path is one of `/sys/fs/cgroup`, there with or without the `cpu` of
//!          version 1, or begins at the root group. Files of both versions are known. A cgroup of version 2 for which the
//!          CPU controller is not enabled has statistics only: it is no task group.
//! Units.   As the files have them. A weight of version 2 becomes shares as in the kernel: 100 are 1024.
//! Source.  kernel/sched/core.c `sched_weight_from_cgroup`, `cpu_max_write` @ 6.12.

use super::GroupFacts;
use std::collections::{BTreeMap, BTreeSet};

/// Shares of a group of weight 100.
const DEFAULT_SHARES: u64 = 1024;
/// A version 2 weight that is the default, and the largest.
const DEFAULT_WEIGHT: u64 = 100;
const MAX_WEIGHT: u64 = 10_000;

/// Groups by their path, and the paths of cgroups that are none.
pub(super) fn read<'a>(
    lines: impl Iterator<Item = &'a str>,
) -> (BTreeMap<String, GroupFacts>, BTreeSet<String>) {
    let mut groups: BTreeMap<String, GroupFacts> = BTreeMap::new();
    let mut with_statistics: BTreeSet<String> = BTreeSet::new();
    for line in lines {
        let Some((file, value)) = line.split_once(": ") else {
            continue;
        };
        let Some((path, file)) = from_root(file).rsplit_once('/') else {
            continue;
        };
        let path = if path.is_empty() { "/" } else { path };
        if let Some(nr_periods) = nr_periods(file, value) {
            groups.entry(path.to_owned()).or_default().nr_periods = nr_periods;
            continue;
        }
        if path != "/" && is_statistics(file) {
            with_statistics.insert(path.to_owned());
            continue;
        }
        let group = groups.entry(path.to_owned()).or_default();
        group.take(file, value.trim());
    }
    let paths = groups.keys().cloned().collect();
    add_ancestors(&mut groups, paths);
    with_statistics.retain(|path| !groups.contains_key(path));
    (groups, with_statistics)
}

/// Is there a weight or a limit among these lines that cannot be read?
pub(super) fn any_unread<'a>(mut lines: impl Iterator<Item = &'a str>) -> bool {
    lines.any(|line| {
        let setting = line.split_once(": ");
        let setting = setting.and_then(|(path, value)| Some((path.rsplit_once('/')?.1, value)));
        setting.is_some_and(|(file, value)| !is_value(file, value.trim()))
    })
}

/// Could the kernel have written this to a file? Of files with other things than settings it could.
fn is_value(file: &str, value: &str) -> bool {
    let is_number = |value: &str| value.parse::<u64>().is_ok();
    match file {
        "cpu.shares" | "cpu.weight" | "cpu.cfs_period_us" | "cpu.cfs_burst_us"
        | "cpu.max.burst" | "cpu.idle" => is_number(value),
        "cpu.cfs_quota_us" => value == "-1" || is_number(value),
        "cpu.max" => {
            let mut words = value.split_whitespace();
            let quota = words.next();
            quota.is_some_and(|word| word == "max" || is_number(word)) && words.all(is_number)
        }
        _ => true,
    }
}

/// Has a cgroup of version 2 this file without the controller, too?
fn is_statistics(file: &str) -> bool {
    matches!(file, "cpu.stat" | "cpu.stat.local" | "cpu.pressure")
}

/// How many periods a group with the controller had, if this is the file that says it.
fn nr_periods(file: &str, value: &str) -> Option<u64> {
    let mut words = value.split_whitespace();
    words.find(|word| file == "cpu.stat" && *word == "nr_periods")?;
    words.next()?.parse().ok()
}

/// Adds groups, and those that they are in.
pub(super) fn add_ancestors(groups: &mut BTreeMap<String, GroupFacts>, paths: Vec<String>) {
    for path in paths {
        let mut path = path.as_str();
        while !path.is_empty() && path != "/" {
            groups.entry(path.to_owned()).or_default();
            path = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }
}

fn from_root(file: &str) -> &str {
    let Some(path) = file.strip_prefix("/sys/fs/cgroup") else {
        return file;
    };
    let version_1 = ["/cpu/", "/cpu,cpuacct/"];
    let mount = version_1.iter().find(|mount| path.starts_with(*mount));
    mount.map_or(path, |mount| &path[mount.len() - 1..])
}

/// Is it one that the kernel lets a limit have (`max_cfs_runtime`), in us?
fn is_time(us: &u64) -> bool {
    (1..1 << 44).contains(us)
}

impl GroupFacts {
    fn take(&mut self, file: &str, value: &str) {
        let number = value.parse::<u64>();
        match (file, number) {
            ("cpu.shares", Ok(value)) => self.shares = value,
            ("cpu.weight", Ok(weight)) => {
                let weight = weight.clamp(1, MAX_WEIGHT);
                self.shares = (weight * DEFAULT_SHARES + DEFAULT_WEIGHT / 2) / DEFAULT_WEIGHT;
            }
            ("cpu.cfs_quota_us", value) => self.quota_us = value.ok().filter(is_time),
            ("cpu.cfs_period_us", Ok(value)) if is_time(&value) => self.period_us = value,
            ("cpu.cfs_burst_us" | "cpu.max.burst", Ok(value)) if is_time(&value) => {
                self.burst_us = value;
            }
            ("cpu.max", _) => {
                let mut words = value.split_whitespace();
                let mut time = || words.next()?.parse().ok().filter(is_time);
                self.quota_us = time();
                if let Some(period) = time() {
                    self.period_us = period;
                }
            }
            ("cpu.idle", Ok(value)) => self.idle = value == 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_version_1_are_read_by_path() {
        let text = "/sys/fs/cgroup/cpu/cpu.shares: 1024 \n\
            /sys/fs/cgroup/cpu/b/c/cpu.shares: 512 \n\
            /sys/fs/cgroup/cpu/b/c/cpu.cfs_quota_us: 30000 \n\
            /sys/fs/cgroup/cpu/b/cpu.stat: nr_periods 69 nr_throttled 57 throttled_time 4 \n\
            /sys/fs/cgroup/cpu/b/cpu.cfs_quota_us: -1 \n";
        let (groups, _) = read(text.lines());
        assert_eq!(groups.len(), 3);
        assert_eq!(groups["/b/c"].shares, 512);
        assert_eq!(groups["/b/c"].quota_us, Some(30_000));
        assert_eq!(groups["/b"].quota_us, None);
        assert_eq!(
            (groups["/b"].nr_periods, groups["/b"].had_limit()),
            (69, true)
        );
        assert_eq!(groups["/"], GroupFacts::default());
    }

    #[test]
    fn groups_of_version_2_and_their_parents_are_read() {
        let lines = [
            "/sys/fs/cgroup/web/api/cpu.weight: 200",
            "/sys/fs/cgroup/web/api/cpu.max: 20000 50000",
            "/jobs/cpu.max: max 100000",
            "/jobs/cpu.idle: 1",
            "/jobs/cpu.stat: usage_usec 7",
            "/jobs/one/cpu.stat: usage_usec 7",
            "/jobs/one/cpu.pressure: some avg10=0.00",
        ];
        let (groups, others) = read(lines.into_iter());
        assert_eq!(others.into_iter().collect::<Vec<_>>(), ["/jobs/one"]);
        let api = groups["/web/api"];
        assert_eq!(
            (api.shares, api.quota_us, api.period_us),
            (2048, Some(20_000), 50_000)
        );
        assert_eq!(groups["/web"], GroupFacts::default());
        assert_eq!(
            (groups["/jobs"].quota_us, groups["/jobs"].idle),
            (None, true)
        );
    }

    #[test]
    fn values_that_no_kernel_writes_are_noticed() {
        let unread = |line| any_unread([line].into_iter());
        for line in [
            "/sys/fs/cgroup/cpu/b/cpu.shares: 512 ",
            "/sys/fs/cgroup/cpu/b/cpu.cfs_quota_us: -1 ",
            "/jobs/cpu.max: max 100000",
            "/jobs/cpu.max: 20000 50000",
            "/jobs/cpu.pressure: some avg10=0.00",
        ] {
            assert!(!unread(line), "{line}");
        }
        for line in [
            "/sys/fs/cgroup/cpu/b/cpu.shares: many",
            "/b/cpu.cfs_quota_us: -1x",
            "/jobs/cpu.max: max soon",
            "/jobs/cpu.max: ",
        ] {
            assert!(unread(line), "{line}");
        }
    }
}
