//! Tasks that are woken while they leave their CPU, off their queue but not yet switched from.
//!
//! Model.  If nobody else is queued there by then, the waker leaves the task to that CPU, which queues it in an interrupt as soon
//!         as it has switched, and no CPU is chosen. Else it waits for the switch, chooses one, and may leave the task to the
//!         same, whose idle loop mostly finds it by itself. How soon after its last charge a task counts as queued no more is not
//!         recorded: those that the idle loop queued were woken before, and what holds of most of these is taken.
//! Units.  ns of the trace clock.
//! Source. kernel/sched/core.c `try_to_wake_up`, `ttwu_queue_cond`, `flush_smp_call_function_queue` @ 6.1, 6.12.

use crate::median::median;
use crate::record::{Record, What};
use std::collections::BTreeMap;

/// A task woken while it ran on another CPU.
struct Woken {
    on: u32,
    /// How long after its last charge since it was switched to.
    late: u64,
}

/// Until how long after its last charge a task that is leaving counts as queued still.
pub(super) fn usually_queued(records: &[Record]) -> u64 {
    let mut running: BTreeMap<i32, u32> = BTreeMap::new();
    let mut charged: BTreeMap<i32, u64> = BTreeMap::new();
    let mut woken: BTreeMap<i32, Woken> = BTreeMap::new();
    let mut late = Vec::new();
    for r in records {
        match &r.what {
            What::Switch { prev, next, .. } => {
                running.remove(&prev.pid);
                running.insert(next.pid, r.cpu);
                charged.remove(&next.pid);
            }
            What::Runtime { pid, .. } => {
                charged.insert(*pid, r.ts);
            }
            What::Waking { pid, .. } => {
                woken.remove(pid);
                let on = running.get(pid).filter(|&&on| on != r.cpu);
                if let Some((&on, last)) = on.zip(charged.get(pid)) {
                    let late = r.ts.saturating_sub(*last);
                    woken.insert(*pid, Woken { on, late });
                }
            }
            What::Wakeup { pid, .. } => {
                if let Some(woken) = woken.remove(pid)
                    && !r.irq
                    && woken.on == r.cpu
                    && !running.contains_key(pid)
                {
                    late.push(woken.late);
                }
            }
            _ => {}
        }
    }
    median(late).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Party, PrevState};

    /// A task of CPU 1 is charged, woken by CPU 0 so long after that, and switched from.
    fn woken(late: u64, in_interrupt: bool) -> Vec<Record> {
        let (pid, prio) = (7, 120);
        let switch = |prev, next| What::Switch {
            prev: Party::of(prev),
            prev_state: PrevState::Interruptible,
            next: Party::of(next),
        };
        let (runtime, vruntime) = (1, None);
        let charge = What::Runtime {
            pid,
            runtime,
            vruntime,
        };
        let (comm, slept_on, target) = (String::new(), 1, 1);
        let waking = What::Waking {
            pid,
            comm,
            prio,
            slept_on,
        };
        let wakeup = Record {
            irq: in_interrupt,
            ..Record::of_task(900, 1, What::Wakeup { pid, prio, target })
        };
        vec![
            Record::of_task(50, 1, switch(0, pid)),
            Record::of_task(100, 1, charge),
            Record::of_task(100 + late, 0, waking),
            Record::of_task(800, 1, switch(pid, 0)),
            wakeup,
        ]
    }

    #[test]
    fn what_the_idle_loop_queues_tells_how_long_a_task_counts_as_queued() {
        let records = |all: &[(u64, bool)]| -> Vec<Record> {
            let each = all.iter().map(|&(late, irq)| woken(late, irq));
            each.flatten().collect()
        };
        let usual = |all: &[(u64, bool)]| usually_queued(&records(all));
        assert_eq!(usual(&[]), 0);
        assert_eq!(usual(&[(30, true)]), 0, "before it had switched");
        assert_eq!(usual(&[(12, false)]), 12);
        assert_eq!(usual(&[(600, false), (12, false), (5, false)]), 12);
    }
}
