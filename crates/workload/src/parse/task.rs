//! Tasks and phases.
//!
//! Model.       A task holds phases, or the events of a single one. With phases, "loop" repeats
//!              them all, for ever by default. Without, a given "loop" repeats the one phase and
//!              the task then ends; without "loop" it goes on for ever.
//! Source.      rt-app src/rt-app_parse_config.c `parse_task_data`, `parse_task_phase_data`.

use super::attrs::{self, InForce};
use super::context::Context;
use super::event::{self, TaskContext};
use super::keys::{Keys, comment, unknown};
use super::legacy::{self, Resources};
use crate::action::Launch;
use crate::error::{Error, ErrorKind};
use crate::json::{Kind, Member, Value};
use crate::spec::{Event, Loops, Phase, Policy, TaskSpec, TimerSpec};

/// Keys of a task beside attributes and events. "runtime" is an event as well.
const TASK_KEYS: &[&str] = &["instance", "delay", "phases", "loop", "period", "deadline"];
/// Keys of a phase beside attributes and events.
const PHASE_KEYS: &[&str] = &["loop"];
/// Keys of scxsim, whose simulator groups tasks into processes.
const SCXSIM_KEYS: &[&str] = &["thread_of", "parent", "uid", "gid", "kthread"];

/// Most threads of a workload: the largest number of processes that Linux can have.
pub(crate) const THREADS_MAX: u32 = 4 << 20;

/// The single phase of a task without "phases".
pub(crate) const ONLY_PHASE: &str = "phase0";

/// A task's or phase's members, told apart.
struct Parts<'v> {
    keys: Keys<'v>,
    events: Vec<(&'static str, &'v Member)>,
}

