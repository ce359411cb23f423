//! `/proc/PID/schedstat` and `/proc/PID/sched`.
//!
//! Model.      Names padded to 45 columns, numbers to 21; times are milliseconds with six digits behind the point.
//! Units.      ns where a number has no point.
//! Source.     fs/proc/base.c `proc_pid_schedstat`; kernel/sched/debug.c `proc_sched_show_task` @ 6.1, 6.12.
//! Deviations. Left out: how long it slept and was blocked (`sum_sleep_runtime`, `sum_block_runtime`, `sleep_*`,
//!             `block_*`, `iowait_*`), `exec_max`, `slice_max`, `effective uclamp.*`, the parameters of SCHED_DEADLINE,
//!             and what belongs to core scheduling and NUMA balancing. `clock-delta` is 0: reading a clock takes no time.

use crate::simulation::Simulation;
use fairwind_sched::pelt::UTIL_AVG_UNCHANGED;
use fairwind_sched::{Policy, Release, TaskId};
use std::fmt::{Display, Write};

/// Bytes of a name in the kernel, its end not counted.
const COMM_LEN: usize = 15;

/// The number of a policy in sched_setscheduler().
fn policy_number(policy: Policy) -> u32 {
    match policy {
        Policy::Normal => 0,
        Policy::Fifo => 1,
        Policy::Rr => 2,
        Policy::Batch => 3,
        Policy::Idle => 5,
        Policy::Deadline => 6,
    }
}

/// The lines of a file.
struct Lines(String);

impl Lines {
    fn number(&mut self, name: &str, value: impl Display) {
        let _ = writeln!(self.0, "{name:<45}:{value:>21}");
    }

    /// A time or a virtual time as ms. The kernel loses the sign of what is between −1 ms and 0; so does this.
    fn split_ns(&mut self, name: &str, ns: u64) {
        const MS: u64 = 1_000_000;
        let signed = ns as i64;
        let (high, low) = (signed / MS as i64, signed.unsigned_abs() % MS);
        let _ = writeln!(self.0, "{name:<45}:{high:>14}.{low:06}");
    }
}

fn comm(name: &str) -> &str {
    let end = name
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .take_while(|&end| end <= COMM_LEN)
        .last();
    &name[..end.unwrap_or(0)]
}

/// A mean as the kernel prints it: −1 where there is nothing to divide by.
fn mean(sum: u64, count: u64) -> u64 {
    sum.checked_div(count).unwrap_or(u64::MAX)
}

impl Simulation {
    /// `/proc/PID/schedstat`: time on a CPU, time waiting for one, times it was given one.
    pub fn task_schedstat(&self, task: TaskId) -> String {
        let t = &self.sched.tasks[task];
        let stats = &self.sched.task_stats[task];
        let ran = self.sched.ses[t.se].sum_exec_runtime;
        format!("{ran} {} {}\n", stats.run_delay, stats.pcount)
    }

    /// `/proc/PID/sched` of a task of the workload.
    pub fn task_sched(&self, task: TaskId) -> String {
        let t = &self.sched.tasks[task];
        let se = &self.sched.ses[t.se];
        let name = self.runtime.name(self.tasks[task.idx()].program as usize);
        let mut lines = Lines(format!(
            "{} ({}, #threads: 1)\n{}\n",
            comm(&name),
            self.pid(task),
            "-".repeat(67)
        ));
        lines.split_ns("se.exec_start", se.exec_start);
        lines.split_ns("se.vruntime", se.vruntime);
        lines.split_ns("se.sum_exec_runtime", se.sum_exec_runtime);
        lines.number("se.nr_migrations", se.nr_migrations);
        self.schedstat_lines(&mut lines, task);
        let stats = &self.sched.task_stats[task];
        lines.number("nr_switches", stats.nvcsw + stats.nivcsw);
        lines.number("nr_voluntary_switches", stats.nvcsw);
        lines.number("nr_involuntary_switches", stats.nivcsw);
        lines.number("se.load.weight", se.load.weight);
        let avg = &se.avg;
        lines.number("se.avg.load_sum", avg.load_sum);
        lines.number("se.avg.runnable_sum", avg.runnable_sum);
        lines.number("se.avg.util_sum", avg.util_sum);
        lines.number("se.avg.load_avg", avg.load_avg);
        lines.number("se.avg.runnable_avg", avg.runnable_avg);
        lines.number("se.avg.util_avg", avg.util_avg);
        lines.number("se.avg.last_update_time", avg.last_update_time);
        let util_est = avg.util_est & !UTIL_AVG_UNCHANGED;
        let release = self.sched.profile.release;
        match release {
            Release::V6_1 => {
                lines.number("se.avg.util_est.ewma", avg.util_est_ewma);
                lines.number("se.avg.util_est.enqueued", util_est);
            }
            Release::V6_12 | Release::V6_18 => lines.number("se.avg.util_est", util_est),
        }
        if self.sched.profile.uclamp {
            lines.number("uclamp.min", t.uclamp[0]);
            lines.number("uclamp.max", t.uclamp[1]);
        }
        lines.number("policy", policy_number(t.policy));
        lines.number("prio", t.prio);
        if release != Release::V6_1 && t.policy.is_fair() {
            lines.number("se.slice", se.slice);
        }
        lines.number("clock-delta", 0);
        lines.0
    }

