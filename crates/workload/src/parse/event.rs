//! Events: what a task does, key by key.
//!
//! Model.       A key is an event if it begins with an event's word; what follows the word is free,
//!              so that keys can differ (`run0`, `sleep_a`). Words are tried in a fixed order, the
//!              longer before the shorter one that begins it.
//! Source.      rt-app src/rt-app_parse_config.c `parse_task_event_data`, `obj_is_event`.

use super::context::Context;
use super::keys::Keys;
use super::names::MemoryTag;
use crate::error::{Error, ErrorKind};
use crate::json::{Kind, Member, Value};
use crate::spec::*;
use crate::suggest::nearest;

/// Words that begin an event's key, in the order they are tried.
pub(crate) const WORDS: &[&str] = &[
    "runtime",
    "run",
    "sleep",
    "memrun",
    "mem",
    "iorun",
    "lock",
    "unlock",
    "signal",
    "broad",
    "wait",
    "sync",
    "barrier",
    "timer",
    "resume",
    "suspend",
    "yield",
    "fork",
    "sem_post",
    "sem_wait",
    "spin_lock",
    "spin_unlock",
];

/// The word that begins the key of an event; none: the key is no event.
pub(crate) fn word(key: &str) -> Option<&'static str> {
    WORDS.iter().copied().find(|word| key.starts_with(word))
}

/// What events need to know of their task.
pub(crate) struct TaskContext<'t> {
    pub(crate) name: &'t str,
    pub(crate) instances: u32,
    pub(crate) unique_timers: Vec<TimerSpec>,
    /// Barriers this task has met, to tell of one that is met twice.
    pub(crate) barriers: Vec<BarrierId>,
    /// Names of all tasks, for forks.
    pub(crate) tasks: &'t [String],
}

/// Reads an event whose key begins with `word`.
pub(crate) fn event(
    cx: &mut Context<'_>,
    task: &mut TaskContext<'_>,
    word: &'static str,
    member: &Member,
) -> Result<Event, Error> {
    let value = &member.value;
    Ok(match word {
        "runtime" => Event::Runtime {
            us: cx.count(value, "microseconds")?,
        },
        "run" => Event::Run {
            us: cx.count(value, "microseconds")?,
        },
        "sleep" => Event::Sleep {
            us: cx.count(value, "microseconds")?,
        },
        "memrun" => Event::Memory(memrun(cx, task, value)?),
        "mem" => Event::Memory(mem(cx, task, value)?),
        "iorun" => Event::IoRun {
            bytes: cx.count(value, "bytes")?,
        },
        "lock" => Event::Lock(mutex(cx, value)?),
        "unlock" => Event::Unlock(mutex(cx, value)?),
        "signal" => Event::Signal(cond(cx, value)?),
        "broad" => Event::Broadcast(cond(cx, value)?),
        "wait" => {
            let (cond, mutex) = wait(cx, value)?;
            Event::Wait { cond, mutex }
        }
        "sync" => {
            let (cond, mutex) = wait(cx, value)?;
            Event::Sync { cond, mutex }
        }
        "barrier" => barrier(cx, task, member)?,
        "timer" => timer(cx, task, value)?,
        "resume" => {
            let name = cx.text(value, "the name of a task that suspends")?;
            Event::Resume {
                cond: cx.cond(name, value.at),
                mutex: cx.names.mutex(name),
            }
        }
        "suspend" => suspend(cx, task, value)?,
        "yield" => {
            if !matches!(value.kind, Kind::Text(_) | Kind::Absent) {
                return Err(cx.mistyped(value, "a text, which is ignored"));
            }
            Event::Yield
        }
        "fork" => fork(cx, task, value)?,
        "spin_lock" => Event::SpinLock(spinlock(cx, value)?),
        "spin_unlock" => Event::SpinUnlock(spinlock(cx, value)?),
        "sem_post" => Event::SemPost(semaphore(cx, value)?),
        _ => Event::SemWait(semaphore(cx, value)?),
    })
}

