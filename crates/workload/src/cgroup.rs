//! Task groups and their limits.
//!
//! Model.       A group has a place in the tree and, each if stated, a weight, a CPU limit, a set of
//!              CPUs and utilisation clamps.
//! Units.       Quota, period and burst in µs, as the cgroup files have them.
//! Source.      kernel/sched/core.c @ 6.12: cpu_legacy_files, cpu_files, tg_set_cfs_bandwidth;
//!              include/linux/cgroup.h: CGROUP_WEIGHT_*.

use crate::spec::GroupIdx;

/// A task group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupSpec {
    /// Path, such as `/a/b`; "/" is the root.
    pub path: String,
    /// The group above; none for the root.
    pub parent: Option<GroupIdx>,
    /// Its weight beside its siblings.
    pub weight: Option<GroupWeight>,
    /// Its CPU limit.
    pub bandwidth: Option<Bandwidth>,
    /// `cpu.idle`: it runs only when no other group wants the CPU.
    pub idle: Option<bool>,
    /// `cpuset.cpus`, ascending.
    pub cpus: Option<Vec<u32>>,
    /// `cpu.uclamp.min` in 1024ths of the largest CPU.
    pub uclamp_min: Option<u16>,
    /// `cpu.uclamp.max` in 1024ths of the largest CPU.
    pub uclamp_max: Option<u16>,
}

impl GroupSpec {
    /// The first key that is stated; none: the group is only a place in the tree.
    pub fn first_setting(&self) -> Option<&'static str> {
        let weight = match self.weight {
            Some(GroupWeight::Weight(_)) => "cpu.weight",
            Some(GroupWeight::Nice(_)) => "cpu.weight.nice",
            Some(GroupWeight::Shares(_)) | None => "cpu.shares",
        };
        [
            (self.weight.is_some(), weight),
            (self.bandwidth.is_some(), "cpu.max"),
            (self.idle.is_some(), "cpu.idle"),
            (self.cpus.is_some(), "cpuset.cpus"),
            (self.uclamp_min.is_some(), "cpu.uclamp.min"),
            (self.uclamp_max.is_some(), "cpu.uclamp.max"),
        ]
        .into_iter()
        .find_map(|(stated, key)| stated.then_some(key))
    }
}

/// A group's weight, in the words of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupWeight {
    /// `cpu.weight`, 1..=10000.
    Weight(u32),
    /// `cpu.weight.nice`, -20..=19.
    Nice(i32),
    /// `cpu.shares`, 2..=262144.
    Shares(u32),
}

impl GroupWeight {
    /// The kernel's shares, before scaling; `weight_of_nice` is its table of nice weights.
    ///
    /// ```text
    /// shares = (weight * 1024 + 50) / 100
    /// ```
    pub fn shares(self, weight_of_nice: impl Fn(i32) -> u64) -> u64 {
        match self {
            GroupWeight::Weight(weight) => (u64::from(weight) * 1024 + 50) / 100,
            GroupWeight::Nice(nice) => weight_of_nice(nice),
            GroupWeight::Shares(shares) => u64::from(shares),
        }
    }
}

/// A CPU limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bandwidth {
    /// CPU time per period; none: unlimited.
    pub quota_us: Option<u64>,
    /// Length of a period.
    pub period_us: u64,
    /// What may be saved up beyond the quota.
    pub burst_us: u64,
}

/// The least and the most that `cpu.shares` becomes.
pub(crate) const SHARES_MIN: u32 = 2;
pub(crate) const SHARES_MAX: u32 = 262_144;
/// Period of a group that states none.
pub const DEFAULT_PERIOD_US: u64 = 100_000;
/// Shortest quota and period the kernel takes.
pub const QUOTA_PERIOD_MIN_US: u64 = 1_000;
/// Longest period the kernel takes.
pub const PERIOD_MAX_US: u64 = 1_000_000;
/// Largest quota, and quota with burst: 44 bits of µs, so that ratios fit the kernel's words.
pub const QUOTA_MAX_US: u64 = (1 << 44) - 1;

/// What `cpu.max` says, `QUOTA PERIOD` or the quota alone, where the quota may be `max`: both in µs.
pub(crate) fn cpu_max(text: &str) -> Option<(Option<u64>, u64)> {
    let mut words = text.split_ascii_whitespace();
    let quota = match words.next()? {
        "max" => None,
        quota => Some(quota.parse().ok()?),
    };
    let period = words
        .next()
        .map_or(Some(DEFAULT_PERIOD_US), |period| period.parse().ok())?;
    words.next().is_none().then_some((quota, period))
}

/// A percentage with up to two decimals, or `max`, in 1024ths, rounded to the nearest.
pub(crate) fn uclamp(text: &str) -> Option<u16> {
    if text == "max" {
        return Some(1024);
    }
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fine = (1..=3).contains(&whole.len()) && decimals.len() <= 2;
    if !fine || !digits(whole) || !digits(decimals) {
        return None;
    }
    // Two digits after the point always, so that the number counts hundredths of a percent.
    let hundredths: u32 = format!("{whole}{decimals:0<2}").parse().ok()?;
    (hundredths <= 10_000).then_some(((hundredths * 1024 + 5_000) / 10_000) as u16)
}

/// Why the kernel would refuse a limit.
pub(crate) fn refusal(bandwidth: &Bandwidth) -> Option<&'static str> {
    let period = bandwidth.period_us;
    if !(QUOTA_PERIOD_MIN_US..=PERIOD_MAX_US).contains(&period) {
        return Some("a period of 1000 to 1000000 us");
    }
    let quota = bandwidth.quota_us?;
    if !(QUOTA_PERIOD_MIN_US..=QUOTA_MAX_US).contains(&quota) {
        return Some("a quota of at least 1000 us, or \"max\"");
    }
    if bandwidth.burst_us > quota || bandwidth.burst_us + quota > QUOTA_MAX_US {
        return Some("a burst no longer than the quota");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_become_shares_as_in_the_kernel() {
        let table = |nice: i32| if nice == -5 { 3121 } else { 0 };
        // 100 * 1024 / 100 = 1024; 1 * 10.24 rounds to 10; 250 -> 2560; 3 -> 30.72 rounds to 31.
        assert_eq!(GroupWeight::Weight(100).shares(table), 1024);
        assert_eq!(GroupWeight::Weight(1).shares(table), 10);
        assert_eq!(GroupWeight::Weight(250).shares(table), 2560);
        assert_eq!(GroupWeight::Weight(3).shares(table), 31);
        assert_eq!(GroupWeight::Nice(-5).shares(table), 3121);
        assert_eq!(GroupWeight::Shares(512).shares(table), 512);
    }

    #[test]
    fn limits_have_the_kernels_bounds() {
        let limit = |quota, period_us, burst_us| {
            refusal(&Bandwidth {
                quota_us: Some(quota),
                period_us,
                burst_us,
            })
        };
        assert_eq!(limit(1_000, 1_000, 1_000), None);
        assert_eq!(limit(QUOTA_MAX_US, 1_000_000, 0), None);
        assert!(limit(999, 100_000, 0).is_some());
        assert!(limit(1_000, 999, 0).is_some());
        assert!(limit(1_000, 1_000_001, 0).is_some());
        assert!(limit(5_000, 100_000, 5_001).is_some());
        assert!(limit(QUOTA_MAX_US, 100_000, 1).is_some());
    }
}
