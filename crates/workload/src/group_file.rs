//! A group of a workload with another setting: `/web/cpu.max=50000 200000`.
//!
//! Model.       As if a file of the group had been written before the run: that setting changes, all others stay.
//! Units.       Those of the files: µs, percent.
//! Source.      Documentation/admin-guide/cgroup-v2.rst; kernel/sched/core.c `cpu_max_write`, `tg_set_cfs_bandwidth`,
//!              `cpu_weight_write_u64`, `cpu_shares_write_u64` @ 6.12.
//! Not here.    Files of cgroup v1 but for cpu.shares: they are v2's under other names.

use crate::cgroup::{
    Bandwidth, DEFAULT_PERIOD_US, GroupSpec, GroupWeight, SHARES_MAX, SHARES_MIN, cpu_max, refusal,
    uclamp,
};
use crate::cpu_list::cpu_list;
use crate::spec::{ROOT_GROUP, Workload};
use crate::suggest::nearest;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The files that can be written.
pub const GROUP_FILES: [&str; 9] = [
    "cpu.weight",
    "cpu.weight.nice",
    "cpu.shares",
    "cpu.max",
    "cpu.max.burst",
    "cpu.idle",
    "cpuset.cpus",
    "cpu.uclamp.min",
    "cpu.uclamp.max",
];

/// Why a group's file cannot be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupFileError {
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub expected: String,
    /// A known name that the wrong one resembles.
    pub nearest: Option<String>,
}

