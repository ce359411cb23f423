//! Tasks that waited for their CPU when the recording began.
//!
//! Model.      Whom a CPU switches to before any other record names him, and before that CPU has been idle, was queued there from
//!             the beginning, and has stayed where he was in virtual time. The probe that shows this as he is set to run tells
//!             it for as soon as anything is known of his queue.
//! Source.     kernel/sched/fair.c `pick_next_task_fair`, `set_next_entity` @ 6.12.
//! Deviations. Who waits in a group, or where no probe shows it, is queued when he is switched to.

use super::Follower;
use super::newcomers::first_records;
use crate::record::{Record, What};
use fairwind_sched::CpuId;
use fairwind_sched::probe::{ProbeField, ProbePoint};

/// The switches to tasks that waited from the beginning, by their places in the recording.
fn ends_of_waits(records: &[Record], nr_cpus: usize) -> Vec<usize> {
    let first = first_records(records);
    let mut has_switched = vec![false; nr_cpus];
    let mut was_idle = vec![false; nr_cpus];
    let mut ends = Vec::new();
    for (at, r) in records.iter().enumerate() {
        let cpu = r.cpu as usize;
        let What::Switch { prev, next, .. } = &r.what else {
            continue;
        };
        if cpu >= nr_cpus {
            continue;
        }
        let is_first = !std::mem::replace(&mut has_switched[cpu], true);
        was_idle[cpu] |= prev.pid == 0 && !is_first;
        if first.get(&next.pid) == Some(&at) && !was_idle[cpu] {
            ends.push(at);
        }
        was_idle[cpu] |= next.pid == 0;
    }
    ends
}

/// A task that waits, and what tells where: the switch to it, its virtual runtime and its deadline.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    switch: usize,
    vruntime: u64,
    deadline: u64,
}

/// Who waits when the recording begins.
pub(super) fn waiting(records: &[Record], nr_cpus: usize) -> Vec<Waiting> {
    let ends = ends_of_waits(records, nr_cpus).into_iter();
    ends.filter_map(|at| told_by_switch(records, at)).collect()
}

/// What the probe of the only entity that is set to run with a switch shows.
fn told_by_switch(records: &[Record], switch: usize) -> Option<Waiting> {
    let cpu = records[switch].cpu;
    let before = records[..switch].iter().rev().filter(|r| r.cpu == cpu);
    let mut sets = before
        .take_while(|r| r.what.is_inside())
        .filter_map(|r| match &r.what {
            What::Probe {
                point: ProbePoint::SetNextEntity,
                values,
                ..
            } => Some(Waiting {
                switch,
                vruntime: values[ProbeField::Vruntime as usize]?,
                deadline: values[ProbeField::Deadline as usize]?,
            }),
            _ => None,
        });
    sets.next().filter(|_| sets.next().is_none())
}

impl Follower<'_> {
    /// Queues whose virtual time is told by now have those on them who wait there from the beginning.
    pub(super) fn queue_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|waiting| waiting.switch > self.at && !self.queues(waiting));
        self.waiting = waiting;
    }

    /// Queues one of them if anything is known of his queue.
    fn queues(&mut self, waiting: &Waiting) -> bool {
        let r = &self.records[waiting.switch];
        let cpu = CpuId(r.cpu);
        let What::Switch { next, .. } = &r.what else {
            return true;
        };
        if !self.sched.is_time_told(self.sched.rqs[cpu].cfs) {
            return false;
        }
        let clock = self.sched.rqs[cpu].clock;
        let task = self.task(next.pid, &next.comm, r.cpu, clock);
        self.set_prio(task, next.prio);
        let se = self.sched.tasks[task].se;
        if self.sched.is_fair(task) && self.sched.ses[se].parent.is_none() {
            self.put_on(cpu, task, clock);
            let Waiting {
                vruntime, deadline, ..
            } = *waiting;
            self.sched.follow_entity(se, vruntime, deadline);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Party, PrevState};
    use fairwind_sched::probe::NOTHING_SHOWN;

    fn switch(cpu: u32, [prev, next]: [i32; 2]) -> Record {
        let [prev, next] = [prev, next].map(|pid| Party {
            pid,
            comm: String::new(),
            prio: 120,
        });
        let prev_state = PrevState::Runnable;
        let what = What::Switch {
            prev,
            prev_state,
            next,
        };
        Record::of_task(0, cpu, what)
    }

    #[test]
    fn who_is_switched_to_before_his_cpu_was_idle_has_waited() {
        let exit = |pid| Record::of_task(0, 0, What::Exit { pid });
        let ends = |records: &[Record]| ends_of_waits(records, 3);
        assert_eq!(ends(&[switch(0, [7, 8]), switch(0, [8, 9])]), [0, 1]);
        assert_eq!(ends(&[switch(0, [7, 8]), switch(0, [8, 7])]), [0]);
        assert_eq!(ends(&[exit(8), switch(0, [7, 8])]), [], "known before");
        let idle_first = [switch(1, [0, 8]), switch(1, [8, 9])];
        assert_eq!(ends(&idle_first), [0, 1], "it was about to leave idle");
        let idle_between = [switch(2, [7, 0]), switch(2, [0, 8]), switch(2, [8, 9])];
        assert_eq!(ends(&idle_between), [], "nobody waits for an idle CPU");
        assert_eq!(ends(&[switch(3, [7, 8])]), [], "no such CPU");
    }

    #[test]
    fn the_probe_of_the_only_entity_that_is_set_to_run_tells_where_it_waited() {
        let set = |cpu, vruntime| {
            let mut values = Box::new(NOTHING_SHOWN);
            values[ProbeField::Vruntime as usize] = vruntime;
            values[ProbeField::Deadline as usize] = Some(90);
            let what = What::Probe {
                point: ProbePoint::SetNextEntity,
                address: 1,
                values,
                flags: None,
                clock: None,
            };
            Record::of_task(0, cpu, what)
        };
        let told = |sets: &[Record]| {
            let records = [&[switch(0, [9, 7])], sets, &[switch(0, [7, 8])]].concat();
            let waiting = told_by_switch(&records, records.len() - 1);
            waiting.map(|waiting| (waiting.vruntime, waiting.deadline))
        };
        assert_eq!(told(&[]), None);
        let of_queue_and_other_cpu = [set(0, None), set(0, Some(50)), set(1, Some(60))];
        assert_eq!(told(&of_queue_and_other_cpu), Some((50, 90)));
        let with_group = [set(0, Some(40)), set(0, Some(50))];
        assert_eq!(told(&with_group), None);
    }
}
