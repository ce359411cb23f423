//! A kernel and the switches of it that somebody chose, by name: `6.12,NO_SIS_UTIL,hz=1000`.
//!
//! Model.       A switch with `=` is a tunable or a setting of the kernel's configuration, any other a feature, with `NO_`
//!              before it to switch it off. The last word on a thing counts.

use fairwind_sched::features::FeatureInfo;
use fairwind_sched::levels::LEVEL_TUNABLES;
use fairwind_sched::profile::TunableInfo;
use fairwind_sched::{
    BwInterleave, FEATURES, KernelProfile, Preempt, Release, TUNABLES, TunableError,
};
use std::fmt;

/// How help texts of features and tunables begin that only a real kernel heeds.
const NO_EFFECT: &str = "no effect here";

/// A setting of [`KernelProfile`] that is not a tunable: the kernel's configuration decides it, or its source.
pub struct BuildSetting {
    /// Its name.
    pub name: &'static str,
    /// What it is in a kernel as Debian builds it.
    pub default: fn(&KernelProfile) -> String,
    /// What it can be.
    pub values: &'static str,
    /// One line of help.
    pub help: &'static str,
}

/// Every such setting.
pub const BUILD_SETTINGS: [BuildSetting; 8] = [
    BuildSetting {
        name: "hz",
        default: |profile| profile.hz.to_string(),
        values: "24 to 1200",
        help: "ticks a second (CONFIG_HZ)",
    },
    BuildSetting {
        name: "nohz",
        default: |profile| u32::from(profile.nohz).to_string(),
        values: "0, 1",
        help: "idle CPUs stop their tick (nohz=)",
    },
    BuildSetting {
        name: "irq_time",
        default: |profile| u32::from(profile.irq_time).to_string(),
        values: "0, 1",
        help: "time in interrupts is no task's (CONFIG_IRQ_TIME_ACCOUNTING)",
    },
    BuildSetting {
        name: "preempt",
        default: |profile| preempt_name(profile.preempt).to_string(),
        values: "none, voluntary, full, lazy (6.18)",
        help: "when the kernel itself can be preempted (preempt=)",
    },
    BuildSetting {
        name: "uclamp",
        default: |profile| u32::from(profile.uclamp).to_string(),
        values: "0, 1",
        help: "honour util_min, util_max, cpu.uclamp.* (CONFIG_UCLAMP_TASK)",
    },
    BuildSetting {
        name: "bw_interleave",
        default: |profile| profile.bw_interleave.name().to_string(),
        values: "aligned, tenth, random, even, gap",
        help: "where in time the periods of cpu.max begin",
    },
    BuildSetting {
        name: "bw_period_jitter_pct",
        default: |profile| profile.bw_period_jitter_pct.to_string(),
        values: "0 to 50",
        help: "periods of cpu.max vary by so many percent, quotas with them",
    },
    BuildSetting {
        name: "sis_cache_hot_pct",
        default: |profile| profile.sis_cache_hot_pct.to_string(),
        values: "0 to 100",
        help: "SIS_CACHE: idle CPUs to pass over, in percent of those to look at",
    },
];

fn preempt_name(preempt: Preempt) -> &'static str {
    match preempt {
        Preempt::None => "none",
        Preempt::Voluntary => "voluntary",
        Preempt::Full => "full",
        Preempt::Lazy => "lazy",
    }
}

/// What a switch is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SwitchKind {
    /// A feature.
    Feature,
    /// A tunable or a setting of the kernel's configuration.
    Setting,
}

/// A switch that the kernel does not have, or not so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchError {
    /// What kind it is.
    pub kind: SwitchKind,
    /// What is wrong, the switch first.
    pub what: String,
    /// Ways to mend it.
    pub hints: Vec<String>,
    /// If its name is unknown, what stands before a name, the name, and those that are known.
    pub unknown: Option<(&'static str, String, Vec<&'static str>)>,
}

