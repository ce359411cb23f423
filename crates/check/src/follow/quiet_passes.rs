//! Passes of balancing that moved nothing.
//!
//! Model.   When domains are due is followed. Where ours finds one due of which an earlier move has told when it was balanced, and
//!          would move something, the kernel's pass is one that moved nothing, unless it moves something within two ticks.
//! Deviations. Not asked: passes after the first since a move told the time (jiffies may be one more when a pass ends), and
//!          where one of the queues changes before the pass can be over, or is locked for so long.
//! Source.  kernel/sched/fair.c `rebalance_domains` @ 6.1, `sched_balance_domains` @ 6.12.

use super::Follower;
use super::cpu::Move;
use super::passes::answer;
use crate::judge::Class;
use crate::record::{Record, What};
use fairwind_sched::balance::PassReport;
use fairwind_sched::{CpuId, Sched};

impl Follower<'_> {
    /// Ours balances in a CPU's softirq where the kernel moved nothing.
    pub(super) fn quiet_pass(&mut self, r: &Record, cpu: CpuId, pass: impl Fn(&mut Sched)) {
        let before = self.last_balances();
        self.pass_quietly(r, pass);
        self.note_just_balanced(cpu, &before);
    }

    fn pass_quietly(&mut self, r: &Record, pass: impl Fn(&mut Sched)) {
        if !self.could_move() {
            pass(&mut self.sched);
            self.take_effects(r.cpu);
            self.forget_active_balance();
            return;
        }
        let mut copy = self.copy();
        copy.report_passes(true);
        pass(&mut copy);
        let ours = answer(copy);
        let acts = |report: &&PassReport| report.moved != 0 || report.active;
        let reports = ours.sched.pass_reports().to_vec();
        let told: Vec<bool> = reports
            .iter()
            .map(|report| self.is_surely_due(r, report))
            .collect();
        if ours.moves.is_empty() && ours.pushes.is_empty() {
            self.keep(r.cpu, ours.sched);
            return;
        }
        // What the pass looked at it brought up to date, whatever it then moved.
        self.sched.only_look(true);
        pass(&mut self.sched);
        self.take_effects(r.cpu);
        self.sched.only_look(false);
        self.sched.adopt_balance_notes(&ours.sched);
        self.sched.report_passes(false);
        let mut judged = !ours.moves.is_empty();
        for (report, told) in reports.iter().zip(told).filter(|(report, _)| acts(report)) {
            let mut last = report.before;
            if self.acts_soon(report) {
                judged = false;
            } else {
                judged &= told;
                // What moved nothing in the kernel found nothing to move, or failed once more.
                last.last_balance = self.sched.jiffies;
            }
            self.sched.set_last_balance(report.sd, last);
        }
        if judged && !self.queues_change(r, &ours.moves) {
            self.judge_moves(r, "softirq", &[], &ours, Class::Ours);
        }
    }

    /// Does one of the queues change before the pass can be over? Then the kernel may have looked at them after that.
    fn queues_change(&self, r: &Record, moves: &[Move]) -> bool {
        if moves.iter().any(|moved| self.is_locked(moved.orig)) {
            return true;
        }
        let next = self.times.records_of(r.cpu, self.at + 1).first();
        let over = next.map(|&next| self.records[next].ts);
        let tick = r.ts.saturating_add(self.facts.profile.tick_nsec());
        let over = over.map_or(tick, |next| next.min(tick));
        let of_queues = |cpu: u32| moves.iter().any(|m| m.orig == cpu || m.dest == cpu);
        let later = self.records[self.at + 1..].iter();
        later.take_while(|r| r.ts <= over).any(|r| match r.what {
            What::Switch { .. } => of_queues(r.cpu),
            What::Wakeup { target, .. } | What::WakeupNew { target, .. } => of_queues(target),
            What::Migrate { orig, dest, .. } => of_queues(orig) || of_queues(dest),
            _ => false,
        })
    }

    /// Is another CPU within a call that holds its queue's lock, and still so when this one goes on? Then a pass waits for that.
    fn is_locked(&self, cpu: u32) -> bool {
        let last = self.times.records_until(cpu, self.at).last();
        let next = self.times.records_of(cpu, self.at + 1).first();
        let goes_on = self.next_on_cpu[self.at];
        last.is_some_and(|&last| holds_lock(&self.records[last], next.copied(), goes_on))
    }

    /// Did the kernel do this pass, too? Its last one was told by a move, the CPU's own tick asks for this one, and it is due
    /// even if jiffies were as many as can be when the last one ended and are as few as can be now.
    fn is_surely_due(&mut self, r: &Record, report: &PassReport) -> bool {
        let told = self.pinned.remove(&report.sd);
        report.dst_cpu.0 == r.cpu
            && told.is_some_and(|most| {
                let interval = self.sched.follow_balance_interval(report.sd, report.idle);
                self.jiffies.least() >= most + interval
            })
    }

    /// Does the kernel move something in the same domain within two ticks of the CPU?
    fn acts_soon(&self, report: &PassReport) -> bool {
        let dest = report.dst_cpu;
        let mut timers = 0;
        for r in &self.records[self.at + 1..] {
            match r.what {
                What::Timer if r.cpu == dest.0 => timers += 1,
                What::Migrate { orig, dest: to, .. } if r.softirq && to == dest.0 => {
                    let moved = std::iter::once((CpuId(orig), dest));
                    if self.passes_of(moved).contains(&(dest, report.sd)) {
                        return true;
                    }
                }
                _ => {}
            }
            if timers == 3 {
                return false;
            }
        }
        false
    }
}

/// Does a CPU hold its queue's lock since its last record, and until its next one, which comes before this one goes on? Without
/// one of its own, this one has not gone on by the end.
fn holds_lock(last: &Record, next: Option<usize>, goes_on: Option<usize>) -> bool {
    last.what.is_inside() && next.is_some_and(|next| goes_on.is_none_or(|goes_on| next < goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_stalls_within_a_call_keeps_others_from_its_queue() {
        let charge = What::Runtime {
            pid: 7,
            runtime: 1,
            vruntime: None,
        };
        let charge = Record::of_task(0, 1, charge);
        assert!(holds_lock(&charge, Some(5), Some(6)));
        assert!(holds_lock(&charge, Some(5), None));
        assert!(!holds_lock(&charge, Some(5), Some(4)), "it did not wait");
        assert!(!holds_lock(&charge, None, None));
        let tick = Record::of_task(0, 1, What::Timer);
        assert!(!holds_lock(&tick, Some(5), Some(6)));
    }
}
