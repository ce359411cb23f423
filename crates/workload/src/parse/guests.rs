//! Guests: the "guests" section.
//!
//! Model.       `{ "vm": { "vcpus": 4, "taskgroup": "/vm", "workload": { "tasks": … } } }`. Attributes are those of the
//!              vCPUs' threads on the host; "workload" holds the sections of a file of its own.

use super::attrs;
use super::context::Context;
use super::keys::{Keys, comment};
use super::task::unique_name;
use crate::action::Launch;
use crate::error::{Error, ErrorKind};
use crate::guest::*;
use crate::json::{Kind, Member, Value};
use crate::programs::{self, Program};
use crate::spec::{Attrs, Loops, Phase, SemId, TaskSpec, TaskSpecId, Workload};
use crate::suggest::nearest;

const GUEST_KEYS: &[&str] = &[
    "instance",
    "vcpus",
    "topology",
    "delay",
    "kernel",
    "halt_poll_ns",
    "ple_gap",
    "ple_window",
    "ple_window_grow",
    "spinlocks",
    "paravirt",
    "virtqueues",
    "workload",
    "programs",
];

/// Most vCPUs of a guest: KVM_MAX_VCPUS of x86.
const VCPUS_MAX: i64 = 1024;
/// Most guests of one description.
const INSTANCES_MAX: i64 = 1024;

/// Reads a "guests" section; the vCPUs' tasks are added to `tasks`.
pub(crate) fn section(
    cx: &mut Context<'_>,
    value: &Value,
    tasks: &mut Vec<TaskSpec>,
) -> Result<Vec<GuestSpec>, Error> {
    let members = cx.object(value, "an object of guests by name")?;
    let mut guests: Vec<GuestSpec> = Vec::new();
    for member in members {
        if matches!(member.value.kind, Kind::Text(_)) && comment(cx, member) {
            continue;
        }
        cx.within(&member.key, |cx| guest(cx, member, tasks, &mut guests))?;
    }
    Ok(guests)
}

fn guest(
    cx: &mut Context<'_>,
    member: &Member,
    tasks: &mut Vec<TaskSpec>,
    guests: &mut Vec<GuestSpec>,
) -> Result<(), Error> {
    let members = cx.object(&member.value, "an object that describes a guest")?;
    let known: Vec<&'static str> = GUEST_KEYS.iter().chain(attrs::KEYS).copied().collect();
    let keys = Keys::read(cx, members, &known)?;
    let topology = topology(cx, &keys, member)?;
    let (attrs, _) = attrs::of_task(cx, &keys, member.at)?;
    let delay_us = match keys.get("delay") {
        Some(value) => cx.within("delay", |cx| cx.count(value, "microseconds"))?,
        None => 0,
    };
    let instances = match keys.get("instance") {
        Some(value) => {
            let expected = format!("a number of guests, 1 to {INSTANCES_MAX}");
            Some(cx.within("instance", |cx| cx.int(value, 1, INSTANCES_MAX, &expected))?)
        }
        None => None,
    };
    let (workload, programs) = content(cx, &keys, member)?;
    let template = GuestSpec {
        name: String::new(),
        vcpus: TaskSpecId(0),
        topology,
        kernel: kernel(cx, &keys)?,
        kvm: KvmParams {
            halt_poll_ns: number(cx, &keys, "halt_poll_ns", 1_000_000_000, "ns")?
                .map(|ns| ns as u64),
            ple_gap: number(cx, &keys, "ple_gap", i64::from(u32::MAX), "cycles")?
                .map(|cycles| cycles as u32),
            ple_window: number(cx, &keys, "ple_window", i64::from(u32::MAX), "cycles")?
                .map(|cycles| cycles as u32),
            ple_window_grow: number(
                cx,
                &keys,
                "ple_window_grow",
                i64::from(u32::MAX),
                "a factor",
            )?
            .map(|factor| factor as u32),
        },
        spinlocks: spinlocks(cx, &keys)?,
        virtqueues: Vec::new(),
        workload,
        programs,
    };
    for number in 0..instances.unwrap_or(1) {
        let own = match instances {
            None => member.key.clone(),
            Some(_) => format!("{}-{number}", member.key),
        };
        let name = unique_name(&own, |name| guests.iter().any(|guest| guest.name == name));
        let threads = unique_name(&format!("{name}.vcpu"), |name| {
            tasks.iter().any(|task| task.name == name)
        });
        guests.push(GuestSpec {
            vcpus: TaskSpecId(tasks.len() as u32),
            virtqueues: virtqueues(cx, &keys, &name, &template)?,
            name,
            ..template.clone()
        });
        tasks.push(vcpus(threads, topology.nr_vcpus(), delay_us, &attrs));
    }
    Ok(())
}

