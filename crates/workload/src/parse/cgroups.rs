//! Task groups and their settings: the "cgroups" section, and groups described where a task joins.
//!
//! Model.       `{ "/a": { "cpu.weight": 200 }, "/a/b": { "cpu.max": "25000 100000" } }`. Keys and
//!              values are those of the cgroup files, v2 or v1.
//! Source.      Documentation/admin-guide/cgroup-v2.rst, Documentation/scheduler/sched-bwc.rst,
//!              kernel/sched/core.c `tg_set_cfs_bandwidth`, `cpu_weight_write_u64`,
//!              `__cfs_schedulable`, `capacity_from_percent` @ 6.12.

use super::attrs::cpus;
use super::context::Context;
use super::keys::{Keys, comment};
use super::names::path_fault;
use crate::cgroup::{
    self, Bandwidth, DEFAULT_PERIOD_US, GroupSpec, GroupWeight, SHARES_MAX, SHARES_MIN, refusal,
};
use crate::error::{Error, ErrorKind};
use crate::json::{Kind, Member, Place, Value};
use crate::spec::{GroupIdx, ROOT_GROUP};

const KEYS: &[&str] = &[
    "cpu.weight",
    "cpu.weight.nice",
    "cpu.shares",
    "cpu.max",
    "cpu.max.burst",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "cpu.cfs_burst_us",
    "cpu.idle",
    "cpuset.cpus",
    "cpu.uclamp.min",
    "cpu.uclamp.max",
];

/// What a group described where a task joins it has beside these: its path, and "cpus" for "cpuset.cpus".
const INLINE_KEYS: [&str; 2] = ["path", "cpus"];

/// Reads a "cgroups" section.
pub(crate) fn section(cx: &mut Context<'_>, value: &Value) -> Result<(), Error> {
    let members = cx.object(value, "an object of groups by path")?;
    for member in members {
        if comment(cx, member) {
            continue;
        }
        cx.within(&member.key, |cx| {
            if let Some(expected) = path_fault(&member.key) {
                let value = format!("\"{}\"", member.key);
                let kind = ErrorKind::BadValue {
                    value,
                    expected: expected.to_string(),
                };
                return Err(cx.error(member.at, kind));
            }
            let settings = cx.object(&member.value, "an object of the group's settings")?;
            let keys = Keys::read(cx, settings, KEYS)?;
            let group = cx.names.group(&member.key);
            let spec = settings_of(cx, &keys)?;
            note_v1_limit(cx, group, &keys);
            set(cx, group, spec, member.at)
        })?;
    }
    Ok(())
}

/// Reads a group described in a task's "taskgroup".
pub(crate) fn inline_group(
    cx: &mut Context<'_>,
    members: &[Member],
    at: Place,
) -> Result<GroupIdx, Error> {
    let known = [&INLINE_KEYS, KEYS].concat();
    let keys = Keys::read(cx, members, &known)?;
    let Some(path) = keys.get("path") else {
        let expected = "the group's path, such as \"/a/b\"".to_string();
        return Err(cx.error(
            at,
            ErrorKind::MissingKey {
                key: "path".to_string(),
                expected,
            },
        ));
    };
    let text = cx.text(path, "the group's path")?;
    if let Some(expected) = path_fault(text) {
        return Err(cx.bad(path, expected));
    }
    let group = cx.names.group(text);
    let spec = settings_of(cx, &keys)?;
    note_v1_limit(cx, group, &keys);
    set(cx, group, spec, at)?;
    Ok(group)
}

/// Remembers a limit in the words of cgroup v1 for [`check_v1_limits`].
fn note_v1_limit(cx: &mut Context<'_>, group: GroupIdx, keys: &Keys<'_>) {
    if let Some(member) = keys.member("cpu.cfs_quota_us") {
        cx.v1_limits.push((group, member.value.at));
    }
}

/// Under cgroup v1 no limit may exceed that of the group above; v2 takes the tighter of the two.
pub(crate) fn check_v1_limits(cx: &Context<'_>) -> Result<(), Error> {
    // The kernel compares 20-bit fixed-point ratios of quota to period.
    let ratio = |limit: &Bandwidth| {
        limit
            .quota_us
            .map(|quota| (u128::from(quota) << 20) / u128::from(limit.period_us))
    };
    let groups = &cx.names.groups;
    for &(group, at) in &cx.v1_limits {
        let own = groups[group.idx()].bandwidth.as_ref().and_then(ratio);
        let mut above = groups[group.idx()].parent;
        while let (Some(own), Some(parent)) = (own, above) {
            let parent = &groups[parent.idx()];
            let limit = parent.bandwidth.as_ref();
            if limit.and_then(ratio).is_some_and(|limit| own > limit) {
                let what = format!("a larger share of CPU time than {} has", parent.path);
                let expected = "a quota per period within that of the group above".to_string();
                return Err(cx.error(at, ErrorKind::Conflict { what, expected }));
            }
            above = parent.parent;
        }
    }
    Ok(())
}