fn split<'v>(
    cx: &mut Context<'_>,
    members: &'v [Member],
    groups: &[&[&'static str]],
    elsewhere: &[&'static str],
) -> Result<Parts<'v>, Error> {
    let mut parts = Parts {
        keys: Keys::none(),
        events: Vec::new(),
    };
    for member in members {
        let mut taken = false;
        for known in groups {
            taken = taken || parts.keys.take(cx, member, known)?;
        }
        if taken {
            continue;
        }
        if let Some(word) = event::word(&member.key) {
            parts.events.push((word, member));
        } else if SCXSIM_KEYS.contains(&member.key.as_str()) {
            cx.no_effect(
                &member.key,
                member.at,
                "tasks have no processes or users here",
            );
        } else if elsewhere.contains(&member.key.as_str()) {
            let kind = ErrorKind::UnknownKey {
                key: member.key.clone(),
                nearest: None,
                expected: "this key beside \"phases\", not in one of them".to_string(),
            };
            return Err(cx.error(member.at, kind));
        } else if !comment(cx, member) {
            let known: Vec<_> = groups.iter().copied().flatten().copied().collect();
            return Err(unknown(cx, member, &known, event::WORDS));
        }
    }
    Ok(parts)
}

/// Threads of a task from the start.
pub(crate) fn instances(cx: &mut Context<'_>, members: &[Member]) -> Result<u32, Error> {
    let Some(member) = members.iter().find(|member| member.key == "instance") else {
        return Ok(1);
    };
    let expected = format!("a number of threads, 0 to {THREADS_MAX}");
    let high = i64::from(THREADS_MAX);
    let number = cx.within("instance", |cx| cx.int(&member.value, 0, high, &expected))?;
    Ok(number as u32)
}

/// Reads one task.
pub(crate) fn task(
    cx: &mut Context<'_>,
    member: &Member,
    name: &str,
    tasks: &[String],
    resources: &Resources,
) -> Result<TaskSpec, Error> {
    let members = cx.object(&member.value, "an object that describes a task")?;
    let mut parts = split(cx, members, &[attrs::KEYS, TASK_KEYS, legacy::KEYS], &[])?;
    let legacy = legacy::KEYS.iter().any(|key| parts.keys.get(key).is_some());
    let phased = parts.keys.get("phases").is_some();
    adopt_runtime(cx, &mut parts, phased)?;
    let (attrs, mut in_force) = attrs::of_task(cx, &parts.keys, member.at)?;
    if !legacy {
        tell_unused_names(cx, &parts.keys, in_force.policy(), phased);
    }
    let delay_us = match parts.keys.get("delay") {
        Some(value) => cx.within("delay", |cx| cx.count(value, "microseconds"))?,
        None => 0,
    };
    let stated_loops = match parts.keys.get("loop") {
        Some(value) => Some(cx.within("loop", |cx| loops(cx, value))?),
        None => None,
    };
    let instances = instances(cx, members)?;
    let mut task = TaskContext {
        name,
        instances,
        unique_timers: Vec::new(),
        barriers: Vec::new(),
        tasks,
    };
    let (loops, phases) = if let Some(value) = parts.keys.get("phases") {
        if let Some((_, stray)) = parts.events.first() {
            let what = format!("event \"{}\" beside \"phases\"", stray.key);
            let expected = "all events inside the phases; rt-app drops this one".to_string();
            return Err(cx.error(stray.at, ErrorKind::Conflict { what, expected }));
        }
        let phases = cx.within("phases", |cx| phases(cx, &mut task, value, &mut in_force))?;
        (stated_loops.unwrap_or(Loops::Forever), phases)
    } else {
        let events = if legacy {
            let (events, timers) = legacy_events(cx, &parts, resources)?;
            task.unique_timers = timers;
            events
        } else {
            events(cx, &mut task, &parts.events)?
        };
        if events.is_empty() {
            return Err(no_events(cx, member));
        }
        let (loops, phase_loops) = match stated_loops {
            Some(stated) => (Loops::Times(1), endless_if_zero(cx, &parts.keys, stated)),
            None => (Loops::Forever, Loops::Times(1)),
        };
        let name = ONLY_PHASE.to_string();
        let attrs = Default::default();
        (
            loops,
            vec![Phase {
                name,
                loops: phase_loops,
                attrs,
                events,
            }],
        )
    };
    Ok(TaskSpec {
        name: name.to_string(),
        instances,
        delay_us,
        loops,
        attrs,
        phases,
        unique_timers: task.unique_timers,
        launch: Launch::WithTheRun,
        background: false,
    })
}

/// Takes a task's "runtime" in as the older name of "dl-runtime". Without phases it is the event
/// as well.
fn adopt_runtime<'v>(cx: &Context<'_>, parts: &mut Parts<'v>, phased: bool) -> Result<(), Error> {
    let runtime = parts
        .events
        .iter()
        .position(|(_, member)| member.key == "runtime");
    if let Some(at) = runtime {
        parts.keys.take(cx, parts.events[at].1, &["runtime"])?;
        if phased {
            parts.events.remove(at);
        }
    }
    Ok(())
}

/// Tells of older names of dl- keys where they are nothing else and the policy has no use for them.
fn tell_unused_names(cx: &mut Context<'_>, keys: &Keys<'_>, policy: Policy, phased: bool) {
    if policy == Policy::Deadline {
        return;
    }
    for key in ["runtime", "period", "deadline"] {
        if let Some(member) = keys.member(key)
            && (phased || key != "runtime")
        {
            cx.no_effect(key, member.at, "at task level it is for SCHED_DEADLINE");
        }
    }
}

fn legacy_events(
    cx: &mut Context<'_>,
    parts: &Parts<'_>,
    resources: &Resources,
) -> Result<(Vec<Event>, Vec<TimerSpec>), Error> {
    let marks = legacy::KEYS.iter().find_map(|key| parts.keys.member(key));
    if let (Some(mark), Some((_, event))) = (marks, parts.events.first()) {
        let what = format!("event \"{}\" beside \"{}\"", event.key, mark.key);
        let expected = "either events or the older exec, lock_order and resources".to_string();
        return Err(cx.error(event.at, ErrorKind::Conflict { what, expected }));
    }
    if let Some(mark) = marks {
        cx.warn(
            mark.at,
            "the older task grammar, which rt-app no longer takes, becomes events",
        );
    }
    legacy::events(cx, &parts.keys, resources)
}

