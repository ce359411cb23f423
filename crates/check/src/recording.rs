//! A recording: its events and the facts beside them.

use crate::complete;
use crate::error::Error;
use crate::facts::{Facts, Given};
use crate::gaps::{self, Gap};
use crate::idle_ends;
use crate::record::{self, Record};
use crate::wakeup_ends;
use fairwind_sched::KernelProfile;
use fairwind_trace::TraceInfo;
use fairwind_trace::read::{ReadStats, Severity};
use std::fs;
use std::path::{Path, PathBuf};

/// What a folder may call its trace.
const TRACES: [&str; 6] = [
    "trace.dat",
    "trace.dat.xz",
    "perf.data",
    "perf.data.xz",
    "trace.txt",
    "trace.txt.xz",
];

/// A recording, read whole.
#[derive(Debug)]
pub struct Recording {
    pub(crate) facts: Facts,
    pub(crate) records: Vec<Record>,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) stats: ReadStats,
    /// What the clock of run queues, which the records tell, is ahead of the trace's.
    pub(crate) run_queue_offset: i64,
}

impl Recording {
    /// Reads a folder with a trace and the facts, or a trace alone; what is `given` counts more than
    /// what the recording tells. In a folder the trace is `trace.dat`, `perf.data` or `trace.txt`, each
    /// of them also compressed by xz.
    ///
    /// # Errors
    /// If the trace cannot be read, or the kernel is told nowhere.
    pub fn open(path: &Path, mut given: Given) -> Result<Recording, Error> {
        let trace = match trace_of_folder(path)? {
            Some(trace) => {
                given.folder.get_or_insert_with(|| path.to_owned());
                fairwind_trace::open(&trace)?
            }
            None => fairwind_trace::open(path)?,
        };
        let mut facts = Facts::read(given, trace.info())?;
        let record::Events {
            mut records,
            seen,
            stats,
        } = record::read(&trace, facts.topology.nr_cpus());
        let mut gaps = gaps::of_events(&seen, &records, facts.topology.nr_cpus());
        if gaps.contains(&gaps::SWITCHES) {
            return Err(Error::NoEvents {
                event: "sched_switch",
                damaged: stats.total(Severity::Damage) > 0,
            });
        }
        if idle_ends::add(&mut records) > 0 {
            gaps.push(gaps::IDLE_ENDS);
        }
        if gaps.contains(&gaps::WAKING) {
            records = complete::add_wakings(records);
        } else if gaps.contains(&gaps::WAKEUP) {
            records = wakeup_ends::add(records);
        }
        if let Some(who) = complete::unknown_member(&records, &facts) {
            return Err(Error::UnknownTask { who });
        }
        let run_queue_offset = tell_run_queue_time(&mut records, &mut facts, trace.info());
        complete::add_groups(&mut records, &facts);
        gaps.extend(&facts.gaps);
        gaps.sort_unstable();
        Ok(Recording {
            facts,
            records,
            gaps,
            stats,
            run_queue_offset,
        })
    }

    /// What it tells beside its events.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What was lost, and what could not be read.
    #[must_use]
    pub fn stats(&self) -> &ReadStats {
        &self.stats
    }

    /// Does it not tell which events were in interrupts?
    #[must_use]
    pub fn lacks_flags(&self) -> bool {
        self.gaps.contains(&gaps::FLAGS)
    }

    /// Takes another kernel than the one it tells, from the beginning to the end.
    pub fn set_profile(&mut self, profile: KernelProfile) {
        if profile != self.facts.profile {
            self.facts.profile_after = None;
        }
        self.facts.profile = profile;
    }
}

/// Load averages count in periods of the clock of run queues: brings what was written by the trace's clock to that. By
/// how much.
fn tell_run_queue_time(records: &mut [Record], facts: &mut Facts, info: &TraceInfo) -> i64 {
    let local = info.clock.as_deref().is_none_or(|clock| clock == "local");
    let Some(clock) = facts.clock.as_mut().filter(|_| local) else {
        return 0;
    };
    let offset = clock
        .cpu_clock
        .wrapping_sub(clock.sched_clock)
        .cast_signed();
    let first = records.first().map_or(0, |record| record.ts);
    if first.checked_add_signed(offset).is_none() {
        return 0;
    }
    clock.sched_clock = clock.cpu_clock;
    for record in records {
        record.ts = record.ts.saturating_add_signed(offset);
    }
    offset
}

/// The trace in a folder of files; none if the path is a file, or the folder itself is a trace.
fn trace_of_folder(path: &Path) -> Result<Option<PathBuf>, Error> {
    if !path.is_dir() || path.join("data").exists() {
        return Ok(None);
    }
    // A folder that may not be read says so, instead of being empty.
    fs::read_dir(path).map_err(|problem| Error::Io {
        path: path.to_owned(),
        problem,
    })?;
    let mut inside = TRACES.iter().map(|name| path.join(name));
    let found = inside.find(|path| path.exists());
    found.map(Some).ok_or_else(|| Error::NoTrace {
        folder: path.to_owned(),
        names: &TRACES,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ClockFacts;
    use crate::record::What;

    #[test]
    fn records_tell_the_time_of_run_queues() {
        let mut facts = Facts::read(
            Given {
                release: Some(fairwind_sched::Release::V6_12),
                ..Given::default()
            },
            &TraceInfo::default(),
        )
        .expect("a kernel is given");
        let mut records = [Record::of_task(5000, 0, What::Timer)];
        let info = TraceInfo::default();
        assert_eq!(tell_run_queue_time(&mut records, &mut facts, &info), 0);
        let clock = ClockFacts {
            jiffies: 1,
            sched_clock: 4000,
            cpu_clock: 1000,
            ktime: 7,
        };
        facts.clock = Some(clock);
        assert_eq!(tell_run_queue_time(&mut records, &mut facts, &info), -3000);
        assert_eq!(records[0].ts, 2000);
        assert_eq!(facts.clock.map(|clock| clock.sched_clock), Some(1000));
    }
}
