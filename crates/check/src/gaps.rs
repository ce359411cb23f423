//! Facts that a recording may lack: what each is, what stands in for it, and how to supply it.
//!
//! Model.   The kernel's files and the events are looked through once. What is not there is listed
//!          beside the result, for a figure of a check is worth no more than what the recording tells.

use crate::record::{Record, What};
use std::collections::BTreeSet;

const NS_PER_US: u64 = 1000;

/// A fact that the recording does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// The fact.
    pub fact: &'static str,
    /// What stands in for it, or what is not asked.
    pub instead: &'static str,
    /// How to supply it.
    pub supply: &'static str,
}

macro_rules! gaps {
    ($($name:ident: $fact:literal, $instead:literal, $supply:literal;)*) => {
        $(pub(crate) const $name: Gap = Gap { fact: $fact, instead: $instead, supply: $supply };)*
    };
}

gaps! {
    FEATURES: "scheduler features", "the release's defaults are taken",
        "--feature, or the file 'features'";
    SOME_FEATURES: "some scheduler features", "the release's defaults are taken for them",
        "--feature, or the whole file 'features'";
    TUNABLES: "tunables", "the release's defaults for that many CPUs are taken",
        "--set, or the file 'tunables'";
    SOME_TUNABLES: "some tunables", "the release's defaults are taken for them",
        "--set, or the whole file 'tunables'";
    MACHINE: "machine", "one package, one last-level cache and no SMT are taken, so placement and balancing are another machine's",
        "--machine, or the file 'topology'";
    CACHES: "caches", "each package is taken to have one last-level cache",
        "--machine, or the file 'topology'";
    GROUPS: "groups", "groups have weight 100 and no limit; tasks from before are taken to be in the root group",
        "--cgroup and --member, or the file 'cgroups'";
    WEIGHTS: "weights and limits of groups", "groups have weight 100 and no limit",
        "--cgroup, or the file 'cgroups'";
    SOME_WEIGHTS: "some weights and limits of groups", "these groups have weight 100 or no limit",
        "--cgroup, or the file 'cgroups' as the kernel's own files say it";
    STATE: "state before the recording", "tasks and queues start with unknown virtual runtimes, and are asked about once those show",
        "the file 'sched-debug.before'";
    SWITCHES: "sched_switch", "nothing can be asked", "record with -e sched_switch";
    IDLE_ENDS: "switches out of idle", "a task that a CPU shows after it was idle is taken to have begun when its next charge says, or then",
        "trace-cmd record: perf can leave out what idle CPUs do";
    WAKING: "sched_waking", "a wakeup is taken to begin when it ends", "record with -e sched_waking";
    WAKEUP: "sched_wakeup", "a wakeup is taken to end with the next event of its CPU",
        "record with -e sched_wakeup";
    RUNTIME: "sched_stat_runtime", "clocks are those of the events, and ticks are not asked about",
        "record with -e sched_stat_runtime";
    MIGRATIONS: "sched_migrate_task", "moves between CPUs are not asked about",
        "record with -e sched_migrate_task";
    TICKS: "local_timer_entry", "a tick ends with the next event of its CPU, so some are not asked about",
        "record with -e irq_vectors:local_timer_entry";
    PROBES: "virtual runtimes and deadlines", "state is not asked about, and errors of ours may last",
        "the probes of docs/recording.md";
    FLAGS: "need-resched and interrupt flags", "preemption and balancing are not asked about",
        "check the perf.data itself";
    NANOSECONDS: "nanoseconds", "times are exact to a microsecond",
        "perf script --ns, trace-cmd report -t, or check the file itself";
}

/// What the events of a trace do not tell; `seen` are the names of those that it has.
pub(crate) fn of_events(seen: &BTreeSet<String>, records: &[Record], nr_cpus: usize) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for (gap, name) in [
        (SWITCHES, "sched_switch"),
        (WAKING, "sched_waking"),
        (WAKEUP, "sched_wakeup"),
        (RUNTIME, "sched_stat_runtime"),
        (MIGRATIONS, "sched_migrate_task"),
        (TICKS, "local_timer_entry"),
    ] {
        if !seen.contains(name) {
            gaps.push(gap);
        }
    }
    if nr_cpus == 1 {
        gaps.retain(|gap| *gap != MIGRATIONS);
    }
    if !shows_state(records) {
        gaps.push(PROBES);
    }
    if !has_flags(records) {
        gaps.push(FLAGS);
    }
    if records.iter().all(|r| r.ts % NS_PER_US == 0) {
        gaps.push(NANOSECONDS);
    }
    gaps
}

/// Does any event show a virtual runtime?
pub(crate) fn shows_state(records: &[Record]) -> bool {
    records.iter().any(|r| match r.what {
        What::Probe { .. } => r.what.shows_entity(),
        What::Runtime { vruntime, .. } => vruntime.is_some(),
        _ => false,
    })
}

/// Does any event tell that it was in an interrupt or found a reschedule asked for? In a trace that tells such things
/// some do.
pub(crate) fn has_flags(records: &[Record]) -> bool {
    records.iter().any(|r| r.irq || r.need_resched)
}