impl fmt::Display for GroupFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected {}", self.what, self.expected)?;
        match &self.nearest {
            Some(nearest) => write!(f, " (did you mean {nearest}?)"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for GroupFileError {}

fn wrong(what: impl Into<String>, expected: impl Into<String>) -> GroupFileError {
    GroupFileError {
        what: what.into(),
        expected: expected.into(),
        nearest: None,
    }
}

impl Workload {
    /// Writes `PATH/FILE=VALUE` of one of its groups.
    ///
    /// # Errors
    /// If there is no such group or file, or the kernel would refuse the value. Then nothing has changed.
    pub fn write_group_file(&mut self, text: &str) -> Result<(), GroupFileError> {
        let parts = text.split_once('=').and_then(|(name, value)| {
            let (path, file) = name.rsplit_once('/')?;
            Some((path, file, value.trim()))
        });
        let Some((path, file, value)) = parts else {
            let expected = "PATH/FILE=VALUE, such as /web/cpu.max=\"20000 100000\"";
            return Err(wrong("no file of a group", expected));
        };
        if !GROUP_FILES.contains(&file) {
            return Err(GroupFileError {
                nearest: nearest(file, GROUP_FILES),
                ..wrong(
                    format!("no file \"{file}\" can be written"),
                    format!("one of {}", GROUP_FILES.join(", ")),
                )
            });
        }
        let below_root = || self.groups.iter().skip(ROOT_GROUP.idx() + 1);
        let Some(at) = below_root().position(|group| group.path == path) else {
            let paths: Vec<&str> = below_root().map(|group| &*group.path).collect();
            return Err(match path {
                "" => wrong("the root group has no settings", "a group below it"),
                _ if paths.is_empty() => wrong(
                    format!("there is no group {path}"),
                    "a workload with groups (\"taskgroup\", \"cgroups\")",
                ),
                _ => GroupFileError {
                    nearest: nearest(path, paths.iter().copied()),
                    ..wrong(
                        format!("there is no group {path}"),
                        format!("one of {}", paths.join(", ")),
                    )
                },
            });
        };
        let group = &mut self.groups[ROOT_GROUP.idx() + 1 + at];
        *group = written(group, file, value)?;
        Ok(())
    }
}

/// A group after one of its files was written.
fn written(group: &GroupSpec, file: &str, value: &str) -> Result<GroupSpec, GroupFileError> {
    let bad = |expected: &str| wrong(format!("bad value \"{value}\""), expected);
    let mut group = group.clone();
    let mut limit = group.bandwidth.unwrap_or(Bandwidth {
        quota_us: None,
        period_us: DEFAULT_PERIOD_US,
        burst_us: 0,
    });
    match file {
        "cpu.max" => {
            let expected = "QUOTA or QUOTA PERIOD in us, where the quota may be max";
            (limit.quota_us, limit.period_us) = cpu_max(value).ok_or_else(|| bad(expected))?;
        }
        "cpu.max.burst" => {
            if limit.quota_us.is_none() {
                let what = format!("{} has no quota that a burst could save", group.path);
                return Err(wrong(what, "cpu.max first"));
            }
            limit.burst_us = value.parse().map_err(|_| bad("microseconds, from 0"))?;
        }
        "cpu.idle" => {
            group.idle = Some(number(value, 0..=1).ok_or_else(|| bad("0 or 1"))? == 1);
            if group.idle == Some(true) {
                group.weight = None;
            }
        }
        "cpuset.cpus" => group.cpus = Some(cpu_list(value).map_err(bad)?),
        "cpu.uclamp.min" | "cpu.uclamp.max" => {
            let expected = "a percentage of 0 to 100 with up to two decimals, or max";
            let clamp = Some(uclamp(value).ok_or_else(|| bad(expected))?);
            if file == "cpu.uclamp.min" {
                group.uclamp_min = clamp;
            } else {
                group.uclamp_max = clamp;
            }
        }
        _ => {
            if group.idle == Some(true) {
                let what = format!("{} is idle and has the weight 3", group.path);
                return Err(wrong(what, "cpu.idle=0 first"));
            }
            group.weight = Some(weight(file, value).map_err(bad)?);
        }
    }
    if let Some(expected) = refusal(&limit) {
        return Err(bad(expected));
    }
    group.bandwidth = group
        .bandwidth
        .or(limit.quota_us.map(|_| limit))
        .map(|_| limit);
    Ok(group)
}

/// The weight in one of the three files that have it.
fn weight(file: &str, value: &str) -> Result<GroupWeight, &'static str> {
    match file {
        "cpu.weight" => number(value, 1..=10_000)
            .map(GroupWeight::Weight)
            .ok_or("a weight of 1 to 10000"),
        "cpu.weight.nice" => number(value, -20..=19)
            .map(GroupWeight::Nice)
            .ok_or("a nice value of -20 to 19"),
        _ => number(value, 0..=u32::MAX)
            .map(|shares| GroupWeight::Shares(shares.clamp(SHARES_MIN, SHARES_MAX)))
            .ok_or("shares, from 0"),
    }
}

fn number<T: FromStr + PartialOrd>(text: &str, range: RangeInclusive<T>) -> Option<T> {
    text.parse().ok().filter(|number| range.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn workload() -> Workload {
        let text = r#"{ "tasks": { "a": { "run": 1, "taskgroup": "/web/front" } },
            "cgroups": { "/web": { "cpu.max": "25000 100000", "cpu.weight": 200 } } }"#;
        parse(text, "w.json").unwrap()
    }

    #[test]
    fn one_setting_changes_and_the_others_stay() {
        let mut workload = workload();
        for file in [
            "/web/cpu.max.burst=5000",
            "/web/cpu.max=50000 200000",
            "/web/front/cpu.max=10000",
            "/web/front/cpuset.cpus=0-2",
            "/web/front/cpu.uclamp.max=50",
            "/web/front/cpu.shares=1",
        ] {
            workload.write_group_file(file).expect(file);
        }
        let limit = |quota, period_us, burst_us| {
            Some(Bandwidth {
                quota_us: Some(quota),
                period_us,
                burst_us,
            })
        };
        let [_, web, front] = &workload.groups[..] else {
            panic!("{:?}", workload.groups)
        };
        assert_eq!(web.bandwidth, limit(50_000, 200_000, 5_000));
        assert_eq!(web.weight, Some(GroupWeight::Weight(200)));
        assert_eq!(front.bandwidth, limit(10_000, 100_000, 0));
        assert_eq!(front.cpus, Some(vec![0, 1, 2]));
        assert_eq!(front.uclamp_max, Some(512));
        assert_eq!(front.weight, Some(GroupWeight::Shares(2)));
        workload.write_group_file("/web/cpu.idle=1").unwrap();
        workload.write_group_file("/web/cpu.max=max").unwrap();
        assert_eq!(workload.groups[1].weight, None);
        assert_eq!(workload.groups[1].bandwidth.unwrap().quota_us, None);
    }

    #[test]
    fn what_the_kernel_refuses_is_refused() {
        let mut all = workload();
        for (text, word) in [
            ("/web", "PATH/FILE=VALUE"),
            ("cpu.max=1000", "PATH/FILE=VALUE"),
            ("/cpu.max=1000", "below"),
            ("/wbe/cpu.max=1000", "did you mean /web?"),
            ("/web/cpu.mx=1000", "did you mean cpu.max?"),
            ("/web/cpu.max=999", "at least 1000"),
            ("/web/cpu.max=1000 100", "period"),
            ("/web/cpu.max=", "QUOTA"),
            ("/web/cpu.max=1000 2000 3000", "QUOTA"),
            ("/web/cpu.max.burst=25001", "burst"),
            ("/web/front/cpu.max.burst=1", "cpu.max first"),
            ("/web/cpu.weight=0", "1 to 10000"),
            ("/web/cpu.idle=2", "0 or 1"),
            ("/web/cpuset.cpus=x", "list of CPUs"),
            ("/web/cpu.uclamp.min=101", "percentage"),
        ] {
            let error = all.write_group_file(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
            assert_eq!(all, workload(), "{text}");
        }
    }
}
