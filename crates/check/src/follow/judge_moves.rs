//! Moves of both sides, judged one by one and explained with what ours looked at.

use super::Follower;
use super::classify::NOT_ALLOWED;
use super::cpu::Move;
use super::passes::Answer;
use crate::baselines::Baselines;
use crate::judge::{Class, Measure};
use crate::record::Record;
use fairwind_sched::balance::PassReport;
use fairwind_sched::{CpuId, TaskId};

impl Follower<'_> {
    /// Judges each move that either side made; `why` is what a test on the pass as a whole found.
    pub(super) fn judge_moves(
        &mut self,
        r: &Record,
        kind: &'static str,
        kernel: &[Move],
        ours: &Answer,
        why: Class,
    ) {
        let only_ours = ours.moves.iter().filter(|moved| !kernel.contains(moved));
        let moved: Vec<Move> = kernel.iter().chain(only_ours).copied().collect();
        for moved in moved {
            let agree = kernel.contains(&moved) && ours.moves.contains(&moved);
            let baselines = self.move_baselines(&moved, kernel);
            let differs = (!agree).then(|| {
                let running: Vec<u32> = self.sched.rqs.iter().map(|rq| rq.nr_running).collect();
                let text = format!(
                    "kernel [{}], ours [{}]; running {running:?}{}",
                    self.show(kernel),
                    self.show(&ours.moves),
                    self.show_passes(ours.sched.pass_reports()),
                );
                (self.move_class(&moved, kernel, why), text)
            });
            let decision = Self::decision(r, Measure::Balance, kind);
            self.judge.judge(decision, baselines, differs);
        }
    }

    fn move_class(&self, moved: &Move, kernel: &[Move], why: Class) -> Class {
        let pid = self.pid(moved.task);
        let not_allowed =
            || pid.is_some_and(|pid| !self.whereabouts.runs_on(pid, CpuId(moved.dest)));
        if why == Class::Ours && !kernel.contains(moved) && not_allowed() {
            return NOT_ALLOWED;
        }
        why
    }

    fn move_baselines(&self, moved: &Move, kernel: &[Move]) -> Baselines {
        let waiting: Vec<TaskId> = self
            .sched
            .rqs
            .ids()
            .filter(|cpu| cpu.0 != moved.dest)
            .flat_map(|cpu| {
                let curr = self.sched.rqs[cpu].curr;
                self.candidates(cpu)
                    .into_iter()
                    .filter(move |task| *task != curr)
            })
            .filter(|task| self.sched.cpu_allowed(*task, CpuId(moved.dest)))
            .collect();
        let by_kernel = kernel.contains(moved);
        let oldest = waiting
            .iter()
            .min_by_key(|task| self.sched.tasks[**task].last_queued);
        let vruntime = |task: &TaskId| self.sched.ses[self.sched.tasks[*task].se].vruntime;
        let least = waiting.iter().min_by_key(|task| vruntime(task));
        Baselines {
            // Moving nothing is a choice too.
            candidates: waiting.len() as u64 + 1,
            fifo: Some(by_kernel && oldest == Some(&moved.task)),
            least_vruntime: Some(by_kernel && least == Some(&moved.task)),
        }
    }

    fn show(&self, moves: &[Move]) -> String {
        let show = |moved: &Move| {
            format!(
                "{} cpu{}→cpu{}",
                self.name(moved.task),
                moved.orig,
                moved.dest
            )
        };
        moves.iter().map(show).collect::<Vec<_>>().join(", ")
    }

    /// What ours looked at, domain by domain.
    fn show_passes(&self, reports: &[PassReport]) -> String {
        reports
            .iter()
            .map(|report| self.show_pass(report))
            .collect()
    }

    fn show_pass(&self, report: &PassReport) -> String {
        let groups: Vec<String> = report
            .groups
            .iter()
            .map(|group| {
                format!(
                    "cpu{}{} {:?} running {} idle {} load {} util {} runnable {} capacity {}",
                    group.first.0,
                    if group.is_local { " (own)" } else { "" },
                    group.group_type,
                    group.nr_running,
                    group.idle_cpus,
                    group.load,
                    group.util,
                    group.runnable,
                    group.capacity,
                )
            })
            .collect();
        let candidates: Vec<String> = report
            .candidates
            .iter()
            .map(|(task, verdict)| format!("{} {verdict:?}", self.name(*task)))
            .collect();
        let busiest = match (report.busiest, report.src_cpu) {
            (_, Some(src)) => format!(
                "imbalance {} {:?} from cpu{}, tried [{}]",
                report.imbalance,
                report.migration_type,
                src.0,
                candidates.join(", ")
            ),
            (Some(first), None) => format!("busiest from cpu{} has no queue to pull from", first.0),
            _ => "balanced".to_owned(),
        };
        format!(
            "; {} of cpu{} ({:?}, failed {}): [{}] {busiest}",
            report.name,
            report.dst_cpu.0,
            report.idle,
            report.before.nr_balance_failed,
            groups.join(" | "),
        )
    }
}
