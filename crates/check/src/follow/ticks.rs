//! Ticks: clock updates that no other call claims.

use super::Follower;
use super::classify::Pair;
use crate::baselines::Baselines;
use crate::judge::Measure;
use crate::record::Record;
use fairwind_sched::CpuId;

impl Follower<'_> {
    /// If a clock update of this CPU is still unclaimed, it was a tick's; the record after it shows
    /// whether the tick asked for a reschedule.
    pub(super) fn end_tick(&mut self, r: &Record) {
        self.compare_vruntimes(r.cpu, r.ts);
        let Some(clock) = self.cpu(r.cpu).pending_clock.take() else {
            return;
        };
        let cpu = CpuId(r.cpu);
        let rq = &self.sched.rqs[cpu];
        let curr = rq.curr;
        let asked = !rq.need_resched
            && !self.cpu(r.cpu).last_resched
            && self.sched.rqs[cpu].nr_running > 1
            && self.sched.is_fair(curr);
        let least = self.least_vruntime(cpu, None);
        self.sched.sched_tick(cpu, clock);
        let ours = self.sched.rqs[cpu].need_resched;
        let kernel = r.need_resched;
        if asked {
            let decision = Self::decision(r, Measure::Preemption, "tick");
            let baselines = Baselines {
                candidates: 2,
                fifo: Some(!kernel),
                least_vruntime: Some(kernel == (least != Some(curr))),
            };
            let class = self.class_of_pair(r.cpu, Pair { a: curr, b: curr });
            let text = format!("{}: kernel {kernel}, ours {ours}", self.describe(curr));
            self.judge
                .judge(decision, kernel == ours, baselines, || (class, text));
        }
        self.sched.rqs[cpu].need_resched = kernel;
        self.cpu(r.cpu).balance_clock = Some(clock);
        self.sched.effects.clear();
        self.compare_vruntimes(r.cpu, r.ts);
    }
}