impl SwitchError {
    fn setting(what: String) -> Self {
        SwitchError {
            kind: SwitchKind::Setting,
            what,
            hints: Vec::new(),
            unknown: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl fmt::Display for SwitchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.hints.iter().try_for_each(|hint| write!(f, "; {hint}"))
    }
}

impl std::error::Error for SwitchError {}

/// A profile, and what was said on the way.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The kernel.
    pub profile: KernelProfile,
    /// What was asked for beside the defaults, as it would be typed.
    pub settings: Vec<String>,
    /// Settings that do nothing.
    pub warnings: Vec<(SwitchKind, String)>,
}

impl Choice {
    /// A kernel as it is.
    pub fn of(profile: KernelProfile) -> Choice {
        Choice {
            profile,
            settings: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Sets a switch.
    ///
    /// # Errors
    /// When the kernel has none of that name, or it cannot be so.
    pub fn switch(&mut self, text: &str) -> Result<(), SwitchError> {
        if text.contains('=') {
            self.setting(text)
        } else {
            self.feature(text)
        }
    }

    /// Switches a feature on or, with `NO_` before its name, off.
    ///
    /// # Errors
    /// When the kernel has no such feature.
    pub fn feature(&mut self, text: &str) -> Result<(), SwitchError> {
        let release = self.profile.release;
        let there = |info: &&FeatureInfo| info.default_in(release).is_some();
        let find = |name: &str| FEATURES.iter().find(|info| info.name == name);
        let (name, on) = match text.strip_prefix("NO_") {
            Some(name) => (name, false),
            None => (text, true),
        };
        let Some(info) = find(name).filter(there) else {
            return Err(unknown_feature(release, name, on, find(name).is_some()));
        };
        if info.help.starts_with(NO_EFFECT) {
            let what = format!("{text}: {}", info.help);
            self.warnings.push((SwitchKind::Feature, what));
        }
        self.profile.features.set(info.feature, on);
        self.remember(text.to_string(), |old| {
            old.strip_prefix("NO_").unwrap_or(old) == name
        });
        Ok(())
    }

    /// Sets a tunable or a setting of the kernel's configuration: `NAME=VALUE`.
    ///
    /// # Errors
    /// When the kernel has none of that name, or the value is none for it.
    pub fn setting(&mut self, text: &str) -> Result<(), SwitchError> {
        let Some((name, value)) = text.split_once('=') else {
            let what = format!("{text}: no value; expected TUNABLE=VALUE");
            return Err(SwitchError::setting(what).hint("for example base_slice_ns=3ms"));
        };
        let (name, value) = (name.trim(), value.trim());
        let wrong =
            |expected: &str| SwitchError::setting(format!("{name}={value}: expected {expected}"));
        let profile = &mut self.profile;
        let mut canonical = format!("{name}={value}");
        match name {
            "hz" => match value.parse() {
                Ok(hz @ 24..=1200) => profile.hz = hz,
                _ => return Err(wrong("ticks a second, 24 to 1200 (Debian: 250)")),
            },
            "preempt" => {
                profile.preempt = match value {
                    "none" => Preempt::None,
                    "voluntary" => Preempt::Voluntary,
                    "full" => Preempt::Full,
                    "lazy" if profile.release.has_lazy_preemption() => Preempt::Lazy,
                    _ => return Err(wrong("none, voluntary or full; on 6.18 also lazy")),
                }
            }
            "nohz" | "irq_time" | "uclamp" => {
                let on = match value {
                    "0" => false,
                    "1" => true,
                    _ => return Err(wrong("0 or 1")),
                };
                *match name {
                    "nohz" => &mut profile.nohz,
                    "irq_time" => &mut profile.irq_time,
                    _ => &mut profile.uclamp,
                } = on;
            }
            "bw_interleave" => {
                profile.bw_interleave = BwInterleave::parse(value)
                    .ok_or_else(|| wrong("aligned, tenth, random, even or gap"))?;
            }
            "bw_period_jitter_pct" => match value.parse() {
                Ok(percent @ 0..=50) => profile.bw_period_jitter_pct = percent,
                _ => return Err(wrong("a percentage, 0 to 50")),
            },
            "sis_cache_hot_pct" => match value.parse() {
                Ok(percent @ 0..=100) => profile.sis_cache_hot_pct = percent,
                _ => return Err(wrong("a percentage, 0 to 100")),
            },
            _ => canonical = format!("{name}={}", self.tunable(name, value)?),
        }
        self.remember(canonical, |old| {
            old.split_once('=').is_some_and(|(old, _)| old == name)
        });
        Ok(())
    }

    /// Sets a tunable, for all levels or, as `NAME@DEPTH`, for one; its value in its own unit.
    fn tunable(&mut self, name: &str, value: &str) -> Result<i64, SwitchError> {
        let release = self.profile.release;
        let of_all = name.split('@').next().unwrap_or(name);
        let info = TUNABLES
            .iter()
            .find(|info| info.name == of_all && info.default_in(release).is_some())
            .ok_or_else(|| unknown_tunable(release, of_all))?;
        let number = read_value(info, value).map_err(|expected| {
            SwitchError::setting(format!("{name}={value}: expected {expected}"))
        })?;
        match self.profile.set_tunable(name, number) {
            Ok(()) => {}
            Err(TunableError::Range(range)) => {
                let what = format!(
                    "{name}={value}: out of range; expected {range} {}",
                    info.unit
                );
                return Err(SwitchError::setting(what).hint(info.help));
            }
            Err(TunableError::Unknown(_)) => return Err(unknown_tunable(release, of_all)),
            Err(TunableError::NoLevels) => {
                let what = format!("{name}: {of_all} is the same at all levels");
                let hint = format!(
                    "only these can be set for one level: {}",
                    LEVEL_TUNABLES.join(", ")
                );
                return Err(SwitchError::setting(what).hint(hint));
            }
            Err(TunableError::Depth(range)) => {
                let what = format!("{name}: expected {of_all}@DEPTH, and a depth of {range}");
                return Err(
                    SwitchError::setting(what).hint("0 is the root's queue, 1 a group's below it")
                );
            }
        }
        if info.help.starts_with(NO_EFFECT) {
            let what = format!("{name}: {}", info.help);
            self.warnings.push((SwitchKind::Setting, what));
        }
        if name == "tunable_scaling" && number != 1 {
            let what = "tunable_scaling: has no effect here; set the scaled times themselves";
            self.warnings.push((SwitchKind::Setting, what.to_string()));
        }
        Ok(number)
    }

    /// Notes a setting, which replaces an earlier one of the same thing.
    fn remember(&mut self, setting: String, same: impl Fn(&str) -> bool) {
        self.settings.retain(|old| !same(old));
        self.settings.push(setting);
    }
}

/// Reads a tunable's value: a number in its own unit, or a time with a suffix.
fn read_value(info: &TunableInfo, text: &str) -> Result<i64, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let unit_ns = match info.unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        unit => return Err(format!("a whole number ({unit})")),
    };
    let expected = || format!("a whole number of {}, or a time such as 3ms", info.unit);
    let duration = humantime::parse_duration(text).map_err(|_| expected())?;
    let ns = i64::try_from(duration.as_nanos()).map_err(|_| expected())?;
    if ns % unit_ns != 0 {
        return Err(expected());
    }
    Ok(ns / unit_ns)
}

