//! Sleepers that are woken to another CPU while theirs switches.
//!
//! Model.  The load of one that leaves is taken off its old queue when that is next brought up to date. A switch does so last as it
//!         sets the next task, some time before it is recorded. A probe shows when; else it is taken to be half-way between the
//!         charge before the switch and that. What leaves later stays until after the switch.
//! Source. kernel/sched/fair.c `migrate_task_rq_fair`, `set_next_entity` @ 6.1, 6.12.

use super::Follower;
use crate::record::{Record, What};
use fairwind_sched::CpuId;
use fairwind_sched::probe::ProbePoint;

impl Follower<'_> {
    /// Has a CPU that is about to switch brought its queue up to date for the last time, when the record that is followed is
    /// written?
    pub(super) fn has_set_next(&self, cpu: CpuId) -> bool {
        let last = self.times.records_until(cpu.0, self.at).last();
        let next = self.times.records_of(cpu.0, self.at + 1).first();
        let ts = self.records[self.at].ts;
        last.zip(next)
            .is_some_and(|(&last, &next)| is_set(&self.records[last], ts, &self.records[next]))
    }

    /// A CPU has switched: what was left on its queues meanwhile, their next update takes off.
    pub(super) fn take_left_late(&mut self, cpu: u32) {
        for left in std::mem::take(&mut self.cpu(cpu).left_late) {
            self.sched.follow_left_load(left);
        }
    }
}

/// Has the CPU of two records, one after the other, set the next task at a time between them?
fn is_set(last: &Record, ts: u64, next: &Record) -> bool {
    let switches = matches!(next.what, What::Switch { .. });
    switches
        && match &last.what {
            What::Runtime { .. } => {
                ts.saturating_sub(last.ts) > next.ts.saturating_sub(last.ts) / 2
            }
            what => what.probed() == Some(ProbePoint::SetNextEntity),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Party, PrevState};

    #[test]
    fn half_way_from_the_charge_to_the_switch_or_once_a_probe_shows_it() {
        let switch = What::Switch {
            prev: Party::of(7),
            prev_state: PrevState::Interruptible,
            next: Party::of(8),
        };
        let switch = Record::of_task(140, 1, switch);
        let charge = What::Runtime {
            pid: 7,
            runtime: 1,
            vruntime: None,
        };
        let charge = Record::of_task(100, 1, charge);
        assert!(!is_set(&charge, 120, &switch));
        assert!(is_set(&charge, 121, &switch));
        assert!(!is_set(&charge, 139, &charge), "it goes on");
        let probe = |point| Record::of_probe(1, point, None);
        assert!(is_set(&probe(ProbePoint::SetNextEntity), 101, &switch));
        assert!(!is_set(&probe(ProbePoint::PutPrevEntity), 139, &switch));
    }
}
