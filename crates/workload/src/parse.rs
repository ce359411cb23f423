//! From text to workload.
//!
//! Model.       Sections are read in a fixed order whatever their order in the file: global,
//!              cgroups, resources, tasks. Several files make one workload: their tasks follow one
//!              another, and a global setting of a later file overrides an earlier one.
//! Invariants.  Every key is used, warned about or refused; nothing is passed over in silence.
//! Source.      rt-app src/rt-app_parse_config.c, doc/workgen (equal keys), doc/merge.py.
//! Deviations.  Unknown keys, which rt-app passes over, are errors.

mod attrs;
mod cgroups;
mod context;
mod event;
mod global;
mod guests;
mod keys;
mod legacy;
mod names;
mod task;

use crate::error::{Error, ErrorKind};
use crate::json::{self, Member, Place, Value};
use crate::spec::{Event, TaskSpec, Workload};
use context::Context;
use keys::Keys;
use std::collections::{BTreeMap, BTreeSet};

/// Sections of a file.
const SECTIONS: &[&str] = &["tasks", "global", "resources", "cgroups", "guests"];
/// Sections of what runs in a guest.
const NESTED_SECTIONS: &[&str] = &["tasks", "global", "resources", "cgroups"];

/// Reads a workload; `file` names it in errors and warnings.
///
/// # Errors
/// The first fault of the file: see [`ErrorKind`].
pub fn parse(text: &str, file: &str) -> Result<Workload, Error> {
    parse_files(&[(file, text)])
}

/// Reads files, each given as name and text, that together make one workload.
///
/// Tasks follow one another in the order of the files, and none may be in two of them. Of a global
/// setting that several files make, the last one counts.
///
/// # Errors
/// The first fault of a file: see [`ErrorKind`].
pub fn parse_files(files: &[(&str, &str)]) -> Result<Workload, Error> {
    let cx = Context::new(files);
    let mut roots = Vec::new();
    for (index, (_, text)) in files.iter().enumerate() {
        let root = json::read(text, index as u32).map_err(|error| {
            let expected = error.expected.to_string();
            cx.error(
                error.at,
                ErrorKind::Syntax {
                    found: error.found,
                    expected,
                },
            )
        })?;
        roots.push(root);
    }
    let roots: Vec<&Value> = roots.iter().collect();
    read_roots(cx, &roots, SECTIONS)
}

/// Reads what runs in a guest: the sections of a file, without guests of its own.
fn read_nested(cx: &mut Context<'_>, root: &Value) -> Result<Workload, Error> {
    let mut workload = read_roots(cx.nested(), &[root], NESTED_SECTIONS)?;
    cx.warnings.append(&mut workload.warnings);
    Ok(workload)
}

fn read_roots(
    mut cx: Context<'_>,
    roots: &[&Value],
    known: &[&'static str],
) -> Result<Workload, Error> {
    let mut sections = Vec::new();
    for root in roots {
        let members = cx.object(root, "an object with \"tasks\"")?;
        sections.push(Keys::read(&mut cx, members, known)?);
    }
    let of = |name| sections.iter().filter_map(move |keys| keys.get(name));
    for section in of("global") {
        cx.within("global", |cx| read_global(cx, section))?;
    }
    check_overridden(&mut cx, of("global"))?;
    for section in of("cgroups") {
        cx.within("cgroups", |cx| cgroups::section(cx, section))?;
    }
    let mut resources = legacy::Resources::new();
    for section in of("resources") {
        cx.within("resources", |cx| {
            legacy::section(cx, section, &mut resources)
        })?;
    }
    let mut members: Vec<&Member> = Vec::new();
    for section in of("tasks") {
        cx.within("tasks", |cx| {
            members.extend(cx.object(section, "an object of tasks by name")?);
            Ok(())
        })?;
    }
    let mut tasks = cx.within("tasks", |cx| read_tasks(cx, &members, &resources))?;
    let mut guests = Vec::new();
    for section in of("guests") {
        guests.extend(cx.within("guests", |cx| guests::section(cx, section, &mut tasks))?);
    }
    if tasks.is_empty() {
        cx.warn_file("no tasks: nothing will run");
    }
    cgroups::check_v1_limits(&cx)?;
    check_wakeups(&mut cx, &tasks);
    Ok(Workload {
        global: cx.global,
        groups: cx.names.groups,
        tasks,
        objects: cx.names.objects,
        guests,
        warnings: cx.warnings,
    })
}

fn read_global(cx: &mut Context<'_>, section: &Value) -> Result<(), Error> {
    let members = cx.object(section, "an object of settings")?;
    let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
    for member in members {
        if let Some(first) = seen.insert(&member.key, member.at) {
            let first_line = cx.line(first);
            let kind = ErrorKind::DuplicateKey {
                key: member.key.clone(),
                first_line,
            };
            return Err(cx.error(member.at, kind));
        }
        cx.within(&member.key, |cx| global::setting(cx, member))?;
    }
    Ok(())
}

/// Tells of settings that a later file overrides.
fn check_overridden<'v>(
    cx: &mut Context<'_>,
    sections: impl Iterator<Item = &'v Value>,
) -> Result<(), Error> {
    let mut seen: BTreeMap<&str, Place> = BTreeMap::new();
    for section in sections {
        for member in cx.object(section, "an object of settings")? {
            if let Some(earlier) = seen.insert(&member.key, member.at) {
                let what = format!("\"{}\" is overridden by a later file", member.key);
                cx.warn(earlier, what);
            }
        }
    }
    Ok(())
}

