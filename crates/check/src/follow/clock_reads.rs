//! When wakeups and passes read the clock of the queue that they put a task on or take one from.
//!
//! Model.   A wakeup does so between its first record and the one that ends it. Where the task that runs there is charged, that
//!          tells the clock, be it in a later call: one that has been asked to give way is charged by the clock of the wakeup.
//!          How much of the wakeup had passed by then is much the same throughout a recording, and stands for it where nothing
//!          tells the clock. A wakeup that another CPU has left to this one begins without a record: there it is the
//!          time before the last record. A pass reads the clock of the queue that it takes tasks from as long before its first
//!          move's record as is usual, and that of its own queue between its last move's record and the CPU's next one.
//! Units.   ns of the trace clock; parts are of 1024.
//! Source.  kernel/sched/core.c `ttwu_queue`, `sched_ttwu_pending`, `check_preempt_curr` @ 6.1, 6.12 (there `wakeup_preempt`);
//!          kernel/sched/fair.c `sched_balance_rq`, `attach_tasks`.

use super::Follower;
use super::cpu::Move;
use crate::record::What;
use fairwind_sched::CpuId;
use fairwind_sched::probe::ReadClock;
use std::collections::VecDeque;

/// The middle one of so many wakeups counts.
const WAKEUPS: usize = 63;
const WHOLE: u64 = 1024;
/// How many of a CPU's records back the moves of a pass are looked for.
const AHEAD: usize = 64;

/// What the last wakeups of a kind told.
#[derive(Clone, Debug, Default)]
struct Reads(VecDeque<u64>);

impl Reads {
    fn note(&mut self, read: u64) {
        if self.0.len() == WAKEUPS {
            self.0.pop_front();
        }
        self.0.push_back(read);
    }

    /// 0 if nothing told any.
    fn usual(&self) -> u64 {
        let mut reads: Vec<u64> = self.0.iter().copied().collect();
        let Some(last) = reads.len().checked_sub(1) else {
            return 0;
        };
        *reads.select_nth_unstable(last / 2).1
    }
}

/// What wakeups of each kind told.
#[derive(Clone, Debug, Default)]
pub(super) struct ClockReads {
    /// Parts of the time that had passed where a CPU woke a task for itself, and for another one.
    own: Reads,
    other: Reads,
    /// Times before the end where a CPU queued what another one had left to it.
    left: Reads,
    /// Times before the first move's record where a pass took something from a queue.
    taken: Reads,
    /// Parts of the time after the last move's record that had passed where a softirq put it on its own queue.
    put: Reads,
}

impl ClockReads {
    fn parts(&mut self, own: bool) -> &mut Reads {
        if own { &mut self.own } else { &mut self.other }
    }

    /// Where one of these wakeups read the clock is known.
    fn note(&mut self, reading: Reading, clock: u64) {
        let end = reading.end;
        match reading.begun {
            Some(begun) if (begun..=end).contains(&clock) && begun < end => {
                let part = scaled(clock - begun, WHOLE, end - begun);
                self.parts(reading.own).note(part);
            }
            None if clock <= end => self.left.note(end - clock),
            _ => {}
        }
    }

    /// When another one reads it, as far as these tell.
    pub(super) fn usual(&mut self, reading: Reading) -> u64 {
        let end = reading.end;
        match reading.begun {
            Some(begun) => {
                let part = self.parts(reading.own).usual();
                begun + scaled(end.saturating_sub(begun), part, WHOLE)
            }
            None => end.saturating_sub(self.left.usual()),
        }
    }
}

/// `value * by / whole`, where `value` or `by` is no more than `whole`.
fn scaled(value: u64, by: u64, whole: u64) -> u64 {
    (u128::from(value) * u128::from(by) / u128::from(whole)) as u64
}

/// A wakeup, the clock of which is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Its first record, if its CPU goes on with it until the task is queued.
    pub(super) begun: Option<u64>,
    pub(super) end: u64,
    /// It queues the task on its own CPU.
    pub(super) own: bool,
}

