//! Scheduling attributes, at task and at phase level.
//!
//! Model.       A task states a policy and a priority, by default those of the run; a phase changes
//!              what it names. The policy in force is followed through the phases, because the
//!              range of a priority and the right to a task group depend on it.
//! Source.      rt-app src/rt-app_parse_config.c `parse_sched_data`, `parse_cpuset_data`,
//!              `parse_taskgroup_data`, `check_taskgroup_policy_dep`; kernel/sched/syscalls.c
//!              `__sched_setscheduler`, kernel/sched/deadline.c `__checkparam_dl` @ 6.12.
//! Deviations.  A `dl-runtime` alone in a phase takes effect; rt-app reads it and drops it. The
//!              older names count for SCHED_DEADLINE only, as before rt-app knew slices; since 2025
//!              it takes a task's `runtime` for the slice of a SCHED_OTHER task as well.

use super::cgroups;
use super::context::Context;
use super::keys::Keys;
use super::names::path_fault;
use crate::cpu_list::{CPU_MAX, cpu_list};
use crate::error::{Error, ErrorKind};
use crate::json::{Kind, Place, Value};
use crate::spec::{Affinity, Attrs, DeadlineParams, GroupIdx, Policy};
use crate::suggest::nearest;

/// Keys that set attributes.
pub(crate) const KEYS: &[&str] = &[
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "cpus",
    "nodes_membind",
    "util_min",
    "util_max",
    "taskgroup",
    "working_set",
];

/// Policy and group in force at a point of the reading.
#[derive(Clone, Copy)]
pub(crate) struct InForce {
    policy: Policy,
    group: Option<GroupIdx>,
}

impl InForce {
    /// The policy.
    pub(crate) fn policy(self) -> Policy {
        self.policy
    }
}

/// What tells a task's attributes from a phase's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Defaults are filled in, and older key names are known.
    Task,
    /// Only what is named changes.
    Phase,
}

/// Reads the attributes of a task.
pub(crate) fn of_task(
    cx: &mut Context<'_>,
    keys: &Keys<'_>,
    at: Place,
) -> Result<(Attrs, InForce), Error> {
    let mut in_force = InForce {
        policy: cx.global.default_policy,
        group: None,
    };
    let attrs = read(cx, keys, at, Level::Task, &mut in_force)?;
    Ok((attrs, in_force))
}

/// Reads the attributes of a phase.
pub(crate) fn of_phase(
    cx: &mut Context<'_>,
    keys: &Keys<'_>,
    at: Place,
    in_force: &mut InForce,
) -> Result<Attrs, Error> {
    read(cx, keys, at, Level::Phase, in_force)
}

fn read(
    cx: &mut Context<'_>,
    keys: &Keys<'_>,
    at: Place,
    level: Level,
    in_force: &mut InForce,
) -> Result<Attrs, Error> {
    let mut attrs = Attrs::default();
    if let Some(value) = keys.get("policy") {
        attrs.policy = Some(cx.within("policy", |cx| policy(cx, value))?);
    } else if level == Level::Task {
        attrs.policy = Some(in_force.policy);
    }
    in_force.policy = attrs.policy.unwrap_or(in_force.policy);
    if let Some(value) = keys.get("priority") {
        attrs.priority = Some(cx.within("priority", |cx| priority(cx, value, in_force.policy))?);
    } else {
        attrs.priority = attrs.policy.map(Policy::default_priority);
    }
    attrs.deadline = deadline(cx, keys, at, level, in_force.policy)?;
    if level == Level::Phase
        && attrs.priority.is_none()
        && in_force.policy != Policy::Deadline
        && let Some(member) = keys.member("dl-runtime")
    {
        let why = "rt-app drops \"dl-runtime\" in a phase without policy and priority; here it \
                       takes effect";
        cx.warn(member.at, why);
    }
    if let Some(value) = keys.get("cpus") {
        attrs.cpus = Some(Affinity::Cpus(cx.within("cpus", |cx| cpus(cx, value))?));
    }
    if let Some(member) = keys.member("nodes_membind") {
        let nodes = cx.within("nodes_membind", |cx| {
            numbers(cx, &member.value, "NUMA nodes")
        })?;
        attrs.nodes_membind = Some(nodes);
        cx.no_effect(
            "nodes_membind",
            member.at,
            "memory has no place in the simulation",
        );
    }
    attrs.util_min = clamp(cx, keys, "util_min")?;
    attrs.util_max = clamp(cx, keys, "util_max")?;
    if let Some(value) = keys.get("working_set") {
        let bytes = cx.within("working_set", |cx| {
            cx.int(value, 0, i64::MAX, "bytes, from 0")
        })?;
        attrs.working_set = Some(bytes as u64);
    }
    if let Some(value) = keys.get("taskgroup") {
        attrs.group = cx.within("taskgroup", |cx| task_group(cx, value))?;
    }
    in_force.group = attrs.group.or(in_force.group);
    let stated = keys.get("taskgroup").or_else(|| keys.get("policy"));
    if let (Some(value), Some(_)) = (stated, in_force.group)
        && !in_force.policy.is_fair()
    {
        let kind = ErrorKind::Conflict {
            what: format!("{} in a task group", in_force.policy.name()),
            expected: "SCHED_OTHER, SCHED_BATCH or SCHED_IDLE with \"taskgroup\"".to_string(),
        };
        return Err(cx.error(value.at, kind));
    }
    Ok(attrs)
}

