//! Switches out of idle that a recording lacks: perf can leave out what idle CPUs do.
//!
//! Model.   Each event tells which task ran on its CPU. If that CPU was idle by its last switch, it has switched to that task
//!          since: where the task's next charge there began, if that was after the CPU's last event, or with the event.
//! Not here. What is lost between two tasks: whether the first one went to sleep is not known.

use crate::record::{Party, PrevState, Record, What};
use std::collections::BTreeMap;

/// Adds the switches to records, by time. How many they are.
pub(crate) fn add(records: &mut Vec<Record>) -> u64 {
    let added = missing(records);
    let count = added.len() as u64;
    if count > 0 {
        let recorded = std::mem::take(records).into_iter().enumerate();
        // Each comes before the record that shows it, and after what its CPU recorded before.
        let mut all: Vec<(u64, usize, bool, Record)> = recorded
            .map(|(at, record)| (record.ts, at, true, record))
            .chain(
                added
                    .into_iter()
                    .map(|(at, record)| (record.ts, at, false, record)),
            )
            .collect();
        all.sort_by_key(|&(ts, at, recorded, _)| (ts, at, recorded));
        records.extend(all.into_iter().map(|(.., record)| record));
    }
    count
}

/// Each with the index of the record that shows it.
fn missing(records: &[Record]) -> Vec<(usize, Record)> {
    let mut of_cpu: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, record) in records.iter().enumerate() {
        of_cpu.entry(record.cpu).or_default().push(at);
    }
    let mut missing = Vec::new();
    for (&cpu, own) in &of_cpu {
        let mut idle = false;
        let mut last = 0;
        for (nth, &at) in own.iter().enumerate() {
            let record = &records[at];
            let runs = match &record.what {
                What::Switch { prev, .. } => prev.pid,
                _ => record.pid,
            };
            if idle && runs > 0 {
                let stretch = own[nth..].iter().map(|&at| &records[at]);
                if let Some((began, next)) = first_stretch(stretch, runs) {
                    let ts = began.clamp(last, record.ts);
                    missing.push((at, out_of_idle(ts, cpu, next)));
                }
                idle = false;
            }
            if let What::Switch { next, .. } = &record.what {
                idle = next.pid == 0;
            }
            last = record.ts;
        }
    }
    missing
}

/// When a task began to run on a CPU, and who it is, by what that CPU records until it switches away from it.
fn first_stretch<'a>(records: impl Iterator<Item = &'a Record>, task: i32) -> Option<(u64, Party)> {
    let mut began = None;
    for record in records {
        match &record.what {
            What::Runtime { pid, runtime, .. } if *pid == task => {
                began = began.or(Some(record.ts.saturating_sub(*runtime)));
            }
            What::Switch { prev, .. } => {
                let known = prev.pid == task;
                return known.then(|| (began.unwrap_or(record.ts), prev.clone()));
            }
            _ => {}
        }
    }
    None
}

fn out_of_idle(ts: u64, cpu: u32, next: Party) -> Record {
    let idle = Party {
        pid: 0,
        comm: format!("swapper/{cpu}"),
        prio: 120,
    };
    let switch = What::Switch {
        prev: idle,
        prev_state: PrevState::Runnable,
        next,
    };
    Record::of_task(ts, cpu, switch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party(pid: i32) -> Party {
        Party {
            pid,
            comm: pid.to_string(),
            prio: 120,
        }
    }

    fn by(pid: i32, ts: u64, cpu: u32, what: What) -> Record {
        Record {
            pid,
            ..Record::of_task(ts, cpu, what)
        }
    }

    fn switch(ts: u64, cpu: u32, prev: i32, next: i32) -> Record {
        let what = What::Switch {
            prev: party(prev),
            prev_state: PrevState::Interruptible,
            next: party(next),
        };
        by(prev, ts, cpu, what)
    }

    fn charge(ts: u64, cpu: u32, pid: i32, runtime: u64) -> Record {
        let vruntime = None;
        let what = What::Runtime {
            pid,
            runtime,
            vruntime,
        };
        by(pid, ts, cpu, what)
    }

    fn waking(ts: u64, cpu: u32, by_pid: i32) -> Record {
        let what = What::Waking {
            pid: 99,
            comm: "w".into(),
            prio: 120,
            slept_on: cpu,
        };
        by(by_pid, ts, cpu, what)
    }

    /// The time and the task of each switch out of idle.
    fn out_of_idle(mut records: Vec<Record>) -> (u64, Vec<(u64, u32, i32)>) {
        let added = add(&mut records);
        assert!(records.is_sorted_by_key(|record| record.ts));
        let starts = records.into_iter().filter_map(|record| match record.what {
            What::Switch { prev, next, .. } if prev.pid == 0 => {
                Some((record.ts, record.cpu, next.pid))
            }
            _ => None,
        });
        (added, starts.collect())
    }

    #[test]
    fn a_task_that_an_idle_cpu_shows_began_when_its_charge_says() {
        let records = vec![
            switch(1000, 0, 7, 0),
            charge(5000, 1, 5, 3000),
            waking(8000, 0, 8),
            charge(9000, 0, 8, 4000),
            switch(9500, 0, 8, 0),
            // Longer than since the CPU's last event.
            charge(12_000, 0, 7, 6000),
            switch(12_500, 0, 7, 0),
            // None at all.
            waking(15_000, 0, 9),
            switch(16_000, 0, 9, 0),
        ];
        let starts = vec![(5000, 0, 8), (9500, 0, 7), (15_000, 0, 9)];
        assert_eq!(out_of_idle(records), (3, starts));
    }

    #[test]
    fn nothing_is_added_where_the_switch_is_recorded_or_no_cpu_was_idle() {
        let records = vec![
            switch(1000, 0, 7, 0),
            // An interrupt of the idle CPU.
            waking(2000, 0, 0),
            switch(3000, 0, 0, 8),
            charge(4000, 0, 8, 900),
            // The switch from 8 to 9 is lost.
            switch(6000, 0, 9, 0),
            // Nothing tells who this is.
            waking(7000, 0, 4),
        ];
        assert_eq!(out_of_idle(records), (0, vec![(3000, 0, 8)]));
    }
}
