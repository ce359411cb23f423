//! The task grammar of the first rt-apps (2010 to 2013).
//!
//! Model.       A task has an execution time, a period, and resources it takes in `lock_order`. It
//!              becomes one phase: for each resource, take what "access" names, use the resource,
//!              give back; then the work that is left; then the period's end.
//! Source.      rt-app src/rt-app.c `run`, `thread_body` before 2014.
//! Deviations.  A task that also has a policy of SCHED_DEADLINE keeps its parameters; the period
//!              is then that of the policy and of the timer.

use super::context::Context;
use super::keys::Keys;
use crate::error::{Error, ErrorKind};
use crate::json::{Kind, Member, Value};
use crate::spec::{Event, TimerRef, TimerSpec};
use crate::suggest::nearest;
use std::collections::BTreeMap;

/// Keys of a task that mark this grammar or belong to it.
pub(crate) const KEYS: &[&str] = &["exec", "lock_order", "resources"];

/// What a declared resource is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Resource {
    Mutex,
    /// A condition variable to wait on.
    Wait,
    /// Wakes one waiter of the named one.
    Signal(String),
    /// Wakes all waiters of the named one.
    Broadcast(String),
    /// Wakes one waiter of the named one and waits on it.
    Sync(String),
    /// Needs no object: timers, sleeps, runs.
    Other,
}

/// Declared resources by name.
pub(crate) type Resources = BTreeMap<String, Resource>;

const TYPES: [&str; 8] = [
    "mutex",
    "wait",
    "signal",
    "broadcast",
    "sync",
    "sleep",
    "run",
    "timer",
];

/// Reads a "resources" section: nothing needs it but tasks of this grammar.
pub(crate) fn section(
    cx: &mut Context<'_>,
    value: &Value,
    resources: &mut Resources,
) -> Result<(), Error> {
    for member in cx.object(value, "an object of resources by name")? {
        let resource = cx.within(&member.key, |cx| declaration(cx, member))?;
        resources.insert(member.key.clone(), resource);
    }
    Ok(())
}

fn declaration(cx: &mut Context<'_>, member: &Member) -> Result<Resource, Error> {
    let members = cx.object(&member.value, "{ \"type\": TYPE }")?;
    let keys = Keys::read(cx, members, &["type", "target"])?;
    let kind = match keys.get("type") {
        Some(value) => {
            let kind = cx.text(value, "a resource's type")?;
            if !TYPES.contains(&kind) {
                let kind = ErrorKind::UnknownName {
                    name: kind.to_string(),
                    nearest: nearest(kind, TYPES),
                    expected: format!("one of {}", TYPES.join(", ")),
                };
                return Err(cx.error(value.at, kind));
            }
            kind
        }
        None => "mutex",
    };
    let target = match keys.get("target") {
        Some(value) => cx.text(value, "a resource's name")?.to_string(),
        None => member.key.clone(),
    };
    Ok(match kind {
        "mutex" => Resource::Mutex,
        "wait" => Resource::Wait,
        "signal" => Resource::Signal(target),
        "broadcast" => Resource::Broadcast(target),
        "sync" => Resource::Sync(target),
        _ => Resource::Other,
    })
}

/// Makes the events of a task of this grammar, and the timer they use.
pub(crate) fn events(
    cx: &mut Context<'_>,
    keys: &Keys<'_>,
    resources: &Resources,
) -> Result<(Vec<Event>, Vec<TimerSpec>), Error> {
    let mut left = match keys.get("exec") {
        Some(value) => cx.within("exec", |cx| cx.count(value, "microseconds"))?,
        None => 0,
    };
    let uses = match keys.get("resources") {
        Some(value) => cx.object(value, "an object of uses by resource")?,
        None => &[],
    };
    let order: &[Value] = match keys.get("lock_order").map(|value| (value, &value.kind)) {
        None => &[],
        Some((_, Kind::Array(values))) => values,
        Some((value, _)) => return Err(cx.mistyped(value, "an array of resources' names")),
    };
    let mut events = Vec::new();
    for name in order {
        let text = cx.text(name, "a resource's name")?;
        let Some(member) = uses.iter().find(|member| member.key == text) else {
            let kind = ErrorKind::UnknownName {
                name: text.to_string(),
                nearest: nearest(text, uses.iter().map(|member| member.key.as_str())),
                expected: "a resource that the task's \"resources\" describe".to_string(),
            };
            return Err(cx.error(name.at, kind));
        };
        cx.within("resources", |cx| {
            cx.within(&member.key, |cx| {
                use_of(cx, member, resources, &mut left, &mut events)
            })
        })?;
    }
    if left > 0 {
        events.push(Event::Run { us: left });
    }
    let mut timers = Vec::new();
    if let Some(value) = keys.get("period") {
        let period_us = cx.within("period", |cx| cx.count(value, "microseconds"))?;
        timers.push(TimerSpec {
            name: "unique".to_string(),
            relative: false,
        });
        events.push(Event::Timer {
            timer: TimerRef::Unique(0),
            period_us,
        });
    }
    Ok((events, timers))
}

/// One resource of the order: take, use, give back in reverse.
fn use_of(
    cx: &mut Context<'_>,
    member: &Member,
    resources: &Resources,
    left: &mut u32,
    events: &mut Vec<Event>,
) -> Result<(), Error> {
    let members = cx.object(&member.value, "{ \"duration\": MICROSECONDS }")?;
    let keys = Keys::read(cx, members, &["duration", "access"])?;
    let usage = match keys.get("duration") {
        Some(value) => cx.within("duration", |cx| cx.count(value, "microseconds"))?,
        None => 0,
    };
    let mut held = Vec::new();
    match keys.get("access").map(|value| (value, &value.kind)) {
        None => {}
        Some((_, Kind::Array(values))) => {
            for value in values {
                let name = cx.text(value, "a mutex's name")?;
                held.push(cx.names.mutex(name));
            }
        }
        Some((value, _)) => return Err(cx.mistyped(value, "an array of mutexes' names")),
    }
    let name = member.key.as_str();
    let resource = resources.get(name).cloned().unwrap_or_else(|| {
        let what = format!("resource \"{name}\" is declared nowhere and taken for a mutex");
        cx.warn(member.at, what);
        Resource::Mutex
    });
    if resource == Resource::Mutex {
        held.push(cx.names.mutex(name));
    }
    events.extend(held.iter().map(|&mutex| Event::Lock(mutex)));
    // Waiting needs a mutex; without "access" it is one of the resource's name.
    let under = held.last().copied();
    let mutex_for = |cx: &mut Context<'_>| under.unwrap_or_else(|| cx.names.mutex(name));
    match &resource {
        Resource::Mutex => {
            events.push(Event::Run { us: usage });
            *left = left.saturating_sub(usage);
        }
        Resource::Wait => {
            let mutex = mutex_for(cx);
            events.push(Event::Wait {
                cond: cx.cond(name, member.at),
                mutex,
            });
        }
        Resource::Signal(target) => events.push(Event::Signal(cx.cond(target, member.at))),
        Resource::Broadcast(target) => events.push(Event::Broadcast(cx.cond(target, member.at))),
        Resource::Sync(target) => {
            let mutex = mutex_for(cx);
            events.push(Event::Sync {
                cond: cx.cond(target, member.at),
                mutex,
            });
        }
        Resource::Other => cx.warn(member.at, "a resource of this type does nothing here"),
    }
    events.extend(held.iter().rev().map(|&mutex| Event::Unlock(mutex)));
    Ok(())
}