    /// What a kernel prints while `sched_schedstats` is on.
    fn schedstat_lines(&self, lines: &mut Lines, task: TaskId) {
        let t = &self.sched.tasks[task];
        let se = &self.sched.ses[t.se];
        let s = &self.sched.task_stats[task];
        lines.split_ns("wait_start", se.stats.wait_start);
        lines.split_ns("wait_max", se.stats.wait_max);
        lines.split_ns("wait_sum", se.stats.wait_sum);
        lines.number("wait_count", se.stats.wait_count);
        // Three of these are printed, but no kernel of these releases counts them.
        lines.number("nr_migrations_cold", 0);
        lines.number("nr_failed_migrations_affine", s.nr_failed_migrations_affine);
        lines.number(
            "nr_failed_migrations_running",
            s.nr_failed_migrations_running,
        );
        lines.number("nr_failed_migrations_hot", s.nr_failed_migrations_hot);
        lines.number("nr_forced_migrations", s.nr_forced_migrations);
        lines.number("nr_wakeups", s.nr_wakeups);
        lines.number("nr_wakeups_sync", s.nr_wakeups_sync);
        lines.number("nr_wakeups_migrate", s.nr_wakeups_migrate);
        lines.number("nr_wakeups_local", s.nr_wakeups_local);
        lines.number("nr_wakeups_remote", s.nr_wakeups_remote());
        lines.number("nr_wakeups_affine", s.nr_wakeups_affine);
        lines.number("nr_wakeups_affine_attempts", s.nr_wakeups_affine_attempts);
        lines.number("nr_wakeups_passive", 0);
        lines.number("nr_wakeups_idle", 0);
        lines.split_ns("avg_atom", mean(se.sum_exec_runtime, s.nvcsw + s.nivcsw));
        lines.split_ns("avg_per_cpu", mean(se.sum_exec_runtime, se.nr_migrations));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters() {
        assert_eq!(comm("hackbench"), "hackbench");
        assert_eq!(comm("a-task-of-a-long-name"), "a-task-of-a-lon");
        assert_eq!(comm("14-bytes-and-ö"), "14-bytes-and-ö");
        assert_eq!(comm("14-bytes-and-aö"), "14-bytes-and-a");
    }

    #[test]
    fn times_are_milliseconds_with_the_kernels_sign() {
        let text = |ns: i64| {
            let mut lines = Lines(String::new());
            lines.split_ns("t", ns as u64);
            lines
                .0
                .trim_start_matches(['t', ' ', ':'])
                .trim_end()
                .to_string()
        };
        assert_eq!(text(1_234_567_890), "1234.567890");
        assert_eq!(text(-1_048_576), "-1.048576");
        assert_eq!(text(-1), "0.000001");
        let mut lines = Lines(String::new());
        lines.split_ns("se.vruntime", 5);
        lines.number("prio", 120);
        // 45 columns, the colon, and 14 + 1 + 6 or 21 columns.
        assert!(
            lines
                .0
                .lines()
                .all(|line| line.len() == 67 && line.as_bytes()[45] == b':'),
            "{}",
            lines.0
        );
    }
}