fn mutex(cx: &mut Context<'_>, value: &Value) -> Result<MutexId, Error> {
    let name = cx.text(value, "a mutex's name")?;
    Ok(cx.names.mutex(name))
}

fn cond(cx: &mut Context<'_>, value: &Value) -> Result<CondId, Error> {
    let name = cx.text(value, "a condition variable's name")?;
    Ok(cx.cond(name, value.at))
}

fn semaphore(cx: &mut Context<'_>, value: &Value) -> Result<SemId, Error> {
    let name = cx.text(value, "a semaphore's name")?;
    Ok(cx.names.semaphore(name))
}

fn spinlock(cx: &mut Context<'_>, value: &Value) -> Result<SpinlockId, Error> {
    let name = cx.text(value, "a spinlock's name")?;
    Ok(cx.names.spinlock(name))
}

/// Refuses a phase whose spinlocks are not unlocked again in it, the last one first, with nothing but work between.
pub(crate) fn check_spinlocks(
    cx: &Context<'_>,
    events: &[Event],
    members: &[(&'static str, &Member)],
) -> Result<(), Error> {
    let mut held: Vec<(SpinlockId, &Member)> = Vec::new();
    let refuse = |at: &Member, what: String, expected: &str| {
        let expected = expected.to_string();
        Err(cx.error(at.at, ErrorKind::Conflict { what, expected }))
    };
    for (event, (_, member)) in events.iter().zip(members) {
        match *event {
            Event::SpinLock(lock) if held.iter().any(|&(other, _)| other == lock) => {
                let what = format!("\"{}\" locks what it holds", member.key);
                return refuse(member, what, "a spin_unlock before it");
            }
            Event::SpinLock(lock) => held.push((lock, member)),
            Event::SpinUnlock(lock) if held.last().is_some_and(|&(last, _)| last == lock) => {
                held.pop();
            }
            Event::SpinUnlock(_) => {
                let what = format!("\"{}\" unlocks what was not locked last", member.key);
                return refuse(
                    member,
                    what,
                    "the spin_lock of the same name before it, innermost first",
                );
            }
            Event::Run { .. } => {}
            _ if held.is_empty() => {}
            _ => {
                let what = format!("\"{}\" under a spinlock", member.key);
                return refuse(
                    member,
                    what,
                    "nothing but \"run\" and further spinlocks: who holds one cannot sleep",
                );
            }
        }
    }
    match held.last() {
        Some((_, member)) => refuse(
            member,
            format!("\"{}\" is not unlocked", member.key),
            "a spin_unlock in the same phase",
        ),
        None => Ok(()),
    }
}

/// A text member that rt-app calls "unknown" when it is missing.
fn name_or_unknown<'v>(
    cx: &mut Context<'_>,
    keys: &Keys<'v>,
    key: &'static str,
    value: &Value,
) -> Result<&'v str, Error> {
    match keys.get(key) {
        Some(name) => cx.within(key, |cx| cx.text(name, "a name")),
        None => {
            cx.warn(
                value.at,
                format!("no \"{key}\": all such events share one named \"unknown\""),
            );
            Ok("unknown")
        }
    }
}

fn wait(cx: &mut Context<'_>, value: &Value) -> Result<(CondId, MutexId), Error> {
    let members = cx.object(value, "{ \"ref\": NAME, \"mutex\": NAME }")?;
    let keys = Keys::read(cx, members, &["ref", "mutex"])?;
    let cond = name_or_unknown(cx, &keys, "ref", value)?;
    let mutex = name_or_unknown(cx, &keys, "mutex", value)?;
    Ok((cx.cond(cond, value.at), cx.names.mutex(mutex)))
}

