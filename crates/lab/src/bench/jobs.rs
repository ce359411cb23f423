//! The fixed jobs.

use fairwind_sched::Nanos;
use fairwind_workload::{Workload, parse, programs};
use std::fmt::Write;

/// How large a job is, and for how long it is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// The machine, as `--machine` takes it.
    pub machine: &'static str,
    /// How many tasks there are, those aside that only start and await others, and those in a guest.
    pub tasks: u32,
    /// Simulated until every task has started; not measured.
    pub start: Nanos,
    /// Simulated and measured after that.
    pub measured: Nanos,
}

/// A job.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// In which its speed is measured.
    pub full: Size,
    /// In which its instructions are counted.
    pub small: Size,
    workload: fn(u32) -> Workload,
}

impl Job {
    /// Its workload at a size.
    pub fn workload(&self, size: Size) -> Workload {
        (self.workload)(size.tasks)
    }

    /// The job of a name.
    pub fn find(name: &str) -> Option<&'static Job> {
        JOBS.iter().find(|job| job.name == name)
    }
}

const MS: Nanos = 1_000_000;
const S: Nanos = 1000 * MS;

const fn size(machine: &'static str, tasks: u32, start: Nanos, measured: Nanos) -> Size {
    Size {
        machine,
        tasks,
        start,
        measured,
    }
}

/// All jobs.
pub static JOBS: &[Job] = &[
    Job {
        name: "pipe",
        about: "perf bench sched pipe: two tasks on 2 CPUs",
        full: size("1x2x1", 2, 10 * MS, 4 * S),
        small: size("1x2x1", 2, 10 * MS, 20 * MS),
        workload: pipe,
    },
    Job {
        name: "hogs",
        about: "64 tasks that only compute, on 8 CPUs, slices of 3 ms",
        full: size("1x8x1", 64, 10 * MS, 500 * S),
        small: size("1x8x1", 64, 10 * MS, S),
        workload: |tasks| {
            files(&format!(
                r#""tasks": {{ "hog": {{ "instance": {tasks}, "loop": -1, "run": 1000000 }} }}"#
            ))
        },
    },
    Job {
        name: "sleepers",
        about: "64 tasks that run for 1 ms and sleep for 3 ms, on 16 CPUs",
        full: size("1x16x1", 64, 10 * MS, 20 * S),
        small: size("1x16x1", 64, 10 * MS, 100 * MS),
        workload: |tasks| sleepers(tasks, ""),
    },
    Job {
        name: "nested",
        about: "the sleepers in a group four levels below the root",
        full: size("1x16x1", 64, 10 * MS, 20 * S),
        small: size("1x16x1", 64, 10 * MS, 100 * MS),
        workload: |tasks| sleepers(tasks, r#""taskgroup": "/a/b/c/d", "#),
    },
    Job {
        name: "pairs",
        about: "8 pairs that wake each other in turn, 5 us of work each, on 16 CPUs",
        full: size("1x16x1", 16, 10 * MS, S),
        small: size("1x16x1", 16, 10 * MS, 4 * MS),
        workload: pairs,
    },
    Job {
        name: "hackbench",
        about: "hackbench with 400 tasks on 16 CPUs",
        full: size("1x16x1", 400, 40 * MS, 2 * S),
        small: size("1x16x1", 400, 40 * MS, 6 * MS),
        workload: |tasks| {
            program(&format!(
                "hackbench:groups={},fds=20,loops=1000000",
                tasks / 40
            ))
        },
    },
    Job {
        name: "netperf",
        about: "netperf TCP_RR, 240 pairs on 240 CPUs",
        full: size("spr-2x60", 480, 50 * MS, 40 * MS),
        small: size("spr-2x60", 80, 10 * MS, MS),
        workload: |tasks| program(&format!("netperf:pairs={},duration=3600s", tasks / 2)),
    },
    Job {
        name: "guest",
        about: "a guest of 32 vCPUs on 16 CPUs, 64 tasks in it that run for 1 ms and sleep for 3 ms",
        full: size("1x16x1", 32, 10 * MS, 10 * S),
        small: size("1x4x1", 8, 10 * MS, 100 * MS),
        workload: guest,
    },
    Job {
        name: "groups-8",
        about: "195 tasks in groups nested 4 deep on 8 CPUs: as groups, for comparison",
        full: size("1x8x1@spr-2x60", 195, 10 * MS, 20 * S),
        small: size("1x8x1@spr-2x60", 195, 10 * MS, 50 * MS),
        workload: groups,
    },
    Job {
        name: "groups",
        about: "100 000 tasks in 30 groups nested 4 deep on 4096 CPUs",
        full: size("32x64x2@spr-2x60", 100_000, 10 * MS, 40 * MS),
        small: size("4x32x2@spr-2x60", 6_250, 10 * MS, 3 * MS),
        workload: groups,
    },
];

/// A workload in rt-app's form.
fn files(body: &str) -> Workload {
    parse(&format!("{{ {body} }}"), "bench.json").expect("the jobs are well formed")
}

/// A program as a workload.
fn program(spec: &str) -> Workload {
    programs::parse(spec)
        .expect("the jobs are well formed")
        .workload
}

fn pipe(_: u32) -> Workload {
    program("perf-pipe:loops=4000000000")
}

fn sleepers(tasks: u32, group: &str) -> Workload {
    files(&format!(
        r#""tasks": {{ "s": {{ "instance": {tasks}, "loop": -1, {group}"run": 1000, "sleep": 3000 }} }}"#
    ))
}

fn pairs(tasks: u32) -> Workload {
    let mut body = String::from("\"tasks\": {\n");
    for pair in 0..tasks / 2 {
        let comma = if pair == 0 { "" } else { "," };
        writeln!(
            body,
            r#"{comma}"c{pair}": {{ "loop": -1, "run": 5, "sem_post": "q{pair}", "sem_wait": "a{pair}" }},
               "s{pair}": {{ "loop": -1, "sem_wait": "q{pair}", "run": 5, "sem_post": "a{pair}" }}"#
        )
        .expect("to memory");
    }
    files(&(body + "}"))
}

/// A guest of so many vCPUs, with two sleepers for each: as much work as half as many CPUs can do.
fn guest(vcpus: u32) -> Workload {
    let sleepers = 2 * vcpus;
    files(&format!(
        r#""guests": {{ "vm": {{ "vcpus": {vcpus}, "workload": {{ "tasks": {{
            "s": {{ "instance": {sleepers}, "loop": -1, "run": 1000, "sleep": 3000 }} }} }} }} }}"#
    ))
}

/// Tasks in the 16 leaves of a tree of groups that forks into two at each of four levels; 24 a CPU load it to 94 %.
fn groups(tasks: u32) -> Workload {
    let mut body = String::from("\"tasks\": {\n");
    for leaf in 0..16 {
        let comma = if leaf == 0 { "" } else { "," };
        let share = tasks / 16 + u32::from(leaf < tasks % 16);
        let [a, b, c, d] = [8, 4, 2, 1].map(|bit| u32::from(leaf & bit != 0));
        writeln!(
            body,
            r#"{comma}"t{leaf}": {{ "instance": {share}, "loop": -1, "taskgroup": "/a{a}/b{b}/c{c}/d{d}", "run": 200, "sleep": 5000 }}"#
        )
        .expect("to memory");
    }
    files(&(body + "}"))
}