/// The vCPUs' threads: a task without a program of its own.
fn vcpus(name: String, instances: u32, delay_us: u32, attrs: &Attrs) -> TaskSpec {
    TaskSpec {
        name,
        instances,
        delay_us,
        loops: Loops::Forever,
        attrs: attrs.clone(),
        phases: vec![Phase {
            name: "guest".to_string(),
            loops: Loops::Forever,
            attrs: Attrs::default(),
            events: Vec::new(),
        }],
        unique_timers: Vec::new(),
        launch: Launch::Process,
        background: true,
    }
}

fn number(
    cx: &mut Context<'_>,
    keys: &Keys<'_>,
    key: &'static str,
    high: i64,
    unit: &str,
) -> Result<Option<i64>, Error> {
    let expected = format!("{unit}, 0 to {high}");
    keys.get(key)
        .map(|value| cx.within(key, |cx| cx.int(value, 0, high, &expected)))
        .transpose()
}

/// "topology", "vcpus", or both if they agree.
fn topology(
    cx: &mut Context<'_>,
    keys: &Keys<'_>,
    member: &Member,
) -> Result<GuestTopology, Error> {
    let expected = format!("a number of vCPUs, 1 to {VCPUS_MAX}");
    let vcpus = keys
        .get("vcpus")
        .map(|value| cx.within("vcpus", |cx| cx.int(value, 1, VCPUS_MAX, &expected)))
        .transpose()?;
    let form = "SOCKETSxCORESxTHREADS, such as \"2x4x1\", with at most 1024 vCPUs";
    let given = match keys.get("topology") {
        None => None,
        Some(value) => {
            let text = cx.within("topology", |cx| cx.text(value, form))?;
            let read = shape(text).filter(|shape| {
                let count = i64::from(shape.nr_vcpus());
                (1..=VCPUS_MAX).contains(&count)
            });
            let Some(read) = read else {
                return Err(cx
                    .within("topology", |cx| {
                        Err::<GuestTopology, _>(cx.bad(value, form))
                    })
                    .unwrap_err());
            };
            Some((read, value))
        }
    };
    match (given, vcpus) {
        (Some((shape, value)), Some(vcpus)) if i64::from(shape.nr_vcpus()) != vcpus => {
            let what = format!(
                "\"topology\" has {} vCPUs and \"vcpus\" is {vcpus}",
                shape.nr_vcpus()
            );
            let expected = "one of the two, or the same number in both".to_string();
            Err(cx.error(value.at, ErrorKind::Conflict { what, expected }))
        }
        (Some((shape, _)), _) => Ok(shape),
        (None, Some(vcpus)) => Ok(GuestTopology::flat(vcpus as u32)),
        (None, None) => {
            let kind = ErrorKind::MissingKey {
                key: "vcpus".to_string(),
                expected,
            };
            Err(cx.error(member.at, kind))
        }
    }
}

fn shape(text: &str) -> Option<GuestTopology> {
    let numbers: Option<Vec<u32>> = text.split('x').map(|part| part.parse().ok()).collect();
    match numbers?[..] {
        [sockets, cores, threads] => Some(GuestTopology {
            sockets,
            cores,
            threads,
        }),
        _ => None,
    }
}

fn kernel(cx: &mut Context<'_>, keys: &Keys<'_>) -> Result<Option<GuestKernel>, Error> {
    let Some(value) = keys.get("kernel") else {
        return Ok(None);
    };
    cx.within("kernel", |cx| {
        let text = cx.text(value, "KERNEL[,SWITCH]..., such as \"6.1,NO_SIS_UTIL\"")?;
        let (text, place) = (text.to_string(), cx.place(value.at));
        Ok(Some(GuestKernel { text, place }))
    })
}

