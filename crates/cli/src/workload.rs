//! `fairwind workload`: what the tasks of a recording did, as a file that can be run.
//!
//! Model.       A task has a semaphore of its name, which counts the posts that it waits for; it begins a phase where its
//!              group or priority changes.
//! Invariants.  What is written was read back as a workload before. A file appears only when it is whole.
//! Not here.    What tasks did: see `behaviour` of the crate `check`.

use crate::check::{cgroup_file, member};
use crate::duration;
use crate::error::Error;
use crate::output;
use clap::{Args, ValueHint};
use fairwind_check::behaviour::{Act, Setting, Task, Window, behaviour};
use fairwind_check::facts::GroupFacts;
use fairwind_check::{Given, Recording};
use fairwind_sched::{Nanos, Release};
use fairwind_trace::read::Severity;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::{fs, iter};

/// Priority of nice 0, the first that is not real-time, and the highest SCHED_FIFO has.
const DEFAULT_PRIO: i32 = 120;
const MAX_RT_PRIO: i32 = 100;
const MAX_RT_PRIORITY: i32 = 99;

/// Turn a recording into a workload that can be run.
///
/// Writes an rt-app file in which each thread of the recording does again what it did: it runs for the time it was on a
/// CPU, sleeps as long as it slept where an interrupt woke it, and waits for the task that woke it otherwise. So
/// another machine, kernel or limit can be tried. docs/guide.md tells what a recording does not say, and so is lost.
#[derive(Args, Debug)]
#[command(
    after_help = "For example: fairwind workload trace.dat -o app.json && fairwind run app.json --machine 1x2x1"
)]
pub(crate) struct WorkloadArgs {
    /// Recording, as of 'fairwind check'; sched_switch and sched_waking suffice
    #[arg(value_name = "RECORDING", value_hint = ValueHint::AnyPath)]
    pub(crate) recording: PathBuf,

    /// File to write; without it, standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Leave out the beginning of the recording: 500ms
    #[arg(long, value_name = "D", value_parser = duration::parse)]
    pub(crate) from: Option<Nanos>,

    /// Take only so much of it: 2s
    #[arg(long = "for", value_name = "D", value_parser = duration::parse)]
    pub(crate) length: Option<Nanos>,

    /// Set what a group's file says: /web/cpu.max='20000 100000'; as of 'fairwind check'
    #[arg(short, long = "cgroup", value_name = "PATH/FILE=VALUE", value_parser = cgroup_file)]
    pub(crate) cgroups: Vec<String>,

    /// Put a task, by thread id or name, into a group from its first moment on: nginx=/web
    #[arg(long = "member", value_name = "TASK=GROUP", value_parser = member)]
    pub(crate) members: Vec<(String, String)>,
}