fn barrier(
    cx: &mut Context<'_>,
    task: &mut TaskContext<'_>,
    member: &Member,
) -> Result<Event, Error> {
    let name = cx.text(&member.value, "a barrier's name")?;
    let barrier = cx.names.barrier(name, task.instances);
    if task.barriers.contains(&barrier) {
        let what = format!(
            "barrier \"{name}\" is used twice by one task: it waits for one more user than there \
             are threads"
        );
        cx.warn(member.at, what);
    }
    if task.instances == 0 {
        let what = format!("barrier \"{name}\" does not count forked threads");
        cx.warn(member.at, what);
    }
    task.barriers.push(barrier);
    Ok(Event::Barrier(barrier))
}

fn timer(cx: &mut Context<'_>, task: &mut TaskContext<'_>, value: &Value) -> Result<Event, Error> {
    let expected = "{ \"ref\": NAME, \"period\": MICROSECONDS, \"mode\": MODE }";
    let members = cx.object(value, expected)?;
    let keys = Keys::read(cx, members, &["ref", "period", "mode"])?;
    let name = name_or_unknown(cx, &keys, "ref", value)?;
    let Some(period) = keys.get("period") else {
        let expected = "microseconds".to_string();
        let kind = ErrorKind::MissingKey {
            key: "period".to_string(),
            expected,
        };
        return Err(cx.error(value.at, kind));
    };
    let period_us = cx.within("period", |cx| cx.count(period, "microseconds"))?;
    let absolute = match keys.get("mode") {
        None => false,
        Some(mode) => {
            let expected = "\"relative\" or \"absolute\"";
            match cx.within("mode", |cx| cx.text(mode, expected))? {
                "relative" => false,
                "absolute" => true,
                _ => return Err(cx.bad(mode, expected)),
            }
        }
    };
    let (timer, spec) = if name.starts_with("unique") {
        let timers = &mut task.unique_timers;
        let at = timers
            .iter()
            .position(|timer| timer.name == name)
            .unwrap_or_else(|| {
                timers.push(TimerSpec {
                    name: name.to_string(),
                    relative: true,
                });
                timers.len() - 1
            });
        (TimerRef::Unique(at as u32), &mut timers[at])
    } else {
        let id = cx.names.timer(name);
        (
            TimerRef::Shared(id),
            &mut cx.names.objects.timers[id as usize],
        )
    };
    // One use that says absolute makes the timer so for all.
    spec.relative &= !absolute;
    Ok(Event::Timer { timer, period_us })
}

fn suspend(cx: &mut Context<'_>, task: &TaskContext<'_>, value: &Value) -> Result<Event, Error> {
    match &value.kind {
        Kind::Absent => {}
        Kind::Text(name) => {
            if !name.is_empty() && name != task.name {
                let what = format!(
                    "the name \"{name}\" is ignored, as rt-app does: a task suspends under its own \
                     name, \"{}\"",
                    task.name
                );
                cx.warn(value.at, what);
            }
        }
        _ => return Err(cx.mistyped(value, "a text, which is ignored")),
    }
    Ok(Event::Suspend {
        cond: cx.cond(task.name, value.at),
        mutex: cx.names.mutex(task.name),
    })
}

fn fork(cx: &Context<'_>, task: &TaskContext<'_>, value: &Value) -> Result<Event, Error> {
    let name = cx.text(value, "a task's name")?;
    match task.tasks.iter().position(|task| task == name) {
        Some(at) => Ok(Event::Fork(TaskSpecId(at as u32))),
        None => {
            let kind = ErrorKind::UnknownName {
                name: name.to_string(),
                nearest: nearest(name, task.tasks.iter().map(String::as_str)),
                expected: "the name of a task of this workload".to_string(),
            };
            Err(cx.error(value.at, kind))
        }
    }
}

/// `mem`: the threads of a task share one buffer of the run's size.
fn mem(cx: &mut Context<'_>, task: &TaskContext<'_>, value: &Value) -> Result<MemoryUse, Error> {
    let count = cx.count(value, "bytes")?;
    let size = cx.global.mem_buffer_size;
    let buffer = cx.names.buffer(MemoryTag::Set, task.name, || BufferSpec {
        name: None,
        size,
        stride: 1,
        random: false,
        footprint: size,
    });
    Ok(MemoryUse {
        buffer,
        kind: MemoryKind::Set,
        count,
    })
}