/// Gives a group its settings; stated twice, they must agree.
fn set(cx: &mut Context<'_>, group: GroupIdx, spec: GroupSpec, at: Place) -> Result<(), Error> {
    let Some(setting) = spec.first_setting() else {
        return Ok(());
    };
    let known = &cx.names.groups[group.idx()];
    let stated = GroupSpec {
        path: known.path.clone(),
        parent: known.parent,
        ..spec
    };
    if group == ROOT_GROUP {
        let kind = ErrorKind::Conflict {
            what: format!("{setting} on the root group"),
            expected: "settings on groups below \"/\"; the root has none".to_string(),
        };
        return Err(cx.error(at, kind));
    }
    if known.first_setting().is_some() && *known != stated {
        let kind = ErrorKind::Conflict {
            what: format!(
                "settings of {} that differ from its earlier ones",
                known.path
            ),
            expected: "each group's settings once, or the same ones again".to_string(),
        };
        return Err(cx.error(at, kind));
    }
    cx.names.groups[group.idx()] = stated;
    Ok(())
}

fn settings_of(cx: &mut Context<'_>, keys: &Keys<'_>) -> Result<GroupSpec, Error> {
    let mut spec = GroupSpec::default();
    let mut weight_key: Option<&'static str> = None;
    for (key, member) in keys.iter() {
        let value = &member.value;
        cx.within(key, |cx| {
            match key {
                "cpu.weight" => {
                    let weight = cx.int(value, 1, 10_000, "a weight of 1 to 10000")?;
                    spec.weight = Some(GroupWeight::Weight(weight as u32));
                }
                "cpu.weight.nice" => {
                    let nice = cx.int(value, -20, 19, "a nice value of -20 to 19")?;
                    spec.weight = Some(GroupWeight::Nice(nice as i32));
                }
                "cpu.shares" => {
                    let shares = cx.int(value, 0, i64::MAX, "shares, from 0")?;
                    let clamped = shares.clamp(SHARES_MIN.into(), SHARES_MAX.into());
                    if clamped != shares {
                        cx.warn(
                            value.at,
                            format!("the kernel makes {clamped} of these shares"),
                        );
                    }
                    spec.weight = Some(GroupWeight::Shares(clamped as u32));
                }
                "cpu.idle" => {
                    let idle = match value.kind {
                        Kind::Bool(idle) => idle,
                        _ => cx.int(value, 0, 1, "0 or 1")? == 1,
                    };
                    spec.idle = Some(idle);
                }
                "cpuset.cpus" | "cpus" => spec.cpus = Some(cpus(cx, value)?),
                "cpu.uclamp.min" => spec.uclamp_min = Some(percent(cx, value)?),
                "cpu.uclamp.max" => spec.uclamp_max = Some(percent(cx, value)?),
                _ => return Ok(()),
            }
            if matches!(key, "cpu.weight" | "cpu.weight.nice" | "cpu.shares")
                && let Some(other) = weight_key.replace(key)
            {
                let what = format!("both {other} and {key}");
                let expected = "one of them".to_string();
                return Err(cx.error(member.at, ErrorKind::Conflict { what, expected }));
            }
            Ok(())
        })?;
    }
    if let (Some(key), Some(true)) = (weight_key, spec.idle)
        && let Some(member) = keys.member(key)
    {
        let what = format!("{key} on a group with cpu.idle");
        let expected = "one of them; the kernel gives idle groups weight 3".to_string();
        return Err(cx.error(member.at, ErrorKind::Conflict { what, expected }));
    }
    if let (Some(member), Some(_)) = (keys.member("cpus"), keys.member("cpuset.cpus")) {
        let what = "both cpus and cpuset.cpus".to_string();
        let expected = "one of them".to_string();
        return Err(cx.error(member.at, ErrorKind::Conflict { what, expected }));
    }
    spec.bandwidth = bandwidth(cx, keys)?;
    Ok(spec)
}