/// Writes the workload of a recording.
pub(crate) fn run(args: &WorkloadArgs) -> Result<ExitCode, Error> {
    let recording = open(args).map_err(Error::input)?;
    let window = Window {
        from: args.from.unwrap_or(0),
        length: args.length.unwrap_or(Nanos::MAX),
    };
    let tasks = behaviour(&recording, window);
    if tasks.is_empty() {
        let (what, hint) = if args.from.is_some() || args.length.is_some() {
            let what = "no task did anything in that part of the recording";
            (what, "choose another with --from and --for")
        } else {
            let what = "no task of the recording did anything that can be done again";
            (
                what,
                "record all CPUs: 'perf record -a', trace-cmd without -P",
            )
        };
        return Err(Error::input(what).hint(hint));
    }
    let text = workload(&tasks, &recording.facts().groups);
    fairwind_workload::parse(&text, &args.recording.to_string_lossy()).map_err(|error| {
        Error::input(error).hint("the recording tells what no workload can have: see --cgroup")
    })?;
    warnings(&recording);
    match &args.output {
        Some(path) => write_whole(path, &text)?,
        None => output::print_raw(text.as_bytes())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// What the recording does not tell, though the workload depends on it.
fn warnings(recording: &Recording) {
    let missing = [Severity::Loss, Severity::Damage].map(|kind| recording.stats().total(kind));
    if missing != [0, 0] {
        output::warning(&format!(
            "{} losses and {} damaged parts in the recording: what tasks did there is left out",
            missing[0], missing[1]
        ));
    }
    if recording.lacks_flags() {
        output::warning(
            "the recording does not tell what happened in interrupts: wakeups by a timer or device are taken for those \
             of the task that ran there; convert the perf.data or trace.dat itself",
        );
    }
}

/// The kernel matters little to what tasks did: where none is told, any will do.
fn open(args: &WorkloadArgs) -> Result<Recording, fairwind_check::Error> {
    let given = |release| Given {
        release,
        cgroups: args.cgroups.clone(),
        members: args.members.clone(),
        ..Given::default()
    };
    match Recording::open(&args.recording, given(None)) {
        Err(
            fairwind_check::Error::Missing { .. } | fairwind_check::Error::UnknownKernel { .. },
        ) => Recording::open(&args.recording, given(Some(Release::V6_12))),
        opened => opened,
    }
}

/// A file gets its name when it is whole; a link stays, and what it points to is replaced. A device or a pipe is written to.
fn write_whole(path: &Path, text: &str) -> Result<(), Error> {
    let failed = |error| Error::failed(format!("{}: cannot write: {error}", path.display()));
    let target = match fs::metadata(path) {
        Ok(found) if found.is_file() => fs::canonicalize(path).map_err(failed)?,
        Ok(_) => return fs::write(path, text).map_err(failed),
        Err(_) => path.to_owned(),
    };
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let hidden = target.with_file_name(format!(".{name}.{}", process::id()));
    let written = fs::write(&hidden, text).and_then(|()| fs::rename(&hidden, &target));
    written.map_err(|error| {
        // It may never have come into being.
        let _ = fs::remove_file(&hidden);
        failed(error)
    })
}

fn workload(tasks: &[Task], groups: &BTreeMap<String, GroupFacts>) -> String {
    let names = names(tasks);
    let mut text = String::from("{\n  \"tasks\": {\n");
    let tasks_text = tasks.iter().map(|task| task_text(task, &names));
    text.push_str(&tasks_text.collect::<Vec<_>>().join(",\n"));
    text.push_str("\n  }");
    let groups: Vec<_> = { groups.iter() }
        .filter(|(path, _)| *path != "/")
        .map(|(path, group)| group_text(path, group))
        .collect();
    if !groups.is_empty() {
        let _ = write!(text, ",\n  \"cgroups\": {{\n{}\n  }}", groups.join(",\n"));
    }
    text.push_str("\n}\n");
    text
}

/// Names by thread id: that of the thread, with its id where several have the same. No two are equal, or two tasks would
/// wait for the same posts; and none begins as comments do.
fn names(tasks: &[Task]) -> BTreeMap<i32, String> {
    let mut seen = BTreeSet::new();
    let twice: BTreeSet<&str> = { tasks.iter() }
        .map(|task| task.comm.as_str())
        .filter(|comm| !seen.insert(*comm))
        .collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut names = BTreeMap::new();
    for Task { pid, comm, .. } in tasks {
        let mut name = comm.trim_start_matches('_').to_owned();
        if name != *comm || name.is_empty() || twice.contains(comm.as_str()) {
            let unnamed = if name.is_empty() { "thread" } else { &name };
            name = format!("{unnamed}-{pid}");
        }
        while !taken.insert(name.clone()) {
            name.push('+');
        }
        names.insert(*pid, name);
    }
    names
}

fn task_text(task: &Task, names: &BTreeMap<i32, String>) -> String {
    let name = quoted(&names[&task.pid]);
    let mut text = format!("    {name}: {{ \"loop\": 1, \"phases\": {{\n");
    for (number, phase) in task.phases.iter().enumerate() {
        let separator = if number == 0 { "" } else { ",\n" };
        let _ = write!(text, "{separator}      \"p{number}\": {{ \"loop\": 1");
        let setting = setting(&phase.setting);
        let acts = { phase.acts.iter().enumerate() }.filter_map(|(number, act)| {
            Some(match act {
                Act::Run { us } => format!("\"run{number}\": {us}"),
                Act::Sleep { us } => format!("\"sleep{number}\": {us}"),
                Act::Wait => format!("\"sem_wait{number}\": {name}"),
                // Who does nothing else in this part waits for no post.
                Act::Post { pid } => {
                    format!("\"sem_post{number}\": {}", quoted(names.get(pid)?))
                }
            })
        });
        for entry in setting.into_iter().chain(acts) {
            let _ = write!(text, ",\n        {entry}");
        }
        text.push_str(" }");
    }
    text.push_str("\n    } }");
    text
}

/// Real-time tasks are in no task group.
fn setting(setting: &Setting) -> Vec<String> {
    let prio = setting.prio;
    if prio < MAX_RT_PRIO {
        let priority = (MAX_RT_PRIORITY - prio).clamp(1, MAX_RT_PRIORITY);
        return vec![
            "\"policy\": \"SCHED_FIFO\"".to_owned(),
            format!("\"priority\": {priority}"),
        ];
    }
    let nice = format!("\"priority\": {}", prio - DEFAULT_PRIO);
    let group = { setting.group.iter() }.map(|path| format!("\"taskgroup\": {}", quoted(path)));
    iter::once("\"policy\": \"SCHED_OTHER\"".to_owned())
        .chain([nice])
        .chain(group)
        .collect()
}

fn group_text(path: &str, group: &GroupFacts) -> String {
    let default = GroupFacts::default();
    let mut settings = Vec::new();
    if group.idle {
        settings.push("\"cpu.idle\": 1".to_owned());
    } else if group.shares != default.shares {
        settings.push(format!("\"cpu.shares\": {}", group.shares));
    }
    if let Some(quota) = group.quota_us {
        settings.push(format!("\"cpu.max\": \"{quota} {}\"", group.period_us));
        if group.burst_us > 0 {
            settings.push(format!("\"cpu.max.burst\": {}", group.burst_us));
        }
    }
    format!("    {}: {{ {} }}", quoted(path), settings.join(", "))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_written_to_and_a_link_stays() {
        let folder = std::env::temp_dir().join(format!("fairwind-workload-{}", process::id()));
        fs::create_dir(&folder).expect("a new folder");
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("linked");
        assert!(write_whole(&link, "new").is_ok());
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "new");
        let device = folder.join("device");
        std::os::unix::fs::symlink("/dev/null", &device).expect("linked");
        assert!(write_whole(&device, "new").is_ok());
        assert!(device.is_symlink(), "nothing takes the device's place");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 3);
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn names_are_unique_and_no_comments() {
        let task = |pid, comm: &str| Task {
            pid,
            comm: comm.to_owned(),
            phases: Vec::new(),
        };
        let tasks = [
            task(4, "a-7"),
            task(5, "b"),
            task(6, "_b"),
            task(7, "a"),
            task(8, "a"),
            task(9, ""),
        ];
        let names: Vec<_> = names(&tasks).into_values().collect();
        assert_eq!(names, ["a-7", "b", "b-6", "a-7+", "a-8", "thread-9"]);
    }
}