fn unknown_feature(release: Release, name: &str, on: bool, elsewhere: bool) -> SwitchError {
    let there = { FEATURES.iter() }.filter(|info| info.default_in(release).is_some());
    let names: Vec<&str> = there.map(|info| info.name).collect();
    let prefix = if on { "" } else { "NO_" };
    let what = if elsewhere {
        let others = Release::ALL.into_iter().find(|other| *other != release);
        let other = others.map_or("another", Release::name);
        let release = release.name();
        format!("{prefix}{name}: Linux {release} has no such feature, {other} has")
    } else {
        format!("{prefix}{name}: unknown feature")
    };
    let all = names.join(", ");
    let hint = format!("features of {}, each also with NO_: {all}", release.name());
    SwitchError {
        kind: SwitchKind::Feature,
        what,
        hints: vec![hint],
        unknown: (!elsewhere).then(|| (prefix, name.to_string(), names)),
    }
}

fn unknown_tunable(release: Release, name: &str) -> SwitchError {
    let there = { TUNABLES.iter() }.filter(|info| info.default_in(release).is_some());
    let build = BUILD_SETTINGS.iter().map(|setting| setting.name);
    let names: Vec<&str> = there.map(|info| info.name).chain(build).collect();
    let elsewhere = TUNABLES.iter().any(|info| info.name == name);
    let what = if elsewhere {
        "has no such tunable, another kernel has"
    } else {
        "has no such tunable"
    };
    let what = format!("{name}: Linux {} {what}", release.name());
    let hint = format!("tunables of {}: {}", release.name(), names.join(", "));
    SwitchError {
        unknown: Some(("", name.to_string(), names)),
        ..SwitchError::setting(what).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairwind_sched::Feature;

    fn set(switches: &[&str]) -> Result<Choice, SwitchError> {
        let mut choice = Choice::of(KernelProfile::new(Release::V6_12, 8));
        for text in switches {
            choice.switch(text)?;
        }
        Ok(choice)
    }

    #[test]
    fn features_are_switched_as_in_debugfs_and_the_last_word_counts() {
        let choice = set(&["NO_RUN_TO_PARITY", "NEXT_BUDDY", "NO_NEXT_BUDDY"]).unwrap();
        assert!(!choice.profile.features.has(Feature::RUN_TO_PARITY));
        assert!(!choice.profile.features.has(Feature::NEXT_BUDDY));
        assert_eq!(choice.settings, ["NO_RUN_TO_PARITY", "NO_NEXT_BUDDY"]);
    }

    #[test]
    fn times_are_converted_to_the_tunables_unit() {
        let choice = set(&[
            "base_slice_ns=3ms",
            "sched_cfs_bandwidth_slice_us=2ms",
            "hz=1000",
        ])
        .unwrap();
        assert_eq!(choice.profile.tunables.base_slice_ns, 3_000_000);
        assert_eq!(choice.profile.tunables.sched_cfs_bandwidth_slice_us, 2_000);
        assert_eq!(choice.profile.hz, 1000);
        let expected = [
            "base_slice_ns=3000000",
            "sched_cfs_bandwidth_slice_us=2000",
            "hz=1000",
        ];
        assert_eq!(choice.settings, expected);
        assert_eq!(
            set(&["migration_cost_ns=-1"])
                .unwrap()
                .profile
                .tunables
                .migration_cost_ns,
            -1
        );
    }

    #[test]
    fn a_level_has_its_own_value_and_the_last_word_counts() {
        let choice = set(&[
            "base_slice_ns@2=1ms",
            "base_slice_ns@2=2ms",
            "base_slice_ns=3ms",
        ]);
        let choice = choice.unwrap();
        assert_eq!(choice.profile.levels[2].base_slice_ns, Some(2_000_000));
        assert_eq!(choice.profile.levels[1].base_slice_ns, None);
        assert_eq!(
            choice.settings,
            ["base_slice_ns@2=2000000", "base_slice_ns=3000000"]
        );
    }

    #[test]
    fn periods_are_interleaved_as_asked() {
        let choice = set(&["bw_interleave=even", "bw_period_jitter_pct=5"]).unwrap();
        assert_eq!(choice.profile.bw_interleave, BwInterleave::Even);
        assert_eq!(choice.profile.bw_period_jitter_pct, 5);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for wrong in [
            "base_slice_ns",
            "base_slice_ns=",
            "base_slice_ns=fast",
            "base_slice_ns=1ns",
            "sched_rr_timeslice_ms=1500us",
            "nr_migrate=3ms",
            "latency_ns=6ms",
            "hz=1",
            "preempt=lazy",
            "uclamp=yes",
            "nohz=off",
            "bw_interleave=odd",
            "bw_period_jitter_pct=51",
            "sis_cache_hot_pct=101",
            "base_slice_ns@16=1ms",
            "base_slice_ns@=1ms",
            "base_slice_ns@1=1ns",
            "nr_migrate@1=8",
            "latency_ns@1=6ms",
        ] {
            assert!(set(&[wrong]).is_err(), "{wrong}");
        }
    }
}