fn read_tasks(
    cx: &mut Context<'_>,
    members: &[&Member],
    resources: &legacy::Resources,
) -> Result<Vec<TaskSpec>, Error> {
    let mut names: Vec<String> = Vec::new();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut first_at: BTreeMap<&str, Place> = BTreeMap::new();
    let mut threads = 0;
    let mut kept: Vec<&Member> = Vec::new();
    for &member in members {
        if matches!(member.value.kind, json::Kind::Text(_)) && keys::comment(cx, member) {
            continue;
        }
        let earlier = *first_at.entry(&member.key).or_insert(member.at);
        if earlier.file != member.at.file {
            let first_line = cx.line(earlier);
            let kind = ErrorKind::DuplicateKey {
                key: member.key.clone(),
                first_line,
            };
            return Err(cx.error(member.at, kind));
        }
        let name = task::unique_name(&member.key, |name| taken.contains(name));
        if name != member.key {
            let what = format!("a second task \"{}\" is called \"{name}\"", member.key);
            cx.warn(member.at, what);
        }
        threads += cx.within(&name, |cx| {
            let members = cx.object(&member.value, "an object that describes a task")?;
            task::instances(cx, members)
        })?;
        if threads > task::THREADS_MAX {
            let expected = format!("at most {} threads in all", task::THREADS_MAX);
            let kind = ErrorKind::BadValue {
                value: threads.to_string(),
                expected,
            };
            return Err(cx.error(member.at, kind));
        }
        taken.insert(name.clone());
        names.push(name);
        kept.push(member);
    }
    let mut tasks = Vec::with_capacity(kept.len());
    for (member, name) in kept.into_iter().zip(&names) {
        tasks.push(cx.within(name, |cx| task::task(cx, member, name, &names, resources))?);
    }
    Ok(tasks)
}

/// Tells of condition variables that are waited on but never signalled, and the other way round.
fn check_wakeups(cx: &mut Context<'_>, tasks: &[TaskSpec]) {
    let mut waited = vec![false; cx.names.objects.conds.len()];
    let mut woken = waited.clone();
    for event in tasks
        .iter()
        .flat_map(|task| &task.phases)
        .flat_map(|phase| &phase.events)
    {
        match *event {
            Event::Wait { cond, .. } | Event::Suspend { cond, .. } => waited[cond.idx()] = true,
            Event::Signal(cond) | Event::Broadcast(cond) | Event::Resume { cond, .. } => {
                woken[cond.idx()] = true;
            }
            Event::Sync { cond, .. } => {
                waited[cond.idx()] = true;
                woken[cond.idx()] = true;
            }
            _ => {}
        }
    }
    for (cond, (waited, woken)) in waited.into_iter().zip(woken).enumerate() {
        let name = cx.names.objects.conds[cond].clone();
        let at = cx.cond_places[cond];
        if waited && !woken {
            cx.warn(
                at,
                format!("nothing ever wakes those that wait or suspend on \"{name}\""),
            );
        } else if woken && !waited {
            cx.warn(
                at,
                format!("nothing ever waits or suspends on \"{name}\", which is woken"),
            );
        }
    }
}