fn memrun(cx: &mut Context<'_>, task: &TaskContext<'_>, value: &Value) -> Result<MemoryUse, Error> {
    let expected = "{ \"type\": TYPE, \"size\": BYTES, \"count\": COUNT }";
    let members = cx.object(value, expected)?;
    let known = ["type", "size", "count", "stride", "pattern", "ref"];
    let keys = Keys::read(cx, members, &known)?;
    for key in ["type", "size", "count"] {
        if keys.get(key).is_none() {
            let kind = ErrorKind::MissingKey {
                key: key.to_string(),
                expected: expected.to_string(),
            };
            return Err(cx.error(value.at, kind));
        }
    }
    let required = |key: &str| keys.get(key).unwrap_or(value);
    let kind_value = required("type");
    let (kind, tag) = match cx.text(kind_value, "\"read\", \"write\" or \"chase\"")? {
        "read" => (MemoryKind::Read, MemoryTag::Read),
        "write" => (MemoryKind::Write, MemoryTag::Write),
        "chase" => (MemoryKind::Chase, MemoryTag::Chase),
        _ => return Err(cx.bad(kind_value, "\"read\", \"write\" or \"chase\"")),
    };
    let chase = kind == MemoryKind::Chase;
    let max = i64::from(i32::MAX);
    let size = cx.within("size", |cx| {
        cx.int(required("size"), 1, max, "bytes, from 1")
    })? as u64;
    let count = cx.within("count", |cx| cx.count(required("count"), "bytes or hops"))?;
    let mut stride = if chase { 64 } else { 1 };
    if let Some(value) = keys.get("stride") {
        // A pointer must fit between two of them.
        let given = cx.within("stride", |cx| cx.int(value, 8, max, "bytes, from 8"))?;
        stride = if chase { given as u32 } else { stride };
    }
    let mut random = chase;
    if let Some(value) = keys.get("pattern") {
        let expected = "\"random\" or \"sequential\"";
        random = match cx.within("pattern", |cx| cx.text(value, expected))? {
            "random" => chase,
            "sequential" => false,
            _ => return Err(cx.bad(value, expected)),
        };
    }
    for key in ["stride", "pattern"] {
        if let (Some(member), false) = (keys.member(key), chase) {
            cx.no_effect(&format!("memrun/{key}"), member.at, "only a chase has it");
        }
    }
    let mut footprint = size;
    if chase {
        let positions = size / u64::from(stride);
        if positions < 2 {
            return Err(cx.bad(required("size"), "a chase of at least twice its stride"));
        }
        footprint = (1 << positions.ilog2()) * u64::from(stride);
    }
    let name = match keys.get("ref") {
        Some(name) => Some(cx.within("ref", |cx| cx.text(name, "a name"))?.to_string()),
        None => None,
    };
    // Without a ref, uses of one task that agree in everything share a buffer. The line feed keeps
    // these keys apart from every ref that a sane file has.
    let key = match &name {
        Some(name) => name.clone(),
        None => format!("{}\n{size}\n{stride}\n{random}", task.name),
    };
    let spec = BufferSpec {
        name,
        size,
        stride,
        random,
        footprint,
    };
    let buffer = cx.names.buffer(tag, &key, || spec.clone());
    let known = &cx.names.objects.buffers[buffer.idx()];
    if *known != spec {
        let what = format!(
            "memrun with ref \"{key}\" of size {size}, stride {stride} beside one of size {}, \
             stride {}, or of another pattern",
            known.size, known.stride
        );
        let expected = "one size, stride and pattern for all that share a ref".to_string();
        return Err(cx.error(value.at, ErrorKind::Conflict { what, expected }));
    }
    Ok(MemoryUse {
        buffer,
        kind,
        count,
    })
}
