//! Tasks that waited for their CPU when the recording began.
//!
//! Model.      Whom a CPU switches to before any other record names him, and before that CPU has been idle, was queued there from
//!             the beginning, and has stayed where he was in virtual time. The probe that shows this as he is set to run tells
//!             it for as soon as anything is known of his queue. So was who is taken off such a CPU, by a pass, say, before any
//!             other record names him. He had waited for longer than who ran there; where he was in virtual time is not told.
//! Source.     kernel/sched/fair.c `pick_next_task_fair`, `set_next_entity` @ 6.12.
//! Deviations. Who waits in a group, or where no probe shows it, is queued when he is switched to. Who is taken off is so then
//!             where a guess of his lag would show in the queue's sums, or nothing is known of the state before.

use super::Follower;
use super::times::Times;
use crate::record::{Party, Record, What};
use fairwind_sched::CpuId;
use fairwind_sched::probe::{ProbeField, ProbePoint};

/// A task that waits, and where it is in virtual time: what the switch to it tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting<'a> {
    switch: usize,
    cpu: CpuId,
    task: &'a Party,
    vruntime: u64,
    deadline: u64,
}

/// Who waits when the recording begins.
pub(super) fn waiting<'a>(
    records: &'a [Record],
    times: &Times,
    nr_cpus: usize,
) -> Vec<Waiting<'a>> {
    let mut waiting = Vec::new();
    let idle = first_idle(records, nr_cpus);
    for (switch, r) in records.iter().enumerate() {
        let What::Switch { next, .. } = &r.what else {
            continue;
        };
        if idle.get(r.cpu as usize).is_some_and(|&idle| switch < idle)
            && times.is_first(next.pid, switch)
            && let Some((vruntime, deadline)) = told_by_switch(records, switch)
        {
            waiting.push(Waiting {
                switch,
                cpu: CpuId(r.cpu),
                task: next,
                vruntime,
                deadline,
            });
        }
    }
    waiting
}

/// Who is taken off a CPU that has not been idle before any other record names him, and where he waited.
fn taken_off(records: &[Record], times: &Times, nr_cpus: usize) -> Vec<(i32, CpuId)> {
    let idle = first_idle(records, nr_cpus);
    let taken = records.iter().enumerate().filter_map(|(at, r)| {
        let What::Migrate { pid, orig, .. } = r.what else {
            return None;
        };
        let has_waited = idle.get(orig as usize).is_some_and(|&idle| at < idle);
        (has_waited && times.is_first(pid, at)).then_some((pid, CpuId(orig)))
    });
    taken.collect()
}

/// The switch with which each CPU first goes idle.
fn first_idle(records: &[Record], nr_cpus: usize) -> Vec<usize> {
    let mut idle = vec![usize::MAX; nr_cpus];
    for (switch, r) in records.iter().enumerate() {
        if let What::Switch { next, .. } = &r.what
            && next.pid == 0
            && let Some(first) = idle.get_mut(r.cpu as usize)
        {
            *first = switch.min(*first);
        }
    }
    idle
}

/// The virtual runtime and deadline that are shown of an entity that is set to run with a switch, if it is the only one.
fn told_by_switch(records: &[Record], switch: usize) -> Option<(u64, u64)> {
    let cpu = records[switch].cpu;
    let before = records[..switch].iter().rev().filter(|r| r.cpu == cpu);
    let mut sets = before
        .take_while(|r| r.what.is_inside())
        .filter_map(|r| match &r.what {
            What::Probe {
                point: ProbePoint::SetNextEntity,
                values,
                ..
            } => Some((
                values[ProbeField::Vruntime as usize]?,
                values[ProbeField::Deadline as usize]?,
            )),
            _ => None,
        });
    sets.next().filter(|_| sets.next().is_none())
}