/// Reads a policy's name.
pub(crate) fn policy(cx: &Context<'_>, value: &Value) -> Result<Policy, Error> {
    let text = cx.text(value, "a policy such as \"SCHED_OTHER\"")?;
    if let Some(policy) = Policy::ALL.into_iter().find(|policy| policy.name() == text) {
        return Ok(policy);
    }
    let known = Policy::ALL.map(Policy::name);
    let kind = ErrorKind::UnknownName {
        name: text.to_string(),
        nearest: nearest(text, known),
        expected: format!("one of {}", known.join(", ")),
    };
    Err(cx.error(value.at, kind))
}

fn priority(cx: &Context<'_>, value: &Value, policy: Policy) -> Result<i32, Error> {
    let (low, high, expected) = match policy {
        Policy::Rr | Policy::Fifo => (1, 99, format!("1 to 99 for {}", policy.name())),
        _ => (
            -20,
            19,
            format!("a nice value of -20 to 19 for {}", policy.name()),
        ),
    };
    Ok(cx.int(value, low, high, &expected)? as i32)
}

/// The dl- parameters: period defaults to the runtime, deadline to the period. A task of
/// SCHED_DEADLINE may give them under their older names, which "runtime" shares with an event.
fn deadline(
    cx: &mut Context<'_>,
    keys: &Keys<'_>,
    at: Place,
    level: Level,
    policy: Policy,
) -> Result<Option<DeadlineParams>, Error> {
    let mut read = |key: &'static str, legacy: &'static str, default: u32| {
        let mut number = default;
        for key in [key, legacy] {
            if key == legacy && (level == Level::Phase || policy != Policy::Deadline) {
                break;
            }
            if let Some(value) = keys.get(key) {
                number = cx.within(key, |cx| cx.count(value, "microseconds"))?;
                if number > 0 {
                    break;
                }
            }
        }
        Ok::<u32, Error>(number)
    };
    let runtime_us = read("dl-runtime", "runtime", 0)?;
    let period_us = read("dl-period", "period", runtime_us)?;
    let deadline_us = read("dl-deadline", "deadline", period_us)?;
    let params = DeadlineParams {
        runtime_us,
        period_us,
        deadline_us,
    };
    let stated = [
        "dl-runtime",
        "runtime",
        "dl-deadline",
        "dl-period",
        "deadline",
        "period",
    ]
    .into_iter()
    .find_map(|key| keys.member(key));
    if policy == Policy::Deadline {
        // The kernel refuses runtimes below 1024 ns, that is below 2 us.
        let fine = runtime_us >= 2 && runtime_us <= deadline_us && deadline_us <= period_us;
        let needed = level == Level::Task || keys.member("policy").is_some() || stated.is_some();
        if needed && !fine {
            let what = format!(
                "SCHED_DEADLINE with runtime {runtime_us}, deadline {deadline_us}, period \
                 {period_us}"
            );
            let expected = "2 <= dl-runtime <= dl-deadline <= dl-period, in us".to_string();
            let member = stated.or_else(|| keys.member("policy"));
            let kind = ErrorKind::Conflict { what, expected };
            return Err(cx.error(member.map_or(at, |member| member.at), kind));
        }
    }
    Ok((runtime_us > 0 || period_us > 0 || deadline_us > 0).then_some(params))
}

fn clamp(cx: &mut Context<'_>, keys: &Keys<'_>, key: &'static str) -> Result<Option<u16>, Error> {
    let Some(value) = keys.get(key) else {
        return Ok(None);
    };
    let expected = "0 to 1024, or -1 for no change";
    let number = cx.within(key, |cx| cx.int(value, -1, 1024, expected))?;
    Ok((number >= 0).then_some(number as u16))
}

/// CPUs as an array of numbers, or as the text of a CPU list.
pub(crate) fn cpus(cx: &Context<'_>, value: &Value) -> Result<Vec<u32>, Error> {
    match &value.kind {
        Kind::Text(text) => cpu_list(text).map_err(|expected| cx.bad(value, expected)),
        _ => numbers(cx, value, "CPUs"),
    }
}

/// A set of numbers, ascending.
fn numbers(cx: &Context<'_>, value: &Value, what: &str) -> Result<Vec<u32>, Error> {
    let expected = format!("an array of {what}, 0 to {CPU_MAX}, not empty");
    let Kind::Array(values) = &value.kind else {
        return Err(cx.mistyped(value, expected));
    };
    if values.is_empty() {
        let kind = ErrorKind::BadValue {
            value: "[]".to_string(),
            expected,
        };
        return Err(cx.error(value.at, kind));
    }
    let mut set = Vec::with_capacity(values.len());
    for value in values {
        set.push(cx.int(value, 0, CPU_MAX.into(), &expected)? as u32);
    }
    set.sort_unstable();
    set.dedup();
    Ok(set)
}

/// A group by path, or an object that also sets the group's limits; "" is no group.
fn task_group(cx: &mut Context<'_>, value: &Value) -> Result<Option<GroupIdx>, Error> {
    if let Kind::Object(members) = &value.kind {
        return cgroups::inline_group(cx, members, value.at).map(Some);
    }
    let path = cx.text(value, "a path such as \"/a/b\"")?;
    if path.is_empty() {
        return Ok(None);
    }
    match path_fault(path) {
        Some(expected) => Err(cx.bad(value, expected)),
        None => Ok(Some(cx.names.group(path))),
    }
}
