//! Events with numbers that no kernel writes, as a damaged recording has them: they are left out.
//!
//! Model.   What is followed may contradict itself, but each number must be one that a kernel could have shown: a CPU of
//!          the machine, a priority, a time that is not months away from the others. So the arithmetic of those who
//!          follow stays far from its limits.
//! Units.   ns.
//! Source.  include/linux/sched/prio.h, kernel/sched/deadline.c `MAX_DL_PRIO` @ 6.1, 6.12.

use crate::median::median;
use crate::record::{Record, What};
use fairwind_sched::task::MAX_PRIO;

/// Longer than any recording, and than anything in one: 52 days.
const MONTHS: u64 = 1 << 52;
/// Longer than any machine is up: 146 years.
const LIFETIME: u64 = 1 << 62;

/// Leaves out what is not possible on so many CPUs; how many that were.
pub(crate) fn retain(records: &mut Vec<Record>, nr_cpus: usize) -> u64 {
    let Some(usual) = median(records.iter().map(|r| r.ts).collect()) else {
        return 0;
    };
    let before = records.len();
    records.retain(|r| r.ts < LIFETIME && r.ts.abs_diff(usual) < MONTHS && is_possible(r, nr_cpus));
    (before - records.len()) as u64
}

fn is_possible(r: &Record, nr_cpus: usize) -> bool {
    let cpu = |cpu: u32| (cpu as usize) < nr_cpus;
    // Those of SCHED_DEADLINE are -1.
    let prio = |prio: i32| (-1..MAX_PRIO).contains(&prio);
    cpu(r.cpu)
        && match &r.what {
            What::Switch { prev, next, .. } => prio(prev.prio) && prio(next.prio),
            What::Waking {
                pid,
                prio: of,
                slept_on,
                ..
            } => *pid != 0 && prio(*of) && cpu(*slept_on),
            What::Wakeup {
                pid,
                prio: of,
                target,
            }
            | What::WakeupNew {
                pid,
                prio: of,
                target,
            } => *pid != 0 && prio(*of) && cpu(*target),
            What::Migrate { pid, orig, dest } => *pid != 0 && cpu(*orig) && cpu(*dest),
            What::Runtime { runtime, .. } => *runtime < MONTHS,
            _ => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Party, PrevState};

    fn switch(prio: i32) -> What {
        let party = |pid| Party {
            pid,
            comm: "a".into(),
            prio,
        };
        What::Switch {
            prev: party(1),
            prev_state: PrevState::Runnable,
            next: party(2),
        }
    }

    #[test]
    fn a_cpu_a_priority_or_a_time_that_cannot_be_is_left_out() {
        let migrate = |pid, dest| What::Migrate { pid, orig: 0, dest };
        let mut records = vec![
            Record::of_task(1_000, 1, switch(120)),
            Record::of_task(1_001, 1, switch(-1)),
            Record::of_task(1_002, 0, migrate(7, 1)),
            Record::of_task(1_003, 2, switch(120)),
            Record::of_task(1_004, 0, switch(1_241_813)),
            Record::of_task(1_005, 0, migrate(7, 2)),
            Record::of_task(1_006, 0, migrate(0, 1)),
            Record::of_task(1 << 60, 0, switch(120)),
        ];
        let kept = records[..3].to_vec();
        assert_eq!(retain(&mut records, 2), 5);
        assert_eq!(records, kept);
        assert_eq!(retain(&mut Vec::new(), 2), 0);
        let mut last = vec![Record::of_task(u64::MAX, 0, switch(120))];
        assert_eq!(retain(&mut last, 2), 1);
    }
}