fn phases(
    cx: &mut Context<'_>,
    task: &mut TaskContext<'_>,
    value: &Value,
    in_force: &mut InForce,
) -> Result<Vec<Phase>, Error> {
    let members = cx.object(value, "an object of phases by name")?;
    let mut phases: Vec<Phase> = Vec::new();
    for member in members {
        if matches!(member.value.kind, Kind::Text(_)) && comment(cx, member) {
            continue;
        }
        let phase = cx.within(&member.key, |cx| phase(cx, task, member, in_force))?;
        let taken = |name: &str| phases.iter().any(|phase| phase.name == name);
        let name = unique_name(&member.key, taken);
        phases.push(Phase { name, ..phase });
    }
    if phases.is_empty() {
        let expected = "at least one phase with events".to_string();
        let kind = ErrorKind::BadValue {
            value: "{}".to_string(),
            expected,
        };
        return Err(cx.error(value.at, kind));
    }
    Ok(phases)
}

fn phase(
    cx: &mut Context<'_>,
    task: &mut TaskContext<'_>,
    member: &Member,
    in_force: &mut InForce,
) -> Result<Phase, Error> {
    let members = cx.object(&member.value, "an object that describes a phase")?;
    let elsewhere = ["instance", "delay", "phases", "exec", "resources"];
    let parts = split(cx, members, &[attrs::KEYS, PHASE_KEYS], &elsewhere)?;
    let loops = match parts.keys.get("loop") {
        Some(value) => {
            let stated = cx.within("loop", |cx| loops(cx, value))?;
            endless_if_zero(cx, &parts.keys, stated)
        }
        None => Loops::Times(1),
    };
    let attrs = attrs::of_phase(cx, &parts.keys, member.at, in_force)?;
    let events = events(cx, task, &parts.events)?;
    if events.is_empty() {
        return Err(no_events(cx, member));
    }
    Ok(Phase {
        name: member.key.clone(),
        loops,
        attrs,
        events,
    })
}

fn events(
    cx: &mut Context<'_>,
    task: &mut TaskContext<'_>,
    parts: &[(&'static str, &Member)],
) -> Result<Vec<Event>, Error> {
    let mut events = Vec::with_capacity(parts.len());
    for (word, member) in parts {
        events.push(cx.within(&member.key, |cx| event::event(cx, task, word, member))?);
    }
    event::check_spinlocks(cx, &events, parts)?;
    Ok(events)
}

fn no_events(cx: &Context<'_>, member: &Member) -> Error {
    let kind = ErrorKind::Conflict {
        what: format!("\"{}\" does nothing", member.key),
        expected: format!("at least one event: {}", event::WORDS.join(", ")),
    };
    cx.error(member.at, kind)
}

fn loops(cx: &Context<'_>, value: &Value) -> Result<Loops, Error> {
    let expected = "a number of loops, or -1 for no end";
    let number = cx.int(value, -1, i64::from(i32::MAX), expected)?;
    Ok(if number < 0 {
        Loops::Forever
    } else {
        Loops::Times(number as u32)
    })
}

/// A phase counts its loops after each one, so that 0 is never met.
fn endless_if_zero(cx: &mut Context<'_>, keys: &Keys<'_>, loops: Loops) -> Loops {
    match (loops, keys.member("loop")) {
        (Loops::Times(0), Some(member)) => {
            cx.warn(
                member.at,
                "a phase with \"loop\" 0 is repeated for ever, as in rt-app",
            );
            Loops::Forever
        }
        _ => loops,
    }
}

/// The name, or if it is taken the name with the smallest number behind it that is not.
pub(crate) fn unique_name(name: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(name) {
        return name.to_string();
    }
    (1u32..)
        .map(|number| format!("{name}{number}"))
        .find(|name| !taken(name))
        .unwrap_or_default()
}