impl Follower<'_> {
    /// Who is taken off a CPU before he is named otherwise, where he can be queued from the beginning.
    pub(super) fn taken_off(&self) -> Vec<(i32, CpuId)> {
        let shows_lags = self.shows_state && self.facts.picks_by_deadline();
        if shows_lags || self.facts.queues.is_empty() {
            return Vec::new();
        }
        taken_off(self.records, &self.times, self.sched.nr_cpus())
    }

    /// Before somebody runs on a CPU: such a task waits there.
    pub(super) fn start_waiting(&mut self, pid: i32, cpu: CpuId, clock: u64) {
        let task = self.task(pid, "", cpu.0, clock);
        if self.is_ordinary(task) {
            self.begin_as_new(pid, task);
            self.put_on(cpu, task, clock);
        }
    }

    /// Queues whose virtual time is told by now have those on them who wait there from the beginning.
    pub(super) fn queue_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|waiting| waiting.switch > self.at && !self.queue_if_told(waiting));
        self.waiting = waiting;
    }

    /// Queues one of them if anything is known of his queue, and tells whether it is.
    fn queue_if_told(&mut self, waiting: &Waiting<'_>) -> bool {
        let rq = &self.sched.rqs[waiting.cpu];
        let clock = rq.clock;
        let is_told = self.sched.is_time_told(rq.cfs);
        if is_told {
            let Party { pid, comm, prio } = waiting.task;
            let task = self.task(*pid, comm, waiting.cpu.0, clock);
            self.set_prio(task, *prio);
            let se = self.sched.tasks[task].se;
            if self.sched.is_fair(task) && self.sched.ses[se].parent.is_none() {
                self.put_on(waiting.cpu, task, clock);
                let (vruntime, deadline) = (waiting.vruntime, waiting.deadline);
                self.sched.follow_entity(se, vruntime, deadline);
            }
        }
        is_told
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PrevState;
    use fairwind_sched::probe::NOTHING_SHOWN;

    fn switch(cpu: u32, [prev, next]: [i32; 2]) -> Record {
        let [prev, next] = [prev, next].map(Party::of);
        let prev_state = PrevState::Runnable;
        let what = What::Switch {
            prev,
            prev_state,
            next,
        };
        Record::of_task(0, cpu, what)
    }

    fn set(cpu: u32, vruntime: Option<u64>) -> Record {
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
    }

    /// Who waits, and where, by these records.
    fn told(records: &[Record]) -> Vec<(i32, u64)> {
        let waiting = waiting(records, &Times::new(records, 3), 3);
        let told = waiting.iter().map(|w| (w.task.pid, w.vruntime));
        told.collect()
    }

    #[test]
    fn who_is_switched_to_before_his_cpu_was_idle_has_waited() {
        let exits = Record::of_task(0, 0, What::Exit { pid: 8 });
        let set_and_switch = |cpu, pids| [set(cpu, Some(50)), switch(cpu, pids)];
        let both = [set_and_switch(0, [7, 8]), set_and_switch(0, [8, 9])].concat();
        assert_eq!(told(&both), [(8, 50), (9, 50)]);
        let back = [set_and_switch(0, [7, 8]), set_and_switch(0, [8, 7])].concat();
        assert_eq!(told(&back), [(8, 50)]);
        let known_before = [&[exits][..], &set_and_switch(0, [7, 8])].concat();
        assert_eq!(told(&known_before), []);
        let leaves_idle = set_and_switch(1, [0, 8]);
        assert_eq!(told(&leaves_idle), [(8, 50)], "it had been woken before");
        let idle_between = [&[switch(2, [7, 0])][..], &set_and_switch(2, [0, 8])].concat();
        assert_eq!(told(&idle_between), [], "nobody waits for an idle CPU");
        assert_eq!(told(&set_and_switch(3, [7, 8])), [], "no such CPU");
    }

    #[test]
    fn the_probe_of_the_only_entity_that_is_set_to_run_tells_where_it_waited() {
        let with = |sets: &[Record]| {
            let records = [&[switch(0, [9, 7])], sets, &[switch(0, [7, 8])]].concat();
            told(&records)
        };
        assert_eq!(with(&[]), []);
        let of_queue_and_other_cpu = [set(0, None), set(0, Some(50)), set(1, Some(60))];
        assert_eq!(with(&of_queue_and_other_cpu), [(8, 50)]);
        let with_group = [set(0, Some(40)), set(0, Some(50))];
        assert_eq!(with(&with_group), []);
    }

    #[test]
    fn who_is_taken_off_a_cpu_that_was_not_idle_has_waited_there() {
        let moves = |pid, orig| {
            let dest = 2;
            Record::of_task(0, 2, What::Migrate { pid, orig, dest })
        };
        let records = [
            switch(0, [7, 8]),
            moves(9, 0),
            moves(8, 0),
            switch(1, [5, 0]),
            moves(10, 1),
            moves(11, 3),
        ];
        let taken = taken_off(&records, &Times::new(&records, 3), 3);
        assert_eq!(taken, [(9, CpuId(0))]);
    }
}