/// The CPU limit, in the words of v2 or of v1.
fn bandwidth(cx: &mut Context<'_>, keys: &Keys<'_>) -> Result<Option<Bandwidth>, Error> {
    const V2: [&str; 2] = ["cpu.max", "cpu.max.burst"];
    const V1: [&str; 3] = ["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us"];
    let v1 = V1.into_iter().find_map(|key| keys.member(key));
    let v2 = V2.into_iter().find_map(|key| keys.member(key));
    if let (Some(v1), Some(v2)) = (v1, v2) {
        let what = format!("both {} and {}", v2.key, v1.key);
        let expected = "the keys of cgroup v2 or those of v1".to_string();
        return Err(cx.error(v1.at, ErrorKind::Conflict { what, expected }));
    }
    let Some(stated) = v2.or(v1) else {
        return Ok(None);
    };
    let mut limit = Bandwidth {
        quota_us: None,
        period_us: DEFAULT_PERIOD_US,
        burst_us: 0,
    };
    if let Some(value) = keys.get("cpu.max") {
        (limit.quota_us, limit.period_us) = cx.within("cpu.max", |cx| cpu_max(cx, value))?;
    }
    if let Some(value) = keys.get("cpu.cfs_quota_us") {
        let quota = cx.within("cpu.cfs_quota_us", |cx| {
            cx.int(value, -1, i64::MAX, "microseconds, or -1 for no limit")
        })?;
        limit.quota_us = (quota >= 0).then_some(quota as u64);
    }
    let mut positive = |key| match keys.get(key) {
        Some(value) => {
            let number = cx.within(key, |cx| cx.int(value, 0, i64::MAX, "microseconds, from 0"))?;
            Ok(Some(number as u64))
        }
        None => Ok(None),
    };
    limit.period_us = positive("cpu.cfs_period_us")?.unwrap_or(limit.period_us);
    let burst = positive("cpu.max.burst")?.or(positive("cpu.cfs_burst_us")?);
    limit.burst_us = burst.unwrap_or(0);
    if let Some(expected) = refusal(&limit) {
        let quota = limit
            .quota_us
            .map_or("max".to_string(), |quota| quota.to_string());
        let value = format!("{quota} {} with burst {}", limit.period_us, limit.burst_us);
        let kind = ErrorKind::BadValue {
            value,
            expected: expected.to_string(),
        };
        return Err(cx.error(stated.value.at, kind));
    }
    if limit.quota_us.is_none() && limit.burst_us > 0 {
        cx.warn(stated.at, "a burst without a quota has no effect");
    }
    Ok(Some(limit))
}

/// `"QUOTA PERIOD"`, `[QUOTA, PERIOD]` or the quota alone, where the quota may be "max".
fn cpu_max(cx: &Context<'_>, value: &Value) -> Result<(Option<u64>, u64), Error> {
    let expected = "\"QUOTA PERIOD\" or [QUOTA, PERIOD] in us, where the quota may be \"max\"";
    let number = |value: &Value| {
        cx.int(value, 0, i64::MAX, expected)
            .map(|number| number as u64)
    };
    match &value.kind {
        Kind::Int(_) => Ok((Some(number(value)?), DEFAULT_PERIOD_US)),
        Kind::Text(text) => cgroup::cpu_max(text).ok_or_else(|| cx.bad(value, expected)),
        Kind::Array(values) => match values.as_slice() {
            [quota, period] => {
                let quota = match &quota.kind {
                    Kind::Text(text) if text == "max" => None,
                    Kind::Text(text) => Some(text.parse().map_err(|_| cx.bad(value, expected))?),
                    _ => Some(number(quota)?),
                };
                Ok((quota, number(period)?))
            }
            _ => Err(cx.mistyped(value, expected)),
        },
        _ => Err(cx.mistyped(value, expected)),
    }
}

/// A percentage with up to two decimals, or "max", in 1024ths, rounded to the nearest.
fn percent(cx: &Context<'_>, value: &Value) -> Result<u16, Error> {
    let expected = "a percentage of 0 to 100 with up to two decimals, or \"max\"";
    let written = match &value.kind {
        Kind::Int(number) => number.to_string(),
        Kind::Number(written) => written.clone(),
        Kind::Text(text) => text.trim().to_string(),
        _ => return Err(cx.mistyped(value, expected)),
    };
    cgroup::uclamp(&written).ok_or_else(|| cx.bad(value, expected))
}