fn spinlocks(cx: &mut Context<'_>, keys: &Keys<'_>) -> Result<Spinlocks, Error> {
    let kind = match keys.get("spinlocks") {
        None => SpinlockKind::default(),
        Some(value) => cx.within("spinlocks", |cx| {
            let expected = "\"ticket\" or \"queued\"";
            match cx.text(value, expected)? {
                "ticket" => Ok(SpinlockKind::Ticket),
                "queued" => Ok(SpinlockKind::Queued),
                _ => Err(cx.bad(value, expected)),
            }
        })?,
    };
    let paravirt = match keys.get("paravirt") {
        None => false,
        Some(value) => cx.within("paravirt", |cx| cx.boolean(value))?,
    };
    Ok(Spinlocks { kind, paravirt })
}

/// "virtqueues": a vCPU for each name, which is a semaphore in the guest, and with the guest's name before it one of the host.
fn virtqueues(
    cx: &mut Context<'_>,
    keys: &Keys<'_>,
    guest: &str,
    spec: &GuestSpec,
) -> Result<Vec<Virtqueue>, Error> {
    let Some(value) = keys.get("virtqueues") else {
        return Ok(Vec::new());
    };
    cx.within("virtqueues", |cx| {
        let mut queues = Vec::new();
        for member in cx.object(value, "an object of vCPUs by name, such as { \"rx\": 0 }")? {
            let last = i64::from(spec.topology.nr_vcpus()) - 1;
            let expected = format!("the vCPU that takes its interrupts, 0 to {last}");
            let vcpu = cx.within(&member.key, |cx| cx.int(&member.value, 0, last, &expected))?;
            let inside = &spec.workload.objects.semaphores;
            let (inside, outside) = (
                semaphore(cx, member, &member.key, inside, "in the guest")?,
                format!("{guest}.{}", member.key),
            );
            let host = &cx.names.objects.semaphores;
            queues.push(Virtqueue {
                host: semaphore(cx, member, &outside, host, "of the host")?,
                guest: inside,
                vcpu: vcpu as u32,
            });
        }
        Ok(queues)
    })
}

/// The semaphore of a name that tasks use.
fn semaphore(
    cx: &Context<'_>,
    member: &Member,
    name: &str,
    known: &[String],
    whose: &str,
) -> Result<SemId, Error> {
    let found = known.iter().position(|semaphore| semaphore == name);
    let kind = || ErrorKind::UnknownName {
        name: name.to_string(),
        nearest: nearest(name, known.iter().map(String::as_str)),
        expected: format!("a semaphore that a task {whose} posts to or waits for"),
    };
    { found.map(|at| SemId(at as u32)) }.ok_or_else(|| cx.error(member.at, kind()))
}

/// What runs in the guest: "workload", "programs", or both.
fn content(
    cx: &mut Context<'_>,
    keys: &Keys<'_>,
    member: &Member,
) -> Result<(Workload, Vec<String>), Error> {
    let file = match keys.get("workload") {
        None => None,
        Some(value) => Some(cx.within("workload", |cx| {
            cx.object(value, "an object with \"tasks\"")?;
            super::read_nested(cx, value)
        })?),
    };
    let mut specs = Vec::new();
    let mut made: Vec<Program> = Vec::new();
    if let Some(value) = keys.get("programs") {
        cx.within("programs", |cx| {
            let expected = "an array of programs, such as [\"hackbench:groups=2\"]";
            let Kind::Array(items) = &value.kind else {
                return Err(cx.mistyped(value, expected));
            };
            for item in items {
                let spec = cx.text(item, "a program with its parameters")?;
                let program = programs::parse(spec)
                    .map_err(|error| cx.bad(item, format!("{error}; {}", error.hint())))?;
                specs.push(spec.to_string());
                made.push(program);
            }
            Ok(())
        })?;
    }
    if file.is_none() && made.is_empty() {
        let kind = ErrorKind::MissingKey {
            key: "workload".to_string(),
            expected: "what runs in the guest: \"workload\" or \"programs\"".to_string(),
        };
        return Err(cx.error(member.at, kind));
    }
    Ok((programs::join(file, made).0, specs))
}