impl Follower<'_> {
    /// The clocks of queues that a pass of this CPU, which has made these moves, locked, and that it charged nobody by.
    pub(super) fn read_by_pass(&mut self, cpu: u32, moves: &[Move]) -> Vec<ReadClock> {
        let own = self.times.records_until(cpu, self.at).iter().rev();
        let own = own.take(AHEAD).copied();
        let mut moved = own.filter(|&at| self.is_one_of(at, moves));
        let Some(last) = moved.next() else {
            return Vec::new();
        };
        let first = self.records[moved.next_back().unwrap_or(last)].ts;
        let mut clocks = Vec::new();
        for from in moves.chunk_by(|a, b| a.orig == b.orig) {
            clocks.extend(self.read_to_take(cpu, CpuId(from[0].orig), first));
        }
        clocks.extend(self.read_to_put(cpu, CpuId(moves[0].dest), last));
        clocks
    }

    fn is_one_of(&self, at: usize, moves: &[Move]) -> bool {
        let What::Migrate { pid, orig, dest } = self.records[at].what else {
            return false;
        };
        let Some(task) = self.known(pid) else {
            return false;
        };
        moves.contains(&Move { task, orig, dest })
    }

    /// The queue that tasks were taken from, the first of which was recorded at `first`.
    fn read_to_take(&mut self, by: u32, cpu: CpuId, first: u64) -> Option<ReadClock> {
        if let Some(&told) = self.cpu(by).clocks.get(&cpu.0) {
            self.clock_reads.taken.note(first.saturating_sub(told));
            return None;
        }
        Some(ReadClock {
            cpu,
            now: first.saturating_sub(self.clock_reads.taken.usual()),
            guessed: true,
        })
    }

    /// The queue that runs something, and that they were put on after the record `last`. Who runs there is charged by that
    /// clock if it is to give way.
    fn read_to_put(&mut self, by: u32, cpu: CpuId, last: usize) -> Option<ReadClock> {
        if self.cpu(by).clocks.contains_key(&cpu.0) || self.sched.is_idle(cpu) {
            return None;
        }
        let next = self.next_on_cpu[last]?;
        let (begun, end) = (self.records[last].ts, self.records[next].ts);
        let charge = self.charges[cpu.idx()].next.map(|(_, _, clock)| clock);
        let charge = charge.or(self.cpus[cpu.idx()].pending_clock);
        let charge = charge.filter(|clock| (begun..=end).contains(clock));
        let told = self.probed_clock(Some(next)).or(charge);
        let reads = &mut self.clock_reads.put;
        if let Some(told) = charge.filter(|_| begun < end) {
            reads.note(scaled(told - begun, WHOLE, end - begun));
        }
        let usual = begun + scaled(end - begun, reads.usual(), WHOLE);
        Some(ReadClock {
            cpu,
            now: told.unwrap_or(usual),
            guessed: told.is_none(),
        })
    }

    /// The clock of a queue that a wakeup ending with a record read, if a charge tells it: one that is `recorded`, or the next
    /// one there.
    pub(super) fn read_by_wakeup(
        &mut self,
        by: u32,
        cpu: CpuId,
        reading: Reading,
        recorded: Option<u64>,
    ) -> Option<u64> {
        let told = recorded.or_else(|| {
            let (_, _, clock) = self.charges[cpu.idx()].next?;
            let begun = reading.begun.unwrap_or(self.cpus[by as usize].last_ts);
            (begun..=reading.end).contains(&clock).then_some(clock)
        });
        if let Some(clock) = told {
            self.clock_reads.note(reading, clock);
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wakeups_tell_when_the_next_one_reads_the_clock() {
        let mut reads = ClockReads::default();
        let of = |begun, end| Reading {
            begun,
            end,
            own: true,
        };
        assert_eq!(reads.usual(of(Some(1000), 2000)), 1000, "nothing is known");
        for part in [100, 300, 700] {
            reads.note(of(Some(0), 1024), part);
        }
        reads.note(of(Some(5000), 6000), 4000);
        assert_eq!(reads.usual(of(Some(10_000), 12_048)), 10_600);
        let other = Reading {
            own: false,
            ..of(Some(1000), 2000)
        };
        assert_eq!(reads.usual(other), 1000, "that is of another kind");
        reads.note(of(None, 900), 880);
        assert_eq!(reads.usual(of(None, 5000)), 4980);
        let damaged = of(Some(0), u64::MAX);
        reads.note(damaged, u64::MAX);
        assert!(reads.usual(damaged) > 0);
        for _ in 0..WAKEUPS {
            reads.note(of(Some(0), 1024), 512);
        }
        assert_eq!(
            reads.usual(of(Some(0), 100)),
            50,
            "what was long ago is not"
        );
    }
}
